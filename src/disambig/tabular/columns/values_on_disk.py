"""``ValuesOnDisk``: the features of a table on disk, read a column or a block of rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.fingerprint import file_state, fingerprint_of
from disambig._core.typing import AnyArray, IntArray
from disambig.tabular.columns.misfits import read_all
from disambig.tabular.columns.values import (
    ColumnPlan,
    PlannedColumn,
    column_values,
    embedding_names,
    value_names,
)
from disambig.tabular.files.table_on_disk import TableOnDisk

_NUMBERS_AT_A_TIME = 20_000_000


@dataclass(frozen=True, eq=False)
class ValuesOnDisk:
    """What ``column_values`` returns for a table on disk, all rows or some of them.

    Nothing is kept in memory: ``by_column`` and ``blocks`` read the file again.
    """

    table: TableOnDisk
    plan: ColumnPlan
    chosen: IntArray | None = None  # the numbers of the rows, which rise; all if None
    embeddings: AnyArray | None = None  # numbers of all rows of the table, mapped from a file

    def __len__(self) -> int:
        return len(self.table) if self.chosen is None else len(self.chosen)

    @property
    def columns(self) -> list[str]:
        """The names of the values."""
        of_columns = [name for names in value_names(self.plan) for name in names]
        return [*of_columns, *embedding_names(self.plan)]

    @property
    def fingerprint(self) -> str:
        """A hash of the files, of the plan and of which rows are read."""
        parts: list[Any] = [self.table.fingerprint, self.plan.model_dump_json()]
        if self.embeddings is not None:
            parts += [_state_of(self.embeddings)]
        return fingerprint_of(*parts, *([] if self.chosen is None else [self.chosen]))

    def __reduce__(self) -> tuple[Any, ...]:
        # Mapped numbers would be copied to another process: it maps them itself.
        found = _file_of(self.embeddings) or self.embeddings
        return _made, (self.table, self.plan, self.chosen, found)

    def take(self, rows: IntArray) -> "ValuesOnDisk":
        """Return some of these rows, by their places, which rise."""
        if len(rows) == len(self):
            return self
        chosen = rows if self.chosen is None else self.chosen[rows]
        return ValuesOnDisk(self.table, self.plan, chosen, self.embeddings)

    def by_column(self) -> Iterator[tuple[ColumnPlan, pd.DataFrame]]:
        """Yield the values of every column, in all rows, with a plan for this column alone."""
        for column in self.plan.columns:
            yield ColumnPlan(columns=(column,)), self._of_column(column)
        if self.embeddings is None:
            return
        # Some at a time: as doubles, with what is computed from them, they take many times as much.
        at_once = max(1, _NUMBERS_AT_A_TIME // len(self))
        for first in range(0, self.plan.embeddings, at_once):
            some: AnyArray = self.embeddings[:, first : first + at_once]
            some = np.array(some if self.chosen is None else some[self.chosen])
            plan = ColumnPlan(columns=(), embeddings=some.shape[1])
            yield plan, pd.DataFrame(some, columns=embedding_names(plan), copy=False)

    def _embeddings_of(self, start: int, stop: int) -> AnyArray | None:
        if self.embeddings is None:
            return None
        rows = slice(start, stop) if self.chosen is None else self.chosen[start:stop]
        return np.array(self.embeddings[rows])

    def _of_column(self, column: PlannedColumn) -> pd.DataFrame:
        cells = self.table[column.name]
        if self.chosen is not None:
            cells = cells.take(self.chosen)
        values: pd.DataFrame = column_values(cells.to_frame(), ColumnPlan(columns=(column,)))
        return values

    def blocks(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the values of all columns, some rows at a time, each time with the first place."""
        done = 0
        # Of embeddings alone any column says how many rows there are.
        for start, frame in self.table.blocks(self.plan.names or list(self.table.columns[:1])):
            if self.chosen is not None:
                stop = np.searchsorted(self.chosen, start + len(frame))
                frame = frame.take(self.chosen[done:stop] - start)
            if len(frame):
                yield done, self.of_block(frame, done)
            done += len(frame)

    def of_block(self, frame: Any, place: int) -> pd.DataFrame:
        """Return the values of rows that were read, the first of which has this place.

        Errors name rows of the whole table.
        """
        try:
            values: pd.DataFrame = column_values(
                frame, self.plan, embeddings=self._embeddings_of(place, place + len(frame))
            )
        except TableError:
            # Read once more, column by column: that happens once, and rows count from the start.
            read_all(partial(self._of_column, column) for column in self.plan.columns)
            raise
        return values

    def frame(self) -> pd.DataFrame:
        """Return the values of all columns and rows; of few rows only these are read."""
        if self.chosen is None:
            return pd.concat([values for _, values in self.blocks()], ignore_index=True)
        frame = self.table.take(self.chosen, self.plan.names or list(self.table.columns[:1]))
        values: pd.DataFrame = column_values(
            frame, self.plan, embeddings=self._embeddings_of(0, len(self))
        )
        return values


def _made(
    table: TableOnDisk, plan: ColumnPlan, chosen: IntArray | None, found: AnyArray | Path | None
) -> ValuesOnDisk:
    embeddings = np.load(found, mmap_mode="r") if isinstance(found, Path) else found
    return ValuesOnDisk(table, plan, chosen, embeddings)


def _state_of(embeddings: AnyArray) -> Any:
    """Return what tells embeddings from others: the state of their file, or all of them."""
    path = _file_of(embeddings)
    return embeddings if path is None else file_state(path)


def _file_of(embeddings: AnyArray | None) -> Path | None:
    """Return the file that ``numpy.load`` has mapped these from, unless they are a part of it."""
    path = getattr(embeddings, "filename", None)
    is_whole = isinstance(getattr(embeddings, "base", None), mmap)
    return Path(path) if path is not None and is_whole and Path(path).suffix == ".npy" else None


# What a task knows of its rows: in memory, or on disk.
Values: TypeAlias = pd.DataFrame | ValuesOnDisk


def values_in_memory(values: Values) -> Any:
    """Return values as a data frame, those on disk read."""
    return values.frame() if isinstance(values, ValuesOnDisk) else values
