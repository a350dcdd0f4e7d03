"""Metrics that compare predictions with true labels: for evaluation only, never for a choice."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.typing import Label
from disambig.candidates.classes import as_list
from disambig.candidates.labels import CandidateLabels
from disambig.metrics.checks import as_true_labels, check_same_length

__all__ = ["accuracy", "per_class_recall", "transductive_accuracy"]


def accuracy(true_labels: Iterable[Label], predicted: Iterable[Label]) -> float:
    """Return the share of predictions that are right."""
    truth, guesses = as_true_labels(true_labels), as_list(predicted)
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
        The sets that were trained on.
    confidence : array or sparse array of shape (n_samples, n_classes)
        Confidence of every candidate, such as ``candidate_confidence_`` of a fitted method.
    """
    return accuracy(true_labels, candidates.choose(confidence))


def per_class_recall(
    true_labels: Iterable[Label], predicted: Iterable[Label]
) -> dict[Label, float]:
    """Return for every class that occurs the share of its rows that are predicted right."""
    truth, guesses = as_true_labels(true_labels), as_list(predicted)
    check_same_length(true_labels=len(truth), predictions=len(guesses))
    hits: dict[Label, list[bool]] = {}
    for true_label, guess in zip(truth, guesses, strict=True):
        hits.setdefault(true_label, []).append(true_label == guess)
    return {label: float(np.mean(found)) for label, found in sorted(hits.items())}
