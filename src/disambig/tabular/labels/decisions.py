"""Rows whose label a person has settled."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import TableError
from disambig._core.messages import option, quote_value, row_name
from disambig._core.typing import AnyArray, BoolArray, IntArray, Sparse
from disambig.candidates import CandidateLabels
from disambig.tabular.cell_values import text_of
from disambig.tabular.labels.distinct_cells import texts_of
from disambig.tabular.labels.label_rows import unknown_label
from disambig.tabular.table_columns import find_column

__all__ = ["LABEL", "ROW", "DecidedRows", "note_decision", "read_decisions", "settle"]

LABEL = "label"
ROW = "row"
_TABLE = "The table of decisions"
# Also "7.0", as a column with gaps is written.
_INTEGER = re.compile(r"([+-]?\d{1,15})(\.0*)?", re.ASCII)


def read_decisions(decisions_frame: Any, frame: Any, *, id: str | None = None) -> dict[int, str]:  # noqa: A002
    """Return the settled rows of a table, by position from 0, and their labels.

    The file is appended to while rows are reviewed: a later decision on a row replaces an earlier
    one, and an empty label takes it back.

    Parameters
    ----------
    decisions_frame : DataFrame
        A column "label", and a column "row", counted from 1, or one named ``id``.
    frame : DataFrame
        The table that is decided on.
    id : str, optional
        The column, of both tables, that tells which row; compared as text.
    """
    rows = DecidedRows(frame, id)
    by_id = f"Or name a column that identifies rows in both tables: {option('id')}."
    labels, places = (
        texts_of(
            find_column(decisions_frame, column, what=what, table=_TABLE, advice=advice),
            what=what,
            literal=True,
        )
        for column, what, advice in (
            (LABEL, "the decided labels", ""),
            (rows.column, "the rows decided on", by_id if id is None else ""),
        )
    )
    decisions: dict[int, str] = {}
    for number, (place, label) in enumerate(zip(places, labels, strict=True)):
        if place is None and label is None:
            continue  # a blank line
        if place is None:
            raise TableError(
                f"Every decision needs a row in column {rows.column!r}. There is none in "
                f"{row_name(number)} of the decisions. Fill it in, or drop the decision."
            )
        note_decision(decisions, rows.position(place, number), label)
    return decisions


def note_decision(settled: dict[int, str], row: int, label: str | None) -> None:
    """Let a decision count among those that stand; without a label it takes one back."""
    if label is None:
        settled.pop(row, None)
    else:
        settled[row] = label


class DecidedRows:
    """Says which row of a table a decision is about.

    Parameters
    ----------
    frame : DataFrame
        The table.
    id : str, optional
        The column that tells rows apart; without it they are counted from 1.
    """

    def __init__(self, frame: Any, id: str | None = None) -> None:  # noqa: A002
        self.column = ROW if id is None else id
        self._n_rows = len(frame)
        self._rows_of_id = None if id is None else _rows_of_id(frame, id)

    def position(self, place: str, number: int) -> int:
        """Return the row, counted from 0, that the decision with this number names."""
        if self._rows_of_id is None:
            return _row_number(place, number, self._n_rows)
        return _row_of_id(place, number, self.column, self._rows_of_id)

    def names(self) -> list[str]:
        """Return what decisions call every row; refuse names that do not tell rows apart."""
        if self._rows_of_id is None:
            return [str(row + 1) for row in range(self._n_rows)]
        return _names(self.column, self._rows_of_id, self._n_rows)


def settle(candidates: CandidateLabels, decisions: Mapping[int, object]) -> CandidateLabels:
    """Return candidate sets in which every decided row has its label and no other.

    The label need not have been among the candidates of the row, but must be one of the classes;
    where the sets are weighted it has the weight 1.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets of all rows.
    decisions : mapping from position to label
        As from ``read_decisions``; a label may also be given as a number.
    """
    if not decisions:
        return candidates
    names = [text_of(name) or "" for name in candidates.classes.tolist()]
    column_of = {name: column for column, name in enumerate(names)}
    labels = [text_of(label) or "" for label in decisions.values()]
    for row, label in zip(decisions, labels, strict=True):
        if not 0 <= row < len(candidates):
            raise TableError(
                f"A decision must be about one of the {len(candidates):,} rows. "
                f"Got {row_name(row)}."
            )
        if label not in column_of:
            raise TableError(
                f"The label decided on for {row_name(row)} cannot be used. "
                f"{unknown_label(label, names)}"
            )
    rows = np.fromiter(decisions, np.int64, count=len(decisions))
    columns = np.array([column_of[label] for label in labels], dtype=np.int64)
    mask = _with_one_entry(candidates.to_sparse(), rows, columns)
    weights = candidates.weights
    if weights is not None:
        weights = _with_one_entry(weights, rows, columns)
    return CandidateLabels(mask, candidates.classes, weights=weights)


def _with_one_entry(matrix: Sparse, rows: IntArray, columns: IntArray) -> Sparse:
    """Return a matrix whose ``rows`` have a one in ``columns`` and nothing else."""
    row_of_entry = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    decided: BoolArray = np.zeros(matrix.shape[0], dtype=bool)
    decided[rows] = True
    kept = ~decided[row_of_entry]
    values: AnyArray = np.concatenate([matrix.data[kept], np.ones(len(rows), matrix.dtype)])
    places = (
        np.concatenate([row_of_entry[kept], rows]),
        np.concatenate([matrix.indices[kept], columns]),
    )
    return sparse.csr_array((values, places), shape=matrix.shape)


def _row_number(place: str, number: int, n_rows: int) -> int:
    match = _INTEGER.fullmatch(place)
    if match is None:
        raise TableError(
            f"Column {ROW!r} of the decisions holds row numbers, counted from 1. Got "
            f"{quote_value(place)} in its {row_name(number)}. Correct it, or name the column "
            f"that identifies rows: {option('id')}."
        )
    row = int(match[1])
    if not 1 <= row <= n_rows:
        raise TableError(
            f"Decisions are about rows 1 to {n_rows:,} of the table, counted without the header. "
            f"Got {row:,} in {row_name(number)} of the decisions. Check that they belong to "
            "this table."
        )
    return row - 1


def _rows_of_id(frame: Any, name: str) -> dict[str, list[int]]:
    """Return the rows of every identifier; of rightful ones there is one."""
    column = find_column(frame, name, what="what identifies rows")
    texts = texts_of(column, what="identifiers", literal=True)
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        if text is not None:
            rows.setdefault(text, []).append(row)
    return rows


def _names(column: str, rows_of_id: Mapping[str, list[int]], n_rows: int) -> list[str]:
    if column == LABEL:
        raise TableError(
            f"A file of decisions has a column {LABEL!r} for what was decided, and another that "
            "names the rows. Got the same for both. Rename it in the table, or name another: "
            f"{option('id')}."
        )
    names = [""] * n_rows
    for name, rows in rows_of_id.items():
        if len(rows) > 1:
            raise TableError(
                f"Column {column!r} is to name the rows. It holds {quote_value(name)} in "
                f"{row_name(rows[0])} and in {row_name(rows[1])}. Make it unique, or name "
                f"another column: {option('id')}."
            )
        names[rows[0]] = name
    if "" in names:
        raise TableError(
            f"Column {column!r} is to name the rows. It is empty in "
            f"{row_name(names.index(''))}. Fill it in, or name another column: {option('id')}."
        )
    return names


def _row_of_id(place: str, number: int, name: str, rows_of_id: Mapping[str, list[int]]) -> int:
    found = rows_of_id.get(place, [])
    if not found:
        raise TableError(
            f"{row_name(number).capitalize()} of the decisions is about "
            f"{quote_value(place)}, which column {name!r} of the table does not hold. Check that "
            "the decisions belong to this table."
        )
    if len(found) > 1:
        raise TableError(
            f"A decision is about one row. Column {name!r} of the table holds "
            f"{quote_value(place)} in {len(found):,} rows, among them {row_name(found[0])} "
            f"and {row_name(found[1])}. Make it unique, or decide by row number."
        )
    return found[0]
