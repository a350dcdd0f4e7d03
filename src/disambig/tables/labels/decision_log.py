"""A file of decisions that only ever grows: what is in it is on the disk, and nothing is lost."""

import csv
import errno
import io
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from disambig._core.errors import TableError
from disambig.tables.cell_text import text_of
from disambig.tables.labels.decisions import LABEL, DecidedRows
from disambig.tables.labels.log_lines import LogLine, lines_of, written_line
from disambig.tables.wording import in_words, listed

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows: two reviews of one table may cross

__all__ = ["Conflict", "Decision", "DecisionLog"]

_TIME = "decided_at"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class Decision:
    """A label that somebody chose for a row, by its position; None takes it back."""

    row: int
    label: str | None


class Conflict(Exception):  # noqa: N818  # nothing went wrong, somebody else was quicker
    """Somebody else has decided on the row in the meantime."""


class DecisionLog:
    """Decisions on the rows of a table, in a CSV file that ``read_decisions`` reads.

    Every decision is a line at its end, forced to the disk before ``append`` returns. Several
    processes may write to one file: each reads what the others have added.

    Parameters
    ----------
    path : path
        The file; it is made with the first decision.
    rows : DecidedRows
        Which row a line is about.
    places : sequence of str
        What the file calls every row of the table.
    """

    def __init__(
        self, path: str | os.PathLike[str], rows: DecidedRows, places: Sequence[str]
    ) -> None:
        self.path = Path(path)
        self._rows = rows
        self._places = places
        self._lock = threading.Lock()
        self._forget()
        with self._opened() as file:
            if file is not None:
                self._read_on(file)

    def since(self, start: int) -> list[Decision]:
        """Return the decisions from a number on, in the order they were made."""
        with self._lock, self._opened() as file:
            if file is not None:
                self._read_on(file)
            return self._decisions[max(0, start) :]

    def settled(self) -> dict[int, str]:
        """Return the labels that stand in the end, by row."""
        settled: dict[int, str] = {}
        for decision in self.since(0):
            if decision.label is None:
                settled.pop(decision.row, None)
            else:
                settled[decision.row] = decision.label
        return settled

    def append(self, decision: Decision, *, seen: int) -> None:
        """Write a decision to the disk.

        Parameters
        ----------
        decision : Decision
            What was decided.
        seen : int
            How many decisions its author knew of. If there is a later one on the same row,
            ``Conflict`` is raised and nothing is written.
        """
        with self._lock, self._opened(create=True) as file:
            assert file is not None
            self._read_on(file)
            if self._last_of_row.get(decision.row, -1) >= seen:
                raise Conflict
            self._write(file, decision)
            self._read_on(file)

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[io.FileIO | None]:
        """Give the file, locked against other processes; None if there is none yet."""
        try:
            if create:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            elif not self.path.exists():
                yield None
                return
            file = io.FileIO(os.open(self.path, _FLAGS, 0o666), "r+")
        except OSError as error:
            raise TableError(
                f"Decisions are kept in {self.path}, which cannot be written: "
                f"{error.strerror or error}. Name another file, or check whether you may write "
                "there."
            ) from error
        with file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file  # closing it lets go of the lock

    def _forget(self) -> None:
        self._size = 0  # bytes that were read
        self._header: list[str] = []
        self._decisions: list[Decision] = []
        self._last_of_row: dict[int, int] = {}

    def _read_on(self, file: io.FileIO) -> None:
        """Read what was added since the file was read last."""
        if file.seek(0, os.SEEK_END) < self._size:  # another file has taken its place
            self._forget()
        header = self._header
        found: list[Decision] = []
        lines = self._whole_lines(file)
        for line in lines:
            if header:
                cells = dict(zip(header, line.cells, strict=False))
                found += self._read(cells, len(self._decisions) + len(found))
            elif line.cells:
                header = self._checked_header(line.cells)
        self._header = header
        self._size += sum(line.n_bytes for line in lines)
        for number, decision in enumerate(found, start=len(self._decisions)):
            self._last_of_row[decision.row] = number
        self._decisions += found

    def _whole_lines(self, file: io.FileIO) -> list[LogLine]:
        """Return the new lines; one that was not written to its end is cut off first.

        Nobody was told that it was saved: whoever writes to the file holds the lock, and is gone.
        """
        file.seek(self._size)
        try:
            lines = lines_of(file.readall())
        except csv.Error as error:
            raise TableError(
                f"{self.path} cannot be read: {error}. Move it away, or name another file."
            ) from error
        self._check_text(lines[:-1])
        if lines and not lines[-1].is_ended:
            if self._is_half(lines[-1], lines[:-1]):
                del lines[-1]
                file.truncate(self._size + sum(line.n_bytes for line in lines))
            else:  # somebody's editor ends files without a break
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
                os.fsync(file.fileno())
                lines[-1] = replace(lines[-1], n_bytes=lines[-1].n_bytes + 1)
        self._check_text(lines[-1:])
        return lines

    def _is_half(self, last: LogLine, before: list[LogLine]) -> bool:
        """Tell whether a last line without a break is the beginning of another one."""
        own_header = written_line(self._own_columns).rstrip("\n")
        if not self._header and not before and own_header.startswith(last.text):
            return last.text != own_header
        # Nothing is cut off a file that holds something else.
        first = next((line.cells for line in [*before, last] if line.cells), [])
        header = self._header or self._checked_header(first)
        if not last.is_closed:
            if "\n" in last.text:  # or a quote too many, and good lines after it
                raise TableError(
                    f"{self.path} ends inside quotes that begin in {in_words(last.text)}. Close "
                    "them, or remove what was not written to its end."
                )
            return True
        # An empty cell may be the beginning of a longer one.
        says_nothing = header[-1] in self._own_columns[:2] and not last.cells[-1]
        return len(last.cells) != len(header) or says_nothing

    @property
    def _own_columns(self) -> list[str]:
        return [self._rows.column, LABEL, _TIME]

    def _check_text(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            if not line.is_text:
                raise TableError(
                    f"{self.path} needs to be text in UTF-8. It is not in {in_words(line.text)}. "
                    "Move it away, or name another file."
                )

    def _checked_header(self, cells: list[str]) -> list[str]:
        for name in (self._rows.column, LABEL):
            if name not in cells:
                raise TableError(
                    f"{self.path} needs the columns {self._rows.column!r} and {LABEL!r} to hold "
                    f"decisions on this table. It has {listed(map(repr, cells))}. Name another "
                    "file (--decisions), or the column that names the rows (--id)."
                )
        return cells

    def _read(self, line: Mapping[str, str], number: int) -> list[Decision]:
        """Return the decision in a line; there is none in a blank one."""
        place, label = text_of(line.get(self._rows.column)), text_of(line.get(LABEL))
        if place is None and label is None:
            return []
        return [Decision(self._rows.position(place or "", number), label)]

    def _write(self, file: io.FileIO, decision: Decision) -> None:
        known = {
            self._rows.column: self._places[decision.row],
            LABEL: decision.label or "",
            _TIME: datetime.now(UTC).isoformat(timespec="seconds"),
        }
        header = self._header or list(known)
        # Quotes tell whether a cell at the end is whole.
        quoted = header[-1] in self._own_columns[:2]
        text = written_line([known.get(name, "") for name in header], quoted=quoted)
        line = (text if self._header else written_line(header) + text).encode("utf-8")
        end = file.seek(0, os.SEEK_END)
        try:
            # One call: the line is there or it is not.
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise
