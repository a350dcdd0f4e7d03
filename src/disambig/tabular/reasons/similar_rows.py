"""The sure rows that are most similar to a row, label by label, and how alike they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from disambig._core.typing import FloatArray
from disambig.tabular.reasons.arranged_rows import ArrangedRows
from disambig.tabular.reasons.comparable_columns import gap_aware_squares

PER_LABEL = 3
MOST_SIMILAR = 9


class SimilarRow(NamedTuple):
    """A row whose label is sure, and how alike it is: 1 is equal, 0 no more than any two rows."""

    row: int  # position in the table
    label: int  # index of its class
    likeness: float


def similar_rows(rows: ArrangedRows, row: int, labels: Sequence[int]) -> list[SimilarRow]:
    """Return the sure rows most similar to a row, the most similar first, never the row itself.

    First the most similar one of every label is taken, then the second of every label, and so on,
    up to so many in all; the first labels come first. The likeness of two rows is 1 less their
    squared distance, where rows drawn at random are 1 apart on average, and never below 0.
    """
    if not rows.n_columns:
        return []
    by_label = [_nearest(rows, row, label) for label in labels[:MOST_SIMILAR]]
    in_turn = [
        of_label[place]
        for place in range(PER_LABEL)
        for of_label in by_label
        if place < len(of_label)
    ]
    return sorted(in_turn[:MOST_SIMILAR], key=lambda one: (-one.likeness, one.row))


def _nearest(rows: ArrangedRows, row: int, label: int) -> list[SimilarRow]:
    where = rows.sure.of(label)
    of_label = rows.sure.rows[where]
    apart = _distances(rows, where, int(rows.place[row]))
    apart[of_label == row] = np.inf
    n_wanted = min(PER_LABEL, int((of_label != row).sum()))
    if not n_wanted:
        return []
    farthest = np.partition(apart, n_wanted - 1)[n_wanted - 1]
    near = np.flatnonzero(apart <= farthest)
    # Of equally near ones the first in the table.
    near = near[np.argsort(apart[near], kind="stable")[:n_wanted]]
    return [
        SimilarRow(int(of_label[place]), label, max(0.0, 1 - float(apart[place])))
        for place in near.tolist()
    ]


def _distances(rows: ArrangedRows, some: slice, other: int) -> FloatArray:
    """Return how far rows are from another one, squared; all are places in the arrangement."""
    distances: FloatArray = (
        gap_aware_squares(rows.numbers[some], rows.numbers[other]) @ rows.number_weights
    )
    for each in rows.others:
        distances = distances + each.weight * each.column.apart(some, other)
    return distances
