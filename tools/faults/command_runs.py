"""Run a command on a folder in a limited child, and say what it did that no file may make it do."""

import csv
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from campaign import SECONDS, Child, in_child

# A label on a line of its own is fine; an escape, a bell or a move of the cursor is not.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INTERNAL = ("This should not happen", "Traceback (most recent call last)")
_NO_MEMORY = "There is not enough memory"
# Exit code 1 is for work that failed, and says which.
_FAILED_WORK = ("diverged", "jobs failed", "could not be downloaded", "could not be unpacked")
_LONGEST_MESSAGE = 4_000
Snapshot = dict[str, bytes | str]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code and what it said."""

    code: int
    out: str
    err: str


def load_libraries() -> None:
    """Import what commands need, so that forked children need not."""
    import openpyxl  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import rarfile  # noqa: F401
    import scipy.io  # noqa: F401

    import disambig.bench.runner
    import disambig.cli.main
    import disambig.cli.study_view
    import disambig.cli.table_files
    import disambig.methods.ncpd
    import disambig.tabular.audit.table_audit
    import disambig.tabular.cleaning
    import disambig.web.study_report
    import disambig.web.table_report  # noqa: F401


def run_command(
    words: Sequence[str], folder: Path, *, terminal: bool, seconds: float = SECONDS
) -> Child:
    """Run ``disambig`` with these words inside a folder; the value is an ``Ended``."""
    return in_child(lambda: run_in_this_process(words, folder, terminal), seconds)


def run_python(call: Callable[[Path], object], folder: Path) -> Child:
    """Run a function of a folder as if it were a command: what disambig refuses is exit 2."""

    def run() -> Ended:
        from disambig._core.errors import DisambigError

        os.chdir(folder)
        try:
            call(folder)
        except DisambigError as error:
            return Ended(2, "", str(error)[:_LONGEST_MESSAGE])  # the command cuts it too
        return Ended(0, "", "")

    return in_child(run)


def run_in_this_process(words: Sequence[str], folder: Path, terminal: bool) -> Ended:
    """Run the command in this process, which is a child that ends afterwards."""
    streams = [os.memfd_create(name) for name in ("out", "err")]
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream, number)
    sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - as long as the process
    sys.stdout, sys.stderr = (
        open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        for number in (1, 2)
    )
    os.chdir(folder)
    # In a dumb terminal what is for people is shown, without colours or moves of the cursor.
    os.environ.update(COLUMNS="200", TERM="dumb", HOME=str(folder), XDG_CACHE_HOME=str(folder))
    os.environ.pop("DISAMBIG_DEBUG", None)
    if terminal:
        os.environ["FORCE_COLOR"] = "1"
    sys.modules["matplotlib"] = None  # type: ignore[assignment]  # figures take a second each
    sys.argv = ["disambig", *words]
    sys.path.insert(0, str(folder))  # as some people have it: code in the folder can be imported
    from disambig.bench.backends import BACKENDS
    from disambig.cli.main import main

    # Jobs of a study run here: worker processes take seconds to start.
    BACKENDS["local"] = lambda jobs, address: nullcontext(_InThisProcess())  # noqa: ARG005
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    out, err = (os.pread(stream, 10**6, 0).decode("utf-8", "replace") for stream in streams)
    return Ended(code, out, err)


class _InThisProcess:
    """A place where jobs run at once."""

    def width(self) -> int:
        return 1

    def share(self, value: object) -> object:
        return value

    def submit(self, function: Callable[..., object], *arguments: object) -> Future[object]:
        future: Future[object] = Future()
        future.set_result(function(*arguments))
        return future


def judge(child: Child, codes: Sequence[int]) -> str:
    """Return what is wrong with how a command ended; nothing if all is well."""
    if child.ended != "returned" or not isinstance(child.value, Ended):
        return f"{child.ended}\n{child.value or ''}"
    ended = child.value
    said = f"{ended.err}\n{ended.out}"
    failed_work = ended.code == 1 and any(words in said for words in _FAILED_WORK)
    for words in (*_INTERNAL, _NO_MEMORY):
        if words in said:
            return said
    if ended.code not in codes and not failed_work:
        return f"{said}\nexit {ended.code}"
    if ended.code and not said.strip():
        return f"exit {ended.code} without a message"
    if ended.code and len(ended.err) > _LONGEST_MESSAGE:
        return f"a message of {len(ended.err):,} characters"
    if control := _CONTROL.search(said):
        return f"a control character is printed: {control[0]!r} in {said!r}"
    return ""


def snapshot(folder: Path) -> Snapshot:
    """Return everything below a folder: the content of files, what other things are."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        if stat.S_ISREG(mode):
            found[name] = path.read_bytes()
        else:
            found[name] = str(path.readlink()) if stat.S_ISLNK(mode) else stat.filemode(mode)[0]
    return found


def find_changes(expected: Snapshot, found: Snapshot, allowed: Sequence[str] = ()) -> str:
    """Return what is other than expected and not allowed to be; nothing if all is well."""
    changed = [
        name
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
        and not any(fnmatch(name, pattern) for pattern in allowed)
    ]
    return f"changed, made or left behind: {', '.join(changed)}" if changed else ""


def find_changed_cells(table: bytes, result: bytes, delimiter: str) -> str:
    """Return whether a result, which is CSV, has other cells than the table it was made from."""
    try:
        header, *rows = _read_cells(table, delimiter)
        new_header, *new_rows = _read_cells(result, ",")
    except (csv.Error, UnicodeError, ValueError) as error:
        return f"the table was accepted, and Python's csv module refuses it: {error}"
    width = len(header)
    rows = [row for row in rows if row and not (len(row) == 1 < width and not row[0].strip())]
    header, rows = _as_read(header, rows)
    width = len(header)
    if new_header[:width] != header or [row[:width] for row in new_rows] != rows:
        return "a cell of the table is another in the result"
    return ""


def _as_read(header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return a table with a name for its index, and without an end that has no content."""
    while rows and len(rows[-1]) > 1 and not any(map(str.strip, rows[-1])):
        rows.pop()
    if rows and {len(row) for row in rows} == {len(header) + 1}:
        header = [*header, ""] if not any(row[-1].strip() for row in rows) else ["", *header]
    while len(header) > 1 and not header[-1].strip() and not any(row[-1].strip() for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    if len(header) > 1 and not header[0].strip():
        header = ["Unnamed: 0", *header[1:]]
    return header, rows


def _read_cells(content: bytes, delimiter: str) -> list[list[str]]:
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    codec = marks.get(content[:2], "utf-8-sig")
    if content[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        codec = "utf-32"
    csv.field_size_limit(2**31 - 1)
    text = io.StringIO(content.decode(codec), newline="")
    rows = list(csv.reader(text, delimiter=delimiter, strict=True))
    while rows and (not rows[0] or (len(rows[0]) == 1 and rows[0][0].isspace())):
        del rows[0]
    return rows
