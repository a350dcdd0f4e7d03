"""Write files and folders under a temporary name, then rename them into place, durably.

When a block is left, what it wrote is whole, under its name, and survives a power cut: its content
was on the disk before the rename, and the rename is before anybody is told. A process that is
killed leaves the old file or folder, or the new one, and at most a temporary (``temporaries.py``).
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from disambig._core.errors import DisambigError, ParameterError
from disambig._core.temporaries import LONGEST_NAME, moved_aside, temporary_beside

# Errors of the disk itself, not of the path that was given.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
# What is answered where a folder, or anything, cannot be forced to the disk; Windows opens none.
_CANNOT_SYNC = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
# Of renameat2 on Linux and renamex_np on macOS.
_CURRENT_FOLDER, _EXCHANGE = -100, 2


@contextmanager
def write_atomically(path: str | os.PathLike[str], *, sweep_first: bool = True) -> Iterator[Path]:
    """Give a temporary path to write to; on success it takes the place of ``path``.

    If the block fails, the temporary file is removed and ``path`` is left as it was. An error of
    the disk names ``path``. What dead processes have left of the same path is removed first; where
    many files are written to one folder, that can be done once for all (``temporaries.sweep``).
    """
    target = Path(path)
    make_folder(target.parent)
    with (
        temporary_beside(target, sweep_first=sweep_first) as temporary,
        errors_about(target, temporary),
    ):
        yield temporary
        sync(temporary)
        if target.exists():
            shutil.copymode(target, temporary)  # who may read it does not change
        temporary.replace(target)
    with errors_about(target, target.parent):
        sync(target.parent)


def check_replaceable(path: str | os.PathLike[str], is_ours: Callable[[Path], bool]) -> None:
    """Refuse a path where a new folder would replace anything but an empty one or one of ours."""
    target = Path(path).resolve()
    if len(os.fsencode(target.name)) > LONGEST_NAME:
        raise ParameterError(
            f"The name of a folder may have {LONGEST_NAME} bytes. {target.name!r} has more. Choose "
            "a shorter one."
        )
    above = next(filter(os.path.lexists, target.parents), target)
    if not above.is_dir():
        raise ParameterError(
            f"A folder cannot be made at {os.fspath(path)!r}: {os.fspath(above)!r} is a file. "
            "Choose another name."
        )
    if not os.path.lexists(target):
        return
    if not target.is_dir() or (any(target.iterdir()) and not is_ours(target)):
        raise ParameterError(
            f"There is already something else at {os.fspath(path)!r}. It is left as it is: choose "
            "another name."
        )


@contextmanager
def write_folder_atomically(
    path: str | os.PathLike[str], is_ours: Callable[[Path], bool]
) -> Iterator[Path]:
    """Give a temporary folder to write into; on success it takes the place of ``path``.

    If the block fails, the temporary folder is removed and ``path`` is left as it was. An old
    folder and the new one are exchanged in one step, so that one of them is there at every moment.
    Where the system cannot do that, the old one is moved aside first: should the machine stop
    between these two moves, it lies beside ``path`` under a name that begins with a dot and ends in
    ``-old``, and the next call moves it back. What is there and is not ours is refused, before and
    after.
    """
    check_replaceable(path, is_ours)
    target = Path(path).resolve()  # follows links
    make_folder(target.parent)
    with temporary_beside(target, is_folder=True) as temporary:
        with errors_about(target, temporary):
            yield temporary
            check_replaceable(path, is_ours)  # the block may have taken hours
            for member in (*temporary.rglob("*"), temporary):
                sync(member)
            _move_into_place(temporary, target)
        with errors_about(target, target.parent):
            sync(target.parent)


def _move_into_place(temporary: Path, target: Path) -> None:
    try:
        temporary.rename(target)  # there is nothing, or an empty folder
    except OSError:
        if not target.exists() or not temporary.exists():
            raise
    else:
        return
    if _exchange(temporary, target):
        return
    old = moved_aside(temporary)
    target.rename(old)
    try:
        temporary.rename(target)
    except OSError:
        old.rename(target)
        raise
    # The new folder is in place: that the old one cannot be removed is not an error.
    shutil.rmtree(old, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; tell whether that can be done here."""
    import ctypes  # seldom needed

    try:
        library = ctypes.CDLL(None, use_errno=True)
        paths = os.fsencode(first), os.fsencode(second)
        if sys.platform == "darwin":
            failed = library.renamex_np(*paths, _EXCHANGE)
        else:
            of_first, of_second = ((_CURRENT_FOLDER, path) for path in paths)
            failed = library.renameat2(*of_first, *of_second, _EXCHANGE)
    except (AttributeError, OSError, TypeError):  # an old library, or Windows
        return False
    return not failed


def make_folder(path: Path) -> None:
    """Make a folder, with those above it, that survives a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with errors_about(folder, folder.parent):
            sync(folder.parent)


def sync(path: Path) -> None:
    """Force the content of a file, or the names in a folder, to the disk, where systems can."""
    try:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


@contextmanager
def errors_about(target: Path, temporary: Path) -> Iterator[None]:
    """Let errors of the system inside the block name the target: people know no temporary."""
    try:
        yield
    except DisambigError:
        raise
    except OSError as error:
        # A write that fails does not say to which file.
        found = temporary if error.filename is None else Path(os.fsdecode(error.filename))
        if error.errno is None or not found.is_relative_to(temporary):
            raise
        named = target / found.relative_to(temporary)
        raise OSError(error.errno, error.strerror, os.fspath(named)) from error
