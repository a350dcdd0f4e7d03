"""From scores of classes to confidences of candidates, and what candidates weigh before that."""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.groups import group_maxima, group_sums
from disambig._core.typing import FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels

__all__ = [
    "confidence_from_logits",
    "confidence_from_pairs",
    "confidence_from_scores",
    "relative_weights",
]


def relative_weights(candidates: CandidateLabels) -> FloatArray:
    """Return the weight of every candidate over the largest of its row; 1 where none were given.

    In the order of ``candidates.pairs()``.
    """
    rows, _ = candidates.pairs()
    shares: FloatArray = candidates.prior().data
    return shares / group_maxima(shares, candidates.starts)[rows]


def confidence_from_pairs(candidates: CandidateLabels, values: FloatArray) -> Sparse:
    """Return confidences given one by one in the order of ``candidates.pairs()``."""
    return sparse.csr_array((values, candidates.pairs()), shape=candidates.shape)


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
