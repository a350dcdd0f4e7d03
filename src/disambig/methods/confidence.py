"""From scores of classes to confidences of candidates."""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.typing import Sparse
from disambig.candidates.labels import CandidateLabels

__all__ = ["confidence_from_scores"]


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
