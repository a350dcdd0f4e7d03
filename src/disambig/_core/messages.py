"""Format cells, rows, names and numbers for messages."""

import difflib
import math
import shlex
from collections.abc import Iterable, Sequence

import numpy as np

from disambig._core.typing import BoolArray

_MOST_NAMES = 8
_MOST_LABELS = 4
_LONGEST = 60


def printable(text: object, longest: int | None = None) -> str:
    r"""Return ``str()`` without control characters: an escape is ``\x1b``. Long ones are cut."""
    plain = "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in safe_str(text)
    )
    if longest is None or len(plain) <= longest:
        return plain
    return plain[: longest - 3] + "..."


def safe_str(value: object) -> str:
    """Return ``str()`` of a value, also of an integer with too many digits for ``str()``."""
    try:
        return str(value)
    except ValueError:
        return "an integer of very many digits"


def quote_value(value: object) -> str:
    """Return how messages show a value: strings in quotes, the beginning of long ones."""
    if not isinstance(value, str):
        return printable(value, _LONGEST)
    # repr() spells out what cannot be printed.
    return repr(value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}...")


def join_names(
    names: Iterable[object],
    most: int = _MOST_NAMES,
    longest: int | None = _LONGEST,
    separator: str = ",",
) -> str:
    """Return names for a sentence: the first ones of many, the beginning of long ones."""
    every = list(names)
    shown = f"{separator} ".join(printable(name, longest) for name in every[:most])
    if len(every) <= most:
        return shown
    # Names with commas inside are separated by semicolons, before the last one too.
    before_and = "" if separator == "," else separator
    return f"{shown}{before_and} and {len(every) - most:,} more"


def quoted_list(labels: Iterable[object], most: int = _MOST_LABELS) -> str:
    """Return labels for a sentence: ``'a', 'b' and 'c'``, the first ones of many."""
    every = list(labels)
    return join_with_and([quote_value(label) for label in every[:most]], len(every) - most)


def row_list(rows: Sequence[int], count: int, ids: Sequence[str] = ()) -> str:
    """Return where to look, for the first of ``count`` rows: ``rows 3, 5 and 7 more``.

    ``ids`` are what the table calls these rows, if it does: ``row 3 ('K-17')``.
    """
    names = map(number_and_id, rows, ids) if ids else (f"{row:,}" for row in rows)
    shown = join_with_and([*names], count - len(rows))
    return f"row {shown}" if count == 1 else f"rows {shown}"


def number_and_id(row: int, id: str) -> str:
    """Return the number of a row, with what the table calls it: ``3 ('K-17')``."""
    return f"{row:,} ({quote_value(id)})" if id else f"{row:,}"


def join_with_and(shown: Sequence[str], more: int = 0) -> str:
    """Return an enumeration: ``a, b and c``, or ``a, b and 7 more``."""
    *others, last = (*shown, f"{more:,} more") if more > 0 else shown
    return f"{', '.join(others)} and {last}" if others else last


def row_name(row: int) -> str:
    """Return what messages call a row: counted from one, without the header."""
    return f"row {row + 1:,}"


def describe_table_rows(bad: BoolArray) -> str:
    """Say how many rows are marked in ``bad`` and which one is first."""
    rows = np.flatnonzero(bad)
    if rows.size == 1:
        return row_name(int(rows[0]))
    return f"{rows.size:,} rows, the first is {row_name(int(rows[0]))}"


def plural(count: int, noun: str) -> str:
    """Return ``1 job`` or ``1,200 jobs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def row_count(count: int) -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return plural(count, "row")


def percent(share: float) -> str:
    """Return a share in percent; only exact ones are shown as 0 % and 100 %."""
    shown = f"{100 * share:.0f} %"
    if shown == "100 %" and share < 1:
        return "over 99 %"
    return "under 1 %" if shown == "0 %" and share > 0 else shown


def option(name: str, value: str | None = None) -> str:
    """Return how to give an option on the command line and in Python, where the names agree.

    Examples
    --------
    >>> option("empty", "all")
    "--empty all (in Python empty='all')"
    >>> option("ignore")
    '--ignore (in Python ignore=)'
    """
    in_python = name.replace("-", "_")
    if value is None:
        return f"--{name} (in Python {in_python}=)"
    return f"--{name} {shlex.quote(value)} (in Python {in_python}={value!r})"


def bare_name(name: str) -> str:
    """Keep letters and digits only, in lower case: ``"Yahoo! News"`` becomes ``"yahoonews"``."""
    return "".join(character for character in name.lower() if character.isalnum())


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like ``name``, or None if none is."""
    by_bare_name = {bare_name(candidate): candidate for candidate in known}
    matches = difflib.get_close_matches(bare_name(name), by_bare_name, n=1)
    return by_bare_name[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that names the closest known name, or an empty string."""
    suggestion = closest_name(name, known)
    return f" Did you mean {suggestion!r}?" if suggestion else ""


def rough_number(expected: float) -> str:
    """Return an expected count for a table: ``31``, ``4,600``.

    It has a decimal only where 0 would mislead.
    """
    if expected <= 0:
        return "0"
    if expected < 0.05:
        return "< 0.1"
    if expected < 0.95:
        return f"{expected:.1f}"
    return f"{_whole(expected):,}"


def about(expected: float, noun: str) -> str:
    """Return an expected count for a sentence: ``fewer than 1 error``, ``about 31 errors``."""
    if expected <= 0:
        return f"no {noun}s"
    return f"{about_number(expected)} {noun}{'' if _whole(expected) <= 1 else 's'}"


def about_number(expected: float) -> str:
    """Return an expected count where it is clear what is counted: ``none``, ``about 31``."""
    if expected <= 0:
        return "none"
    whole = _whole(expected)
    return f"about {whole:,}" if whole else "fewer than 1"


def is_or_are(expected: float) -> str:
    """Return the verb that goes with what ``about`` returns."""
    return "is" if expected > 0 and _whole(expected) <= 1 else "are"


def capitalized(sentence: str) -> str:
    """Return a sentence with its first letter in upper case, and all others as they are."""
    return sentence[:1].upper() + sentence[1:]


def _whole(expected: float) -> int:
    """Return the nearest whole number; of thousands, the nearest with three digits."""
    whole = math.floor(expected + 0.5)
    return whole if whole < 1000 else round(whole, 3 - len(str(whole)))
