"""Parquet that is not read at once: a file or a folder of files, as the row groups in them."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from disambig._core.errors import TableError
from disambig._core.fingerprint import file_state, fingerprint_of
from disambig._core.messages import join_names, row_name
from disambig._core.typing import IntArray
from disambig.tabular.files.arrow_frames import bytes_of_value, frame_of, is_text
from disambig.tabular.files.content import parquet_files
from disambig.tabular.files.formats import check_names

_ROWS_AT_A_TIME = 1 << 16
_PARTITIONING = "hive"  # folders called country=fr hold the rows of that country


@dataclass(frozen=True, eq=False)
class ParquetPieces:
    """The row groups of Parquet files of one table, in the order of the names of the files."""

    path: Path
    schema: Any  # of all files together, with the columns that the names of folders say
    pieces: Sequence[Any]  # fragments of a dataset, a row group each
    starts: IntArray  # the number of the first row of every piece, and of all rows
    fingerprint: str  # of the names, sizes, times and footers of the files
    memory: int  # bytes that a data frame of all rows would take, about

    @classmethod
    def open(cls, path: Path) -> "ParquetPieces":
        """Read the footers of all files; refuse files that do not belong to one table."""
        files = parquet_files(path)
        try:
            return _opened(path, files)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise damaged(path, error) from error

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.starts[-1])

    def batches(
        self, columns: Sequence[str], start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield the rows from ``start`` to ``stop`` as record batches, each with its first row."""
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        first = max(int(np.searchsorted(self.starts, start, side="right")) - 1, 0)
        for place in range(first, len(self.pieces)):
            if self.starts[place] >= stop:
                return
            yield from self._of_piece(place, list(columns), start, stop)

    def frame(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Any:
        """Return rows as a data frame, with the index of pandas as its first columns."""
        names = self.schema.names if columns is None else list(columns)
        return self._frame_of([batch for _, batch in self.batches(names, start, stop)], names)

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[int, Any]]:
        """Yield all rows as data frames of so many, each with its first row; read only once."""
        held: list[Any] = []
        first = n_held = 0
        for _, batch in self.batches(columns):
            while n_held + batch.num_rows >= n_rows:
                held.append(batch.slice(0, n_rows - n_held))
                batch = batch.slice(n_rows - n_held)
                yield first, self._frame_of(held, columns)
                held, first, n_held = [], first + n_rows, 0
            if batch.num_rows:
                held.append(batch)
                n_held += batch.num_rows
        if held:
            yield first, self._frame_of(held, columns)

    def _frame_of(self, batches: Sequence[Any], names: Sequence[str]) -> Any:
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
        return frame_of(
            pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
        )

    def _of_piece(
        self, place: int, columns: list[str], start: int, stop: int
    ) -> Iterator[tuple[int, Any]]:
        row = int(self.starts[place])
        read = self.pieces[place].to_batches(
            schema=self.schema,
            columns=columns,
            batch_size=_ROWS_AT_A_TIME,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, pre_buffer=False
            ),
            use_threads=False,
        )
        try:
            for batch in read:
                before, after = max(start - row, 0), min(stop - row, batch.num_rows)
                if before < after:
                    part = batch.slice(before, after - before)
                    _check_text(self.path, part, row + before)
                    yield row + before, part
                row += batch.num_rows
                if row >= stop:
                    return
            if row != self.starts[place + 1]:
                raise pa.ArrowInvalid("a row group has fewer rows than it claims")
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise damaged(self.path, error) from error


def damaged(path: Path, error: Exception) -> TableError:
    """Return the error that something is not a table in Parquet."""
    return TableError(
        f"{path} is damaged, or not a Parquet file: {error}. Write it again, or name its format by "
        "--format (in Python format=)."
    )


def _opened(path: Path, files: Sequence[Path]) -> ParquetPieces:
    schemas = []
    digest = hashlib.sha256()
    for file in files:
        schemas.append(pq.read_schema(file))
        digest.update(fingerprint_of(file_state(file)).encode())
        digest.update(_footer(file))
    check_names(schemas[0].names, str(path))
    _check_same_columns(files, schemas)
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        schema = schema.with_metadata(schemas[0].metadata)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(
            f"All files of a table need columns of the same kinds. Those in {path} differ: "
            f"{error}. Write them alike."
        ) from error
    dataset = ds.dataset(
        list(map(str, files)),
        format="parquet",
        partitioning=ds.partitioning(flavor=_PARTITIONING) if path.is_dir() else None,
        partition_base_dir=str(path) if path.is_dir() else None,
    )
    for field in dataset.schema:
        if field.name not in schema.names:
            schema = schema.append(field)
    pieces, counts, memory = [], [], 0
    widths = {field.name: bytes_of_value(field.type) for field in schema}
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        for piece in fragment.split_by_row_group():
            group = metadata.row_group(piece.row_groups[0].id)
            pieces.append(piece)
            counts.append(group.num_rows)
            memory += sum(widths.values()) * group.num_rows + _bytes_of_texts(group)
    digest.update(schema.to_string().encode())
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return ParquetPieces(path, schema, pieces, starts, digest.hexdigest(), memory)


def _footer(file: Path) -> bytes:
    """Return the end of a file, where Parquet says what is in it, and of which size and range."""
    with file.open("rb") as stream:
        stream.seek(-8, os.SEEK_END)  # the length of the footer, and four letters
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - length, os.SEEK_END)
        return stream.read(length)


def _bytes_of_texts(group: Any) -> int:
    """Return about how many bytes the texts of a row group take, those that repeat every time."""
    total = 0
    for place in range(group.num_columns):
        column = group.column(place)
        if column.physical_type == "BYTE_ARRAY":
            total += 8 * group.num_rows + int(column.total_uncompressed_size)
    return total


def _check_same_columns(files: Sequence[Path], schemas: Sequence[Any]) -> None:
    names = schemas[0].names
    for file, schema in zip(files, schemas, strict=True):
        odd = sorted(set(schema.names) ^ set(names))
        if odd:
            raise TableError(
                f"All files of a table need the same columns. {file} and {files[0]} differ in "
                f"{join_names(map(repr, odd))}. Write them alike, or take one of them out."
            )


def _check_text(path: Path, batch: Any, first_row: int) -> None:
    """Refuse text that is not UTF-8, and say where it is."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            row = next((row for row in range(len(column)) if not is_text(column[row])), 0)
            raise TableError(
                f"Text needs to be in UTF-8. Column {name!r} of {path} holds something else in "
                f"{row_name(first_row + row)}. Write the column again: decoded from the encoding "
                "that it is in, or as bytes."
            ) from error
