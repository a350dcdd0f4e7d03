"""Metrics that need candidate sets only, so that choices can be made without true labels."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.typing import Label
from disambig.candidates.classes import as_list, known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.target import as_candidates
from disambig.metrics.checks import as_probabilities, check_same_length

__all__ = ["approximated_accuracy", "covering_rate"]


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
    check_same_length(candidate_sets=len(sets), predictions=len(guesses))
    return float(sets.contains(guesses).mean())


def approximated_accuracy(
    candidates: CandidateLabels,
    probabilities: Any,
    *,
    classes: Iterable[Label] | None = None,
) -> float:
    """Return how much of the candidates' probability the prediction holds, on average.

    A prediction outside its set counts zero; inside, it counts its probability divided by that
    of all the candidates. A confident prediction inside a large set is thus worth more than a
    hesitant one, which the covering rate cannot see.

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
    matrix, names = as_probabilities(probabilities, sets.classes if classes is None else classes)
    check_same_length(candidate_sets=len(sets), probabilities=len(matrix))
    best = matrix.argmax(axis=1)
    covered = sets.contains(names[best])
    rows, columns = sets.pairs()
    places = known_columns_of(sets.classes, names)[columns]
    inside = np.where(places >= 0, matrix[rows, places], 0)
    total_inside = np.bincount(rows, weights=inside, minlength=len(matrix))
    highest = matrix[np.arange(len(matrix)), best]
    # A covered prediction has a probability above zero, and so has its set.
    shares = np.divide(highest, total_inside, out=np.zeros(len(matrix)), where=covered)
    return float(shares.mean())
