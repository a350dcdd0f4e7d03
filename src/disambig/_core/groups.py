"""Largest values of groups that follow each other in one array, such as candidates of rows."""

import numpy as np

from disambig._core.typing import AnyArray, IntArray

__all__ = ["first_largest", "group_maxima"]


def group_maxima(values: AnyArray, starts: IntArray) -> AnyArray:
    """Return the largest value of every group; ``starts`` says where groups begin, none empty."""
    # reduceat refuses to reduce nothing.
    return np.maximum.reduceat(values, starts) if len(values) else values


def first_largest(values: AnyArray, starts: IntArray) -> IntArray:
    """Return where the largest value of every group is; ties go to the first."""
    sizes = np.diff(starts, append=len(values))
    largest = np.flatnonzero(values == np.repeat(group_maxima(values, starts), sizes))
    return largest[np.searchsorted(largest, starts)]
