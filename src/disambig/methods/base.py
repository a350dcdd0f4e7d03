"""The base class of every method, its card, and the confidences that it returns."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from disambig._core.errors import CandidateError, ParameterError
from disambig._core.parameters import check_choice, check_integer
from disambig._core.typing import AnyArray, Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima, group_sums
from disambig.candidates.target import as_candidates, without_weightless
from disambig.methods.growth import extrapolated_seconds
from disambig.methods.row_weights import check_row_weights
from disambig.methods.saving import SaveLoadMixin
from disambig.metrics.without_truth import covering_rate
from disambig.solvers.blocks import one_thread_each
from disambig.solvers.group_marginals import GroupMarginals

# Probabilities, of all rows together, that are computed at a time where nobody asks for all.
_MOST_PROBABILITIES = 2**25
# To look for the largest value so often takes less time than to put all of a row in order.
_FEW = 16

Role = Literal["method", "candidate_baseline", "true_label_baseline"]


@dataclass(frozen=True)
class MethodCard:
    """Name, paper and description of a method.

    Attributes
    ----------
    name : str
        Short name for ``get_method`` and the command line; also the name of its module.
    title : str
        A title of one line.
    when : str
        When to use it, in a few words that continue "use it".
    paper, year, doi : str, int, str, optional
        Where it was published.
    deviations : tuple of str
        Every way in which the code differs from the paper.
    role : {"method", "candidate_baseline", "true_label_baseline"}, default="method"
        Its role in tables. The last two are baselines: one is trained on the candidates without
        disambiguation, the other on true labels.
    """

    name: str
    title: str
    when: str = ""
    paper: str | None = None
    year: int | None = None
    doi: str | None = None
    deviations: tuple[str, ...] = ()
    role: Role = "method"

    def __post_init__(self) -> None:
        """Refuse a role that nobody knows: a method must not miss or meet true labels by a typo."""
        check_choice("role", self.role, get_args(Role))

    @property
    def reads_true_labels(self) -> bool:
        """Whether it is trained on true labels, as only a baseline for scale may be."""
        return self.role == "true_label_baseline"


class PartialLabelClassifier(ClassifierMixin, SaveLoadMixin, metaclass=ABCMeta):
    """A scikit-learn classifier that learns from candidate sets.

    The base class of all methods. A subclass defines ``_fit`` and ``_predict_proba`` (and
    ``_check_parameters`` if it has parameters) and has a ``card``. To be saved, it lists its
    learned attributes in ``_learned``. All public methods are defined here.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        Confidence of every candidate of every training row: rows sum to one, zero outside the
        candidate sets.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    NetworkClassifier : The base of methods that train networks.
    disambig.testing.check_partial_label_estimator : Checks your own method.

    Examples
    --------
    Your own method, which predicts the mean of the candidate sets for every row:

    >>> import numpy as np
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import PartialLabelClassifier
    >>> class Constant(PartialLabelClassifier):
    ...     def _fit(self, X, candidates):
    ...         self._shares = candidates.prior().mean(axis=0)
    ...         return candidates.prior()
    ...
    ...     def _predict_proba(self, X):
    ...         return np.tile(self._shares, (len(X), 1))
    >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "dog|fox"])
    >>> Constant().fit([[0.0], [1.0], [2.0]], y).predict([[3.0]]).tolist()
    ['dog']
    """

    card: ClassVar[MethodCard]
    accepts_sparse: ClassVar[bool] = False
    # Whether the words of texts are better given to it in a few dense features: trees ask for one
    # word at a time.
    prefers_dense: ClassVar[bool] = False
    # Whether _fit uses candidates.row_weights: see RowWeightsMixin.
    uses_row_weights: ClassVar[bool] = False
    # Whether it is a member of a mix, or judges for one.
    _in_mix: bool = False
    # The power of the rows that the seconds of a large fit grow with, where that is known.
    _growth: ClassVar[int | None] = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn from features and candidate sets.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Training features.
        y : CandidateLabels, boolean mask, sparse mask, or plain labels
            Candidate sets. A plain label is a set of one; a candidate of weight zero is ignored.
        groups : iterable of length n_samples, optional
            Which rows come together; by default the groups of ``y``. Rows that a method holds out
            by itself are whole groups. ``set_fit_request(groups=True)`` has scikit-learn pass them
            on. What groups promise is part of ``y``: see ``CandidateLabels.with_groups``.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if groups is not None and y is not None:
            sets = as_candidates(y)
            y = sets.with_groups(groups, promise=sets.promise)
        with self._threads():
            X, candidates = self._begin_fit(X, y)
            self._end_fit(candidates, self._fit(X, candidates))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, one row per sample, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        X = self._features_to_ask(X)
        with self._threads():
            return self._predict_proba(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of class probabilities; minus infinity where one is zero.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable label of every sample; ties go to the first class.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        """
        labels: AnyArray = self.predict_top(X, 1)[0][:, 0]
        return labels

    def predict_top(self, X: Any, k: int) -> tuple[AnyArray, FloatArray]:
        """Return the ``k`` most probable labels of every sample and their probabilities.

        Some rows are computed at a time: memory for all rows and all labels is never needed.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        k : int
            How many labels, at most as many as there are classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            The most probable one first; ties go to the first class.
        probabilities : ndarray of float32 of shape (n_samples, k)
            In the same order.
        """
        check_is_fitted(self)
        check_integer("k", k, minimum=1, maximum=len(self.classes_))
        X = self._features_to_ask(X)
        columns: list[IntArray] = [np.empty((0, k), dtype=np.int32)]
        probabilities: list[FloatArray] = [np.empty((0, k), dtype=np.float32)]
        with self._threads():
            for block in self._probability_blocks(X):
                largest = top_columns(block, k)
                columns.append(largest.astype(np.int32))
                found = np.take_along_axis(block, largest, axis=1)
                probabilities.append(found.astype(np.float32))
        return self.classes_[np.concatenate(columns)], np.concatenate(probabilities)

    def disambiguate(self, X: Any = None, y: Any = None) -> AnyArray:
        """Return the most confident candidate of every row; ties go to the first.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it), optional
            Features of other rows that have candidate sets; by default the training rows.
        y : CandidateLabels, boolean mask or sparse mask, optional
            Their sets, with groups and a promise where they have any.
        """
        check_is_fitted(self)
        if X is None and y is None:
            confidences = self.candidate_confidence_
        else:
            confidences = self.candidate_confidences(X, y)
        # Rows sum to one, so none is empty and the largest entry is inside the set.
        largest = first_largest(confidences.data, confidences.indptr[:-1])
        labels: AnyArray = self.classes_[confidences.indices[largest]]
        return labels

    def candidate_confidences(self, X: Any, y: Any) -> Sparse:
        """Return the confidence of every candidate of rows that were not trained on.

        Probabilities times weights inside the sets, each row summing to one; where groups promise
        something, marginals given that.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        y : CandidateLabels, boolean mask or sparse mask
            Candidate sets, of classes that were trained; with groups and a promise where they have
            any.
        """
        if y is None:
            raise CandidateError("Confidences of new rows need candidate sets. Got None. Give 'y'.")
        check_is_fitted(self)
        X = self._features_to_ask(X)
        sets = without_weightless(as_candidates(y, classes=self.classes_))
        if sets.classes.tolist() != self.classes_.tolist():
            sets = sets.with_classes(self.classes_)
        if len(sets) != X.shape[0]:
            raise CandidateError(
                "X and y need the same number of samples. "
                f"Got {X.shape[0]} rows of features and {len(sets)} candidate sets."
            )
        start = 0
        shares = []
        with self._threads():
            for block in self._probability_blocks(X):
                of_rows = sets[start : start + len(block)]
                weighted = of_rows.prior().multiply(block).tocsr()
                shares.append(confidence_from_scores(of_rows, weighted).data)
                start += len(block)
        return keep_promise(sets, confidence_from_pairs(sets, np.concatenate(shares)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the covering rate: the share of predictions inside their candidate sets.

        With true labels as ``y`` this is the accuracy. It does not need any, so grid search works
        on candidate sets alone.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        y : CandidateLabels, boolean mask, sparse mask, or plain labels
            Candidate sets of the samples.
        sample_weight : iterable of numbers of length n_samples, optional
            How much every sample counts.
        """
        check_is_fitted(self)
        return covering_rate(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "candidate_confidence_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        return tags

    def _checked_features(self, X: Any, *, reset: bool) -> Features:
        """Return features as arrays of finite numbers; with ``reset``, learn how many there are."""
        formats = "csr" if self.accepts_sparse else False
        try:
            checked = validate_data(self, X, reset=reset, accept_sparse=formats)
            # Lists with a number that NumPy has no type for arrive as objects.
            if checked.dtype == object:
                checked = check_array(checked, dtype=np.float64, input_name="X")
            return checked
        except OverflowError as error:
            raise ParameterError(
                "Features must be numbers below 1.8e308, the largest that a double can be. Got an "
                "integer that is larger. Take its logarithm, or leave this feature out."
            ) from error

    def _features_to_ask(self, X: Any) -> Features:
        """Return checked features of rows that are asked about."""
        X = self._checked_features(X, reset=False)
        if sparse.issparse(X) and not self._fitted_on_sparse:
            X = X.toarray()  # what was learned from dense rows, such as a mean, is dense
        return X

    def _begin_fit(self, X: Any, y: Any) -> tuple[Features, CandidateLabels]:
        """Check parameters and data, and return the data as ``_fit`` takes them."""
        # A refused fit leaves a method that is not fitted, never half of an old and a new one.
        self.__dict__.pop("candidate_confidence_", None)
        self._check_parameters()
        if y is None:
            raise CandidateError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Give candidate sets, for example CandidateLabels.from_strings(['cat|dog', ...])."
            )
        X = self._checked_features(X, reset=True)
        candidates = without_weightless(as_candidates(y))
        if X.shape[0] != len(candidates):
            raise CandidateError(
                "X and y need the same number of samples. "
                f"Got {X.shape[0]} rows of features and {len(candidates)} candidate sets."
            )
        check_row_weights(candidates, type(self).__name__, self.uses_row_weights)
        self.classes_ = candidates.classes
        self._fitted_on_sparse = sparse.issparse(X)
        return X, candidates

    def _end_fit(self, candidates: CandidateLabels, confidence: Sparse) -> None:
        """Keep what was found of the training rows, given what their groups promise."""
        if not self._in_mix:  # a mix keeps the promise once, with the mean of its members
            confidence = keep_promise(candidates, confidence)
        self.candidate_confidence_ = confidence

    def _check_parameters(self) -> None:
        """Refuse parameters outside their allowed values."""

    @classmethod
    def _threads(cls) -> AbstractContextManager[None]:
        """Return what to learn and to predict in: bits must not depend on how many threads."""
        return one_thread_each()

    def _check_many(self) -> None:
        """Refuse parameters that make sense for a single fit only."""

    def _fits_at_once(self) -> int | None:
        """Return how many fits ``fit_many`` should hand over at once; None is all of them."""
        return 1

    def _estimate_seconds(self, X: Features, candidates: CandidateLabels) -> float:
        """Return how long a fit takes; a method that can tell more cheaply overrides it."""

        def fit(rows: IntArray) -> None:
            copy = clone(self)
            some = X[rows]
            if sparse.issparse(some):  # few rows hold few of the words, and these take the time
                some = some[:, np.union1d(some.indices, [0])]
            of_rows = copy._begin_fit(some, candidates[rows])
            copy._end_fit(of_rows[1], copy._fit(*of_rows))

        n_rows, n_classes = candidates.shape
        return extrapolated_seconds(
            fit, n_rows, n_classes=n_classes, power=self._growth, is_sparse=sparse.issparse(X)
        )

    @classmethod
    def _fit_side_by_side(
        cls, methods: Sequence[Self], data: Sequence[tuple[Features, CandidateLabels]]
    ) -> list[Sparse]:
        """Let copies of one method learn, each from its own data; return what ``_fit`` returns."""
        with cls._threads():
            return [method._fit(X, y) for method, (X, y) in zip(methods, data, strict=True)]

    @abstractmethod
    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        """Learn, and return the confidence of every candidate of every training row."""

    @abstractmethod
    def _predict_proba(self, X: Features) -> FloatArray:
        """Return class probabilities; ``X`` arrives validated."""

    def _probability_blocks(self, X: Features) -> Iterator[FloatArray]:
        """Yield the same for some rows at a time."""
        n_rows = max(1, _MOST_PROBABILITIES // len(self.classes_))
        for start in range(0, X.shape[0], n_rows):
            yield self._predict_proba(X[start : start + n_rows])


def keep_promise(candidates: CandidateLabels, confidence: Sparse) -> Sparse:
    """Return confidences given what groups promise; the same where they promise nothing."""
    if candidates.promise is None or candidates.groups is None:
        return confidence
    marginals = GroupMarginals(candidates.prior(), candidates.groups, candidates.promise)
    return confidence_from_pairs(candidates, marginals(candidates.values_of(confidence)))


def relative_weights(candidates: CandidateLabels) -> FloatArray:
    """Return the weight of every candidate over the largest of its row; 1 where none were given.

    In the order of ``candidates.pairs()``.
    """
    rows, _ = candidates.pairs()
    shares: FloatArray = candidates.prior().data
    return shares / group_maxima(shares, candidates.starts)[rows]


def confidence_from_pairs(candidates: CandidateLabels, values: FloatArray) -> Sparse:
    """Return confidences given one by one in the order of ``candidates.pairs()``."""
    csr = candidates.to_sparse()
    return sparse.csr_array((values, csr.indices, csr.indptr), shape=csr.shape)


def top_columns(values: FloatArray, k: int) -> IntArray:
    """Return the columns of the ``k`` largest values of every row, in descending order.

    Of equal values the first column comes first.
    """
    if k > _FEW:
        top: IntArray = np.argsort(-values, axis=1, kind="stable")[:, :k]
        return top
    left = values if k == 1 else values.copy()
    columns = np.empty((len(values), k), dtype=np.intp)
    rows = np.arange(len(values))
    for place in range(k):
        columns[:, place] = left.argmax(axis=1)
        if place < k - 1:
            left[rows, columns[:, place]] = -np.inf
    return columns


def confidence_from_scores(candidates: CandidateLabels, scores: Any) -> Sparse:
    """Return scores (not negative) inside the candidate sets, rows summing to one.

    A row none of whose candidates has a score above zero keeps its prior.
    """
    rows, _ = candidates.pairs()
    inside = candidates.values_of(scores)
    totals = group_sums(inside, candidates.starts)[rows]
    shares = np.divide(inside, totals, out=candidates.prior().data.copy(), where=totals > 0)
    return confidence_from_pairs(candidates, shares)


def confidence_from_logits(candidates: CandidateLabels, logits: FloatArray) -> Sparse:
    """Return the softmax of scores of any sign over the candidates of every row.

    The largest score of a row is taken out first, so that no row is lost to rounding.
    """
    rows, _ = candidates.pairs()
    inside = candidates.values_of(logits)
    powers = np.exp(inside - group_maxima(inside, candidates.starts)[rows])
    totals = group_sums(powers, candidates.starts)
    return confidence_from_pairs(candidates, powers / totals[rows])
