"""Rows with the same features whose candidate sets differ."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.candidates.labels import CandidateLabels

_ROWS_AT_A_TIME = 50_000
_CELLS_AT_A_TIME = 1_000_000
_ODD_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class RepeatedRows(NamedTuple):
    """Marks of rows that have the features of others: a group of rows."""

    differing: BoolArray  # the sets of the group differ, with a label common to all of them
    contradicting: BoolArray  # the sets of the group have no label in common


def find_repeated_rows(values: pd.DataFrame, candidates: CandidateLabels) -> RepeatedRows:
    """Compare the sets of all rows that have the same features: numbers, and strings or None."""
    rows, starts = _groups_of_several(_row_hashes(values))
    differing = np.zeros(len(values), dtype=bool)
    contradicting = np.zeros(len(values), dtype=bool)
    # A few groups at a time, because sets can be large.
    first_rows = np.arange(0, len(rows), _ROWS_AT_A_TIME)
    cuts = np.unique(np.append(np.searchsorted(starts[:-1], first_rows), len(starts) - 1))
    for first, last in pairwise(cuts.tolist()):
        members = rows[starts[first] : starts[last]]
        ends = starts[first : last + 1] - starts[first]
        all_same, some_common = _agreement(candidates[members], ends)
        sizes = np.diff(ends)
        differing[members] = np.repeat(~all_same & some_common, sizes)
        contradicting[members] = np.repeat(~some_common, sizes)
    return RepeatedRows(differing, contradicting)


def _agreement(candidates: CandidateLabels, ends: IntArray) -> tuple[BoolArray, BoolArray]:
    """Tell for every group of rows whether its sets are the same, and whether they overlap."""
    sizes = np.diff(ends)
    members = np.arange(len(candidates))
    groups = sparse.csr_array(
        (np.ones(len(members), dtype=np.int32), members, ends), shape=(len(sizes), len(members))
    )
    rows_with_label = groups @ candidates.to_sparse().astype(np.int32)
    most = np.maximum.reduceat(rows_with_label.data, rows_with_label.indptr[:-1])
    fewest = np.minimum.reduceat(rows_with_label.data, rows_with_label.indptr[:-1])
    return fewest == sizes, most == sizes


def _groups_of_several(hashes: AnyArray) -> tuple[IntArray, IntArray]:
    """Return the rows with a repeated hash, group by group, and where groups begin and end."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    group = np.cumsum(is_first) - 1
    sizes = np.bincount(group)
    several = sizes > 1
    return order[several[group]], np.append(0, np.cumsum(sizes[several]))


def _row_hashes(values: pd.DataFrame) -> AnyArray:
    # Some columns at a time: a copy of all of them would be as large as the table, and pandas
    # is slow with each by itself.
    hashes = np.zeros(len(values), dtype=np.uint64)
    width = max(1, _CELLS_AT_A_TIME // max(1, len(values)))
    for start in range(0, values.shape[1], width):
        for column in _hashed_columns(values.iloc[:, start : start + width]):
            hashes = hashes * _ODD_FACTOR + column
    return hashes


def _hashed_columns(some: pd.DataFrame) -> AnyArray:
    """Return the hashes of all cells, column by column."""
    hashes = np.empty(some.shape[::-1], dtype=np.uint64)
    of_numbers = np.array([pd.api.types.is_numeric_dtype(kind) for kind in some.dtypes])
    for chosen, kind in ((of_numbers, float), (~of_numbers, object)):
        cells = some.loc[:, chosen].to_numpy(dtype=kind).T
        if kind is float:
            # The hash compares bits, and zero and NaN have several representations.
            cells = np.where(np.isnan(cells), np.nan, cells + 0.0)
        hashes[chosen] = pd.util.hash_array(cells.ravel()).reshape(cells.shape)
    return hashes
