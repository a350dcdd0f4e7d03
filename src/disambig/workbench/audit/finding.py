"""Something in a table that looks wrong, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from disambig._core.typing import IntArray
from disambig.tables.wording import row_list

__all__ = ["Finding"]

_ROWS_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong. ``str()`` of it is a text for people.

    Attributes
    ----------
    kind : str
        What was found, as a name for programs.
    message : str
        What was found, as a sentence.
    advice : str
        What to do about it.
    count : int
        How many rows it concerns.
    rows : tuple of int
        The first of these rows, counted from 1.
    labels : tuple of tuples of str
        The labels it concerns, those together that belong together.
    """

    kind: str
    message: str
    advice: str = ""
    count: int = 0
    rows: tuple[int, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def about(
        cls,
        rows: IntArray,
        kind: str,
        message: str,
        advice: str,
        labels: Iterable[Iterable[object]] = (),
    ) -> Self:
        """Return a finding about rows, which are given by their positions from 0."""
        first = tuple(int(row) + 1 for row in rows[:_ROWS_NAMED])
        groups = tuple(tuple(str(label) for label in group) for group in labels)
        return cls(kind, message, advice, len(rows), first, groups)

    @property
    def where(self) -> str:
        """Where to look, as a sentence; nothing where it is no matter of single rows."""
        return f"See {row_list(self.rows, self.count)}." if self.rows else ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.message, self.where, self.advice)))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return {
            "kind": self.kind,
            "message": self.message,
            "advice": self.advice,
            "count": self.count,
            "rows": list(self.rows),
            "labels": [list(group) for group in self.labels],
        }
