"""Columns and rows of a table, as messages speak of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.names import closest_name
from disambig._core.typing import BoolArray

__all__ = [
    "describe_table_rows",
    "find_column",
    "listed",
    "missing_columns_message",
    "row_in_words",
]

_MOST_NAMES = 8
_LONGEST_NAME = 60


def listed(names: Iterable[object], most: int = _MOST_NAMES) -> str:
    """Return names for a sentence, the first ones of many."""
    every = [str(name) for name in names]
    shown = ", ".join(map(_cut, every[:most]))
    return shown if len(every) <= most else f"{shown} and {len(every) - most:,} more"


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def row_in_words(row: int) -> str:
    """Return how messages call a row: people count from one, and the header is no row."""
    return f"row {row + 1:,}"


def describe_table_rows(bad: BoolArray) -> str:
    """Say how many rows are marked in ``bad`` and which one is first."""
    rows = np.flatnonzero(bad)
    if rows.size == 1:
        return row_in_words(int(rows[0]))
    return f"{rows.size:,} rows, the first is {row_in_words(int(rows[0]))}"


def find_column(frame: Any, name: str, *, what: str) -> Any:
    """Return a column of a data frame; ``what`` says in the error what it was to be."""
    if name in frame.columns:
        return frame[name]
    raise TableError(missing_columns_message([name], list(frame.columns), what=what))


def missing_columns_message(missing: Sequence[str], present: Sequence[str], *, what: str) -> str:
    """Return the message that columns are not in a table, with what they may be slips of."""
    suggestion = closest_name(missing[0], present)
    hint = f" Did you mean {suggestion!r}?" if suggestion else ""
    if len(missing) == 1:
        start = f"The table has no column {missing[0]!r}, which was to be {what}."
    else:
        quoted = listed(repr(name) for name in missing)
        start = f"The table has no columns {quoted}, which were to be {what}."
    return f"{start}{hint} It has {listed(present)}."
