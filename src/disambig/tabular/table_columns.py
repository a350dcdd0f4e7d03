"""Find, name and append the columns of a table."""

from collections.abc import Iterable, Sequence
from typing import Any

from disambig._core.errors import TableError
from disambig._core.messages import did_you_mean, join_names, option

# What cleaning adds to a table.
CLEAN_COLUMNS = (
    "chosen_label",
    "confidence",
    "margin",
    "second_look",
    "candidate_confidences",
)


def check_names(names: Iterable[object], table: str) -> list[str]:
    """Return the names of columns as strings; refuse blank and repeated ones.

    ``table`` is what messages call the table.
    """
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
    """Return a column of a data frame, or raise an error.

    It says what the column was to be, in which table, and what to do beyond checking the name.
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
    return pd.concat([frame, renamed], axis=1)
