"""Format cells, rows, names and numbers for messages."""

import difflib
import shlex
from collections.abc import Iterable, Sequence

import numpy as np

from disambig._core.typing import BoolArray

__all__ = [
    "bare_name",
    "closest_name",
    "counted_rows",
    "describe_table_rows",
    "did_you_mean",
    "in_words",
    "listed",
    "option",
    "percent",
    "printable",
    "quoted_list",
    "row_in_words",
    "row_list",
    "written",
]


_MOST_NAMES = 8
_MOST_LABELS = 4
_LONGEST = 60


def printable(text: object, longest: int | None = None) -> str:
    r"""Return a text without what a terminal would obey or not show: ``\x1b`` for an escape.

    Parameters
    ----------
    text : object
        What ``str()`` can take.
    longest : int, optional
        Characters from which on the text is cut.
    """
    plain = "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in written(text)
    )
    if longest is None or len(plain) <= longest:
        return plain
    return plain[: longest - 3] + "..."


def written(value: object) -> str:
    """Return ``str()`` of a value; Python refuses to write integers of thousands of digits."""
    try:
        return str(value)
    except ValueError:
        return "an integer of very many digits"


def in_words(cell: object) -> str:
    """Return how messages show a cell: quoted if it is a text, the start of a long one."""
    if not isinstance(cell, str):
        return printable(cell, _LONGEST)
    # Quoted by Python, which spells out what cannot be printed.
    return repr(cell if len(cell) <= _LONGEST else f"{cell[: _LONGEST - 3]}...")


def listed(names: Iterable[object], most: int = _MOST_NAMES, longest: int = _LONGEST) -> str:
    """Return names for a sentence, the first ones of many, and the start of long ones."""
    every = list(names)
    shown = ", ".join(printable(name, longest) for name in every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most:,} more"


def quoted_list(labels: Iterable[object], most: int = _MOST_LABELS) -> str:
    """Return labels for a sentence: ``'a', 'b' and 'c'``, the first ones of many."""
    every = list(labels)
    return _joined([in_words(label) for label in every[:most]], len(every) - most)


def row_list(rows: Sequence[int], count: int) -> str:
    """Return where to look, for the first of ``count`` rows: ``rows 3, 5 and 7 more``."""
    shown = _joined([f"{row:,}" for row in rows], count - len(rows))
    return f"row {shown}" if count == 1 else f"rows {shown}"


def _joined(shown: list[str], more: int) -> str:
    last = f"{more:,} more" if more > 0 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def row_in_words(row: int) -> str:
    """Return how messages call a row: people count from one, and the header is no row."""
    return f"row {row + 1:,}"


def describe_table_rows(bad: BoolArray) -> str:
    """Say how many rows are marked in ``bad`` and which one is first."""
    rows = np.flatnonzero(bad)
    if rows.size == 1:
        return row_in_words(int(rows[0]))
    return f"{rows.size:,} rows, the first is {row_in_words(int(rows[0]))}"


def counted_rows(count: int) -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return "1 row" if count == 1 else f"{count:,} rows"


def percent(share: float) -> str:
    """Return a share in percent, never all or nothing by rounding."""
    shown = f"{100 * share:.0f} %"
    if shown == "100 %" and share < 1:
        return "over 99 %"
    return "under 1 %" if shown == "0 %" and share > 0 else shown


def option(name: str, value: str | None = None) -> str:
    """Return how to say something on the command line and in Python, where both call it alike.

    Examples
    --------
    >>> option("empty", "all")
    "--empty all (in Python empty='all')"
    >>> option("ignore")
    '--ignore (in Python ignore=)'
    """
    if value is None:
        return f"--{name} (in Python {name}=)"
    return f"--{name} {shlex.quote(value)} (in Python {name}={value!r})"


def bare_name(name: str) -> str:
    """Keep letters and digits only, in lower case: ``"Yahoo! News"`` becomes ``"yahoonews"``."""
    return "".join(character for character in name.lower() if character.isalnum())


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is probably a slip of, or None."""
    by_bare_name = {bare_name(candidate): candidate for candidate in known}
    matches = difflib.get_close_matches(bare_name(name), by_bare_name, n=1)
    return by_bare_name[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to follow a message that ``name`` is not known, or nothing."""
    suggestion = closest_name(name, known)
    return f" Did you mean {suggestion!r}?" if suggestion else ""
