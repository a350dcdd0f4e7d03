"""The route of a review that says why a row may have one label or another."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.reasons.reasons import Reasons
from disambig.tabular.table_cells import text_of
from disambig.web.token_guard import error_response, json_response

_DECIMALS = 4
_LONGEST_VALUE = 300
# More than anybody reads; the first are the most telling.
_MOST_COLUMNS = 50


class ReasonsOfRows:
    """Answers why, as the page takes it. What all rows need is computed for the first of them.

    Parameters
    ----------
    rows : CleanedTable
        The table.
    columns : sequence of str
        The columns that the page shows, in its order.
    folder : path, optional
        Where the paths of pictures begin.
    held_back : collection of int, optional
        Rows whose label must not be shown.
    """

    def __init__(
        self,
        rows: CleanedTable,
        columns: Sequence[str],
        folder: Path | None = None,
        *,
        held_back: Collection[int] = (),
    ) -> None:
        self._cleaned = rows
        self._held_back = held_back
        self._folder = folder
        self._columns = columns
        self._names = DecidedRows(rows.values, rows.id).names()
        self._classes: list[str] = rows.candidates.classes.tolist()
        self._lock = threading.Lock()

    def __call__(self, row: int) -> dict[str, Any]:
        """Return similar rows, ranges and shares of a row, counted from 0."""
        with self._lock:  # or every request of the first second would compute all
            reasons = self._reasons
        ranges, shares = reasons.ranges(row), reasons.shares(row)
        return {
            "similar": [
                {
                    "number": one.row + 1,
                    "name": _shortened(self._names[one.row]),
                    "label": self._classes[one.label],
                    "likeness": round(one.likeness, _DECIMALS),
                    "values": [
                        "" if name in reasons.hidden else self._value(one.row, name)
                        for name in self._columns
                    ],
                }
                for one in reasons.similar(row)
            ],
            "ranges": [self._described(row, asdict(one)) for one in ranges[:_MOST_COLUMNS]],
            "shares": [self._described(row, asdict(one)) for one in shares[:_MOST_COLUMNS]],
        }

    @cached_property
    def _reasons(self) -> Reasons:
        return Reasons(self._cleaned, self._folder, held_back=self._held_back)

    def _described(self, row: int, found: dict[str, Any]) -> dict[str, Any]:
        """Return a range or share with its value, and with labels by their names."""
        labels = [
            {**_rounded(label), "label": self._classes[label["label"]]} for label in found["labels"]
        ]
        return {**_rounded(found), "value": self._value(row, found["column"]), "labels": labels}

    def _value(self, row: int, column: str) -> str:
        return _shortened(text_of(self._cleaned.values[column].iloc[row]) or "")


def reasons_route(n_rows: int, current: Callable[[], ReasonsOfRows]) -> Route:
    """Return the route ``why?row=N``, rows counted from 1.

    ``current`` returns the reasons for the page as it is now: its table may be cleaned again.
    """

    async def why(request: Request) -> Response:
        number = row_number(request.query_params.get("row", ""), n_rows)
        if number is None:
            return error_response(f"The rows are 1 to {n_rows}.")
        return json_response(await run_in_threadpool(current(), number - 1))

    return Route("/why", why, methods=["GET"])


def row_number(text: str, n_rows: int) -> int | None:
    """Return the number of a row in an address, counted from 1; None where no row has it."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(n_rows))
    number = int(text) if is_number else 0
    return number if 1 <= number <= n_rows else None


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, _DECIMALS) if isinstance(value, float) else value
        for name, value in found.items()
    }


def _shortened(text: str) -> str:
    # Lone surrogates cannot be written in UTF-8.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
