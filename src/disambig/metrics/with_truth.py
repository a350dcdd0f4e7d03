"""Metrics that need true labels."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer, check_same_length
from disambig._core.typing import Label
from disambig.candidates.checks import (
    as_list,
    check_probabilities,
    columns_of,
    is_missing,
)
from disambig.candidates.labels import CandidateLabels


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
    check_same_length(true_labels=len(truth), predictions=len(guesses))
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
    check_same_length(true_labels=len(truth), predictions=len(guesses))
    hits: dict[Label, list[bool]] = {}
    for true_label, guess in zip(truth, guesses, strict=True):
        hits.setdefault(true_label, []).append(true_label == guess)
    return {label: float(np.mean(found)) for label, found in sorted(hits.items())}


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
    matrix, names = check_probabilities(probabilities, classes)
    check_same_length(true_labels=len(truth), probabilities=len(matrix))
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
    matrix, names = check_probabilities(probabilities, classes)
    check_same_length(true_labels=len(truth), probabilities=len(matrix))
    correct = matrix.argmax(axis=1) == columns_of(truth, names)
    confidence = matrix.max(axis=1)
    bins = np.ceil(confidence * n_bins).astype(int)
    # A bin of m rows weighs m / n and its gap is |sum(correct) - sum(confidence)| / m.
    gaps = np.abs(np.bincount(bins, weights=correct - confidence))
    return float(gaps.sum() / len(matrix))


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
