"""What is done of a long fit, kept in a folder so that it can be resumed."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pandas as pd

import disambig
from disambig._core.errors import DisambigError, TableError
from disambig._core.files import DISK_ERRORS, write_atomically
from disambig._core.fingerprint import code_fingerprint, fingerprint_of, sha256_hex
from disambig._core.parsing import parse_json, read_small_file
from disambig._core.typing import AnyArray
from disambig._version import __version__
from disambig.engine.process_group import is_first_process, wait_for_other_processes
from disambig.methods.base import PartialLabelClassifier
from disambig.tabular.columns.values_on_disk import ValuesOnDisk
from disambig.tabular.files.content import STANDARD_STREAM
from disambig.tabular.files.npz_format import find_members, read_header
from disambig.tabular.task import TableTask

_MARK = "work.json"
_LARGEST_MARK = 10_000
# Files that may be there before the mark, or come after it has gone: its temporary, and parts and
# checkpoints of a process that outlived the run it worked for by a second.
_OURS = re.compile(r"\.work-[0-9a-f]+\.json|\.?((round-\d+-)?fold-\d+|whole)-[0-9a-f]{16}\W.*")


class WorkFolder:
    """A folder with the parts of one piece of work that are done.

    Where several processes do the work together, the first one writes and the others only read.
    The fingerprint is that of all that the parts depend on: those of another are thrown away.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self.path = Path(path)
        self._fingerprint = fingerprint
        if is_first_process():
            self._begin_or_refuse()
        # The others must not find what it has thrown away.
        wait_for_other_processes()

    def _begin_or_refuse(self) -> None:
        try:
            self._begin()
        except OSError as error:
            if error.errno in DISK_ERRORS:
                raise
            raise TableError(
                f"Unfinished work is kept in {os.fspath(self.path)!r}, which cannot be made: "
                f"{error.strerror or error}. Choose another name for the output, or check whether "
                "you may write there."
            ) from error

    def _begin(self) -> None:
        mark = self._mark()
        if mark is None and not self._is_free():
            raise TableError(
                f"{os.fspath(self.path)!r} is needed for unfinished work, and there is something "
                "else. Move it away, or choose another name for the output."
            )
        if mark != self._fingerprint:
            self.remove()
        self._need_mark()

    def _is_free(self) -> bool:
        """Whether there is nothing, or what a run that was killed leaves without its mark."""
        if not os.path.lexists(self.path):
            return True
        return self.path.is_dir() and all(
            entry.is_file() and _OURS.fullmatch(entry.name) for entry in self.path.iterdir()
        )

    # Named by the fingerprint too: other work at the same time has other files.
    def part(self, name: str) -> Path:
        """Return the file of a part that is done."""
        return self.path / f"{name}-{self._fingerprint[:16]}.npz"

    def checkpoint(self, name: str) -> Path:
        """Return where a training called ``name`` may keep its state."""
        return self.part(name).with_suffix(".checkpoint")

    def arrays(self, name: str) -> dict[str, AnyArray] | None:
        """Return what was kept under a name, or None: not yet, or damaged, and to be done again."""
        path = self.part(name)
        try:
            if not path.is_file():  # a pipe or a device may never end
                return None
            with ZipFile(path) as archive:
                members = [read_header(archive, *member) for member in find_members(archive)]
                # As they are written, so that they take no more memory than the file is long.
                if any(member.info.compress_type != ZIP_STORED for member in members):
                    return None
                return {member.name: member.read(archive) for member in members}
        except Exception:  # noqa: BLE001 - whatever NumPy and zipfile make of any bytes
            return None

    def has_parts(self) -> bool:
        """Return whether anything is kept, of parts that are done or still being trained."""
        return any(path.name != _MARK for path in self.path.iterdir())

    def keep(self, name: str, arrays: Mapping[str, AnyArray]) -> None:
        """Keep the arrays of a part that is done; its training state can go."""
        if not is_first_process():
            return
        self._need_mark()  # another run may have ended here, and taken the folder along
        with write_atomically(self.part(name)) as temporary:
            np.savez(temporary, allow_pickle=False, **arrays)
        # A method of several trainings adds endings.
        for state in self.path.glob(f"{self.checkpoint(name).name}*"):
            state.unlink(missing_ok=True)

    def remove(self, *, if_empty: bool = False) -> None:
        """Remove the folder, unless it is gone or has become something else.

        What somebody has put into it stays, and the folder with it.
        """
        if self._mark() is None or not is_first_process():
            return
        with suppress(OSError):  # another run may be keeping something just now, or end here too
            parts = [path for path in self.path.iterdir() if _OURS.fullmatch(path.name)]
            if parts and if_empty:
                return
            for path in parts:
                path.unlink(missing_ok=True)
            # Last, so that a run that is killed here leaves a folder that the next one knows.
            (self.path / _MARK).unlink(missing_ok=True)
            self.path.rmdir()

    def _need_mark(self) -> None:
        if self._mark() != self._fingerprint:
            mark = {"disambig": "work", "fingerprint": self._fingerprint}
            with write_atomically(self.path / _MARK) as temporary:
                temporary.write_text(json.dumps(mark))

    def _mark(self) -> str | None:
        path = self.path / _MARK
        try:
            content = read_small_file(path, ValueError, largest=_LARGEST_MARK)
            mark = parse_json(content, ValueError)
        except (OSError, ValueError):
            return None
        is_ours = isinstance(mark, dict) and mark.get("disambig") == "work"
        return str(mark.get("fingerprint")) if is_ours else None


