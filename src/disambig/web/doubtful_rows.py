"""The section of a page where doubtful rows are settled, and the data its scripts read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from disambig._core.fingerprint import fingerprint_of
from disambig._core.typing import IntArray
from disambig.tabular.clean_again import command_again
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN, SECONDS_PER_ANSWER
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.web.group_rows import DECIMALS, PageGroups, likeliest_first
from disambig.web.page_values import cells_of, columns_that_fit, rows_that_fit, shown_columns
from disambig.web.shell import Section, render_template

SETTLE_STYLES = ("style.css", "settle.css")
SETTLE_SCRIPTS = (
    "elements.js",
    "decisions.js",
    "page_rows.js",
    "keys.js",
    "gain.js",
    "row_groups.js",
    "queue.js",
    "row_list.js",
    "values.js",
    "card.js",
    "why.js",
    "end.js",
    "summary.js",
    "settle.js",
)
# A page may take ten megabytes: of these the rows, and of these the values of columns.
_BYTES_FOR_ROWS = 8_000_000
_BYTES_FOR_VALUES = 6_000_000
# What the button of a page without a server saves.
_SAVED_AS = "decisions.csv"


def settle_section(saved_in: str | None = None) -> Section:
    """Return the section; the page needs ``doubtful_data`` under the name ``doubtful``.

    ``saved_in`` is the file that decisions are written to; without it the page keeps them itself.
    """
    body = render_template("settle.html", served=saved_in is not None, saved_in=saved_in)
    return Section("settle", "Settle doubtful rows", body)


def doubtful_data(
    rows: CleanedTable,
    *,
    most: int = DEFAULT_ROWS_SHOWN,
    saved_in: str | None = None,
    queue: IntArray | None = None,
    unaided: Mapping[int, Mapping[str, float]] | None = None,
    show: Sequence[str] = (),
    pictures: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what a page needs to show doubtful rows and to settle them.

    It holds the most doubtful rows, or those of ``queue`` in its order; fewer where they have very
    many candidates. Rows in ``unaided`` are shown with the confidences given there.
    ``show`` are the columns to show, and ``pictures`` those that hold pictures.
    """
    beginnings = _Beginnings(rows, unaided or {})
    shown = rows.doubtful_rows(most) if queue is None else queue
    table = rows.values[shown_columns(rows, show)]
    groups = None if rows.candidates.groups is None else PageGroups(rows)
    begun, left = rows_that_fit(
        beginnings.of(shown),
        _BYTES_FOR_ROWS,
        besides=[] if groups is None else map(groups.name, shown.tolist()),
    )
    shown = shown[: len(begun)]
    # Half of it for the other rows of their groups.
    for_values = left if groups is None else left // 2
    values, used = columns_that_fit(table, shown, min(for_values, _BYTES_FOR_VALUES))
    on_page, of_groups = shown, None
    if groups is not None:
        mates = groups.mates(shown, most)
        cells = list(cells_of(table[list(values)], mates))
        entries, _ = rows_that_fit(
            (
                [*beginning, [column[i] for column in cells]]
                for i, beginning in enumerate(beginnings.of(mates))
            ),
            left - used,
        )
        on_page = np.concatenate([shown, mates[: len(entries)]])
        of_groups = groups.describe(on_page) | {"mates": entries}
    return {
        "id": rows.id,
        "classes": rows.candidates.classes.tolist(),
        "columns": list(values),
        "columnsLeftOut": table.shape[1] - len(values),
        "pictures": [name for name in pictures if name in values],
        "rows": [
            [*beginning, [column[i] for column in values.values()]]
            for i, beginning in enumerate(begun)
        ],
        "misses": _misses(rows, on_page, unaided or {}),
        "groups": of_groups,
        "totals": {
            "rows": len(rows.candidates),
            "doubtful": int(rows.second_look.sum()),
            "errors": round(rows.expected_errors, DECIMALS),
        },
        "secondsEach": SECONDS_PER_ANSWER,
        "command": command_again(rows.provenance.command, saved_in or _SAVED_AS),
        # Under which a browser keeps the decisions on this table.
        "key": fingerprint_of(rows.candidates, rows.confidences)[:16],
        "savedIn": saved_in,
        "review": None,
    }


class _Beginnings:
    """What is said of rows on a page, but for their values."""

    def __init__(self, rows: CleanedTable, unaided: Mapping[int, Mapping[str, float]]) -> None:
        self._rows = rows
        self._unaided = unaided
        self._decided = DecidedRows(rows.values, rows.id)
        _, self._columns = rows.candidates.pairs()
        self._starts, self._sizes = rows.candidates.starts, rows.candidates.sizes
        self._places = {name: i for i, name in enumerate(rows.candidates.classes.tolist())}

    def of(self, shown: IntArray) -> Iterator[list[Any]]:
        """Yield number, name, candidates, the likeliest first, and what each network says."""
        names = self._decided.names_of(shown.tolist())
        for row, name in zip(shown.tolist(), names, strict=True):
            columns, confidences = self._candidates(row)
            order = np.argsort(-confidences, kind="stable").tolist()
            of_networks = [[one[i] for i in order] for one in self._rows.per_network.get(row, ())]
            yield [row + 1, name, *likeliest_first(columns, confidences), of_networks]

    def _candidates(self, row: int) -> tuple[IntArray, Any]:
        if row in self._unaided:
            shares = sorted((self._places[name], c) for name, c in self._unaided[row].items())
            return np.array([place for place, _ in shares]), np.array([c for _, c in shares])
        pairs = slice(self._starts[row], self._starts[row] + self._sizes[row])
        return self._columns[pairs], self._rows.confidences[pairs]


def _misses(
    rows: CleanedTable, shown: IntArray, unaided: Mapping[int, Mapping[str, float]]
) -> list[list[Any]]:
    """Return the rows whose set may miss the right label: number, probability, the label then."""
    if rows.miss_probability is None or rows.label_if_missed is None:
        return []
    doubted = shown[rows.set_may_miss[shown]]
    # Where the label is known, so is whether the set misses it.
    doubted = np.array([row for row in doubted.tolist() if row not in unaided], dtype=np.int64)
    probability, label = rows.miss_probability[doubted], rows.label_if_missed[doubted]
    parts = (doubted + 1, probability.round(DECIMALS), label)
    return [
        [number, chance, place if place >= 0 else None]
        for number, chance, place in zip(*(part.tolist() for part in parts), strict=True)
    ]
