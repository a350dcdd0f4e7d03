"""``ValuesOnDisk``: the features of a table on disk, read a column or a block of rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.fingerprint import fingerprint_of
from disambig._core.typing import IntArray
from disambig.tabular.columns.misfits import read_all
from disambig.tabular.columns.values import (
    ColumnPlan,
    PlannedColumn,
    column_values,
    value_names,
)
from disambig.tabular.files.table_on_disk import TableOnDisk


@dataclass(frozen=True, eq=False)
class ValuesOnDisk:
    """What ``column_values`` returns for a table on disk, all rows or some of them.

    Nothing is kept in memory: ``by_column`` and ``blocks`` read the file again.
    """

    table: TableOnDisk
    plan: ColumnPlan
    chosen: IntArray | None = None  # the numbers of the rows, which rise; all if None

    def __len__(self) -> int:
        return len(self.table) if self.chosen is None else len(self.chosen)

    @property
    def columns(self) -> list[str]:
        """The names of the values."""
        return [name for names in value_names(self.plan) for name in names]

    @property
    def fingerprint(self) -> str:
        """A hash of the files, of the plan and of which rows are read."""
        chosen = [] if self.chosen is None else [self.chosen]
        return fingerprint_of(self.table.fingerprint, self.plan.model_dump_json(), *chosen)

    def take(self, rows: IntArray) -> "ValuesOnDisk":
        """Return some of these rows, by their places, which rise."""
        if len(rows) == len(self):
            return self
        chosen = rows if self.chosen is None else self.chosen[rows]
        return ValuesOnDisk(self.table, self.plan, chosen)

    def by_column(self) -> Iterator[tuple[ColumnPlan, pd.DataFrame]]:
        """Yield the values of every column, in all rows, with a plan for this column alone."""
        for column in self.plan.columns:
            yield ColumnPlan(columns=(column,)), self._of_column(column)

    def _of_column(self, column: PlannedColumn) -> pd.DataFrame:
        cells = self.table[column.name]
        if self.chosen is not None:
            cells = cells.take(self.chosen)
        values: pd.DataFrame = column_values(cells.to_frame(), ColumnPlan(columns=(column,)))
        return values

    def blocks(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the values of all columns, some rows at a time, each time with the first place."""
        done = 0
        for start, frame in self.table.blocks(self.plan.names):
            if self.chosen is not None:
                stop = np.searchsorted(self.chosen, start + len(frame))
                frame = frame.take(self.chosen[done:stop] - start)
            if len(frame):
                yield done, self.of_block(frame)
            done += len(frame)

    def of_block(self, frame: Any) -> pd.DataFrame:
        """Return the values of some rows that were read; errors name rows of the whole table."""
        try:
            values: pd.DataFrame = column_values(frame, self.plan)
        except TableError:
            # Read once more, column by column: that happens once, and rows count from the start.
            read_all(partial(self._of_column, column) for column in self.plan.columns)
            raise
        return values

    def frame(self) -> pd.DataFrame:
        """Return the values of all columns and rows; of few rows only these are read."""
        if self.chosen is None:
            return pd.concat([values for _, values in self.blocks()], ignore_index=True)
        frame = self.table.take(self.chosen, self.plan.names)
        values: pd.DataFrame = column_values(frame, self.plan)
        return values


# What a task knows of its rows: in memory, or on disk.
Values: TypeAlias = pd.DataFrame | ValuesOnDisk


def values_in_memory(values: Values) -> Any:
    """Return values as a data frame, those on disk read."""
    return values.frame() if isinstance(values, ValuesOnDisk) else values
