"""What is to be read: a file, or what comes through standard input."""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from disambig._core.errors import DatasetNotFoundError, TableError

__all__ = ["STANDARD_STREAM", "FileContent", "find_content"]

STANDARD_STREAM = "-"


@dataclass(frozen=True)
class FileContent:
    """Bytes that can be read from the start as often as needed, and what messages call them."""

    name: str
    path: Path | None = None
    content: bytes = b""

    def open(self) -> BinaryIO:
        """Return a stream of the bytes."""
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")


def find_content(source: str | os.PathLike[str]) -> FileContent:
    """Return the content of a file, or of standard input for ``"-"``."""
    if os.fspath(source) == STANDARD_STREAM:
        if sys.stdin is None:
            raise TableError("There is no standard input here. Give the path of a file.")
        return FileContent("standard input", content=sys.stdin.buffer.read())
    path = Path(source)
    if path.is_dir():
        raise TableError(f"A table is a file. {path} is a folder. Give the path of a file in it.")
    if path.is_file():
        return FileContent(str(path), path)
    if not path.exists():
        raise DatasetNotFoundError(f"There is no file {path}. Check the path.")
    # A pipe can be read once.
    return FileContent(str(path), content=path.read_bytes())
