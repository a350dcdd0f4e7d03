"""Names of columns as every table has them: texts, not empty, each one once."""

from collections.abc import Iterable

from disambig._core.errors import TableError

__all__ = ["checked_names"]


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
