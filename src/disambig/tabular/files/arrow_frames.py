"""Tables of Arrow as data frames, and the memory that these take."""

from typing import Any

import pandas as pd
import pyarrow as pa


def frame_of(table: Any) -> Any:
    """Return a data frame of a table of Arrow: lists in cells are lists, integers stay integers."""
    frame = _with_index_as_columns(table.to_pandas(integer_object_nulls=True))
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type) and name in frame.columns:
            frame[name] = pd.Series(column.to_pylist(), dtype=object)
    return frame


def _with_index_as_columns(frame: Any) -> Any:
    """Make the index of pandas the first columns, unless it only counts the rows."""
    only_counts = frame.index.nlevels == 1 and pd.api.types.is_integer_dtype(frame.index.dtype)
    return frame.reset_index(drop=only_counts and frame.index.name is None)


def bytes_of_value(kind: Any) -> int:
    """Return about how many bytes a cell takes in a data frame, without the text in it."""
    types = pa.types
    if types.is_fixed_size_binary(kind):
        return 100 + 2 * int(kind.byte_width)
    as_objects = (
        *(types.is_nested, types.is_decimal, types.is_date, types.is_time),
        *(types.is_binary, types.is_large_binary),
    )
    if any(is_kind(kind) for is_kind in as_objects):
        return 100
    return 8 if types.is_primitive(kind) else 16


def is_text(cell: Any) -> bool:
    """Tell whether a cell of text is in UTF-8."""
    try:
        cell.as_py()
    except UnicodeDecodeError:
        return False
    return True
