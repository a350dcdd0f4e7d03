"""Sums and largest values of groups that follow each other in one array: candidates of rows."""

import numpy as np

from disambig._core.typing import AnyArray, IntArray

__all__ = ["first_largest", "group_maxima", "group_sums"]


def group_sums(values: AnyArray, starts: IntArray) -> AnyArray:
    """Return the sum of every group; ``starts`` says where groups begin, none is empty."""
    return np.add.reduceat(values, starts)


def group_maxima(values: AnyArray, starts: IntArray) -> AnyArray:
    """Return the largest value of every group, as ``group_sums`` does sums."""
    return np.maximum.reduceat(values, starts)


def first_largest(values: AnyArray, starts: IntArray) -> IntArray:
    """Return where the largest value of every group is; ties go to the first."""
    sizes = np.diff(starts, append=len(values))
    largest = np.flatnonzero(values == np.repeat(group_maxima(values, starts), sizes))
    return largest[np.searchsorted(largest, starts)]
