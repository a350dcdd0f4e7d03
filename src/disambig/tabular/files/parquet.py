"""Parquet, read and written by pyarrow."""

from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from disambig._core.errors import TableError
from disambig.tabular.files.content import FileContent
from disambig.tabular.table_cells import cell_text


def read_parquet(source: FileContent) -> Any:
    """Return a data frame; lists in cells are Python lists, integers with gaps stay integers."""
    try:
        # Opened here: pyarrow would read columns out of the path of a file that it opens.
        with source.open() as stream:
            table = pq.ParquetFile(stream).read()
        frame = _with_index_as_columns(table.to_pandas(integer_object_nulls=True))
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_nested(column.type) and name in frame.columns:
                frame[name] = pd.Series(column.to_pylist(), dtype=object)
    # Damaged files make pyarrow and pandas raise anything.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(
            f"{source.name} is damaged, or not a Parquet file: {error}. Write it again, or name "
            "its format by --format (in Python format=)."
        ) from error
    return frame


def write_parquet(frame: Any, stream: BinaryIO) -> None:
    """Write a data frame; a column of values of several kinds is written as text."""
    columns = {name: _arrow_column(column) for name, column in frame.items()}
    pq.write_table(pa.table(columns), stream)


def _with_index_as_columns(frame: Any) -> Any:
    """Make the index of pandas the first columns, unless it only counts the rows."""
    only_counts = frame.index.nlevels == 1 and pd.api.types.is_integer_dtype(frame.index.dtype)
    return frame.reset_index(drop=only_counts and frame.index.name is None)


def _arrow_column(column: Any) -> Any:
    # Arrow would give every mapping the keys of all the others.
    if column.dtype != object or not any(isinstance(value, dict) for value in column):
        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass  # values of several kinds, or of a kind that Arrow does not know
    return pa.array([cell_text(value) for value in column], type=pa.large_string())
