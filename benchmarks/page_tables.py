"""The tables of a page of results, read back, so that its sentence can be made from them."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


class Table(NamedTuple):
    """A Markdown table: its cells as strings."""

    header: list[str]
    rows: list[list[str]]

    def cells(self, column: str | int) -> list[str]:
        """Return the cells of a column."""
        place = self.header.index(column) if isinstance(column, str) else column
        return [row[place] for row in self.rows]

    def numbers(self, column: str | int) -> list[float]:
        """Return the first number in each cell of a column; cells without one are left out."""
        return [number(cell) for cell in self.cells(column) if NUMBER.search(cell)]

    def row(self, *names: str) -> list[str]:
        """Return the cells after the names that a row begins with."""
        (found,) = (row for row in self.rows if row[: len(names)] == list(names))
        return found[len(names) :]


def number(cell: str) -> float:
    """Return the first number in a cell."""
    found = NUMBER.search(cell)
    assert found is not None, cell
    return float(found[0].replace(",", ""))


def tables_of(text: str) -> list[Table]:
    """Return the tables of a page in Markdown, in their order."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.M):
        header, _, *rows = (
            [cell.strip() for cell in line.strip()[1:-1].split("|")] for line in block.splitlines()
        )
        found.append(Table(header, rows))
    return found


def span(values: Sequence[float], form: str = ".3f") -> str:
    """Return the smallest and the largest value, or the one that there is."""
    low, high = (format(value, form) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


# The title of a page, and the sentence that its tables amount to.
Finding = tuple[str, Callable[[list[Table]], str]]
