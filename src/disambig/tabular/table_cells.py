"""Cells of a table as strings, gaps or distinct values; columns found and appended."""

import datetime
import json
import re
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import (
    did_you_mean,
    join_names,
    option,
    quote_value,
    row_name,
    safe_str,
)
from disambig._core.typing import AnyArray, IntArray
from disambig.candidates.checks import is_missing

# What cleaning adds to a table.
CLEAN_COLUMNS = ("chosen_label", "confidence", "margin", "second_look", "candidate_confidences")
# And where it had folds, about the sets that may miss the right label.
MISS_COLUMNS = ("miss_probability", "label_if_missed")
# And where a person had decided on rows, what kind of decision it was.
DECISION_COLUMN = "decision"
# What a first column without a name is called, as in pandas: that of an index.
UNNAMED = "Unnamed: 0"
# What pandas takes for missing in a text file, kept here so that a saved model reads alike with
# any version of pandas.
MISSING_TEXTS = frozenset({
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
})  # fmt: skip
# Above it not every integer is a float, so a float no longer stands for one integer.
LARGEST_EXACT_INTEGER = 2**53
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]{1,16})\.0+")


def text_of(value: Any) -> str | None:
    """Return the string that a single value stands for, or None if it is missing or blank.

    Values are compared by it because files disagree on types: an identifier comes as 3 from one,
    as "3" from another, and as 3.0 from a column with gaps.
    """
    if value is None or isinstance(value, str):
        return (value and value.strip()) or None
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip() or None
    if isinstance(value, float | np.floating):
        return number_text(str(value))
    return safe_str(value).strip() or None


def number_text(text: str) -> str:
    """Write whole numbers in one way: 3 for 3.0, and 0 for -0; return other strings unchanged."""
    whole = _WHOLE_NUMBER.fullmatch(text)
    if whole and abs(int(whole[1])) <= LARGEST_EXACT_INTEGER:
        text = whole[1]
    return "0" if text == "-0" else text


def is_blank(cell: Any) -> bool:
    """Tell whether a cell holds nothing, or a string that stands for nothing, such as NA."""
    return not is_collection(cell) and (text_of(cell) or "") in MISSING_TEXTS


def is_collection(cell: Any) -> bool:
    """Tell whether a cell holds several values, as in JSON lines and Parquet."""
    return isinstance(cell, list | tuple | set | frozenset | np.ndarray | Mapping)


def json_value(value: Any) -> Any:
    """Return a value made of JSON types; missing values become None."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((json_value(item) for item in value), key=str)  # the same every time
    if isinstance(value, np.ndarray):
        return [json_value(item) for item in value] if value.ndim else json_value(value[()])
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    return str(value)


def cell_text(value: Any) -> str | None:
    """Return a cell as text files hold it: JSON for a collection, None for a missing value."""
    if isinstance(value, str):
        return value
    if is_collection(value):
        return json.dumps(json_value(value), ensure_ascii=False)
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return str(json_value(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def distinct_cells(column: Any) -> tuple[IntArray, list[Any]]:
    """Return for every row the number of its cell, and the distinct cells in order of appearance.

    Every kind of missing value is the cell ``None``.
    """
    import pandas as pd  # slow to import

    kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else "plain"
    # In Python True equals 1 and lists have no hash, so mixed cells are compared with their type.
    if kind not in ("plain", "string", "empty") or isinstance(column.dtype, pd.ArrowDtype):
        return _distinct_objects(column)
    codes, cells = pd.factorize(column, use_na_sentinel=False)
    return codes, [None if is_missing(cell) else cell for cell in cells]


def texts_of(column: Any, *, what: str, literal: bool = False) -> AnyArray:
    """Return ``text_of`` every cell as objects, None where a cell is missing or blank.

    ``what`` says in the error what the column holds. "NA" and the like are blank, unless
    ``literal``.
    """
    codes, cells = distinct_cells(column)
    for position, cell in enumerate(cells):
        if is_collection(cell):
            row = row_name(int(np.flatnonzero(codes == position)[0]))
            raise TableError(
                f"Column {column.name!r} holds {what}, one string or number in every row. "
                f"Got {quote_value(cell)} in {row}. Write a single value there."
            )
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [text_of(cell) if literal or not is_blank(cell) else None for cell in cells]
    return texts[codes]


def _distinct_objects(column: Any) -> tuple[IntArray, list[Any]]:
    numbers: dict[Any, int] = {}
    cells: list[Any] = []
    codes = np.empty(len(column), dtype=np.int64)
    for row, cell in enumerate(column):
        key = _key_of(cell)
        number = numbers.setdefault(key, len(cells))
        if number == len(cells):
            cells.append(None if key is None else cell)
        codes[row] = number
    return codes, cells


def _key_of(cell: Any) -> Any:
    if is_collection(cell):
        # The repr of a long array would leave out its middle.
        return type(cell), repr(cell.tolist() if isinstance(cell, np.ndarray) else cell)
    if is_missing(cell):
        return None
    return type(cell), cell if isinstance(cell, Hashable) else repr(cell)


def find_column(
    frame: Any, name: str, *, what: str, table: str = "The table", advice: str = ""
) -> Any:
    """Return a column of a data frame, or refuse a name that it does not have."""
    check_columns(frame, [name], what, table=table, advice=advice)
    return frame[name]


def check_columns(
    frame: Any,
    names: Iterable[str],
    what: str,
    several: str = "",
    *,
    table: str = "The table",
    advice: str = "",
) -> None:
    """Refuse names that a data frame does not have.

    The error says what the column, or ``several`` of them, should be, what the name may be a
    slip of, and what to do beyond checking it.
    """
    present = list(frame.columns)
    missing = [name for name in names if name not in frame.columns]
    if not missing:
        return
    one = len(missing) == 1
    raise TableError(
        f"{table} has no {'column' if one else 'columns'} {join_names(map(repr, missing))}, which "
        f"should be {what if one else several or what}."
        f"{did_you_mean(missing[0], present)} It has {join_names(present)}. {advice}".rstrip()
    )


def check_new_columns(frame: Any, names: Iterable[str], prefix: str = "") -> None:
    """Refuse names that a table has already: no column of it may be replaced."""
    clash = [f"{prefix}{name}" for name in names if f"{prefix}{name}" in frame.columns]
    if clash:
        raise TableError(
            f"The table already has columns of names that are to be added: {join_names(clash)}. "
            f"Choose a prefix for the new ones, {option('prefix')}, or give the table without them."
        )


def append_columns(frame: Any, added: Any, prefix: str = "") -> Any:
    """Return a table with the columns of another one of as many rows at its end."""
    import pandas as pd  # slow to import

    check_new_columns(frame, added.columns, prefix)
    renamed = added.add_prefix(prefix).set_axis(frame.index, axis=0)
    joined = pd.concat([frame, renamed], axis=1)
    joined.attrs.update(frame.attrs)
    return joined
