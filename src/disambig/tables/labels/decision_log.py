"""A file of decisions that only ever grows: what is in it is on the disk, and nothing is lost."""

import csv
import errno
import io
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from disambig._core.errors import TableError
from disambig.tables.labels.decisions import LABEL, DecidedRows

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
        self._size = 0  # bytes that were read
        self._header: list[str] = []
        self._decisions: list[Decision] = []
        self._last_of_row: dict[int, int] = {}
        with self._opened() as file:
            if file is not None:
                self._drop_half_a_line(file)
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

    def _drop_half_a_line(self, file: io.FileIO) -> None:
        """Cut off a last line that was not written to its end: nobody was told it was saved."""
        content = file.readall()
        if content and not content.endswith(b"\n"):
            *whole, last = content.splitlines(keepends=True)
            width = len(next(csv.reader([content.decode("utf-8-sig", "replace").split("\n")[0]])))
            cells = next(csv.reader([last.decode("utf-8", "replace")]))
            if len(cells) == width and whole:  # somebody's editor ends lines without a break
                file.write(b"\n")
                os.fsync(file.fileno())
            else:
                file.truncate(len(b"".join(whole)))

    def _read_on(self, file: io.FileIO) -> None:
        """Read what was added since the file was read last."""
        file.seek(self._size)
        content = file.readall()
        self._size += len(content)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise TableError(
                f"{self.path} needs to be text in UTF-8. Byte {error.start + 1:,} of it is none. "
                "Move it away, or name another file."
            ) from error
        reader = csv.reader(io.StringIO(text, newline=""))
        for cells in reader:
            if not cells:
                continue
            if not self._header:
                self._header = self._checked_header(cells)
            else:
                self._note(dict(zip(self._header, cells, strict=False)))

    def _checked_header(self, cells: list[str]) -> list[str]:
        for name in (self._rows.column, LABEL):
            if name not in cells:
                raise TableError(
                    f"{self.path} needs the columns {self._rows.column!r} and {LABEL!r} to hold "
                    f"decisions on this table. It has {', '.join(map(repr, cells))}. Name another "
                    "file (--decisions), or the column that names the rows (--id)."
                )
        return cells

    def _note(self, line: Mapping[str, str]) -> None:
        place, label = line.get(self._rows.column), line.get(LABEL)
        if not place and not label:
            return  # a blank line
        number = len(self._decisions)
        row = self._rows.position(place or "", number)
        self._decisions.append(Decision(row, label or None))
        self._last_of_row[row] = number

    def _write(self, file: io.FileIO, decision: Decision) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if not self._header:
            writer.writerow([self._rows.column, LABEL, _TIME])
        known = {
            self._rows.column: self._places[decision.row],
            LABEL: decision.label or "",
            _TIME: datetime.now(UTC).isoformat(timespec="seconds"),
        }
        header = self._header or list(known)
        writer.writerow([known.get(name, "") for name in header])
        line = text.getvalue().encode("utf-8")
        end = file.seek(0, os.SEEK_END)
        # One call: the line is there or it is not.
        if file.write(line) != len(line):
            file.truncate(end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
        os.fsync(file.fileno())
