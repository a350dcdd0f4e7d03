"""The section of a page where doubtful rows are settled, and the data its scripts read."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.fingerprint import fingerprint_of
from disambig._core.typing import IntArray
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.labels.decisions import DecidedRows
from disambig.tabular.table_cells import text_of
from disambig.web.shell import Section, render_template

SETTLE_SCRIPTS = ("elements.js", "decisions.js", "row_list.js", "settle.js")
# A page may take ten megabytes: of these the rows, and of these the values of columns.
_BYTES_FOR_ROWS = 8_000_000
_BYTES_FOR_VALUES = 6_000_000
_LONGEST_VALUE = 300
_DECIMALS = 4


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
    beginnings, left = _rows_that_fit(
        [row + 1, names[row], *of_row]
        for row, of_row in zip(shown.tolist(), _candidates(rows, shown), strict=True)
    )
    shown = shown[: len(beginnings)]
    values = _values_that_fit(rows.values, shown, min(left, _BYTES_FOR_VALUES))
    return {
        "id": rows.id,
        "classes": rows.candidates.classes.tolist(),
        "columns": list(values),
        "columnsLeftOut": rows.values.shape[1] - len(values),
        "rows": [
            [*beginning, [column[i] for column in values.values()]]
            for i, beginning in enumerate(beginnings)
        ],
        "misses": _misses(rows, shown),
        "totals": {
            "rows": len(rows.candidates),
            "doubtful": int(rows.second_look.sum()),
            "errors": round(rows.expected_errors, _DECIMALS),
        },
        # Under which a browser keeps the decisions on this table.
        "key": fingerprint_of(rows.candidates, rows.confidences)[:16],
        "savedIn": saved_in,
    }


def _candidates(rows: CleanedTable, shown: IntArray) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the candidates of every row, the likeliest first, and what each network says."""
    _, columns = rows.candidates.pairs()
    starts, sizes = rows.candidates.starts[shown], rows.candidates.sizes[shown]
    for row, start, size in zip(shown.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        confidences = rows.confidences[start : start + size]
        order = np.argsort(-confidences, kind="stable")
        of_networks = [[one[i] for i in order.tolist()] for one in rows.per_network.get(row, ())]
        places = columns[start : start + size][order].tolist()
        yield places, confidences[order].round(_DECIMALS).tolist(), of_networks


def _misses(rows: CleanedTable, shown: IntArray) -> list[list[Any]]:
    """Return the rows whose set may miss the right label: number, probability, the label then."""
    if rows.miss_probability is None or rows.label_if_missed is None:
        return []
    doubted = shown[rows.set_may_miss[shown]]
    probability, label = rows.miss_probability[doubted], rows.label_if_missed[doubted]
    parts = (doubted + 1, probability.round(_DECIMALS), label)
    return [
        [number, chance, place if place >= 0 else None]
        for number, chance, place in zip(*(part.tolist() for part in parts), strict=True)
    ]


def _rows_that_fit(rows: Iterable[list[Any]]) -> tuple[list[list[Any]], int]:
    """Return the rows, from the first on, that a page can hold, and how many bytes are left."""
    left = _BYTES_FOR_ROWS
    fitting: list[list[Any]] = []
    for row in rows:
        size = _n_bytes(row)
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


def _values_that_fit(values: pd.DataFrame, shown: IntArray, left: int) -> dict[str, list[str]]:
    """Return the columns, from the left, whose values take no more than the bytes left."""
    fitting = {}
    for name in values.columns:
        texts = [_shortened(text_of(cell) or "") for cell in values[name].iloc[shown]]
        left -= _n_bytes(texts)
        if left < 0:
            break
        fitting[name] = texts
    return fitting


def _shortened(text: str) -> str:
    # Lone surrogates cannot be written in UTF-8.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
