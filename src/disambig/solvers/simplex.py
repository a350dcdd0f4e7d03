"""The nearest distribution: projection on the simplex, row by row."""

import numpy as np

from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.storage import group_maxima, group_sums

__all__ = ["project_groups_on_simplex", "project_rows_on_simplex"]


def project_groups_on_simplex(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the nearest values that are not negative and sum to one in every group.

    Such values are ``max(value - threshold, 0)`` with one threshold a group. It is found by
    Michelot's rounds: take the threshold that all values left would need, drop those below it,
    until none is. That ends after at most as many rounds as the largest group has members.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Group after group, such as the candidates of row after row.
    starts : ndarray of shape (n_groups,)
        Where every group begins; none is empty.
    """
    sizes = np.diff(starts, append=len(values))
    # Below the largest of its group no value is lost to rounding, and the largest always stays.
    below = values - np.repeat(group_maxima(values, starts), sizes)
    kept = np.ones(len(values), dtype=bool)
    while True:
        totals = group_sums(np.where(kept, below, 0), starts)
        thresholds = (totals - 1) / group_sums(kept.astype(np.intp), starts)
        above = below - np.repeat(thresholds, sizes)
        left = kept & (above > 0)
        if np.array_equal(left, kept):
            return np.where(kept, above, 0)
        kept = left


def project_rows_on_simplex(rows: FloatArray) -> FloatArray:
    """Return the distribution nearest to every row of an array; the order of entries is kept."""
    starts = np.arange(0, rows.size, rows.shape[1])
    return project_groups_on_simplex(rows.ravel(), starts).reshape(rows.shape)
