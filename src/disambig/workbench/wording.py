"""Numbers, and what came out of a file, as sentences for people show them."""

from collections.abc import Iterable, Sequence

from disambig._core.typing import Label

__all__ = ["counted_rows", "percent", "printable", "quoted", "quoted_list", "row_list"]

_LONGEST_LABEL = 40
_MOST_LABELS = 4


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
        character if character.isprintable() else repr(character)[1:-1] for character in str(text)
    )
    if longest is None or len(plain) <= longest:
        return plain
    return plain[: longest - 3] + "..."


def quoted(label: Label) -> str:
    """Return a label between quotes, so that its spaces are seen."""
    return f"'{printable(label, _LONGEST_LABEL)}'"


def quoted_list(labels: Iterable[Label], most: int = _MOST_LABELS) -> str:
    """Return labels for a sentence: ``'a', 'b' and 'c'``, the first ones of many."""
    every = list(labels)
    shown = [quoted(label) for label in every[:most]]
    last = f"{len(every) - most:,} more" if len(every) > most else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def percent(share: float) -> str:
    """Return a share in percent, never all or nothing by rounding."""
    shown = f"{100 * share:.0f} %"
    if shown == "100 %" and share < 1:
        return "over 99 %"
    return "under 1 %" if shown == "0 %" and share > 0 else shown


def counted_rows(count: int) -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return "1 row" if count == 1 else f"{count:,} rows"


def row_list(rows: Sequence[int], count: int) -> str:
    """Return where to look, for the first of ``count`` rows: ``rows 3, 5 and 7 more``."""
    shown = [f"{row:,}" for row in rows]
    last = f"{count - len(rows):,} more" if count > len(rows) else shown.pop()
    return f"rows {', '.join(shown)} and {last}" if shown else f"row {last}"
