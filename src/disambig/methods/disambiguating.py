"""``DisambiguatingClassifier``: any classifier of scikit-learn's kind on candidate sets."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from disambig._core.parameters import RandomState, check_integer, check_real, spawn_seeds
from disambig._core.typing import BoolArray, Features, FloatArray, IntArray, Sparse
from disambig.candidates.groups import deal_rows
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import with_short_indices
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_scores
from disambig.methods.class_weights import ClassWeight, check_class_weight, weights_of_classes
from disambig.methods.ordinary import OrdinaryModel, check_estimator, refuse_to_save, rows_of
from disambig.methods.rounds import next_confidences, pair_weights, share_of_easy_rows
from disambig.methods.row_weights import RowWeightsMixin
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.metrics.without_truth import covering_rate

# Candidates that count for less than this share of the average only cost time.
_SMALLEST_WEIGHT = 0.02


class CrossFittedClassifier(RowWeightsMixin, PartialLabelClassifier):
    """The base of classifiers that learn by rounds, each row judged by copies trained without it.

    A subclass says in ``_train`` how one copy is trained, and in ``_ask`` what it says. Its
    parameters are ``rounds``, ``ramp_rounds``, ``power``, ``n_folds``, ``class_weight`` and
    ``random_state``.
    """

    # A fit leaves held_out_proba_ behind.
    judges_itself: ClassVar[bool] = True

    rounds: int
    ramp_rounds: int
    power: float
    n_folds: int
    class_weight: ClassWeight
    random_state: RandomState

    def _check_parameters(self) -> None:
        check_integer("rounds", self.rounds, minimum=1)
        check_integer("ramp_rounds", self.ramp_rounds, minimum=1)
        check_real("power", self.power, minimum=0)
        check_integer("n_folds", self.n_folds, minimum=2)
        check_class_weight(self.class_weight)

    @abstractmethod
    def _train(
        self, X: Any, rows: IntArray, columns: IntArray, weights: FloatArray, seed: int
    ) -> Any:
        """Return a copy trained on the labels ``columns`` of ``rows``, each with its weight."""

    @abstractmethod
    def _ask(self, model: Any, X: Any, n_classes: int) -> FloatArray:
        """Return the probabilities of every class, by what ``_train`` returned."""

    def _learn(self, X: Any, candidates: CandidateLabels) -> tuple[Any, Sparse]:
        """Return the model of all rows, and the confidences of their candidates."""
        fold_seed, seed = spawn_seeds(self.random_state, 2)
        of_classes = weights_of_classes(self.class_weight, candidates)
        folds = self._folds(candidates, fold_seed)
        confidences: FloatArray = candidates.prior().data
        best = confidences
        rates: list[float] = []
        for number in range(self.rounds):
            pairs = _Pairs.of(candidates, confidences, of_classes)
            judged = self._judge(X, candidates, pairs, folds, seed)
            predicted = candidates.classes[judged.argmax(axis=1)]
            rates.append(covering_rate(candidates, predicted, sample_weight=candidates.row_weights))
            if rates[-1] == max(rates):
                best, self.held_out_proba_ = confidences, judged
            elif number >= self.ramp_rounds:
                break
            share = share_of_easy_rows(number, self.ramp_rounds)
            confidences = next_confidences(candidates, judged, share=share, power=self.power)
        self.covering_rates_ = np.array(rates)
        model = self._train_on(X, _Pairs.of(candidates, best, of_classes), seed)
        scores = candidates.prior().multiply(self.held_out_proba_).tocsr()
        return model, confidence_from_scores(candidates, scores)

    def _folds(self, candidates: CandidateLabels, seed: int) -> IntArray:
        groups, n_rows = candidates.groups, len(candidates)
        n_parts = n_rows if groups is None else len(np.unique(groups))
        if n_parts < 2:
            return np.zeros(n_rows, dtype=np.int64)
        return deal_rows(n_rows, groups, min(self.n_folds, n_parts), seed)

    def _judge(
        self,
        X: Any,
        candidates: CandidateLabels,
        pairs: "_Pairs",
        folds: IntArray,
        seed: int,
    ) -> FloatArray:
        """Return the probabilities of all rows, by copies trained without their fold."""
        fold_of_pair = folds[pairs.rows]
        n_folds = int(folds.max()) + 1
        judged = np.empty(candidates.shape)

        def judge_fold(fold: int) -> None:
            trained = pairs if n_folds == 1 else pairs.only(fold_of_pair != fold)
            model = self._train_on(X, trained, seed)
            rows = np.flatnonzero(folds == fold)
            judged[rows] = self._ask(model, rows_of(X, rows), candidates.shape[1])

        self._for_each_fold(judge_fold, range(n_folds))
        return judged

    def _for_each_fold(self, judge_fold: Callable[[int], None], folds: range) -> None:
        """Judge one fold after the other: nobody knows whether a classifier bears threads."""
        for fold in folds:
            judge_fold(fold)

    def _train_on(self, X: Any, pairs: "_Pairs", seed: int) -> Any:
        kept = pairs.worth_training()
        weights = pairs.weights if pairs.weights[kept].any() else pairs.plain
        kept &= weights > 0
        of_kept = weights[kept] / weights[kept].mean()
        return self._train(X, pairs.rows[kept], pairs.columns[kept], of_kept, seed)


class _Pairs(NamedTuple):
    """Candidates of rows, and how much each of them counts in training."""

    rows: IntArray
    columns: IntArray
    plain: FloatArray  # by how clear a row is
    weights: FloatArray  # the same, times what rows and classes were given

    @classmethod
    def of(
        cls, candidates: CandidateLabels, confidences: FloatArray, of_classes: FloatArray | None
    ) -> Self:
        weights = plain = pair_weights(candidates.with_row_weights(None), confidences)
        if candidates.row_weights is not None or of_classes is not None:
            weights = pair_weights(candidates, confidences, of_classes)
        return cls(*candidates.pairs(), plain, weights)

    def only(self, kept: BoolArray) -> Self:
        """Return the same, of which only some count."""
        return self._replace(
            plain=np.where(kept, self.plain, 0), weights=np.where(kept, self.weights, 0)
        )

    def worth_training(self) -> BoolArray:
        """Mark those that are not negligible; never because a row or a class was given little."""
        worth: BoolArray = self.plain > _SMALLEST_WEIGHT * self.plain.mean()
        return worth


class DisambiguatingClassifier(CrossFittedClassifier):
    """Train any classifier with ``predict_proba`` on candidate sets.

    Every candidate of a row is a training row of its own, weighted by its confidence. The first
    confidences are equal, or the weights of the candidates. Then, round by round, every row is
    judged by copies of the classifier that were trained without it, and these judgements become the
    confidences of the next round, those of easy rows first (see ``methods/rounds.py``). The
    confidences under which most held-out rows are predicted inside their sets train the classifier
    on all rows.

    Parameters
    ----------
    estimator : classifier, default=None
        An unfitted classifier with ``predict_proba``: of scikit-learn, LightGBM, XGBoost, CatBoost,
        TabPFN, or a ``Pipeline`` that ends with one. Logistic regression by default. If its ``fit``
        takes no ``sample_weight``, a row is copied as often as its weight says.
    rounds : int, default=4
        Largest number of rounds; each takes ``n_folds`` fits. From ``ramp_rounds`` on, learning
        stops when held-out rows are no longer covered better than before.
    ramp_rounds : int, default=3
        Number of rounds until all rows take new confidences.
    power : float, default=1.5
        Judgements are raised to this power.
    n_folds : int, default=5
        Each row is judged by a copy that was trained without its fold.
    class_weight : "balanced", dict or None, default=None
        What the weight of a candidate is multiplied by, by its label; labels that a dict does not
        name weigh 1.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, optional
        How features are scaled, fitted on the training rows. By default "standard" for logistic
        regression; features for an ``estimator`` of your own stay as they are.
    random_state : int, generator or None, default=None
        Seed of the folds, and of the classifier and its steps where they have a ``random_state``
        of None.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all rows. Its labels are the numbers of the classes it has met.
    covering_rates_ : ndarray of shape (rounds,)
        Share of the held-out rows that were predicted inside their sets, by round.
    held_out_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the training rows by copies that were not trained on them. Not kept in a
        file.

    See Also
    --------
    DisambiguatingForest : The same idea with a random forest, out of the bag.
    DisambiguatingBoosting : The same with gradient boosting.
    AutoDisambiguator : Chooses among several kinds of learners.

    Notes
    -----
    With an ``estimator`` of your own, features are passed on as they are: a data frame, a list of
    texts or numbers with gaps are fine if the estimator takes them.

    Examples
    --------
    >>> from disambig import CandidateLabels, DisambiguatingClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = DisambiguatingClassifier(GaussianNB(), n_folds=3, random_state=0)
    >>> model.fit(X, y).predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="disambiguating",
        title="Logistic regression, or any classifier of yours, on held-out confidences",
        when="for a classifier of your own, such as XGBoost, in Python",
        paper="this package",
    )
    accepts_sparse: ClassVar[bool] = True
    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "covering_rates_": array("rounds"),
        "_model": part(
            OrdinaryModel.from_arrays,
            coef_=array("scores", "features"),
            intercept_=array("scores"),
            classes_=integers("labels"),
        ),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        rounds: int = 4,
        ramp_rounds: int = 3,
        power: float = 1.5,
        n_folds: int = 5,
        class_weight: ClassWeight = None,
        scaling: Any = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.rounds = rounds
        self.ramp_rounds = ramp_rounds
        self.power = power
        self.n_folds = n_folds
        self.class_weight = class_weight
        self.scaling = scaling
        self.random_state = random_state

    @property
    def estimator_(self) -> Any:
        """The classifier, fitted to all rows; its labels are numbers of the classes it has met."""
        return self._model.classifier

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_estimator(self.estimator)
        if self.scaling is not None:
            check_scaling(self.scaling)

    def _takes_anything(self) -> bool:
        return self.estimator is not None and self.scaling is None

    def _checked_features(self, X: Any, *, reset: bool) -> Features:
        if not self._takes_anything():
            return super()._checked_features(X, reset=reset)
        check_consistent_length(X)
        if not hasattr(X, "shape"):  # rows of numbers, or texts
            X = np.array(X, dtype=None if len(X) and np.ndim(X[0]) else object)
        if sparse.issparse(X):
            X = with_short_indices(sparse.csr_array(X))
        if reset:
            self.n_features_in_ = X.shape[1] if len(X.shape) == 2 else 1
        return X

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler: Any = None
        if not self._takes_anything():
            self._scaler = fit_scaler(self.scaling or "standard", X, candidates.row_weights)
        self._model, confidence = self._learn(self._scaled(X), candidates)
        return confidence

    def _predict_proba(self, X: Features) -> FloatArray:
        return self._ask(self._model, self._scaled(X), len(self.classes_))

    def _scaled(self, X: Features) -> Features:
        return X if self._scaler is None else apply_scaler(self._scaler, X)

    def _train(
        self, X: Any, rows: IntArray, columns: IntArray, weights: FloatArray, seed: int
    ) -> OrdinaryModel:
        return OrdinaryModel.train(self.estimator, X, rows, columns, weights, seed)

    def _ask(self, model: OrdinaryModel, X: Any, n_classes: int) -> FloatArray:
        return model.probabilities(X, n_classes)

    def _to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        refuse_to_save(type(self).__name__, self.estimator)
        return super()._to_arrays()
