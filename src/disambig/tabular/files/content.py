"""A file as its reader gets it: its bytes, what messages call it, the memory it may ask for."""

import io
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from disambig._core.errors import DatasetNotFoundError, ParameterError, TableError

STANDARD_STREAM = "-"
# What any file may need, and what a larger one may need for each of its bytes: text and numbers
# that were not packed take a few times their size.
_ANY_FILE = 2 * 10**9
_PER_BYTE = 10
_READ_AT_ONCE = 1 << 20
_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


@dataclass(frozen=True)
class FileContent:
    """Bytes that can be read from the start as often as needed, and what messages call them.

    ``max_memory`` is what a user allows, in bytes; None for the usual limit.
    """

    name: str
    path: Path | None = None
    content: bytes = b""
    max_memory: int | None = None

    def open(self) -> BinaryIO:
        """Return a stream of the bytes."""
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")

    @property
    def stem(self) -> str:
        """The name of the file without its folder and suffix."""
        return self.name if self.path is None else self.path.stem

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self.content) if self.path is None else self.path.stat().st_size

    @property
    def memory_limit(self) -> int:
        """How many bytes of memory it may ask for."""
        if self.max_memory is None:
            return max(_ANY_FILE, _PER_BYTE * self.size)
        return self.max_memory

    def check_memory(self, needed: int, what: str) -> None:
        """Refuse to expand what would take more memory than allowed; ``what`` is what asks for it.

        Readers call it before they expand anything whose size the file itself states.
        """
        limit = self.memory_limit
        if needed > limit:
            raise TableError(
                f"{what} of {self.name} would take {describe_size(needed)} of memory. The limit is "
                f"{describe_size(limit)}, because a small file can claim to hold anything. If you "
                f"trust it, raise the limit: --max-memory {describe_size(needed, up=True)} (in "
                "Python max_memory=)."
            )


def find_content(
    source: str | os.PathLike[str], max_memory: int | str | None = None
) -> FileContent:
    """Return the content of a file, or of standard input for ``"-"``."""
    limit = read_size(max_memory) if isinstance(max_memory, str) else max_memory
    if os.fspath(source) == STANDARD_STREAM:
        if sys.stdin is None:
            raise TableError("There is no standard input here. Give the path of a file.")
        return _read_once("standard input", sys.stdin.buffer, limit)
    path = Path(source)
    if path.is_dir():
        raise TableError(f"A table is a file. {path} is a folder. Give the path of a file in it.")
    if path.is_file():
        return FileContent(str(path), path, max_memory=limit)
    if not path.exists():
        raise DatasetNotFoundError(f"There is no file {path}. Check the path.")
    with path.open("rb") as stream:
        if not path.is_fifo() and not path.is_socket() and not stream.isatty():
            raise TableError(
                f"A table is a file or a pipe. {path} is a device, which may never end. Give the "
                "path of a file."
            )
        return _read_once(str(path), stream, limit)


def _read_once(name: str, stream: BinaryIO, limit: int | None) -> FileContent:
    """Return what comes from a pipe, which can be read once and may never end."""
    checked = FileContent(name, max_memory=_ANY_FILE if limit is None else limit)
    content = io.BytesIO()
    # Piece by piece: as much memory as is asked for at once would be taken at once.
    while piece := stream.read(_READ_AT_ONCE):
        content.write(piece)
        checked.check_memory(content.tell(), "The content")
    return FileContent(name, content=content.getvalue(), max_memory=limit)


def read_size(text: str) -> int:
    """Return the bytes that ``500MB`` or ``8 GB`` means."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?b?)\s*", text, re.IGNORECASE)
    unit = match[2].lower().rstrip("b") if match else ""
    try:
        number = float(match[1]) if match else float("nan")
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise ParameterError(f"A size is a number of bytes, such as 500MB or 8GB. Got {text!r}.")
    return int(number * _UNITS[f"{unit}b" if unit else ""])


def describe_size(size: int, *, up: bool = False) -> str:
    """Return a size for people, ``2.1GB``; rounded up where it is to be enough."""
    unit, factor = next(
        ((unit, factor) for unit, factor in reversed(_UNITS.items()) if size >= factor), ("", 1)
    )
    tenths = -(-size * 10 // factor) if up else round(size * 10 / factor)
    return f"{tenths / 10:g}{unit.upper() or ' bytes'}"
