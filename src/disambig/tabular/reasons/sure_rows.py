"""Which rows of a cleaned table have labels that are sure enough to compare others with."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from disambig._core.typing import BoolArray, IntArray
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.decisions import Answer

# Decisions that take the mark for a second look from a row, and leave its label as doubtful.
_SAY_NOTHING = [Answer.CANNOT_TELL.value, Answer.BAD_ROW.value]
# A label with so many rows needs no less sure ones beside them.
_ENOUGH = 30
_SURE = 0.95
_LIKELIER_THAN_NOT = 0.5
_MOST_ROWS = 100_000
# Of a label with fewer rows all are kept.
_FEW = 1_000


@dataclass(frozen=True, eq=False)
class SureRows:
    """The rows whose labels are sure, those of a label side by side, in the order of the table.

    Attributes
    ----------
    rows : ndarray of shape (n_sure,)
        Their positions in the table.
    labels : ndarray of shape (n_sure,)
        Index of the class of each.
    """

    rows: IntArray
    labels: IntArray

    def of(self, label: int) -> slice:
        """Return where the rows of a label are."""
        first, last = np.searchsorted(self.labels, [label, label + 1]).tolist()
        return slice(first, last)


def sure_rows(cleaned: CleanedTable, *, held_back: Collection[int] = ()) -> SureRows:
    """Return the rows whose labels are sure, evenly spaced ones of a label if there are too many.

    These are the rows with one candidate or with confidence 1, such as those that a person has
    settled, unless the set probably misses the right label. A label that has few of these also
    takes rows of confidence .95 and more; if it has few still, all that need no second look, since
    by the meaning of that mark hardly any of them are wrong; and last whatever has one candidate.
    Rows that a person could not tell or called bad are never among them, nor are those held back.
    """
    is_sure = np.zeros(len(cleaned.chosen), dtype=bool)
    for tier in _tiers(cleaned):
        counts = np.bincount(cleaned.chosen[is_sure], minlength=len(cleaned.candidates.classes))
        is_sure |= tier & (counts < _ENOUGH)[cleaned.chosen]
    if cleaned.decision is not None:
        is_sure &= ~np.isin(cleaned.decision, _SAY_NOTHING)
    is_sure[list(held_back)] = False
    rows = np.flatnonzero(is_sure)
    rows = rows[np.argsort(cleaned.chosen[rows], kind="stable")]
    labels = cleaned.chosen[rows]
    counts = np.bincount(labels, minlength=1)
    place = np.arange(len(rows)) - (np.cumsum(counts) - counts)[labels]
    kept = (counts[labels] <= _FEW) | (place % max(1, -(-len(rows) // _MOST_ROWS)) == 0)
    return SureRows(rows[kept], labels[kept])


def _tiers(cleaned: CleanedTable) -> tuple[BoolArray, ...]:
    """Return which rows are surest, which are next, and so on."""
    confidence, unmarked = cleaned.confidence, ~cleaned.second_look
    single = cleaned.candidates.sizes == 1
    return (
        (single | (confidence >= 1)) & ~cleaned.set_may_miss,
        unmarked & (confidence >= _SURE),
        unmarked & (confidence > _LIKELIER_THAN_NOT),
        single,
    )
