"""Tables in Parquet files, read and written by pyarrow."""

from typing import Any, BinaryIO

from disambig._core.errors import TableError
from disambig._core.optional import import_extra
from disambig.tabular.files.formats import FileContent, written_text

__all__ = ["read_parquet", "write_parquet"]


def read_parquet(source: FileContent) -> Any:
    """Return a data frame; lists in cells are lists of Python, whole numbers stay whole."""
    pa = import_extra("pyarrow", extra="parquet")
    pq = import_extra("pyarrow.parquet", extra="parquet")
    try:
        # Opened here: pyarrow would read columns out of the path of a file that it opens.
        with source.open() as stream:
            table = pq.ParquetFile(stream).read()
        frame = table.to_pandas(integer_object_nulls=True)
        frame = _with_index_as_columns(frame)
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_nested(column.type) and name in frame.columns:
                frame[name] = _object_series(column.to_pylist())
    # pyarrow and pandas meet damaged files with whatever they stumble over.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(
            f"{source.name} is damaged, or no Parquet file: {error}. Write it anew, or name its "
            "format by --format (in Python format=)."
        ) from error
    return frame


def _with_index_as_columns(frame: Any) -> Any:
    """Make names of rows, which pandas keeps beside the columns, the first columns."""
    import pandas as pd  # slow to import

    only_counts = frame.index.nlevels == 1 and pd.api.types.is_integer_dtype(frame.index.dtype)
    return frame.reset_index(drop=only_counts and frame.index.name is None)


def _object_series(values: list[Any]) -> Any:
    import pandas as pd  # see above

    return pd.Series(values, dtype=object)


def write_parquet(frame: Any, stream: BinaryIO) -> None:
    """Write a data frame; a column of values that do not go together is written as text."""
    pa = import_extra("pyarrow", extra="parquet")
    pq = import_extra("pyarrow.parquet", extra="parquet")
    columns = {name: _arrow_column(pa, column) for name, column in frame.items()}
    pq.write_table(pa.table(columns), stream)


def _arrow_column(pa: Any, column: Any) -> Any:
    # Arrow would give every mapping the keys of all the others.
    if column.dtype != object or not any(isinstance(value, dict) for value in column):
        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass  # values of several kinds, or of a kind that Arrow does not know
    return pa.array([written_text(value) for value in column], type=pa.large_string())
