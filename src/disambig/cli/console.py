"""What commands print: tables, progress, warnings."""

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from disambig._core.messages import printable

if TYPE_CHECKING:
    from disambig.bench.formats import Table


_DEVIATION = re.compile(r" ± \d+\.\d+")


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


def print_table(table: "Table", console: Console) -> None:
    """Print a table of a report; where it is too wide, without its standard deviations."""
    shown = _filled(table, with_deviations=True)
    notes = list(table.notes)
    if _width(shown, console) > console.width and _has_deviations(table):
        shown = _filled(table, with_deviations=False)
        notes.append("Standard deviations are in the files, for want of room here.")
    console.print(table.title, style="italic", markup=False, highlight=False)
    console.print(shown)
    for note in notes:
        console.print(note, markup=False, highlight=False)
    console.print()


def _width(shown: RichTable, console: Console) -> int:
    # Asked with room for all of it: the answer never exceeds the room.
    return console.measure(shown, options=console.options.update(width=10_000)).maximum


def _has_deviations(table: "Table") -> bool:
    return any(_DEVIATION.search(cell) for row in table.rows for cell in row)


def _filled(table: "Table", *, with_deviations: bool) -> RichTable:
    shown = make_table(*table.header)
    first_of_summary = len(table.rows) - table.n_summary_rows
    for i, row in enumerate(table.rows):
        texts = row if with_deviations else [_DEVIATION.sub("", cell) for cell in row]
        cells = [
            f"[bold]{escape(text)}[/]" if (i, j) in table.emphasised else escape(text)
            for j, text in enumerate(texts)
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
    """Print warnings as they come, and collect them for the result of a command."""
    notices: list[str] = []

    def show(message: Warning | str, *_: object, **__: object) -> None:
        notices.append(str(message))
        say_notices([str(message)])

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield notices


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print a result for another program."""
    # In ASCII, which every stream can take and no terminal obeys.
    print(json.dumps(value, indent=2))