def kept_work(out: str | os.PathLike[str]) -> Path | None:
    """Return the folder where parts of the work on an output are kept, or None if nothing is."""
    folder = _work_path(out)
    if os.fspath(out) == STANDARD_STREAM or not (folder / _MARK).is_file():
        return None
    # A name with a dot is of a file that is being written.
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    return folder if names - {_MARK} else None


def _work_path(out: str | os.PathLike[str]) -> Path:
    return Path(f"{Path(out).resolve()}.partial")


@contextmanager
def unfinished_work(
    out: str | os.PathLike[str] | None,
    task: TableTask,
    method: PartialLabelClassifier,
    **settings: object,
) -> Iterator[WorkFolder | None]:
    """Give a folder to keep what is done in; it goes when all of it is done, not before.

    It also goes where something is wrong before anything is kept. It is called ``OUT.partial``;
    for standard output, or without any output, nothing is kept. ``settings`` are what the result
    depends on besides the task and the method.
    """
    if out is None or os.fspath(out) == STANDARD_STREAM:
        yield None
        return
    fingerprint = work_fingerprint(task, method, **settings)
    folder = WorkFolder(_work_path(out), fingerprint)
    try:
        yield folder
    except DisambigError:
        folder.remove(if_empty=True)
        raise
    wait_for_other_processes()  # which may be about to read a part
    folder.remove()


def work_fingerprint(task: TableTask, method: PartialLabelClassifier, **settings: object) -> str:
    """Return a hash of the data, the method with its parameters, the settings and the code."""
    versions = [version(name) for name in ("numpy", "scikit-learn", "torch")]
    return fingerprint_of(
        [__version__, *versions, repr(type(method)), _code_of(type(method))],
        repr(sorted(method.get_params().items(), key=str)),
        repr(sorted(settings.items())),
        list(map(repr, task.values.columns)),
        task.values.fingerprint
        if isinstance(task.values, ValuesOnDisk)
        else pd.util.hash_pandas_object(task.values, index=False).to_numpy(),
        task.candidates,
        task.training,
        task.learned,
        *(() if task.annotators is None else (task.annotators,)),
    )


def _code_of(method: type[PartialLabelClassifier]) -> list[str]:
    """Return hashes of all files of this package, which takes no time, and of code from elsewhere.

    Results that are kept for good ask for the code that they depend on; these last for a while.
    """
    folder = Path(disambig.__file__).parent
    files = sorted(folder.rglob("*.py"))
    ours = [str(path.relative_to(folder)) for path in files]
    is_ours = method.__module__.partition(".")[0] == disambig.__name__
    return [
        sha256_hex(*(path.read_bytes() for path in files)),
        sha256_hex("\n".join(ours).encode()),
        "" if is_ours else code_fingerprint(method),
    ]
