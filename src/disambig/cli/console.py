"""What commands print: tables, progress, warnings."""

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from disambig._core.messages import printable

if TYPE_CHECKING:
    from disambig.bench.formats import Table


_DEVIATION = re.compile(r" ± \d+\.\d+")
_NO_DEVIATIONS = "Standard deviations are in the files, for want of room here."
_ROLE = re.compile(r"^.* \((floor|ceiling)\)$")
_MARK = re.compile(r" ([•◦])$")


def make_table(*header: str) -> RichTable:
    """Return a table of numbers without rows."""
    table = RichTable(
        *map(escape, header),
        box=box.SIMPLE,
        padding=0,  # the box has a space between columns already
        show_edge=False,
    )
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def print_table(table: "Table", console: Console, *, n_notes: int | None = None) -> None:
    """Print a table of a report with its notes, or the first few of them.

    Where it is too wide, it is printed without standard deviations, then with short names, and
    then turned, so that rows are methods, if that makes it narrower.
    """
    notes = list(table.notes[:n_notes])
    shown = _filled(table)
    for shorter, note in ((_without_deviations, _NO_DEVIATIONS), (_with_short_names, None)):
        if _width(shown, console) > console.width and (narrow := shorter(table)) != table:
            table, shown = narrow, _filled(narrow)
            notes += [note] if note else []
    if _width(shown, console) > console.width:
        turned = _filled(_turned(table))
        shown = min(shown, turned, key=lambda choice: _width(choice, console))
    console.print(table.title, style="italic", markup=False, highlight=False)
    console.print(shown)
    for note in notes:
        console.print(note, markup=False, highlight=False)
    console.print()


def _width(shown: RichTable, console: Console) -> int:
    # Asked with room for all of it: the answer never exceeds the room.
    return console.measure(shown, options=console.options.update(width=10_000)).maximum


def _without_deviations(table: "Table") -> "Table":
    rows = tuple(tuple(_DEVIATION.sub("", cell) for cell in row) for row in table.rows)
    title = table.title.replace(" ± standard deviation", "")
    return replace(table, title=title, rows=rows)


def _with_short_names(table: "Table") -> "Table":
    """Name bounds by their role, leave out what all data has in common, put marks close."""
    n_rows = len(table.rows) - table.n_summary_rows
    names = [row[0] for row in table.rows[:n_rows]]
    parts = [name.split(", ") for name in names]
    common = ""
    while parts and all(len(part) > 1 and part[-1] == parts[0][-1] for part in parts):
        common = f", {parts[0][-1]}{common}"
        parts = [part[:-1] for part in parts]
    header = tuple(_ROLE.sub(r"\1", name) for name in table.header)
    rows = tuple(
        (
            row[0].removesuffix(common) if i < n_rows else row[0],
            *(_MARK.sub(r"\1", c) for c in row[1:]),
        )
        for i, row in enumerate(table.rows)
    )
    return replace(table, title=table.title + common, header=header, rows=rows)


def _turned(table: "Table") -> "Table":
    header, *rows = zip(table.header, *table.rows, strict=True)
    emphasised = frozenset((column - 1, row + 1) for row, column in table.emphasised)
    return replace(table, header=header, rows=tuple(rows), emphasised=emphasised, n_summary_rows=0)


def _filled(table: "Table") -> RichTable:
    shown = make_table(*table.header)
    first_of_summary = len(table.rows) - table.n_summary_rows
    for i, row in enumerate(table.rows):
        cells = [
            f"[bold]{escape(text)}[/]" if (i, j) in table.emphasised else escape(text)
            for j, text in enumerate(row)
        ]
        shown.add_row(*cells, end_section=i == first_of_summary - 1)
    return shown


def people_console() -> Console:
    """Return the console for people."""
    return Console(stderr=True)


def say(text: str, console: Console | None = None, *, wrap: bool = True) -> None:
    """Print a string as it is: no markup, and no control characters for the terminal.

    Without ``wrap`` the terminal breaks long lines, so that a path in them stays in one piece.
    """
    console = console or people_console()
    console.print(
        "\n".join(printable(line) for line in text.split("\n")),
        markup=False,
        emoji=False,
        highlight=False,
        # Lines for people, one line for other programs.
        soft_wrap=not (wrap and console.is_terminal),
    )


def say_notices(notices: Iterable[str]) -> None:
    """Print what was left out, and why."""
    for notice in notices:
        say(f"Note: {notice}")


@contextmanager
def collected_notices() -> Iterator[list[str]]:
    """Print warnings as they come, and collect them for the result of a command.

    Each is said once, however many models have reason for it.
    """
    notices: list[str] = []

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in notices:
            notices.append(str(message))
            say_notices([str(message)])

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield notices


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print a result for another program."""
    # In ASCII, which every stream can take and no terminal obeys.
    print(json.dumps(value, indent=2))
