"""How a text file is laid out: its delimiter, its header, and what Excel or R adds to it."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import plural, row_count
from disambig.tabular.table_cells import UNNAMED

LINES_LOOKED_AT = 20
# Where a header of several names does not fit its rows, a stroke may be between labels.
_OTHER_DELIMITERS = "\t;,|"
_DELIMITERS_OF_CELLS = "\t;,"
# The first line that Excel goes by, and writes if asked to.
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n\w])"?[;,\t]*\s*', re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Where the header of a text file begins, and what is between its cells."""

    delimiter: str
    n_lines_before: int = 0

    def header_for_rows(self, header: list[str], lines: Sequence[str]) -> list[str]:
        """Return a name for every cell of a row, a blank one where the header is one name short.

        R does not name the column of row names; others end each row, but not the header, in a
        delimiter.
        """
        rows = _rows(lines[self.n_lines_before :], self.delimiter)[1:]
        if not rows or {len(row) for row in rows} != {len(header) + 1}:
            return header
        if not any(row[-1].strip() for row in rows):
            return [*header, ""]
        # Names of rows differ; and one name above two cells may be a title, or a text with commas.
        if len(header) < 2 or len({row[0] for row in rows}) < len(rows):
            return header
        return ["", *header]


def find_layout(lines: Sequence[str], delimiter: str, name: str, *, is_given: bool) -> Layout:
    """Return the layout that the first lines of a file show.

    A delimiter that was given is not doubted. Another one than the usual is taken, with a notice,
    if it alone fits all lines, and the usual one does not.
    """
    first = next((place for place, line in enumerate(lines) if not line.isspace()), 0)
    said = _SEPARATOR_LINE.fullmatch(lines[first]) if len(lines) > first + 1 else None
    if said is not None:
        return Layout(delimiter if is_given else said[1], first + 1)
    if is_given:
        return Layout(delimiter)
    widths = _widths(lines, delimiter)
    if _fits(widths):
        return Layout(delimiter)
    several_names = bool(widths) and widths[0] > 1
    others = _DELIMITERS_OF_CELLS if several_names else _OTHER_DELIMITERS
    fitting = [other for other in others.replace(delimiter, "") if _fits(_widths(lines, other))]
    # R puts spaces between cells, and quotes around names; elsewhere they are between words.
    if not fitting and _fits(_widths(lines, " ")) and lines[0].startswith('"'):
        fitting = [" "]
    if not fitting:
        return Layout(delimiter)
    n_columns = _widths(lines, fitting[0])[1]
    shown = "\\t" if fitting[0] == "\t" else fitting[0]
    if len(fitting) > 1:
        raise TableError(
            f"{name} has one column when it is separated by {delimiter!r}. It looks separated by "
            f"{fitting[0]!r}, into {n_columns:,} columns: use --delimiter '{shown}' (in Python "
            f"delimiter={fitting[0]!r})."
        )
    warn_caller(
        f"{name} is read as separated by {fitting[0]!r}, into {n_columns:,} columns. If that is "
        f"wrong, use --delimiter (in Python delimiter=)."
    )
    return Layout(fitting[0])


def name_columns(names: Sequence[str]) -> list[str]:
    """Return names of columns; the first one that has none, an index, is called as in pandas."""
    if len(names) < 2 or names[0].strip():
        return list(names)
    first, number = UNNAMED, 0
    while first in names:
        number += 1
        first = f"{UNNAMED}.{number}"
    return [first, *names[1:]]


def count_blank_end(names: Sequence[str]) -> int:
    """Return how many columns at the end have no name."""
    return next((number for number, name in enumerate(reversed(names)) if name.strip()), len(names))


def notice_blank_end(name: str, n_columns: int, n_rows: int) -> None:
    """Say what was left out of a table because it is empty: spreadsheets write such ends."""
    counts = [
        *([plural(n_columns, "column")] if n_columns else []),
        *([row_count(n_rows)] if n_rows else []),
    ]
    if counts:
        warn_caller(f"Left out {' and '.join(counts)} at the end of {name} without any content.")


def notice_row_names(name: str) -> None:
    """Say what a header was taken for that is one name short."""
    warn_caller(
        f"The rows of {name} have one cell more than its header has names: the first cell of each "
        "row is taken to name the row, as R writes it."
    )


def _fits(widths: Sequence[int]) -> bool:
    """Tell whether there are several names, and as many cells in every row, or one more as in R."""
    if len(widths) < 2 or widths[0] < 2:
        return False
    return set(widths[1:]) in ({widths[0]}, {widths[0] + 1})


def _widths(lines: Sequence[str], delimiter: str) -> list[int]:
    return [len(row) for row in _rows(lines, delimiter)]


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the rows of the first lines of a file, none if their quotes are broken."""
    rows: list[list[str]] = []
    try:
        rows.extend(
            row
            for row in csv.reader(lines, delimiter=delimiter, strict=True)
            if row and not (len(row) == 1 and row[0].isspace())
        )
    except csv.Error:
        # A quoted cell may go on behind these lines.
        return rows if len(lines) == LINES_LOOKED_AT else []
    return rows
