"""Columns added at the end of a table."""

from collections.abc import Iterable
from typing import Any

from disambig._core.errors import TableError
from disambig.tables.wording import listed, option

__all__ = ["append_columns", "check_new_columns"]


def check_new_columns(frame: Any, names: Iterable[str], prefix: str = "") -> None:
    """Refuse names that a table has already: nothing of it is to be replaced."""
    clash = [f"{prefix}{name}" for name in names if f"{prefix}{name}" in frame.columns]
    if clash:
        raise TableError(
            f"The table already has columns of names that are to be added: {listed(clash)}. "
            f"Choose a prefix for the new ones, {option('prefix')}, or give the table without them."
        )


def append_columns(frame: Any, added: Any, prefix: str = "") -> Any:
    """Return a table with the columns of another one of as many rows at its end."""
    import pandas as pd  # slow to import

    check_new_columns(frame, added.columns, prefix)
    renamed = added.add_prefix(prefix).set_axis(frame.index, axis=0)
    return pd.concat([frame, renamed], axis=1)
