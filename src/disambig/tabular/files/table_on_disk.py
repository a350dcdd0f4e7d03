"""``TableOnDisk``: Parquet of any size, used like a data frame and read as it is needed."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from disambig._core.errors import DatasetNotFoundError, TableError, import_extra
from disambig._core.typing import IntArray
from disambig.tabular.defaults import ARROW_TYPES
from disambig.tabular.files.content import check_folder
from disambig.tabular.files.formats import check_names

ROWS_AT_A_TIME = 100_000
_CELLS_AT_A_TIME = 10_000_000


class TableOnDisk:
    """A table in Parquet that stays on disk.

    It is used like a data frame by ``audit_table``, ``fit_table`` and ``clean_table``: it has
    ``columns``, a length, and ``table["size"]`` reads one column. Nothing else is in memory. Models
    predict its ``blocks`` of rows.

    Parameters
    ----------
    path : path
        A ``.parquet`` file, or a folder of such files: all of them are one table, in the order of
        their names. Folders in it may be called ``country=fr``, which is then a column.

    Attributes
    ----------
    path : Path
        Where it is.
    columns : Index
        The names of the columns.
    memory : int
        About how many bytes a data frame of it would take.

    See Also
    --------
    read_table : Reads a table into memory.
    fit_table : Takes it in place of a data frame.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from disambig.tabular import TableOnDisk, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in range(2):
    ...         part = pd.DataFrame({"size": [number, number + 0.5]})
    ...         write_table(part, Path(folder, f"part-{number}.parquet"))
    ...     table = TableOnDisk(folder)
    ...     sizes = table["size"].tolist()
    >>> len(table), sizes
    (4, [0.0, 0.5, 1.0, 1.5])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import_extra("pyarrow.dataset", extra="parquet")
        # slow to import, and not always there
        from disambig.tabular.files.arrow_frames import frame_of
        from disambig.tabular.files.parquet_pieces import ParquetPieces

        self.path = Path(path)
        if not self.path.exists():
            raise DatasetNotFoundError(f"There is no file or folder {path}. Check the path.")
        check_folder(self.path)
        self._pieces: ParquetPieces = ParquetPieces.open(self.path)
        empty = frame_of(self._pieces.schema.empty_table())
        self.columns = pd.Index(check_names(empty.columns, str(path)))
        # An index of pandas without a name gets one, or is left out if it only counts rows.
        in_file = self._pieces.schema.names
        renamed = [name for name in self.columns if name not in in_file]
        indexes = [name for name in in_file if name not in empty.columns]
        self._stored = dict(zip(renamed, indexes, strict=False))
        self.attrs: dict[str, Any] = {}
        if not len(self):
            raise TableError(f"{path} needs at least one row. It has columns only.")

    def __len__(self) -> int:
        return self._pieces.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def drop(self, *, columns: Sequence[str]) -> "TableOnDisk":
        """Return the same table without some columns; nothing is read."""
        return self._with_columns([name for name in self.columns if name not in set(columns)])

    def _with_columns(self, names: Sequence[str]) -> "TableOnDisk":
        some = object.__new__(type(self))
        some.__dict__.update(self.__dict__)
        some.columns = pd.Index(names)
        return some

    def __getitem__(self, name: Any) -> Any:
        """Return a column, with every text of it once in memory; of several names, the table."""
        if not isinstance(name, str):
            return self._with_columns(list(name))
        if name not in self.columns:
            raise KeyError(name)
        # slow to import, and not always there
        import pyarrow as pa

        kind = self._pieces.schema.field(self._stored.get(name, name)).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._texts(name)
        return self.rows(0, len(self), [name])[name]

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens it again, and reads what it needs.
        return _opened, (self.path, list(self.columns))

    @property
    def memory(self) -> int:
        """About how many bytes a data frame of it would take."""
        return self._pieces.memory

    @property
    def fingerprint(self) -> str:
        """A hash of its files: their names, sizes, times, footers and columns."""
        return self._pieces.fingerprint

    def arrow_types(self) -> dict[str, Any]:
        """Return the type of every column, as Arrow has it."""
        return {
            name: self._pieces.schema.field(self._stored.get(name, name)).type
            for name in self.columns
        }

    def to_frame(self) -> pd.DataFrame:
        """Return all of it as a data frame."""
        return self.rows(0, len(self))

    def rows(self, start: int, stop: int, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows from ``start`` to ``stop``, with all columns or some of them."""
        names = list(self.columns) if columns is None else list(columns)
        stored = [self._stored.get(name, name) for name in names]
        return self._named(self._pieces.frame(stored, start, stop), names)

    def _named(self, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
        # Without all columns of an index, pandas takes it for a column, by the name in the file.
        return frame.rename(columns={name: new for new, name in self._stored.items()})[names]

    def blocks(
        self, columns: Sequence[str] | None = None, *, n_rows: int | None = None
    ) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield all rows in order, some at a time, each time with the number of the first.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns to read; by default all.
        n_rows : int, optional
            How many rows at a time; by default fewer of many columns.
        """
        n_columns = max(1, len(self.columns if columns is None else columns))
        n_rows = n_rows or max(1, min(ROWS_AT_A_TIME, _CELLS_AT_A_TIME // n_columns))
        names = list(self.columns if columns is None else columns)
        stored = [self._stored.get(name, name) for name in names]
        for start, read in self._pieces.frames(stored, n_rows):
            block = self._named(read, names)
            block.attrs.update({**self.attrs, ARROW_TYPES: self.arrow_types()})
            yield start, block

    def sample(self, n_rows: int, n_runs: int = 20) -> IntArray:
        """Return the numbers of so many rows: runs of neighbours, from all parts of the table."""
        if n_rows >= len(self):
            return np.arange(len(self))
        length = n_rows // n_runs
        starts = np.linspace(0, len(self) - length, n_runs).astype(np.int64)
        return np.unique((starts[:, np.newaxis] + np.arange(length)).ravel())

    def take(self, rows: IntArray, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return rows by their numbers, which rise."""
        if not len(rows):
            return self.rows(0, 0, columns)
        ends = np.flatnonzero(np.diff(rows) > 1) + 1
        runs = pairwise([0, *ends.tolist(), len(rows)])
        parts = [
            self.rows(int(rows[first]), int(rows[last - 1]) + 1, columns)
            for first, last in runs
            if last > first
        ]
        return pd.concat(parts, ignore_index=True)

    def _texts(self, name: str) -> "pd.Series[Any]":
        number_of: dict[str | None, int] = {None: 0}
        codes = np.empty(len(self), dtype=np.int32)
        for start, batch in self._pieces.batches([self._stored.get(name, name)]):
            encoded = batch.column(0).dictionary_encode(null_encoding="encode")
            texts = encoded.dictionary.to_pylist()
            numbers = np.array([number_of.setdefault(text, len(number_of)) for text in texts])
            codes[start : start + batch.num_rows] = numbers[encoded.indices.to_numpy()]
        texts_by_number = np.empty(len(number_of), dtype=object)
        texts_by_number[:] = list(number_of)
        return pd.Series(texts_by_number[codes], name=name, dtype=object)


def _opened(path: Path, columns: Sequence[str]) -> TableOnDisk:
    table: TableOnDisk = TableOnDisk(path)[columns]
    return table


# What commands and functions take as a table.
Table: TypeAlias = pd.DataFrame | TableOnDisk
