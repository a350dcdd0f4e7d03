"""Write files and folders under a temporary name, then rename them into place."""

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from disambig._core.errors import ParameterError

# Errors of the disk itself, not of the path that was given.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to; on success it takes the place of ``path``.

    If the block fails, the temporary file is removed and ``path`` is left as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because a rename is atomic only inside one file system. The suffix
    # stays, because some writers choose the format by it.
    temporary = target.with_name(f".{target.stem}-{uuid.uuid4().hex}{target.suffix}")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)  # who may read it does not change
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_replaceable(path: str | os.PathLike[str], is_ours: Callable[[Path], bool]) -> None:
    """Refuse a path where a new folder would replace anything but an empty one or one of ours."""
    target = Path(path).resolve()
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
    folder is moved aside first and removed when the new one is in place: should the machine stop
    between these two moves, both lie beside ``path`` under names that begin with a dot. What is
    there and is not ours is refused, before and after.
    """
    check_replaceable(path, is_ours)
    target = Path(path).resolve()  # follows links
    target.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because a move is a rename only inside one file system.
    unique = uuid.uuid4().hex
    temporary = target.with_name(f".{target.name}-{unique}")
    old = target.with_name(f".{target.name}-{unique}-old")
    temporary.mkdir()
    try:
        yield temporary
        check_replaceable(path, is_ours)  # the block may have taken hours
        _move_into_place(temporary, target, old)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    # The new folder is in place: that the old one cannot be removed is not an error.
    shutil.rmtree(old, ignore_errors=True)


def _move_into_place(temporary: Path, target: Path, old: Path) -> None:
    is_replaced = target.exists()
    if is_replaced:
        target.rename(old)
    try:
        temporary.rename(target)
    except OSError:
        if is_replaced:
            old.rename(target)
        raise
