"""Which file formats there are, and how a file's content is opened."""

import datetime
import io
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from disambig._core.errors import DatasetNotFoundError, ParameterError, TableError, UnknownNameError
from disambig.candidates.checks import is_missing
from disambig.tabular.table_columns import is_collection

__all__ = [
    "FORMATS",
    "STANDARD_STREAM",
    "SUFFIXES",
    "FileContent",
    "checked_delimiter",
    "find_content",
    "format_of",
    "plain_value",
    "written_text",
]


SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def format_of(path: str | os.PathLike[str], given: str | None = None) -> str:
    """Return the format of a table: the given one, or what the suffix of the file says."""
    if given is not None:
        if given not in FORMATS:
            raise UnknownNameError("format of tables", given, FORMATS)
        return given
    suffix = Path(path).suffix
    known = SUFFIXES.get(suffix.lower())
    if known is None:
        ending = f"ends in {suffix!r}" if suffix else "has no suffix"
        raise TableError(
            f"The name of a table says its format by one of the suffixes {', '.join(SUFFIXES)}. "
            f"{path} {ending}. Name the format by --format (in Python format=), one of "
            f"{', '.join(FORMATS)}."
        )
    return known


def checked_delimiter(format: str, given: str | None) -> str | None:  # noqa: A002
    """Return what stands between the cells of a line, or None where cells are no text."""
    usual = _DELIMITERS.get(format)
    if given is None:
        return usual
    if usual is None:
        raise ParameterError(
            f"A delimiter goes with csv and tsv only. Got {given!r} for {format}. Leave it out."
        )
    delimiter = "\t" if given == "\\t" else given  # as a shell hands it over
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ParameterError(
            "The delimiter must be one character, and neither a quote nor the end of a line. "
            f"Got {given!r}."
        )
    return delimiter


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


def plain_value(value: Any) -> Any:
    """Return a value made of what JSON knows; whatever stands for nothing becomes None."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain_value(item) for item in value), key=str)  # the same every time
    if isinstance(value, np.ndarray):
        return [plain_value(item) for item in value] if value.ndim else plain_value(value[()])
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    return str(value)


def written_text(value: Any) -> str | None:
    """Return what stands in a text for a cell: JSON for several values, else as it prints."""
    if isinstance(value, str):
        return value
    if is_collection(value):
        return json.dumps(plain_value(value), ensure_ascii=False)
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return str(plain_value(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
