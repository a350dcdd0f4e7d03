"""All rows of a table, as they are compared: the sure ones first, label by label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from disambig._core.typing import FloatArray, IntArray
from disambig.tabular.reasons.column_weights import WeighedColumn
from disambig.tabular.reasons.comparable_columns import CategoryColumn, NumberColumn
from disambig.tabular.reasons.sure_rows import SureRows


@dataclass(frozen=True, eq=False)
class ArrangedRows:
    """Rows in an order in which those of a label are one slice.

    Attributes
    ----------
    sure : SureRows
        The sure rows, which come first.
    place : ndarray of shape (n_rows,)
        Where every row of the table is in this order.
    number_names : list of str
        The columns of numbers.
    numbers : ndarray of shape (n_rows, n_number_columns)
        Their places from 0 to 1, NaN where there is a gap.
    number_weights : ndarray of shape (n_number_columns,)
        How much a distance in each counts.
    others : list of WeighedColumn
        Categories and texts.
    """

    sure: SureRows
    place: IntArray
    number_names: list[str]
    numbers: FloatArray
    number_weights: FloatArray
    others: list[WeighedColumn]

    @classmethod
    def of(cls, columns: Sequence[WeighedColumn], sure: SureRows, n_rows: int) -> Self:
        """Arrange the rows of columns."""
        is_sure = np.zeros(n_rows, dtype=bool)
        is_sure[sure.rows] = True
        order = np.concatenate([sure.rows, np.flatnonzero(~is_sure)])
        place = np.empty(n_rows, dtype=np.int64)
        place[order] = np.arange(n_rows)
        numbers = [each.column for each in columns if isinstance(each.column, NumberColumn)]
        others = [each for each in columns if not isinstance(each.column, NumberColumn)]
        # Side by side: most columns are numbers, and one pass compares them all.
        matrix = np.empty((n_rows, len(numbers)), dtype=np.float32)
        for at, column in enumerate(numbers):
            matrix[:, at] = column.places[order]
        weights = [each.weight for each in columns if isinstance(each.column, NumberColumn)]
        return cls(
            sure,
            place,
            [column.name for column in numbers],
            matrix,
            np.array(weights, dtype=np.float32),
            [replace(each, column=each.column.take(order)) for each in others],
        )

    @property
    def categories(self) -> list[CategoryColumn]:
        """The columns of categories."""
        return [each.column for each in self.others if isinstance(each.column, CategoryColumn)]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.number_names) + len(self.others)
