"""From scores of classes to confidences of candidates."""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.typing import FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels

__all__ = ["confidence_from_logits", "confidence_from_scores"]


def confidence_from_scores(candidates: CandidateLabels, scores: Any) -> Sparse:
    """Return scores (not negative) inside the candidate sets, rows summing to one.

    A row none of whose candidates has a score above zero keeps its prior.
    """
    prior = candidates.prior()
    rows, columns = candidates.pairs()
    inside = candidates.values_of(scores)
    totals = np.bincount(rows, weights=inside, minlength=len(candidates))[rows]
    shares = np.divide(inside, totals, out=prior.data.copy(), where=totals > 0)
    return sparse.csr_array((shares, (rows, columns)), shape=candidates.shape)


def confidence_from_logits(candidates: CandidateLabels, logits: FloatArray) -> Sparse:
    """Return the softmax of scores of any sign over the candidates of every row.

    The largest score of a row is taken out first, so that no row is lost to rounding.
    """
    rows, columns = candidates.pairs()
    inside = candidates.values_of(logits)
    starts = np.cumsum(candidates.sizes) - candidates.sizes
    powers = np.exp(inside - np.maximum.reduceat(inside, starts)[rows])
    shares = powers / np.add.reduceat(powers, starts)[rows]
    return sparse.csr_array((shares, (rows, columns)), shape=candidates.shape)
