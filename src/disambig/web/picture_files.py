"""Read a picture that a table names, from inside one folder and from nowhere else."""

import errno
import os
import re
import stat
from pathlib import Path

_LARGEST = 30_000_000  # bytes
_REFUSED, _MISSING = 403, 404
# Formats of pixels only, by how their files begin. An SVG is a document, and may hold scripts.
_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
    # Two letters, a size, four zeros, a place, and one of the sizes of a header.
    "image/bmp": re.compile(rb"BM.{4}\0\0\0\0.{4}[\x0c\x28\x34\x38\x40\x6c\x7c]\0\0\0", re.DOTALL),
}
_FOLLOW_NOTHING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# A pipe is not waited for, a terminal does not become ours.
_FILE = _FOLLOW_NOTHING | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FOLDER = _FOLLOW_NOTHING | getattr(os, "O_DIRECTORY", 0)
_STEPS_INSIDE = os.open in os.supports_dir_fd


class PictureRefused(Exception):  # noqa: N818  # an answer, not a fault
    """A picture that is not served: the status of the answer, and why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def read_picture(folder: Path, cell: str) -> tuple[bytes, str]:
    """Return the content of the picture that a cell names, and its media type.

    The file must lie inside the folder after all links have been followed. Its path is then opened
    step by step without following any, so that nobody can put a link there in between; what was
    opened is what is looked at and returned.
    """
    try:
        inside = _path_inside(folder, cell)
        descriptor = _open_inside(*inside)
    except PictureRefused:
        raise
    except (OSError, ValueError) as error:  # no name of a file can be too long, or hold a zero
        links = getattr(error, "errno", None) in (errno.ELOOP, errno.EACCES, errno.EPERM)
        status, reason = (_REFUSED, "cannot be opened") if links else (_MISSING, "is not there")
        raise PictureRefused(status, f"The file {reason}.") from error
    with open(descriptor, "rb") as file:  # noqa: PTH123  # there is no path any more
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise PictureRefused(_REFUSED, "This is not a file.")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise PictureRefused(_REFUSED, f"The file is larger than {_LARGEST // 10**6} MB.")
    for media_type, beginning in _BEGINNINGS.items():
        if beginning.match(content):
            return content, media_type
    raise PictureRefused(_REFUSED, "The file is not a PNG, JPEG, GIF, WebP or BMP picture.")


def _path_inside(folder: Path, cell: str) -> tuple[Path, list[str]]:
    """Return the real folder, and the steps from there to the real file of a cell."""
    real = Path(os.path.realpath(folder, strict=True))
    given = real / cell
    if "\\" in cell and not os.path.lexists(given):  # as it was written on Windows
        given = real / cell.replace("\\", "/")
    if ".." in given.parts:
        raise PictureRefused(_REFUSED, "The path leads out of the folder of the table.")
    # Before anything of it is looked at: what lies elsewhere is nobody's business.
    if not given.is_relative_to(real) and not given.is_relative_to(folder.absolute()):
        raise PictureRefused(_REFUSED, "The file is not in the folder of the table.")
    found = Path(os.path.realpath(given, strict=True))
    if not found.is_relative_to(real):
        raise PictureRefused(_REFUSED, "The file is not in the folder of the table.")
    steps = list(found.relative_to(real).parts)
    if not steps:
        raise PictureRefused(_REFUSED, "This is not a file.")
    return real, steps


def _open_inside(folder: Path, steps: list[str]) -> int:
    """Open a file below a folder, and follow no link on the way; return its descriptor."""
    if not _STEPS_INSIDE:  # Windows
        return _open_and_look_again(folder.joinpath(*steps))
    at = os.open(folder, _FOLDER)
    try:
        for step in steps[:-1]:
            below = os.open(step, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        # To open a device may do something already.
        if not stat.S_ISREG(os.stat(steps[-1], dir_fd=at, follow_symlinks=False).st_mode):
            raise PictureRefused(_REFUSED, "This is not a file.")
        return os.open(steps[-1], _FILE, dir_fd=at)
    finally:
        os.close(at)


def _open_and_look_again(path: Path) -> int:
    """Open a file by its real path, and refuse it if that path has come to lead elsewhere."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise PictureRefused(_REFUSED, "This is not a file.")
    descriptor = os.open(path, _FILE)
    try:
        if os.path.realpath(path) == os.fspath(path) and os.path.samestat(
            path.lstat(), os.fstat(descriptor)
        ):
            return descriptor
        raise PictureRefused(_REFUSED, "The file has just been replaced.")
    except BaseException:
        os.close(descriptor)
        raise
