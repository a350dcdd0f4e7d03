"""Columns and cells, as every table has them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import did_you_mean, join_names, option, safe_str
from disambig.candidates.checks import is_missing

__all__ = [
    "CLEAN_COLUMNS",
    "LARGEST_EXACT_INTEGER",
    "MISSING_TEXTS",
    "append_columns",
    "check_new_columns",
    "checked_names",
    "find_column",
    "is_blank",
    "is_collection",
    "missing_columns_message",
    "number_text",
    "text_of",
]


# What pandas takes for missing in a file of text, kept here so that a saved model reads alike with
# any version of pandas.
MISSING_TEXTS = frozenset({
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
})  # fmt: skip
# Above it not every integer is a float, so a float no longer stands for one integer.
LARGEST_EXACT_INTEGER = 2**53
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]{1,16})\.0+")


def text_of(value: Any) -> str | None:
    """Return the text that a single value stands for, or None if it is missing or blank."""
    if value is None or isinstance(value, str):
        return (value and value.strip()) or None
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip() or None
    if isinstance(value, float | np.floating):
        # Excel, JSON and columns with gaps turn integers into floats.
        return number_text(str(value))
    return safe_str(value).strip() or None


def is_blank(cell: Any) -> bool:
    """Tell whether a cell holds nothing, or a text that stands for nothing, such as NA."""
    return not is_collection(cell) and (text_of(cell) or "") in MISSING_TEXTS


def is_collection(cell: Any) -> bool:
    """Tell whether a cell holds several values, as those of JSON lines and parquet may."""
    return isinstance(cell, list | tuple | set | frozenset | np.ndarray | Mapping)


def number_text(text: str) -> str:
    """Return the one text of a whole number: 3 for 3.0, and 0 for -0; any other text as it is."""
    whole = _WHOLE_NUMBER.fullmatch(text)
    if whole and abs(int(whole[1])) <= LARGEST_EXACT_INTEGER:
        text = whole[1]
    return "0" if text == "-0" else text


def checked_names(names: Iterable[object], table: str) -> list[str]:
    """Return the names as texts; ``table`` is how the error calls the table."""
    texts = [str(name) for name in names]
    if not texts:
        raise TableError(f"{table} needs at least one column. It has none.")
    seen: dict[str, int] = {}
    for position, text in enumerate(texts, start=1):
        if not text.strip():
            raise TableError(
                f"Every column of {table} needs a name. Column {position:,} of {len(texts):,} has "
                "none. Name it in the header, or take the column out."
            )
        if text in seen:
            raise TableError(
                f"The columns of {table} need different names. Columns {seen[text]:,} and "
                f"{position:,} are both called {text!r}. Rename one of them."
            )
        seen[text] = position
    return texts


def find_column(
    frame: Any, name: str, *, what: str, table: str = "The table", advice: str = ""
) -> Any:
    """Return a column of a data frame.

    Parameters
    ----------
    frame : DataFrame
        The table.
    name : str
        The column.
    what, table, advice : str
        For the error: what the column was to be, in which table, and what to do beyond checking
        the name.
    """
    if name in frame.columns:
        return frame[name]
    message = missing_columns_message([name], list(frame.columns), what=what, table=table)
    raise TableError(f"{message} {advice}".rstrip())


def missing_columns_message(
    missing: Sequence[str], present: Sequence[str], *, what: str, table: str = "The table"
) -> str:
    """Return the message that columns are not in a table, with what they may be slips of."""
    quoted = join_names(repr(name) for name in missing)
    columns, were = ("column", "was") if len(missing) == 1 else ("columns", "were")
    return (
        f"{table} has no {columns} {quoted}, which {were} to be {what}."
        f"{did_you_mean(missing[0], present)} It has {join_names(present)}."
    )


def check_new_columns(frame: Any, names: Iterable[str], prefix: str = "") -> None:
    """Refuse names that a table has already: nothing of it is to be replaced."""
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
    return pd.concat([frame, renamed], axis=1)


CLEAN_COLUMNS = (
    "chosen_label",
    "confidence",
    "margin",
    "second_look",
    "candidate_confidences",
)
