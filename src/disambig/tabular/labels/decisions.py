"""Rows whose label a person has settled: read from a table, kept in a log."""

import errno
import io
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import TableError
from disambig._core.files import make_folder, sync
from disambig._core.messages import option, quote_value, row_name
from disambig._core.parsing import parse_json
from disambig._core.typing import AnyArray, BoolArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.label_rows import unknown_label
from disambig.tabular.table_cells import find_column, text_of, texts_of

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows

LOG_SUFFIX = ".jsonl"
_LABEL, _ROW, _TIME = "label", "row", "decided_at"
_TABLE = "The table of decisions"
# Also "7.0", as a column with gaps is written.
_INTEGER = re.compile(r"([+-]?\d{1,15})(\.0*)?", re.ASCII)
# The start of every line of a log: no other line is ever cut off.
_LINE_START = f'{{"{_TIME}": '.encode()
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


def read_decisions(decisions_frame: Any, frame: Any, *, id: str | None = None) -> dict[int, str]:
    """Return the labels that a person has decided on, by row position counted from 0.

    A later decision on a row replaces an earlier one, and an empty label takes it back.

    Parameters
    ----------
    decisions_frame : DataFrame
        A table with a column "label", and a column "row" (counted from 1) or the column ``id``.
    frame : DataFrame
        The table that the decisions are about.
    id : str, optional
        The column in both tables that names the rows; values are compared as strings.

    See Also
    --------
    clean_table : Takes them as ``decisions``.
    fit_table : Takes them too.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import read_decisions
    >>> frame = pd.DataFrame({"size": [1, 2], "label": ["cat|dog", "dog|fox"]})
    >>> decisions = pd.DataFrame({"row": [2, 1, 2], "label": ["dog", "cat", "fox"]})
    >>> read_decisions(decisions, frame)
    {1: 'fox', 0: 'cat'}
    """
    rows = DecidedRows(frame, id)
    advice = ""
    if id is None:
        advice = f"Or name a column that identifies rows in both tables: {option('id')}."
    elif _ROW in decisions_frame:
        advice = f"These decisions go by row numbers: leave out {option('id')}."
    labels, names = (
        texts_of(
            find_column(decisions_frame, column, what=what, table=_TABLE, advice=more),
            what=what,
            literal=True,
        )
        for column, what, more in (
            (_LABEL, "the decided labels", ""),
            (rows.column, "the rows decided on", advice),
        )
    )
    decisions: dict[int, str] = {}
    for number, (name, label) in enumerate(zip(names, labels, strict=True)):
        if name is None and label is None:
            continue  # a blank line
        if name is None:
            raise TableError(
                f"Every decision needs a row in column {rows.column!r}. There is none in "
                f"{row_name(number)} of the decisions. Fill it in, or drop the decision."
            )
        _apply(decisions, rows.position(name, number), label)
    return decisions


