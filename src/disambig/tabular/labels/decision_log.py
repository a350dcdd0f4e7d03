"""A log of decisions on the rows of a table: it only grows, and several people may write to it."""

import errno
import io
import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from disambig._core.errors import TableError
from disambig._core.files import make_folder, sync
from disambig._core.messages import quote_value
from disambig._core.parsing import parse_json
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decisions import (
    BY,
    CHECK,
    LABEL,
    ROW,
    SETTLES,
    Decision,
    Entry,
    apply_decision,
    entry_of,
    fields_of,
)
from disambig.tabular.table_cells import text_of

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows

LOG_SUFFIX = ".jsonl"
_TIME = "decided_at"
# The start of every line of a log: no other line is ever cut off.
_LINE_START = f'{{"{_TIME}": '.encode()
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Conflict(Exception):  # noqa: N818  # nothing went wrong, somebody else was quicker
    """Somebody else has decided on the row in the meantime."""


class DecisionLog:
    """Decisions on the rows of a table, in a file of JSON lines that ``read_decisions`` reads.

    Every decision is a line at its end, forced to the disk before ``settle`` returns. Several
    processes may write to one file, and people may edit it: it is read again for every call.
    JSON, because the beginning of a line is never taken for a whole one. The file is made with the
    first decision.

    Parameters
    ----------
    path : path
        The file.
    rows : DecidedRows
        Which row of the table a line is about.
    reviewer : str, default=""
        Who decides. Every reviewer sees and replaces only decisions of his or her own.
    """

    def __init__(self, path: str | os.PathLike[str], rows: DecidedRows, reviewer: str = "") -> None:
        self.path = Path(path)
        self.reviewer = text_of(reviewer) or ""  # as names are read back from the file
        self._rows = rows
        self._names = rows.names()
        self._lock = threading.Lock()
        self.entries()  # refuses a file that holds something else

    def entries(self) -> list[Entry]:
        """Return all that was decided by whomever, in the order of time."""
        with self._lock, self._open() as file:
            return [] if file is None else self._read(file)

    def settled(self, *, settles: bool = False, check: bool = False) -> dict[int, Decision]:
        """Return the decisions of this reviewer that stand, by row.

        With ``settles`` those that ended conflicts instead, with ``check`` the answers about rows
        whose label is known: none of these three replaces another.
        """
        return self._own(self.entries(), settles=settles, check=check)

    def settle(
        self,
        row: int,
        decision: Decision | None,
        *,
        before: Decision | None,
        settles: bool = False,
        check: bool = False,
    ) -> dict[int, Decision]:
        """Write a decision to the disk, and return those of this reviewer that stand then.

        ``row`` is a position, and None takes a decision back. ``before`` is the decision that the
        author saw: if another one stands, raise ``Conflict`` and write nothing. ``settles`` says
        that it ends a conflict of other reviewers, ``check`` that the label of the row is known.
        """
        entries = self.record(row, decision, before=before, settles=settles, check=check)
        return self._own(entries, settles=settles, check=check)

    def record(
        self,
        row: int,
        decision: Decision | None,
        *,
        before: Decision | None,
        settles: bool = False,
        check: bool = False,
    ) -> list[Entry]:
        """Do what ``settle`` does, and return all that was decided by whomever."""
        with self._lock, self._open(create=True) as file:
            assert file is not None
            entries = self._read(file)
            if self._own(entries, settles=settles, check=check).get(row) != before:
                raise Conflict
            self._append(file, self._lines(row, decision, settles=settles, check=check))
            return [*entries, Entry(row, decision, self.reviewer, settles, check)]

    def _own(self, entries: Iterable[Entry], *, settles: bool, check: bool) -> dict[int, Decision]:
        standing: dict[int, Decision] = {}
        for entry in entries:
            if (entry.by, entry.settles, entry.check) == (self.reviewer, settles, check):
                apply_decision(standing, entry.row, entry.decision)
        return standing

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

    def _read(self, file: io.FileIO) -> list[Entry]:
        lines = file.readall().splitlines(keepends=True)
        half = lines.pop() if lines and _is_half(lines[-1]) else b""
        # A file that holds something else is refused before anything in it is changed.
        entries = [
            self._entry(line, number)
            for number, line in enumerate(line for line in lines if line.strip())
        ]
        if half:
            # Nobody was told that it is saved: its writer held the lock, and is gone.
            file.truncate(file.tell() - len(half))
        elif lines and not lines[-1].endswith(b"\n"):  # some editors end files like that
            self._append(file, b"\n")
        return entries

    def _entry(self, line: bytes, number: int) -> Entry:
        try:
            fields = parse_json(line, ValueError)
            name, entry = text_of(fields[self._rows.column]), entry_of(fields, 0)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            example = {self._rows.column: self._names[0], LABEL: "..."}
            raise TableError(
                f"{self.path} needs lines such as {json.dumps(example, ensure_ascii=False)} to "
                "hold decisions on this table. Got "
                f"{quote_value(line.decode('utf-8', 'replace').rstrip())}. Name another file "
                "(--decisions), or the column that names the rows (--id)."
            ) from error
        return entry._replace(row=self._rows.position(name or "", number))

    def _lines(self, row: int, decision: Decision | None, *, settles: bool, check: bool) -> bytes:
        marks = {BY: self.reviewer, SETTLES: settles, CHECK: check}
        beginning = {
            _TIME: datetime.now(UTC).isoformat(timespec="seconds"),
            ROW: row + 1,
            self._rows.column: self._names[row],  # may have the name of one above
        }
        written = {name: value for name, value in marks.items() if value}
        lines = (
            json.dumps(beginning | fields | written, ensure_ascii=False)
            for fields in fields_of(decision)
        )
        # Lone surrogates as JSON has them.
        return b"".join(line.encode(errors="backslashreplace") + b"\n" for line in lines)

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
