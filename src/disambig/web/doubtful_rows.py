"""The section of a page where doubtful rows are settled, and the data its scripts read."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.fingerprint import fingerprint_of
from disambig._core.typing import IntArray
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.labels.decisions import DecidedRows
from disambig.tabular.table_cells import text_of
from disambig.web.group_rows import DECIMALS, PageGroups, likeliest_first
from disambig.web.shell import Section, render_template

SETTLE_SCRIPTS = (
    "elements.js",
    "decisions.js",
    "page_rows.js",
    "row_groups.js",
    "row_list.js",
    "settle.js",
)
# A page may take ten megabytes: of these the rows, and of these the values of columns.
_BYTES_FOR_ROWS = 8_000_000
_BYTES_FOR_VALUES = 6_000_000
_LONGEST_VALUE = 300


def settle_section(saved_in: str | None = None) -> Section:
    """Return the section; the page needs ``doubtful_data`` under the name ``doubtful``.

    ``saved_in`` is the file that decisions are written to; without it the page keeps them itself.
    """
    body = render_template("settle.html", served=saved_in is not None, saved_in=saved_in)
    return Section("settle", "Settle doubtful rows", body)


def doubtful_data(
    rows: CleanedTable, *, most: int = DEFAULT_ROWS_SHOWN, saved_in: str | None = None
) -> dict[str, Any]:
    """Return what a page needs to show doubtful rows and to settle them.

    It holds the most doubtful rows; fewer than ``most`` where they have very many candidates.
    """
    shown = rows.doubtful_rows(most)
    names = DecidedRows(rows.values, rows.id).names()
    groups = None if rows.candidates.groups is None else PageGroups(rows)
    beginnings, left = _rows_that_fit(
        _beginnings(rows, names, shown),
        _BYTES_FOR_ROWS,
        besides=[] if groups is None else map(groups.name, shown.tolist()),
    )
    shown = shown[: len(beginnings)]
    # Half of it for the other rows of their groups.
    for_values = left if groups is None else left // 2
    values, used = _values_that_fit(rows.values, shown, min(for_values, _BYTES_FOR_VALUES))
    on_page, of_groups = shown, None
    if groups is not None:
        mates = groups.mates(shown, most)
        cells = list(_texts(rows.values[list(values)], mates))
        entries, _ = _rows_that_fit(
            (
                [*beginning, [column[i] for column in cells]]
                for i, beginning in enumerate(_beginnings(rows, names, mates))
            ),
            left - used,
        )
        on_page = np.concatenate([shown, mates[: len(entries)]])
        of_groups = groups.describe(on_page) | {"mates": entries}
    return {
        "id": rows.id,
        "classes": rows.candidates.classes.tolist(),
        "columns": list(values),
        "columnsLeftOut": rows.values.shape[1] - len(values),
        "rows": [
            [*beginning, [column[i] for column in values.values()]]
            for i, beginning in enumerate(beginnings)
        ],
        "misses": _misses(rows, on_page),
        "groups": of_groups,
        "totals": {
            "rows": len(rows.candidates),
            "doubtful": int(rows.second_look.sum()),
            "errors": round(rows.expected_errors, DECIMALS),
        },
        # Under which a browser keeps the decisions on this table.
        "key": fingerprint_of(rows.candidates, rows.confidences)[:16],
        "savedIn": saved_in,
    }


def _beginnings(rows: CleanedTable, names: list[str], shown: IntArray) -> Iterator[list[Any]]:
    """Yield number, name, candidates, the likeliest first, and what each network says of them."""
    _, columns = rows.candidates.pairs()
    starts, sizes = rows.candidates.starts[shown], rows.candidates.sizes[shown]
    for row, start, size in zip(shown.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        confidences = rows.confidences[start : start + size]
        order = np.argsort(-confidences, kind="stable").tolist()
        of_networks = [[one[i] for i in order] for one in rows.per_network.get(row, ())]
        candidates = likeliest_first(columns[start : start + size], confidences)
        yield [row + 1, names[row], *candidates, of_networks]


def _misses(rows: CleanedTable, shown: IntArray) -> list[list[Any]]:
    """Return the rows whose set may miss the right label: number, probability, the label then."""
    if rows.miss_probability is None or rows.label_if_missed is None:
        return []
    doubted = shown[rows.set_may_miss[shown]]
    probability, label = rows.miss_probability[doubted], rows.label_if_missed[doubted]
    parts = (doubted + 1, probability.round(DECIMALS), label)
    return [
        [number, chance, place if place >= 0 else None]
        for number, chance, place in zip(*(part.tolist() for part in parts), strict=True)
    ]


def _rows_that_fit(
    rows: Iterable[list[Any]], left: int, *, besides: Iterable[str] = ()
) -> tuple[list[list[Any]], int]:
    """Return the rows, from the first on, that fit into some bytes, and how many are left.

    ``besides`` is what comes with every row and takes bytes too.
    """
    fitting: list[list[Any]] = []
    for row, beside in zip(rows, chain(besides, repeat("")), strict=False):
        size = _n_bytes(row) + (_n_bytes(beside) if beside else 0)
        if size > left:
            break
        left -= size
        fitting.append(row)
    return fitting, left


def _n_bytes(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A page writes <, > and & as six characters each.
    longer = 5 * sum(map(text.count, "<>&"))
    return len(text.encode("utf-8", "backslashreplace")) + longer + 1


def _values_that_fit(
    values: pd.DataFrame, shown: IntArray, most: int
) -> tuple[dict[str, list[str]], int]:
    """Return the columns, from the left, whose values take no more bytes, and what they take."""
    fitting = {}
    used = 0
    for name, texts in zip(values.columns, _texts(values, shown), strict=True):
        size = _n_bytes(texts)
        if used + size > most:
            break
        used += size
        fitting[name] = texts
    return fitting, used


def _texts(values: pd.DataFrame, rows: IntArray) -> Iterator[list[str]]:
    """Yield the cells of some rows, column by column."""
    for name in values.columns:
        yield [_shortened(text_of(cell) or "") for cell in values[name].iloc[rows]]


def _shortened(text: str) -> str:
    # Lone surrogates cannot be written in UTF-8.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
