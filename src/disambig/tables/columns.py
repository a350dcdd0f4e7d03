"""Columns of a table, found by name."""

from collections.abc import Sequence
from typing import Any

from disambig._core.errors import TableError
from disambig._core.names import did_you_mean
from disambig.tables.wording import listed

__all__ = ["find_column", "missing_columns_message"]


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
    quoted = listed(repr(name) for name in missing)
    columns, were = ("column", "was") if len(missing) == 1 else ("columns", "were")
    return (
        f"{table} has no {columns} {quoted}, which {were} to be {what}."
        f"{did_you_mean(missing[0], present)} It has {listed(present)}."
    )