def settle(candidates: CandidateLabels, decisions: Mapping[int, object]) -> CandidateLabels:
    """Return candidate sets in which every decided row has its label and no other.

    Decisions are by position, as from ``read_decisions``; a label may also be given as a number.
    It need not have been among the candidates of the row, but must be one of the classes; if the
    sets are weighted it has the weight 1.
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
    return CandidateLabels(mask, candidates.classes, weights=weights).with_rows_of(candidates)


class DecidedRows:
    """Says which row of a table a decision is about: by the column ``id``, or counted from 1."""

    def __init__(self, frame: Any, id: str | None = None) -> None:
        self.column = _ROW if id is None else id
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
                f"Column {_ROW!r} of the decisions must hold row numbers, counted from 1. Got "
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

    def names(self) -> list[str]:
        """Return the names that decisions use for all rows; refuse blank and repeated ones."""
        if self._rows_of_id is None:
            return [str(row + 1) for row in range(self._n_rows)]
        if self.column == _LABEL:
            raise TableError(
                f"A file of decisions has a column {_LABEL!r} for what was decided, and another "
                "that names the rows. Got the same for both. Rename it in the table, or name "
                f"another: {option('id')}."
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


class Conflict(Exception):  # noqa: N818  # nothing went wrong, somebody else was quicker
    """Somebody else has decided on the row in the meantime."""


class DecisionLog:
    """Decisions on the rows of a table, in a file of JSON lines that ``read_decisions`` reads.

    Every decision is a line at its end, forced to the disk before ``settle`` returns. Several
    processes may write to one file, and people may edit it: it is read again for every call.
    JSON, because the beginning of a line is never taken for a whole one. The file is made with the
    first decision.
    """

    def __init__(self, path: str | os.PathLike[str], rows: DecidedRows) -> None:
        self.path = Path(path)
        self._rows = rows
        self._names = rows.names()
        self._lock = threading.Lock()
        self.settled()  # refuses a file that holds something else

    def settled(self) -> dict[int, str]:
        """Return the labels that stand, by row."""
        with self._lock, self._open() as file:
            return {} if file is None else self._read(file)

    def settle(self, row: int, label: str | None, *, before: str | None) -> dict[int, str]:
        """Write a decision to the disk, and return the labels that stand then.

        ``row`` is a position, and the label None takes a decision back. ``before`` is the label
        that the author saw: if another one stands, raise ``Conflict`` and write nothing.
        """
        with self._lock, self._open(create=True) as file:
            assert file is not None
            settled = self._read(file)
            if settled.get(row) != before:
                raise Conflict
            self._append(file, self._line(row, label))
            _apply(settled, row, label)
            return settled

    @contextmanager
    def _open(self, *, create: bool = False) -> Iterator[io.FileIO | None]:
        """Give the file, locked against other processes; None if there is none yet."""
        try:
            if create:
                make_folder(self.path.parent)
            elif not self.path.exists():
                yield None
                return
            if self.path.exists() and not self.path.is_file():
                raise OSError(errno.EINVAL, "it is a folder, a pipe or a device")
            file = io.FileIO(os.open(self.path, _FLAGS, 0o666), "r+")
        except OSError as error:
            raise TableError(
                f"Decisions are kept in {self.path}, which cannot be written: "
                f"{error.strerror or error}. Name another file, or check whether you may write "
                "there."
            ) from error
        with file, _locked(file, self.path):
            yield file

    def _read(self, file: io.FileIO) -> dict[int, str]:
        lines = file.readall().splitlines(keepends=True)
        half = lines.pop() if lines and _is_half(lines[-1]) else b""
        settled: dict[int, str] = {}
        # A file that holds something else is refused before anything in it is changed.
        for number, line in enumerate(line for line in lines if line.strip()):
            _apply(settled, *self._decision(line, number))
        if half:
            # Nobody was told that it is saved: its writer held the lock, and is gone.
            file.truncate(file.tell() - len(half))
        elif lines and not lines[-1].endswith(b"\n"):  # some editors end files like that
            self._append(file, b"\n")
        return settled

    def _decision(self, line: bytes, number: int) -> tuple[int, str | None]:
        try:
            entry = parse_json(line, ValueError)
            name, label = text_of(entry[self._rows.column]), text_of(entry[_LABEL])
        except (ValueError, TypeError, KeyError) as error:
            example = {self._rows.column: self._names[0], _LABEL: "..."}
            raise TableError(
                f"{self.path} needs lines such as {json.dumps(example, ensure_ascii=False)} to "
                "hold decisions on this table. Got "
                f"{quote_value(line.decode('utf-8', 'replace').rstrip())}. Name another file "
                "(--decisions), or the column that names the rows (--id)."
            ) from error
        return self._rows.position(name or "", number), label

    def _line(self, row: int, label: str | None) -> bytes:
        entry = {
            _TIME: datetime.now(UTC).isoformat(timespec="seconds"),
            _ROW: row + 1,
            self._rows.column: self._names[row],  # may have the name of one above
            _LABEL: label,
        }
        text = json.dumps(entry, ensure_ascii=False)
        return text.encode(errors="backslashreplace") + b"\n"  # lone surrogates, as JSON has them

    def _append(self, file: io.FileIO, line: bytes) -> None:
        """Write to the end of the file, in one call: the whole line or nothing."""
        end = file.seek(0, os.SEEK_END)
        if not end:
            sync(self.path.parent)  # it is there, should the power fail
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
            os.fsync(file.fileno())
        except OSError as error:
            file.truncate(end)
            raise OSError(error.errno, error.strerror, os.fspath(self.path)) from error


def _apply(settled: dict[int, str], row: int, label: str | None) -> None:
    """Let a decision replace an earlier one on its row, or take it back if it has no label."""
    if label is None:
        settled.pop(row, None)
    else:
        settled[row] = label


def _rows_of_id(frame: Any, name: str) -> dict[str, list[int]]:
    """Return the rows of every identifier; there should be one of each."""
    column = find_column(frame, name, what="the column that names the rows")
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts_of(column, what="identifiers", literal=True)):
        if text is not None:
            rows.setdefault(text, []).append(row)
    return rows


def _with_one_entry(matrix: Sparse, rows: IntArray, columns: IntArray) -> Sparse:
    """Return a matrix whose ``rows`` have a one in ``columns`` and nothing else."""
    row_of_entry = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    decided: BoolArray = np.zeros(matrix.shape[0], dtype=bool)
    decided[rows] = True
    kept = ~decided[row_of_entry]
    values: AnyArray = np.concatenate([matrix.data[kept], np.ones(len(rows), matrix.dtype)])
    entries = (
        np.concatenate([row_of_entry[kept], rows]),
        np.concatenate([matrix.indices[kept], columns]),
    )
    return sparse.csr_array((values, entries), shape=matrix.shape)


@contextmanager
def _locked(file: io.FileIO, path: Path) -> Iterator[None]:
    """Keep other processes away from a log."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file releases the lock
    else:
        from filelock import FileLock  # needed on Windows only

        with FileLock(f"{path}.lock"):
            yield


def _is_half(line: bytes) -> bool:
    """Tell whether a line is the beginning of one that a log writes."""
    if line.endswith(b"\n") or line[: len(_LINE_START)] != _LINE_START[: len(line)]:
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False
