"""``ConformalSets``: prediction sets with a guarantee, from candidate sets alone."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from disambig._core.errors import CandidateError, ParameterError, warn_caller
from disambig._core.messages import plural
from disambig._core.parameters import RandomState, check_choice, check_real, make_generator
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.candidates.groups import group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.prediction_sets import PredictionSets
from disambig.candidates.target import as_candidates, without_weightless
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fit_many
from disambig.methods.strangeness import Strangeness
from disambig.metrics.without_truth import covering_rate
from disambig.solvers.conformal import (
    KINDS,
    Kind,
    calibrate_coverage,
    check_coverage,
    conformal_quantile,
    fewest_units,
    prediction_mask,
    unit_weights,
)

Part = tuple[IntArray, IntArray]  # rows to train on, and rows to calibrate on


class ConformalSets(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""Prediction sets for any method: the labels that cannot be ruled out, with a guarantee.

    A label is in the set of a row if its probability reaches a threshold. The threshold is
    calibrated on rows that the method was not trained on, by their candidate sets: no true label
    is needed. What is promised of a new row, with ``coverage=0.9``:

    =============  ============================================  ============================
    ``kind``       promise                                       assumption
    =============  ============================================  ============================
    "safe"         the truth is in its set with probability .9   exchangeable rows, and
                   or more, however ambiguous the candidate      candidate sets that hold the
                   sets and however wrong the model              truth
    "weak"         its set and its candidate set have a label    exchangeable rows
                   in common with probability .9 or more
    "estimated"    the truth is in its set with probability      confidences of candidates
                   .9, about                                     that are right
    =============  ============================================  ============================

    A promise holds on average over rows and over draws of the calibration rows, not for each kind
    of row. "safe" counts each calibration row by its least probable candidate, so the more labels
    are added to sets, the larger its prediction sets are. If a share e of the candidate sets misses
    the truth, its coverage may be lower by e. "weak" counts rows by their most probable candidate,
    and "estimated" counts every candidate by its confidence: sets are smaller. Where all sets have
    one candidate, the three are the same.

    Parameters
    ----------
    estimator : object
        A method of disambig, or a pipeline that ends in one. Copies of it are trained.
    coverage : float, default=0.9
        Share of new rows for which the promise is to hold, between 0 and 1.
    kind : {"safe", "weak", "estimated"}, default="safe"
        What is promised, as above.
    cv : float, int or "prefit", default=0.25
        Which rows calibrate. A share below 1 is held out of the training (split conformal), and
        promises hold exactly. An integer is a number of folds (cross-conformal): each fold is
        predicted by a copy trained on the others, and the final model is trained on all rows. So
        all rows train and all calibrate, but the promise only holds approximately, because the
        threshold belongs to the copies. With "prefit" the estimator is fitted already, and all
        rows given to ``fit`` calibrate; promises hold exactly if it was not trained on them.
    abstain : float, default=0
        Share of ordinary rows that may get an empty set because they are unlike the training
        rows, such as 0.02. Measured is the mean distance to the five nearest training rows, in
        standardised features; the limit is calibrated on the same rows as the threshold. Labels
        are then calibrated for ``coverage + abstain``, so that the promise stays. At 0, a set is
        empty only if no label reaches the threshold.
    random_state : int, generator or None, default=None
        Seed of the split, not of the estimator.

    Attributes
    ----------
    estimator_ : object
        The fitted copy that predicts.
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba`` and of prediction sets.
    threshold_ : float
        Least probability of a label in a prediction set; at 0 no label is ruled out.
    calibration_ : ConformalCalibration
        What was calibrated, and what it promises; ``print`` it.

    See Also
    --------
    disambig.candidates.PredictionSets : What ``predict_set`` returns.
    find_misses : Estimates how many candidate sets miss the truth.

    Notes
    -----
    There is no ``save``. All that is needed besides the fitted method is one number: keep
    ``estimator_`` by its own ``save``, and ``threshold_`` with it. The labels in the set of a row
    are those whose ``predict_proba`` is at least ``threshold_``, unless ``abstain`` is above 0.

    Examples
    --------
    >>> from disambig import ConformalSets, SURE
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(400, 5, 4, random_state=0)
    >>> train, new = slice(0, 300), slice(300, 400)
    >>> model = ConformalSets(SURE(), kind="weak", random_state=0)
    >>> model = model.fit(data.X[train], data.candidates[train])
    >>> sets = model.predict_set(data.X[new])
    >>> len(sets.to_strings())
    100
    """

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.9,
        kind: Kind = "safe",
        cv: float | int | Literal["prefit"] = 0.25,
        abstain: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.kind = kind
        self.cv = cv
        self.abstain = abstain
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Iterable[Any] | None = None) -> Self:
        """Train the method, and calibrate the threshold on rows that it was not trained on.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        y : CandidateLabels, boolean mask, sparse mask, or plain labels
            Candidate sets.
        groups : iterable of length n_samples, optional
            Which rows belong together, such as those of one patient; by default the groups of
            ``y``. They stay on one side of every split, every group counts the same, and promises
            hold for a row drawn at random from a new group; groups must be exchangeable, rows need
            not be.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        X, candidates = self._checked(X, y)
        if groups is not None:
            candidates = candidates.with_groups(groups, promise=candidates.promise)
        is_grouped = candidates.groups is not None
        numbers = group_numbers(candidates.groups, len(candidates))
        unit = "group" if is_grouped else "sample"
        parts = self._parts(numbers, unit)
        held_out = np.concatenate([held for _, held in parts])
        if self._is_prefit():
            models = [self.estimator]
        else:
            models = self._fitted_copies(X, candidates, parts)
        probabilities = _of_parts([model.predict_proba for model in models], X, parts)
        group_of_row = numbers[held_out] if is_grouped else None
        weights, n_units = unit_weights(len(held_out), group_of_row)
        self._warn_of_too_few(n_units, unit)
        self.calibration_ = calibrate_coverage(
            probabilities,
            candidates[held_out],
            coverage=self.coverage,
            kind=self.kind,
            groups=group_of_row,
            exact=len(parts) == 1,
            abstain=self.abstain,
        )
        self._strangeness, self._strangest = None, np.inf
        if self.abstain > 0:
            measures = [Strangeness.fit(rows) for rows in _training_rows(X, parts)]
            self._strangeness = measures[-1]
            self._strangest = conformal_quantile(
                _of_parts([measure.of_rows for measure in measures], X, parts),
                1 - self.abstain,
                weights=weights,
                n_units=n_units,
            )
        self.threshold_ = self.calibration_.threshold
        self.classes_ = candidates.classes
        self.estimator_ = models[-1]
        return self

    def predict_set(self, X: Any) -> PredictionSets:
        """Return the labels of every row that cannot be ruled out; there may be none.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        """
        mask = prediction_mask(self.predict_proba(X), self.threshold_)
        if self._strangeness is not None:
            mask[self._strangeness.of_rows(X) > self._strangest] = False
        return PredictionSets(mask, self.classes_)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities of the fitted method, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        probabilities: FloatArray = self.estimator_.predict_proba(X)
        return probabilities

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable label of every sample, whether or not it is in its set.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        labels: AnyArray = self.estimator_.predict(X)
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the covering rate: the share of predictions inside their candidate sets.

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

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        check_is_fitted(self)
        count: int = self.estimator_.n_features_in_
        return count

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _check_parameters(self) -> None:
        check_coverage(self.coverage)
        check_choice("kind", self.kind, KINDS)
        check_real("abstain", self.abstain, minimum=0)
        if self.coverage + self.abstain >= 1:
            raise ParameterError(
                "'abstain' must be below 1 - coverage, because a row without any label is not "
                f"covered. Got abstain={self.abstain!r} and coverage={self.coverage!r}."
            )
        is_share = isinstance(self.cv, Real) and 0 < self.cv < 1
        is_folds = isinstance(self.cv, int | np.integer) and self.cv >= 2
        if not is_share and not is_folds and not self._is_prefit():
            raise ParameterError(
                "'cv' must be a share of the rows, between 0 and 1, to hold out; a number of "
                f"folds, 2 or more; or 'prefit'. Got {self.cv!r}."
            )
        if self._is_prefit() and self.abstain > 0:
            raise ParameterError(
                "'abstain' needs the rows that the estimator was trained on, which cv='prefit' "
                "does not have. Set cv to a share or a number of folds, or abstain to 0."
            )

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _checked(self, X: Any, y: Any) -> tuple[Any, CandidateLabels]:
        """Return features whose rows can be taken, and candidate sets of as many rows."""
        if y is None:
            raise CandidateError(
                "ConformalSets requires y to be passed, but the target y is None. Give candidate "
                "sets, for example CandidateLabels.from_strings(['cat|dog', ...])."
            )
        candidates = without_weightless(as_candidates(y))
        X, candidates = indexable(X, candidates)
        if self._is_prefit():
            check_is_fitted(self.estimator)
            candidates = candidates.with_classes(self.estimator.classes_)
        return X, candidates

    def _parts(self, numbers: IntArray, unit: str) -> list[Part]:
        """Return what each copy is trained on, and which rows it predicts to calibrate on them."""
        if isinstance(self.cv, str):  # prefit
            return [(np.arange(0), np.arange(len(numbers)))]
        n_groups = int(numbers.max()) + 1
        n_parts = int(self.cv) if self.cv >= 2 else 1
        if n_groups < max(2, n_parts):
            raise CandidateError(
                f"cv={self.cv!r} takes at least {max(2, n_parts)} {unit}s. Got "
                f"{plural(n_groups, unit)}. Give more, or use cv='prefit' with rows of their own."
            )
        place = make_generator(self.random_state).permutation(n_groups)
        n_held = min(max(1, round(self.cv * n_groups)), n_groups - 1)
        fold = place % n_parts if n_parts > 1 else np.where(place < n_held, 0, 1)
        return [
            (np.flatnonzero(fold[numbers] != part), np.flatnonzero(fold[numbers] == part))
            for part in range(n_parts)
        ]

    def _fitted_copies(self, X: Any, candidates: CandidateLabels, parts: list[Part]) -> list[Any]:
        """Return a copy trained for every part and, with folds, one trained on all rows."""
        training = list(
            zip(_training_rows(X, parts), _training_rows(candidates, parts), strict=True)
        )
        if isinstance(self.estimator, PartialLabelClassifier):
            return list(fit_many(self.estimator, [(rows, y, None) for rows, y in training]))
        return [clone(self.estimator).fit(rows, y) for rows, y in training]

    def _warn_of_too_few(self, count: int, unit: str) -> None:
        wanted = {
            "coverage": (self.coverage + self.abstain, "no label can be ruled out"),
            "abstain": (1 - self.abstain, "no row gets an empty set for being strange"),
        }
        for name, (level, consequence) in wanted.items():
            value = getattr(self, name)
            if value > 0 and count < fewest_units(level):
                warn_caller(
                    f"{name}={value!r} takes at least {fewest_units(level)} {unit}s to calibrate "
                    f"on. There are {count}, so {consequence}. Give more, or change 'cv'."
                )


def _training_rows(values: Any, parts: list[Part]) -> list[Any]:
    """Return the rows that every copy is trained on; with several parts, all of them at last."""
    chosen = [_safe_indexing(values, train) for train, _ in parts]
    return chosen if len(parts) == 1 else [*chosen, values]


def _of_parts(functions: Sequence[Any], X: Any, parts: list[Part]) -> FloatArray:
    """Return what the function of every part says of its rows, one part after the other."""
    pairs = zip(functions, parts, strict=False)  # with folds, the last function has no part
    return np.concatenate([function(_safe_indexing(X, held)) for function, (_, held) in pairs])
