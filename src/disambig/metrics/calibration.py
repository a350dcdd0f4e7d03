"""How far predicted probabilities can be believed, measured on true labels."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.parameters import check_integer
from disambig._core.typing import Label
from disambig.candidates.classes import columns_of
from disambig.metrics.checks import as_probabilities, as_true_labels, check_same_length

__all__ = ["brier_score", "expected_calibration_error"]


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
    truth = as_true_labels(true_labels)
    matrix, names = as_probabilities(probabilities, classes)
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
    truth = as_true_labels(true_labels)
    matrix, names = as_probabilities(probabilities, classes)
    check_same_length(true_labels=len(truth), probabilities=len(matrix))
    correct = matrix.argmax(axis=1) == columns_of(truth, names)
    confidence = matrix.max(axis=1)
    bins = np.ceil(confidence * n_bins).astype(int)
    # A bin of m rows weighs m / n and its gap is |sum(correct) - sum(confidence)| / m.
    gaps = np.abs(np.bincount(bins, weights=correct - confidence))
    return float(gaps.sum() / len(matrix))
