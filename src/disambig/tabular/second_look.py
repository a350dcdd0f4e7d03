"""Which rows are worth a second look, going by how sure one is of their labels."""

import numpy as np

from disambig._core.typing import BoolArray, FloatArray

# Below this share of doubt nobody would look twice, whatever the other rows are like.
_LEAST_DOUBT = 1e-3


def second_look(confidence: FloatArray, errors_to_find: float) -> BoolArray:
    """Mark the least sure rows that together hold a share of the expected errors.

    A label of confidence c is expected to be wrong with probability 1 - c, so no true label is
    needed. Rows as sure as the last one marked are marked too.
    """
    doubt = 1 - confidence
    falling = np.sort(doubt)[::-1]
    found = np.cumsum(falling)
    if errors_to_find == 0 or found[-1] <= 0:
        return np.zeros(len(doubt), dtype=bool)
    # Less a rounding, so that all of the errors never ask for the rows without any.
    last = np.searchsorted(found, errors_to_find * found[-1] * (1 - 1e-12))
    marked: BoolArray = doubt >= max(falling[last], _LEAST_DOUBT)
    return marked
