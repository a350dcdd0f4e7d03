"""Metrics, with and without true labels, their registry, and scikit-learn scorers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError, describe_rows
from disambig._core.parameters import check_integer
from disambig._core.typing import AnyArray, FloatArray, Label
from disambig.candidates.checks import (
    as_class_array,
    as_list,
    columns_of,
    is_missing,
    known_columns_of,
)
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.target import as_candidates

__all__ = [
    "METRICS",
    "Metric",
    "Outcome",
    "accuracy",
    "approximated_accuracy",
    "approximated_accuracy_scorer",
    "brier_score",
    "covering_rate",
    "covering_rate_scorer",
    "expected_calibration_error",
    "per_class_recall",
    "set_log_likelihood",
    "set_log_likelihood_scorer",
    "transductive_accuracy",
]


def _as_true_labels(labels: Iterable[Label]) -> list[Label]:
    """Return true labels as a list; refuse missing ones."""
    values = as_list(labels)
    missing = next((row for row, label in enumerate(values) if is_missing(label)), None)
    if missing is not None:
        raise ParameterError(
            f"True labels may not be missing. Got {values[missing]!r} in row {missing}. "
            "Evaluate on rows whose true label is known."
        )
    return values


def _check_same_length(**lengths: int) -> None:
    """Refuse arguments of different lengths, and empty ones."""
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        got = ", ".join(f"{length} {name.replace('_', ' ')}" for name, length in lengths.items())
        raise ParameterError(f"Arguments need the same length, and at least one row. Got {got}.")


def _as_probabilities(probabilities: Any, classes: Iterable[Label]) -> tuple[FloatArray, AnyArray]:
    """Return class probabilities and the names of their columns, checked."""
    names = as_class_array(classes)
    matrix = np.asarray(probabilities, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ParameterError(
            f"Probabilities need one column for each of the {len(names)} classes. "
            f"Got the shape {matrix.shape}. Name its columns in 'classes'."
        )
    bad = ~(np.isfinite(matrix) & (matrix >= 0)).all(axis=1)
    bad |= ~np.isclose(matrix.sum(axis=1), 1, atol=1e-4)
    if bad.any():
        raise ParameterError(
            "Probabilities must not be negative, and must sum to one in every row. They do not for "
            f"{describe_rows(bad)}. Give what predict_proba returns."
        )
    return matrix, names


def accuracy(true_labels: Iterable[Label], predicted: Iterable[Label]) -> float:
    """Return the share of correct predictions.

    Parameters
    ----------
    true_labels : iterable of labels
        The true label of every row.
    predicted : iterable of labels
        One prediction per row.

    See Also
    --------
    covering_rate : Needs no true labels.
    per_class_recall : The same, class by class.

    Examples
    --------
    >>> from disambig.metrics import accuracy
    >>> accuracy(["cat", "dog", "dog", "fox"], ["cat", "dog", "fox", "fox"])
    0.75
    """
    truth, guesses = _as_true_labels(true_labels), as_list(predicted)
    _check_same_length(true_labels=len(truth), predictions=len(guesses))
    return sum(bool(t == g) for t, g in zip(truth, guesses, strict=True)) / len(truth)


def transductive_accuracy(
    true_labels: Iterable[Label], candidates: CandidateLabels, confidence: Any
) -> float:
    """Return the share of training rows whose most confident candidate is the true label.

    Parameters
    ----------
    true_labels : iterable of labels
        The true label of every training row.
    candidates : CandidateLabels
        The candidate sets of the training rows.
    confidence : array or sparse array of shape (n_samples, n_classes)
        Confidence of every candidate, such as ``candidate_confidence_`` of a fitted method.

    See Also
    --------
    accuracy : For predictions of held-out rows.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import transductive_accuracy
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat|fox"])
    >>> confidence = [[0.8, 0.2, 0.0], [0.3, 0.0, 0.7]]  # of cat, dog and fox
    >>> transductive_accuracy(["cat", "cat"], y, confidence)
    0.5
    """
    return accuracy(true_labels, candidates.choose(confidence))


def per_class_recall(
    true_labels: Iterable[Label], predicted: Iterable[Label]
) -> dict[Label, float]:
    """Return the share of correct predictions for every class that occurs.

    Parameters
    ----------
    true_labels : iterable of labels
        The true label of every row.
    predicted : iterable of labels
        One prediction per row.

    See Also
    --------
    accuracy : Over all rows.

    Examples
    --------
    >>> from disambig.metrics import per_class_recall
    >>> per_class_recall(["cat", "dog", "dog", "fox"], ["cat", "dog", "fox", "fox"])
    {'cat': 1.0, 'dog': 0.5, 'fox': 1.0}
    """
    truth, guesses = _as_true_labels(true_labels), as_list(predicted)
    _check_same_length(true_labels=len(truth), predictions=len(guesses))
    hits: dict[Label, list[bool]] = {}
    for true_label, guess in zip(truth, guesses, strict=True):
        hits.setdefault(true_label, []).append(true_label == guess)
    return {label: float(np.mean(found)) for label, found in sorted(hits.items())}


def covering_rate(
    candidates: CandidateLabels,
    predicted: Iterable[Label],
    *,
    classes: Iterable[Label] | None = None,
    sample_weight: Iterable[float] | None = None,
) -> float:
    """Return the share of predictions that are in the candidate set.

    With one label per set this is the accuracy. Otherwise it is an upper bound of the accuracy,
    provided that every set contains the true label.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    predicted : iterable of labels
        One prediction per row.
    classes : iterable of labels, optional
        Names of the columns, if ``candidates`` is a mask without names.
    sample_weight : iterable of numbers, optional
        How much every row counts; by default all count the same.

    See Also
    --------
    approximated_accuracy : Rewards confident predictions inside large sets.
    covering_rate_scorer : For scikit-learn's grid search.
    accuracy : Where true labels are known.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import covering_rate
    >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "fox|cat", "fox"])
    >>> covering_rate(y, ["cat", "dog", "dog", "fox"])
    0.75
    """
    sets, guesses = as_candidates(candidates, classes=classes), as_list(predicted)
    _check_same_length(candidate_sets=len(sets), predictions=len(guesses))
    if sample_weight is None:
        return float(sets.contains(guesses).mean())
    weights = np.asarray(as_list(sample_weight), dtype=float)
    _check_same_length(predictions=len(guesses), weights=len(weights))
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ParameterError(
            "'sample_weight' must hold finite numbers, none below 0 and one above. "
            f"Got them from {weights.min():g} to {weights.max():g}."
        )
    return float(np.average(sets.contains(guesses), weights=weights))


def approximated_accuracy(
    candidates: CandidateLabels,
    probabilities: Any,
    *,
    classes: Iterable[Label] | None = None,
) -> float:
    r"""Return the mean share of the candidates' probability that goes to the prediction.

    With the prediction :math:`\hat y_i` of row i, its candidates :math:`S_i` and probabilities
    :math:`p_{ij}`, this is

    .. math:: \frac{1}{n} \sum_{i: \hat y_i \in S_i} \frac{p_{i \hat y_i}}{\sum_{j \in S_i} p_{ij}}

    A prediction outside its set counts zero. Unlike the covering rate, this rewards confident
    predictions inside large sets.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    probabilities : array-like of shape (n_samples, n_columns)
        Predicted class probabilities.
    classes : iterable of labels, optional
        Names of the columns of ``probabilities``; by default the classes of ``candidates``.

    See Also
    --------
    covering_rate : Counts every prediction inside its set as one.
    approximated_accuracy_scorer : For scikit-learn's grid search.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import approximated_accuracy
    >>> y = CandidateLabels.from_strings(["cat|dog", "fox"])
    >>> approximated_accuracy(y, [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]])
    0.375
    """
    sets = as_candidates(candidates, classes=classes)
    matrix, names = _as_probabilities(probabilities, sets.classes if classes is None else classes)
    _check_same_length(candidate_sets=len(sets), probabilities=len(matrix))
    best = matrix.argmax(axis=1)
    covered = sets.contains(names[best])
    total = _set_probabilities(sets, matrix, names)
    highest = matrix[np.arange(len(matrix)), best]
    # A covered prediction has a probability above zero, and so has its set.
    shares = np.divide(highest, total, out=np.zeros(len(matrix)), where=covered)
    return float(shares.mean())


def set_log_likelihood(
    candidates: CandidateLabels,
    probabilities: Any,
    *,
    classes: Iterable[Label] | None = None,
) -> float:
    r"""Return the mean logarithm of the probability given to the candidate sets, at most 0.

    With the candidates :math:`S_i` of row i and its probabilities :math:`p_{ij}`, this is

    .. math:: \frac{1}{n} \sum_i \log \left( \sum_{j \in S_i} p_{ij} \right)

    With one label per set it is minus the log loss. Probabilities of a set count as 2.2e-16 at
    least, so that a single one cannot decide alone.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    probabilities : array-like of shape (n_samples, n_columns)
        Predicted class probabilities.
    classes : iterable of labels, optional
        Names of the columns of ``probabilities``; by default the classes of ``candidates``.

    See Also
    --------
    covering_rate : Looks at predictions only.
    set_log_likelihood_scorer : For scikit-learn's grid search.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.metrics import set_log_likelihood
    >>> y = CandidateLabels.from_strings(["cat|dog", "fox"])
    >>> round(set_log_likelihood(y, [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]), 4)
    -0.6931
    """
    sets = as_candidates(candidates, classes=classes)
    matrix, names = _as_probabilities(probabilities, sets.classes if classes is None else classes)
    _check_same_length(candidate_sets=len(sets), probabilities=len(matrix))
    of_sets = _set_probabilities(sets, matrix, names)
    return float(np.log(np.clip(of_sets, np.finfo(float).eps, 1)).mean())


def _set_probabilities(sets: CandidateLabels, matrix: FloatArray, names: AnyArray) -> AnyArray:
    """Return the probability of every set; candidates that are no column have none."""
    rows, columns = sets.pairs()
    known = known_columns_of(sets.classes, names)[columns]
    of_candidates = np.where(known >= 0, matrix[rows, known], 0)
    return np.bincount(rows, weights=of_candidates, minlength=len(matrix))


def brier_score(
    true_labels: Iterable[Label], probabilities: Any, classes: Iterable[Label]
) -> float:
    r"""Return the mean squared distance between the probabilities and the truth, from 0 to 2.

    With :math:`p_{ij}` the probability of class j in row i and :math:`e_{ij}` one for its true
    class and zero for the others, this is

    .. math:: \frac{1}{n} \sum_i \sum_j (p_{ij} - e_{ij})^2

    Parameters
    ----------
    true_labels : iterable of labels
        The true label of every row.
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted class probabilities.
    classes : iterable of labels
        Names of the columns of ``probabilities``.

    See Also
    --------
    expected_calibration_error : Compares confidence with accuracy alone.

    Examples
    --------
    >>> from disambig.metrics import brier_score
    >>> brier_score(["cat", "dog"], [[1.0, 0.0], [0.5, 0.5]], classes=["cat", "dog"])
    0.25
    """
    truth = _as_true_labels(true_labels)
    matrix, names = _as_probabilities(probabilities, classes)
    _check_same_length(true_labels=len(truth), probabilities=len(matrix))
    at_truth = matrix[np.arange(len(matrix)), columns_of(truth, names)]
    # |p - e|^2 = |p|^2 - 2 p_true + 1, without making the one-hot matrix e.
    return float(np.mean((matrix**2).sum(axis=1) - 2 * at_truth + 1))


def expected_calibration_error(
    true_labels: Iterable[Label],
    probabilities: Any,
    classes: Iterable[Label],
    *,
    n_bins: int = 15,
) -> float:
    r"""Return the mean gap between confidence and accuracy over bins of equal width.

    A row is in the bin of the probability of its predicted class. With the bins
    :math:`B_1, \dots, B_m`, the accuracy in each and the mean of these probabilities, this is

    .. math:: \sum_b \frac{|B_b|}{n} \left| \text{accuracy}(B_b) - \text{confidence}(B_b) \right|

    Parameters
    ----------
    true_labels : iterable of labels
        The true label of every row.
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted class probabilities.
    classes : iterable of labels
        Names of the columns of ``probabilities``.
    n_bins : int, default=15
        Bins for the probability of the predicted class, each open on the left.

    See Also
    --------
    brier_score : Counts errors and calibration together.

    Examples
    --------
    >>> from disambig.metrics import expected_calibration_error
    >>> probabilities = [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    >>> truth = ["cat", "dog", "dog", "dog"]
    >>> expected_calibration_error(truth, probabilities, classes=["cat", "dog"])
    0.0
    """
    check_integer("n_bins", n_bins, minimum=1)
    truth = _as_true_labels(true_labels)
    matrix, names = _as_probabilities(probabilities, classes)
    _check_same_length(true_labels=len(truth), probabilities=len(matrix))
    correct = matrix.argmax(axis=1) == columns_of(truth, names)
    confidence = matrix.max(axis=1)
    bins = np.ceil(confidence * n_bins).astype(int)
    # A bin of m rows weighs m / n and its gap is |sum(correct) - sum(confidence)| / m.
    gaps = np.abs(np.bincount(bins, weights=correct - confidence))
    return float(gaps.sum() / len(matrix))


def covering_rate_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of predictions inside the candidate sets ``y``.

    Parameters
    ----------
    estimator : PartialLabelClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Features of held-out rows.
    y : CandidateLabels, or anything a method accepts as ``y``
        Their candidate sets.

    See Also
    --------
    approximated_accuracy_scorer : Rewards confident predictions inside large sets.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import covering_rate_scorer
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> search = GridSearchCV(
    ...     PLKNN(), {"n_neighbors": [1, 5]}, scoring=covering_rate_scorer, cv=2
    ... )
    >>> sorted(search.fit(data.X, data.candidates).best_params_)
    ['n_neighbors']
    """
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_)


