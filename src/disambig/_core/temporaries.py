"""Temporary files beside a target, locked by their writer and swept when it died.

A temporary is called ``.NAME-DIGITS``, the digits before the suffix if it is a file. Its writer
holds a lock on it, which the system drops when the writer dies, however it dies. Whoever writes to
the same target next removes those that nobody holds. Where there are no locks, they stay.
"""

import os
import platform
import re
import shutil
import stat
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows: what a dead writer has left stays
    fcntl = None  # type: ignore[assignment]  # asked for before every use

# In bytes, of a target: names of temporaries are longer, and so are those of files beside it.
LONGEST_NAME = 200
# What stands for this machine at the beginning of the digits. Locks may not reach from one machine
# to another, so what another has left is swept only when it is old.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_SECONDS_UNTIL_OLD = 24 * 60 * 60
_OLD = "-old"
_NAME = re.compile(r"\.(?P<stem>.+)-(?P<digits>[0-9a-f]{32})(?P<suffix>\.[^.]+)?(?P<old>-old)?")


@contextmanager
def temporary_beside(
    target: Path, *, is_folder: bool = False, sweep_first: bool = True
) -> Iterator[Path]:
    """Give a new, empty file or folder beside ``target``; what is left of it in the end is removed.

    It is in the same folder as the target, because a rename is atomic only inside one file system.
    The suffix of a file stays, because some writers choose the format by it.
    """
    if sweep_first:
        sweep(target.parent, target.name.__eq__, folders=is_folder)
    path, lock = _make(target, is_folder)
    try:
        yield path
    finally:
        _remove(path, is_folder)
        if lock is not None:
            os.close(lock)


def moved_aside(temporary: Path) -> Path:
    """Return where the old folder is put where a new one cannot take its place in one step."""
    return temporary.with_name(f"{temporary.name}{_OLD}")


def find_moved_aside(target: Path) -> Path | None:
    """Return what a writer that was killed has left of an old folder that is missing now."""
    if os.path.lexists(target):
        return None
    for path, match in _temporaries(target.parent, target.name.__eq__):
        if match["old"] and path.is_dir():
            return path
    return None


def sweep(folder: Path, is_target: Callable[[str], bool], *, folders: bool = False) -> None:
    """Remove the temporary files, or folders, of dead writers; old folders move back if missing.

    Parameters
    ----------
    folder : Path
        Where to look, but not below.
    is_target : callable
        Tells by the name of a target whether its temporaries are swept.
    folders : bool, default=False
        Whether the targets are folders.
    """
    if fcntl is None:
        return
    # Old folders first: whether their writer lives is seen by its new one.
    found = sorted(_temporaries(folder, is_target), key=lambda pair: not pair[1]["old"])
    for path, match in found:
        if match["suffix" if folders else "old"]:
            continue
        is_from_here = match["digits"].startswith(_MACHINE)
        writing = path.with_name(path.name.removesuffix(_OLD))
        held = writing if os.path.lexists(writing) else path
        with _lock_of_the_dead(held, folders, is_from_here) as is_dead:
            if is_dead and match["old"]:
                _end_old_folder(path, folder / match["stem"])
            elif is_dead:
                _remove(path, folders)


def _end_old_folder(old: Path, target: Path) -> None:
    if os.path.lexists(target):
        _remove(old, is_folder=True)
        return
    with suppress(OSError):  # somebody else was quicker
        old.rename(target)


def _temporaries(
    folder: Path, is_target: Callable[[str], bool]
) -> Iterator[tuple[Path, re.Match[str]]]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(".")]
    except OSError:
        return
    for name in names:
        match = _NAME.fullmatch(name)
        if match and is_target(match["stem"] + (match["suffix"] or "")):
            yield folder / name, match


def _make(target: Path, is_folder: bool) -> tuple[Path, int | None]:
    """Make a temporary; return its path and the lock on it, where there are locks."""
    stem, suffix = (target.name, "") if is_folder else (target.stem, target.suffix)
    while True:
        digits = _MACHINE + uuid.uuid4().hex[len(_MACHINE) :]
        path = target.with_name(f".{stem}-{digits}{suffix}")
        try:
            if is_folder:
                path.mkdir()
            else:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(target)) from error
        if fcntl is None:
            return path, None
        lock = None
        try:
            lock = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.path.samestat(os.fstat(lock), path.stat())
        except (BlockingIOError, FileNotFoundError):  # somebody sweeps it already
            is_there = False
        except OSError:  # a file system without locks
            is_there = True
        if is_there:
            return path, lock
        if lock is not None:
            os.close(lock)


@contextmanager
def _lock_of_the_dead(path: Path, is_folder: bool, is_from_here: bool) -> Iterator[bool]:
    """Give whether the writer of a temporary is dead; it is locked meanwhile."""
    try:
        # To read only: a lock that needs more, as on NFS, may not be one that others see.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield False
        return
    try:
        found = os.fstat(descriptor)
        is_of_kind = stat.S_ISDIR if is_folder else stat.S_ISREG
        is_old = time.time() - found.st_mtime > _SECONDS_UNTIL_OLD
        yield is_of_kind(found.st_mode) and (is_from_here or is_old) and _can_lock(descriptor)
    finally:
        os.close(descriptor)


def _can_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by its writer, or no locks here
        return False
    return True


def _remove(path: Path, is_folder: bool) -> None:
    # That it cannot be removed is not an error: what it was made for is done, or has failed itself.
    if is_folder:
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
