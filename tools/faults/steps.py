"""The file-system steps of this process inside a folder, told one by one before they happen."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Where the descriptors of folders stand among the arguments of an event of Python's audit.
_PATHS = {
    "os.mkdir": ("mkdir", 2),
    "os.remove": ("remove", 1),
    "os.rmdir": ("rmdir", 1),
    "os.truncate": ("truncate", None),
}


@dataclass(frozen=True)
class Step:
    """Something that is about to be done to the file system.

    Attributes
    ----------
    kind : str
        "open" (to write), "sync", "rename", "exchange", "lock", "mkdir", "remove", "rmdir",
        "truncate" or "end".
    path : str
        Of what it is done to, relative to the folder.
    target : str
        Where it goes, if it is renamed; else empty.
    """

    kind: str
    path: str = ""
    target: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.path, self.target)))


def trace_steps(folder: Path, tell: Callable[[Step], None]) -> None:
    """Call ``tell`` before every step inside a folder, from now until this process ends.

    Whatever is written between two steps, by Python or by a library, is done when the second one is
    told.
    """
    import disambig._core.files as files

    root = folder.resolve()
    is_telling = False
    last = Step("begin")

    def inside(path: Any, descriptor: Any = None) -> str | None:
        if isinstance(path, int):
            try:
                path = Path(f"/proc/self/fd/{path}").readlink()
            except OSError:
                return None
        elif isinstance(descriptor, int) and descriptor >= 0:
            path = Path(f"/proc/self/fd/{descriptor}").readlink() / os.fsdecode(path)
        found = Path(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100 - links stay
        return str(found.relative_to(root)) if found.is_relative_to(root) else None

    def say(kind: str, path: str | None, target: str | None = "") -> None:
        nonlocal is_telling, last
        # A file that is opened twice in a row, to be locked or synced, is the same to a kill.
        if path is None or target is None or last == (last := Step(kind, path, target)):
            return
        is_telling = True
        try:
            tell(last)
        finally:
            is_telling = False

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if is_telling:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int):
                say("open", inside(path))
        elif event == "os.rename":
            source, target, *folders = arguments
            say("rename", inside(source, folders[0]), inside(target, folders[1]))
        elif event in _PATHS:
            kind, position = _PATHS[event]
            of = None if position is None else arguments[position]
            say(kind, inside(arguments[0], of))
        elif event in ("fcntl.flock", "fcntl.lockf"):
            say("lock", inside(arguments[0]))

    fsync, exchange = os.fsync, files._exchange

    def traced_fsync(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        say("sync", inside(number))
        fsync(descriptor)

    def traced_exchange(first: Path, second: Path) -> bool:
        say("exchange", inside(first), inside(second))
        return exchange(first, second)

    os.fsync = traced_fsync
    files._exchange = traced_exchange
    sys.addaudithook(hear)
