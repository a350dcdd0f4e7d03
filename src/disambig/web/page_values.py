"""The values of rows on a page: which columns are shown, their cells as texts, and what fits."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from disambig._core.errors import ParameterError
from disambig._core.typing import IntArray
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.files.table_on_disk import Table
from disambig.tabular.reasons.column_reading import hidden_columns
from disambig.tabular.table_cells import find_column, text_of

_LONGEST_VALUE = 300
LONGEST_TEXT = 20_000


def shown_columns(rows: CleanedTable, wanted: Sequence[str] = ()) -> list[str]:
    """Return the columns whose values are shown: those that are wanted, in their order, or all.

    Columns of candidate labels are not among them, since candidates are shown by themselves; nor is
    the one of true labels, which would tell the answer.
    """
    hidden = hidden_columns(rows)
    if not wanted:
        return [name for name in rows.values.columns if name not in hidden]
    names = []
    for one in wanted:
        # A name may hold a comma itself.
        names += [one] if one in rows.values.columns else [part.strip() for part in one.split(",")]
    for name in names:
        find_column(rows.values, name, what="a column to show")
        if name in hidden:
            what = "true labels" if name == rows.truth else "candidate labels"
            raise ParameterError(
                f"--show names columns to decide by. Got {name!r}, which holds {what}. Leave it "
                "out."
            )
    return list(dict.fromkeys(names))


def full_values(rows: CleanedTable, columns: Sequence[str], row: int) -> list[str]:
    """Return the cells of a row, as long as a page may show them."""
    values = rows.values[list(columns)]
    return [shortened(text_of(cell) or "", LONGEST_TEXT) for cell in values.iloc[row]]


def cells_of(values: Table, rows: IntArray) -> Iterator[list[str]]:
    """Yield the cells of some rows, column by column."""
    for name in values.columns:
        yield [shortened(text_of(cell) or "") for cell in values[name].iloc[rows]]


def shortened(text: str, longest: int = _LONGEST_VALUE) -> str:
    """Return a text of limited length that can be written in UTF-8."""
    # Lone surrogates cannot.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def columns_that_fit(values: Table, shown: IntArray, most: int) -> tuple[dict[str, list[str]], int]:
    """Return the columns, from the left, whose values take no more bytes, and what they take."""
    fitting = {}
    used = 0
    for name, texts in zip(values.columns, cells_of(values, shown), strict=True):
        size = n_bytes(texts)
        if used + size > most:
            break
        used += size
        fitting[name] = texts
    return fitting, used


def rows_that_fit(
    rows: Iterable[list[Any]], left: int, *, besides: Iterable[str] = ()
) -> tuple[list[list[Any]], int]:
    """Return the rows, from the first on, that fit into some bytes, and how many are left.

    ``besides`` is what comes with every row and takes bytes too.
    """
    fitting: list[list[Any]] = []
    for row, beside in zip(rows, chain(besides, repeat("")), strict=False):
        size = n_bytes(row) + (n_bytes(beside) if beside else 0)
        if size > left:
            break
        left -= size
        fitting.append(row)
    return fitting, left


def n_bytes(value: Any) -> int:
    """Return how many bytes a value takes in a page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A page writes <, > and & as six characters each.
    longer = 5 * sum(map(text.count, "<>&"))
    return len(text.encode("utf-8", "backslashreplace")) + longer + 1
