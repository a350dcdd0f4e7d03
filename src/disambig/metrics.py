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
    """Return the share of predictions that are right."""
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
        The sets that were trained on.
    confidence : array or sparse array of shape (n_samples, n_classes)
        Confidence of every candidate, such as ``candidate_confidence_`` of a fitted method.
    """
    return accuracy(true_labels, candidates.choose(confidence))


def per_class_recall(
    true_labels: Iterable[Label], predicted: Iterable[Label]
) -> dict[Label, float]:
    """Return for every class that occurs the share of its rows that are predicted right."""
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
) -> float:
    """Return the share of predictions that are in the candidate set.

    On plain labels (sets of one) this is the accuracy; otherwise it is an upper bound of it
    wherever the true label is in the set.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    predicted : iterable of labels
        One prediction per row.
    classes : iterable of labels, optional
        Names of the columns, where ``candidates`` is a mask without names.
    """
    sets, guesses = as_candidates(candidates, classes=classes), as_list(predicted)
    _check_same_length(candidate_sets=len(sets), predictions=len(guesses))
    return float(sets.contains(guesses).mean())


def approximated_accuracy(
    candidates: CandidateLabels,
    probabilities: Any,
    *,
    classes: Iterable[Label] | None = None,
) -> float:
    """Return the mean share of the candidates' probability that goes to the prediction.

    A prediction outside its set counts zero; inside, it counts its probability divided by that
    of all the candidates. Unlike the covering rate, this rewards confident predictions inside
    large sets.

    Parameters
    ----------
    candidates : CandidateLabels, or anything a method accepts as ``y``
        Candidate sets of held-out rows.
    probabilities : array-like of shape (n_samples, n_columns)
        Predicted class probabilities.
    classes : iterable of labels, optional
        Names of the columns of ``probabilities``. By default those of ``candidates``.
    """
    sets = as_candidates(candidates, classes=classes)
    matrix, names = _as_probabilities(probabilities, sets.classes if classes is None else classes)
    _check_same_length(candidate_sets=len(sets), probabilities=len(matrix))
    best = matrix.argmax(axis=1)
    covered = sets.contains(names[best])
    rows, columns = sets.pairs()
    known = known_columns_of(sets.classes, names)[columns]
    of_candidates = np.where(known >= 0, matrix[rows, known], 0)
    total = np.bincount(rows, weights=of_candidates, minlength=len(matrix))
    highest = matrix[np.arange(len(matrix)), best]
    # A covered prediction has a probability above zero, and so has its set.
    shares = np.divide(highest, total, out=np.zeros(len(matrix)), where=covered)
    return float(shares.mean())


def brier_score(
    true_labels: Iterable[Label], probabilities: Any, classes: Iterable[Label]
) -> float:
    """Return the mean squared distance between the probabilities and the truth, from 0 to 2.

    Parameters
    ----------
    true_labels : iterable of labels
        The true label of every row.
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted class probabilities.
    classes : iterable of labels
        Names of the columns of ``probabilities``.
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
    """Return the mean gap between confidence and accuracy over bins of equal width.

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
    """Score by the share of predictions inside the candidate sets ``y``."""
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_)


def approximated_accuracy_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of the candidates' probability that goes to the predictions."""
    return approximated_accuracy(y, estimator.predict_proba(X), classes=estimator.classes_)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a fitted method predicted for held-out and training rows, and the truth about them.

    Attributes
    ----------
    true_labels, candidates
        Of the held-out rows.
    predicted : ndarray of labels
        The most probable class of every held-out row.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of the held-out rows.
    classes : ndarray
        Names of the columns of ``probabilities``.
    train_labels, train_candidates
        True labels and candidate sets of the training rows.
    disambiguated : ndarray of labels
        The most confident candidate of every training row.
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

    ``compute`` is a function at the top level of its module, so that its code can be told from
    that of other metrics.
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
