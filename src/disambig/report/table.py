"""A table as plain text, before it takes the form of a format."""

from dataclasses import dataclass

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Cells of plain text; the marks are •, ◦ and ±.

    Attributes
    ----------
    title : str
        One line.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        As wide as the header.
    notes : tuple of str
        What a reader has to know, a sentence or two each.
    emphasised : frozenset of (int, int)
        Row and column of the cells that stand out.
    n_summary_rows : int
        So many rows at the end are set apart.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    emphasised: frozenset[tuple[int, int]] = frozenset()
    n_summary_rows: int = 0