def approximated_accuracy_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of the candidates' probability that goes to the predictions.

    Parameters
    ----------
    estimator : PartialLabelClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Features of held-out rows.
    y : CandidateLabels, or anything a method accepts as ``y``
        Their candidate sets.

    See Also
    --------
    covering_rate_scorer : Counts every prediction inside its set as one.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import approximated_accuracy_scorer
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> scores = cross_val_score(
    ...     PLKNN(), data.X, data.candidates, scoring=approximated_accuracy_scorer, cv=3
    ... )
    >>> scores.shape
    (3,)
    """
    return approximated_accuracy(y, estimator.predict_proba(X), classes=estimator.classes_)


def set_log_likelihood_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the mean logarithm of the probability given to the candidate sets ``y``.

    With plain labels as ``y`` it is scikit-learn's "neg_log_loss".

    Parameters
    ----------
    estimator : PartialLabelClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Features of held-out rows.
    y : CandidateLabels, or anything a method accepts as ``y``
        Their candidate sets.

    See Also
    --------
    covering_rate_scorer : Looks at predictions only.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from disambig import EMClassifier
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import set_log_likelihood_scorer
    >>> data = make_partial_label_dataset(60, 4, 3, random_state=0)
    >>> X, y = data.X, data.candidates
    >>> scores = cross_val_score(
    ...     EMClassifier(), X, y, scoring=set_log_likelihood_scorer, cv=3
    ... )
    >>> scores.shape
    (3,)
    """
    return set_log_likelihood(y, estimator.predict_proba(X), classes=estimator.classes_)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a fitted method predicted for held-out and training rows, and the truth about them.

    Attributes
    ----------
    true_labels : ndarray of labels
        True labels of the held-out rows.
    candidates : CandidateLabels
        Candidate sets of the held-out rows.
    predicted : ndarray of labels
        The most probable class of every held-out row.
    probabilities : ndarray of shape (n_samples, n_classes)
        Class probabilities of the held-out rows.
    classes : ndarray
        Names of the columns of ``probabilities``.
    train_labels : ndarray of labels
        True labels of the training rows.
    train_candidates : CandidateLabels
        Candidate sets of the training rows.
    disambiguated : ndarray of labels
        The most confident candidate of every training row.

    See Also
    --------
    Metric : Is computed from it.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import METRICS, Outcome
    >>> data = make_partial_label_dataset(60, 4, 3, overlap=0.1, random_state=0)
    >>> model = PLKNN().fit(data.X[:40], data.candidates[:40])
    >>> outcome = Outcome(
    ...     true_labels=data.true_labels[40:],
    ...     candidates=data.candidates[40:],
    ...     predicted=model.predict(data.X[40:]),
    ...     probabilities=model.predict_proba(data.X[40:]),
    ...     classes=model.classes_,
    ...     train_labels=data.true_labels[:40],
    ...     train_candidates=data.candidates[:40],
    ...     disambiguated=model.disambiguate(),
    ... )
    >>> METRICS["accuracy"].compute(outcome)
    1.0
    """

    true_labels: AnyArray
    candidates: CandidateLabels
    predicted: AnyArray
    probabilities: FloatArray
    classes: AnyArray
    train_labels: AnyArray
    train_candidates: CandidateLabels
    disambiguated: AnyArray


@dataclass(frozen=True)
class Metric:
    """How one metric is computed from an outcome, and how reports show it.

    Attributes
    ----------
    compute : callable
        Takes an ``Outcome`` and returns a number. A function at the top level of its module, so
        that its code can be told from that of other metrics.
    title : str
        What reports call it.
    lower_is_better : bool, default=False
        Whether small values are good.

    See Also
    --------
    Outcome : What it is computed from.

    Examples
    --------
    >>> from disambig.metrics import METRICS
    >>> METRICS["brier_score"].title, METRICS["brier_score"].lower_is_better
    ('Brier score', True)
    """

    compute: Callable[[Outcome], float]
    title: str
    lower_is_better: bool = False


def _accuracy(outcome: Outcome) -> float:
    return accuracy(outcome.true_labels, outcome.predicted)


def _transductive_accuracy(outcome: Outcome) -> float:
    return accuracy(outcome.train_labels, outcome.disambiguated)


def _covering_rate(outcome: Outcome) -> float:
    return covering_rate(outcome.candidates, outcome.predicted)


def _approximated_accuracy(outcome: Outcome) -> float:
    return approximated_accuracy(outcome.candidates, outcome.probabilities, classes=outcome.classes)


def _brier_score(outcome: Outcome) -> float:
    return brier_score(outcome.true_labels, outcome.probabilities, outcome.classes)


def _expected_calibration_error(outcome: Outcome) -> float:
    return expected_calibration_error(outcome.true_labels, outcome.probabilities, outcome.classes)


#: Every metric that studies compute, by name. One that is added here is known everywhere.
METRICS = {
    "accuracy": Metric(_accuracy, "accuracy"),
    "transductive_accuracy": Metric(_transductive_accuracy, "transductive accuracy"),
    "covering_rate": Metric(_covering_rate, "covering rate"),
    "approximated_accuracy": Metric(_approximated_accuracy, "approximated accuracy"),
    "brier_score": Metric(_brier_score, "Brier score", lower_is_better=True),
    "expected_calibration_error": Metric(
        _expected_calibration_error, "expected calibration error", lower_is_better=True
    ),
}


def direction(metric: str) -> int:
    """Return 1 where more is better, -1 where less is."""
    return -1 if METRICS[metric].lower_is_better else 1


def metric_title(metric: str) -> str:
    """Return the name of a metric as people write it."""
    return METRICS[metric].title
