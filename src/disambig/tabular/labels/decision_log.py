"""A file of decisions that only ever grows: what is in it is on the disk, and nothing is lost."""

import errno
import io
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from disambig._core.errors import TableError
from disambig._core.messages import quote_value
from disambig.tabular.cell_values import text_of
from disambig.tabular.labels.decisions import LABEL, ROW, DecidedRows, note_decision

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows: two reviews of one table may cross

__all__ = ["LOG_SUFFIX", "Conflict", "DecisionLog"]

LOG_SUFFIX = ".jsonl"
_TIME = "decided_at"
# Of every line that is written here: no other is ever cut off.
_BEGINNING = f'{{"{_TIME}": '.encode()
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Conflict(Exception):  # noqa: N818  # nothing went wrong, somebody else was quicker
    """Somebody else has decided on the row in the meantime."""


class DecisionLog:
    """Decisions on the rows of a table, in a file of JSON lines that ``read_decisions`` reads.

    Every decision is a line at its end, forced to the disk before ``settle`` returns. Several
    processes may write to one file, and people may edit it: it is read anew whenever it is asked.
    JSON, because the beginning of a line is never taken for a whole one.

    Parameters
    ----------
    path : path
        The file; it is made with the first decision.
    rows : DecidedRows
        Which row a line is about, and what it is called there.
    """

    def __init__(self, path: str | os.PathLike[str], rows: DecidedRows) -> None:
        self.path = Path(path)
        self._rows = rows
        self._names = rows.names()
        self._lock = threading.Lock()
        self.settled()  # refuses a file that holds something else

    def settled(self) -> dict[int, str]:
        """Return the labels that stand, by row."""
        with self._lock, self._opened() as file:
            return {} if file is None else self._read(file)

    def settle(self, row: int, label: str | None, *, before: str | None) -> dict[int, str]:
        """Write to the disk what somebody chose for a row, and return what stands then.

        Parameters
        ----------
        row : int
            Its position.
        label : str or None
            What was chosen; None takes a decision back.
        before : str or None
            What its author thought to stand. If something else does, ``Conflict`` is raised and
            nothing is written.
        """
        with self._lock, self._opened(create=True) as file:
            assert file is not None
            settled = self._read(file)
            if settled.get(row) != before:
                raise Conflict
            self._write(file, self._line(row, label))
            note_decision(settled, row, label)
            return settled

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

    def _read(self, file: io.FileIO) -> dict[int, str]:
        lines = file.readall().splitlines(keepends=True)
        half = lines.pop() if lines and _is_half(lines[-1]) else b""
        settled: dict[int, str] = {}
        # A file that holds something else is refused before anything in it is changed.
        for number, line in enumerate(line for line in lines if line.strip()):
            note_decision(settled, *self._decision(line, number))
        if half:
            # Nobody was told that it is saved: who wrote it held the lock, and is gone.
            file.truncate(file.tell() - len(half))
        elif lines and not lines[-1].endswith(b"\n"):  # somebody's editor ends files like that
            self._write(file, b"\n")
        return settled

    def _decision(self, line: bytes, number: int) -> tuple[int, str | None]:
        try:
            entry = json.loads(line)
            name, label = text_of(entry[self._rows.column]), text_of(entry[LABEL])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise TableError(
                f"{self.path} needs lines such as {self._example()} to hold decisions on this "
                f"table. Got {quote_value(line.decode('utf-8', 'replace').rstrip())}. Name another "
                "file (--decisions), or the column that names the rows (--id)."
            ) from error
        return self._rows.position(name or "", number), label

    def _example(self) -> str:
        return json.dumps({self._rows.column: self._names[0], LABEL: "..."}, ensure_ascii=False)

    def _line(self, row: int, label: str | None) -> bytes:
        entry = {
            _TIME: datetime.now(UTC).isoformat(timespec="seconds"),
            ROW: row + 1,
            self._rows.column: self._names[row],  # which may be called like one above
            LABEL: label,
        }
        text = json.dumps(entry, ensure_ascii=False)
        return text.encode(errors="backslashreplace") + b"\n"  # half characters, as JSON has them

    def _write(self, file: io.FileIO, line: bytes) -> None:
        """Write to the end of the file, in one call: the line is there or it is not."""
        end = file.seek(0, os.SEEK_END)
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


def _is_half(line: bytes) -> bool:
    """Tell whether a line is the beginning of one that a log writes."""
    if line.endswith(b"\n") or line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False
