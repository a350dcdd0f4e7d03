"""Which rows of a table decisions are about, and what a table of decisions says of them."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import option, quote_value, row_name
from disambig._core.typing import AnyArray
from disambig.tabular.labels.decisions import (
    ANSWER,
    BY,
    CHECK,
    LABEL,
    ROW,
    SETTLES,
    Entry,
    decision_of,
    is_marked,
)
from disambig.tabular.table_cells import find_column, texts_of

_TABLE = "The table of decisions"
# Also "7.0", as a column with gaps is written.
_INTEGER = re.compile(r"([+-]?\d{1,15})(\.0*)?", re.ASCII)


def read_entries(decisions_frame: Any, frame: Any, *, id: str | None = None) -> list[Entry]:
    """Return the lines of a table of decisions in order; as for ``read_decisions``."""
    rows = DecidedRows(frame, id)
    advice = ""
    if id is None:
        advice = f"Or name a column that identifies rows in both tables: {option('id')}."
    elif ROW in decisions_frame:
        advice = f"These decisions go by row numbers: leave out {option('id')}."
    labels, names = (
        texts_of(
            find_column(decisions_frame, column, what=what, table=_TABLE, advice=more),
            what=what,
            literal=True,
        )
        for column, what, more in (
            (LABEL, "the decided labels", ""),
            (rows.column, "the rows decided on", advice),
        )
    )
    answers, reviewers, settles, checks = (
        _optional(decisions_frame, column) for column in (ANSWER, BY, SETTLES, CHECK)
    )
    entries = []
    for number, (name, label, answer) in enumerate(zip(names, labels, answers, strict=True)):
        if name is None and label is None and answer is None:
            continue  # a blank line
        if name is None:
            raise TableError(
                f"Every decision needs a row in column {rows.column!r}. There is none in "
                f"{row_name(number)} of the decisions. Fill it in, or drop the decision."
            )
        row = rows.position(name, number)
        try:
            decision = decision_of(label, answer)
            marks = [is_marked(column[number]) for column in (settles, checks)]
        except ValueError as error:
            raise TableError(f"{error}, in {row_name(number)} of the decisions.") from error
        entries.append(Entry(row, decision, reviewers[number] or "", *marks))
    return entries


def _optional(decisions_frame: Any, name: str) -> AnyArray:
    """Return the texts of a column, all None where there is no such column."""
    if name not in decisions_frame:
        return np.full(len(decisions_frame), None)
    return texts_of(decisions_frame[name], what=f"what is called {name!r}", literal=True)


class DecidedRows:
    """Says which row of a table a decision is about: by the column ``id``, or counted from 1."""

    def __init__(self, frame: Any, id: str | None = None) -> None:
        self.column = ROW if id is None else id
        self._n_rows = len(frame)
        self._rows_of_id = None if id is None else _rows_of_id(frame, id)

    def position(self, name: str, number: int) -> int:
        """Return the position, from 0, of the row that the decision with this number names."""
        if self._rows_of_id is None:
            return self._position_by_count(name, number)
        found = self._rows_of_id.get(name, [])
        if not found:
            raise TableError(
                f"{row_name(number).capitalize()} of the decisions is about "
                f"{quote_value(name)}, which column {self.column!r} of the table does not hold. "
                "Check that the decisions belong to this table."
            )
        if len(found) > 1:
            raise TableError(
                f"A decision is about one row. Column {self.column!r} of the table holds "
                f"{quote_value(name)} in {len(found):,} rows, among them {row_name(found[0])} "
                f"and {row_name(found[1])}. Make it unique, or decide by row number."
            )
        return found[0]

    def _position_by_count(self, name: str, number: int) -> int:
        match = _INTEGER.fullmatch(name)
        if match is None:
            raise TableError(
                f"Column {ROW!r} of the decisions must hold row numbers, counted from 1. Got "
                f"{quote_value(name)} in its {row_name(number)}. Correct it, or name the column "
                f"that identifies rows: {option('id')}."
            )
        row = int(match[1])
        if not 1 <= row <= self._n_rows:
            raise TableError(
                f"Decisions are about rows 1 to {self._n_rows:,} of the table, counted without the "
                f"header. Got {row:,} in {row_name(number)} of the decisions. Check that they "
                "belong to this table."
            )
        return row - 1

    def names_of(self, rows: Iterable[int]) -> list[str]:
        """Return the names of some rows, by their positions from 0."""
        if self._rows_of_id is None:
            return [str(row + 1) for row in rows]
        names = self.names()
        return [names[row] for row in rows]

    def names(self) -> list[str]:
        """Return the names that decisions use for all rows; refuse blank and repeated ones."""
        if self._rows_of_id is None:
            return [str(row + 1) for row in range(self._n_rows)]
        if self.column in (LABEL, ANSWER, BY, SETTLES, CHECK):
            raise TableError(
                f"A file of decisions has a column {self.column!r} for what was decided, and "
                "another that names the rows. Got the same for both. Rename it in the table, or "
                f"name another: {option('id')}."
            )
        names = [""] * self._n_rows
        for name, rows in self._rows_of_id.items():
            if len(rows) > 1:
                raise TableError(
                    f"Column {self.column!r} should name the rows. It holds {quote_value(name)} in "
                    f"{row_name(rows[0])} and in {row_name(rows[1])}. Make it unique, or name "
                    f"another column: {option('id')}."
                )
            names[rows[0]] = name
        if "" in names:
            raise TableError(
                f"Column {self.column!r} should name the rows. It is empty in "
                f"{row_name(names.index(''))}. Fill it in, or name another column: {option('id')}."
            )
        return names


def _rows_of_id(frame: Any, name: str) -> dict[str, list[int]]:
    """Return the rows of every identifier; there should be one of each."""
    column = find_column(frame, name, what="the column that names the rows")
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts_of(column, what="identifiers", literal=True)):
        if text is not None:
            rows.setdefault(text, []).append(row)
    return rows
