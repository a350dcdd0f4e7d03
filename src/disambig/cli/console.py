"""The one door of all that commands print: text, tables, warnings, errors, JSON."""

import io
import json
import logging
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from disambig._core.messages import printable

if TYPE_CHECKING:
    from disambig.bench.formats import Table
    from disambig.tabular.estimate import MissRate


# Where to speak again, in a process that has fallen silent.
_heard: TextIO | None = None


class Terminal(Console):
    """Where commands print: nothing in a text is obeyed, neither by the terminal nor as markup.

    Texts are cleaned by whoever prints them, so that tables are as wide as they look; what was
    forgotten there is cleaned here.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is printed, with control characters spelled out, but for those of rich."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(_lines(segment.text), segment.style)


def people_console() -> Terminal:
    """Return the console for people."""
    return Terminal(stderr=True)


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def plain(text: str, style: str = "") -> Text:
    """Return a text that is shown as it is, in a style of ours."""
    return Text(_lines(text), style)


def say(text: str, console: Console | None = None, *, wrap: bool = True) -> None:
    """Print a string as it is: no markup, and no control characters for the terminal.

    Without ``wrap`` the terminal breaks long lines, so that a path in them stays in one piece.
    """
    console = console or people_console()
    # Lines for people, one line for other programs.
    shown = wrapped(plain(text), console) if wrap and console.is_terminal else plain(text)
    console.print(shown, soft_wrap=True)


def say_path(what: str, path: object, console: Console | None = None) -> None:
    """Print where something is: the path on a line of its own, in one piece, to be copied."""
    say(what, console)
    say(str(path), console, wrap=False)


def say_next(*steps: tuple[str, Iterable[str]]) -> None:
    """Print commands that can be copied, on standard error, so that results stay alone.

    A step says what it does, in words that go on after "Next,", and the words of its command.
    """
    say("")
    for number, (purpose, words) in enumerate(steps):
        say(f"{'Or' if number else 'Next,'} {purpose}:")
        say(f"  disambig {shlex.join(words)}", wrap=False)


def say_of_misses(misses: "MissRate | None", miss_rate: str) -> None:
    """Print how to allow for sets that miss the right label, if many do and nobody did."""
    if misses is not None and misses.is_noticeable and miss_rate == "0":
        say("To allow for them, train with --miss-rate auto. It takes several times as long.")


def path_word(path: str | os.PathLike[str]) -> str:
    """Return a path as an argument: one that begins with a dash would be taken for an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def wrapped(text: Text, console: Console, *, first: str = "", others: str = "") -> Text:
    """Return a text in lines that a console has room for, without blanks at their ends.

    ``first`` and ``others`` stand before the first line and before those that follow.
    """
    lines = text.wrap(console, max(1, console.width - len(others)), overflow="fold")
    shown = Text()
    for number, line in enumerate(lines):
        line.rstrip()
        shown.append(f"\n{others}" if number else first).append_text(line)
    return shown


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def say_notices(notices: Iterable[str], console: Console | None = None) -> None:
    """Print what was left out, and why."""
    for notice in notices:
        say(f"Note: {notice}", console)


@contextmanager
def collected_notices(console: Console | None = None) -> Iterator[list[str]]:
    """Print warnings as they come, and collect them for the result of a command.

    Each is said once, however many models have reason for it. Where a bar is live, its console
    must print them, or they would be written into the bar.
    """
    notices: list[str] = []

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in notices:
            notices.append(str(message))
            say_notices([str(message)], console)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield notices


def say_usage(usage: str, hint: str, message: str) -> None:
    """Print how a command is called, and what was wrong with the way it was."""
    panel = Panel(plain(message), title="Error", title_align="left", border_style="red")
    people_console().print(plain(usage, "yellow"), plain(hint, "dim"), panel, sep="\n")


class _PeopleHandler(logging.Handler):
    """Prints what libraries log where nobody has said what to do with it."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def open_streams() -> None:
    """Prepare what is written to standard output and standard error by others than us."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What an old console has no character for is shown as \\u4e2d, as on standard error.
        sys.stdout.reconfigure(errors="backslashreplace")
    logging.lastResort = _PeopleHandler(logging.WARNING)


def fall_silent() -> None:
    """Print nothing from now on, for as long as the process lives."""
    global _heard
    _heard = sys.stderr
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123


def speak_again() -> None:
    """Print to people again."""
    sys.stderr = _heard or sys.stderr


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print a result for another program."""
    # In ASCII, which every stream can take and no terminal obeys.
    print(json.dumps(value, indent=2))


# Tables of scores --------------------------------------------------------------------------------

_DEVIATION = re.compile(r" ± \d+\.\d+")
_NO_DEVIATIONS = "Standard deviations do not fit here; they are in the files."
_MARK = re.compile(r" ([•◦])$")


def make_table(*header: str) -> RichTable:
    """Return a table of numbers without rows."""
    table = RichTable(
        box=box.SIMPLE,
        padding=0,  # the box has a space between columns already
        show_edge=False,
    )
    for number, name in enumerate(header):
        table.add_column(plain(name), justify="right" if number else "left", no_wrap=not number)
    return table


def print_table(table: "Table", console: Console, *, n_notes: int | None = None) -> None:
    """Print a table of a report with its notes, or the first few of them.

    Where it is too wide, it is printed without standard deviations, then with short names, and
    then turned, so that rows are methods, if that makes it narrower. A file or another program
    gets all of it, however wide.
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
    if not console.is_terminal:
        shown.width = _width(shown, console)
    lines = (plain(table.title, "italic"), shown, *map(plain, notes), "")
    console.print(*lines, sep="\n", crop=False)


def _width(shown: RichTable, console: Console) -> int:
    # Asked with room for all of it: the answer never exceeds the room.
    return console.measure(shown, options=console.options.update(width=10_000)).maximum


def _without_deviations(table: "Table") -> "Table":
    rows = tuple(tuple(_DEVIATION.sub("", cell) for cell in row) for row in table.rows)
    title = table.title.replace(" ± standard deviation", "")
    return replace(table, title=title, rows=rows)


def _with_short_names(table: "Table") -> "Table":
    """Leave out what the names of all data have in common, and put marks close."""
    n_rows = len(table.rows) - table.n_summary_rows
    names = [row[0] for row in table.rows[:n_rows]]
    parts = [name.split(", ") for name in names]
    common = ""
    while parts and all(len(part) > 1 and part[-1] == parts[0][-1] for part in parts):
        common = f", {parts[0][-1]}{common}"
        parts = [part[:-1] for part in parts]
    rows = tuple(
        (
            row[0].removesuffix(common) if i < n_rows else row[0],
            *(_MARK.sub(r"\1", c) for c in row[1:]),
        )
        for i, row in enumerate(table.rows)
    )
    return replace(table, title=table.title + common, rows=rows)


def _turned(table: "Table") -> "Table":
    header, *rows = zip(table.header, *table.rows, strict=True)
    emphasised = frozenset((column - 1, row + 1) for row, column in table.emphasised)
    return replace(table, header=header, rows=tuple(rows), emphasised=emphasised, n_summary_rows=0)


def _filled(table: "Table") -> RichTable:
    shown = make_table(*table.header)
    first_of_summary = len(table.rows) - table.n_summary_rows
    for i, row in enumerate(table.rows):
        cells = [
            plain(text, "bold" if (i, j) in table.emphasised else "") for j, text in enumerate(row)
        ]
        shown.add_row(*cells, end_section=i == first_of_summary - 1)
    return shown
