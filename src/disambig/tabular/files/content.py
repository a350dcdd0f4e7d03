"""A file as its reader gets it: bytes or lines of text, and the memory it may ask for."""

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from disambig._core.errors import DatasetNotFoundError, ParameterError, TableError
from disambig.tabular.files.packed import begins_like_packed, open_unpacked, packing_of

STANDARD_STREAM = "-"
# What any file may need, and what a larger one may need for each of its bytes: text and numbers
# that were not packed take a few times their size.
_ANY_FILE = 2 * 10**9
_PER_BYTE = 10
PARQUET = ".parquet"
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
    inner_name: str = ""  # of what was packed in the file

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
        if self.path is None:
            return len(self.content)
        return sum(file.stat().st_size for file in parquet_files(self.path))

    @property
    def memory_limit(self) -> int:
        """How many bytes of memory it may ask for."""
        if self.max_memory is None:
            return max(_ANY_FILE, _PER_BYTE * self.size)
        return self.max_memory

    def check_memory(self, needed: int, what: str, *, at_least: bool = False) -> None:
        """Refuse to expand what would take more memory than allowed; ``what`` is what asks for it.

        Readers call it before they expand anything whose size the file itself states, and with
        ``at_least`` while they expand something of any size.
        """
        limit = self.memory_limit
        if needed > limit:
            takes = f"more than {describe_size(limit)}" if at_least else describe_size(needed)
            enough = describe_size(2 * limit if at_least else needed, up=True)
            raise TableError(
                f"{what} of {self.name} would take {takes} of memory. The limit is "
                f"{describe_size(limit)}, because a small file can claim to hold anything. If you "
                f"trust it, raise the limit: --memory {enough} (in Python max_memory=)."
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
        check_folder(path)
        return FileContent(str(path), path, max_memory=limit)
    if path.is_file():
        packed = FileContent(str(path), path, max_memory=limit)
        if packing_of(path) is None:
            return packed
        with open_unpacked(path) as (stream, inner_name):
            # Whatever is read from it: a small file can be packed from any number of bytes.
            content = _read_once(str(path), stream, packed.memory_limit)
        return replace(content, inner_name=inner_name)
    if not path.exists():
        raise DatasetNotFoundError(f"There is no file {path}. Check the path.")
    with path.open("rb") as stream:
        if not path.is_fifo() and not path.is_socket() and not stream.isatty():
            raise TableError(
                f"A table is a file or a pipe. {path} is a device, which may never end. Give the "
                "path of a file."
            )
        return _read_once(str(path), stream, limit)


def check_folder(path: Path) -> None:
    """Refuse a folder that is not a table."""
    if not parquet_files(path):
        raise TableError(
            f"A table is a file, or a folder of {PARQUET} files. {path} is a folder without any. "
            "Give the path of a file in it."
        )


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a table: the file itself, or those in a folder or below it."""
    if not path.is_dir():
        return [path]
    # Tools such as Spark put files beside the data whose names begin with a dot or underscore.
    return sorted(
        file
        for file in path.rglob(f"*{PARQUET}")
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )


def _read_once(name: str, stream: BinaryIO, limit: int | None) -> FileContent:
    """Return what comes from a pipe, which can be read once and may never end."""
    checked = FileContent(name, max_memory=_ANY_FILE if limit is None else limit)
    content = io.BytesIO()
    # Piece by piece: as much memory as is asked for at once would be taken at once.
    while piece := stream.read(_READ_AT_ONCE):
        content.write(piece)
        checked.check_memory(content.tell(), "The content", at_least=True)
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


# ---- text

# The mark of UTF-32 begins with that of UTF-16, and is looked for first.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UTF_8 = "utf-8"
_BYTE_ORDER_MARK = "\ufeff"

# Says where in a table some text ends: "row 3, column 'size'"; empty if that is not clear.
Place = Callable[[str], str]


@contextmanager
def decode_lines(
    source: FileContent, encoding: str | None, place: Place, *, newline: str = ""
) -> Iterator[Iterator[str]]:
    """Give the lines of a file, with their ends; UTF-8 unless given, or marked, otherwise.

    ``newline`` is that of ``open``: by default a line ends in LF, CR or both.
    """
    _check_is_not_packed(source)
    codec = _find_encoding(source) if encoding is None else _check_encoding(encoding)
    try:
        with io.TextIOWrapper(source.open(), encoding=codec, newline=newline) as stream:
            # UTF-8 never decodes to half a character. Some codecs do.
            yield _check_lines(stream, source.name, halves=codec != _UTF_8)
    except UnicodeError as error:
        raise TableError(_undecodable(source, codec, error, place)) from error


def half_character(text: str) -> str | None:
    """Return half of a character that stands alone in a text, spelled out, or None.

    Such text cannot be written to any file.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return repr(text[error.start])
    return None


def _check_is_not_packed(source: FileContent) -> None:
    with source.open() as stream:
        suffix = begins_like_packed(stream.read(16))
    if suffix is not None:
        or_excel = ", or .xlsx if it is a workbook of Excel" if suffix == ".zip" else ""
        raise TableError(
            f"{source.name} needs to be text. It begins like a packed file: unpack it, or let its "
            f"name end in {suffix}{or_excel}."
        )


def beginning(source: FileContent, n_bytes: int) -> str:
    """Return the text at the beginning of a file, without space before it, whatever it holds."""
    with source.open() as stream:
        start = stream.read(n_bytes)
    return start.decode(_find_encoding(source), "replace").removeprefix(_BYTE_ORDER_MARK).lstrip()


def _find_encoding(source: FileContent) -> str:
    with source.open() as stream:
        start = stream.read(4)
    return next((codec for mark, codec in _MARKS.items() if start.startswith(mark)), _UTF_8)


def _check_encoding(encoding: str) -> str:
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError) as error:
        raise ParameterError(
            f"The encoding must be one that Python knows, such as utf-8, latin-1 or utf-16. "
            f"Got {encoding!r}."
        ) from error
    return encoding


def _check_lines(stream: io.TextIOWrapper, name: str, *, halves: bool) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        if "\0" in line:
            raise TableError(
                f"{name} needs to be text. Line {number:,} holds a NUL character. It is damaged, "
                "of another format (--format, in Python format=), or in another encoding "
                "(--encoding utf-16-le, in Python encoding='utf-16-le')."
            )
        half = half_character(line) if halves else None
        if half is not None:
            raise TableError(
                f"{name} needs to be text. Line {number:,} holds half of a character, {half}. It "
                "is damaged, or in another encoding (--encoding, in Python encoding=)."
            )
        yield line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line


def _undecodable(source: FileContent, codec: str, error: UnicodeError, place: Place) -> str:
    # Streams are decoded in pieces, and errors count from the start of a piece.
    with source.open() as stream:
        content = stream.read()
    fault = ""
    try:
        content.decode(codec)
    except UnicodeDecodeError as found:
        before = content[: found.start].decode(codec, errors="ignore")
        before = before.removeprefix(_BYTE_ORDER_MARK)
        where = ": ".join(filter(None, [f"in line {before.count(chr(10)) + 1:,}", place(before)]))
        fault = f" Byte {found.start + 1:,} (0x{content[found.start]:02x}, {where}) does not fit."
    except UnicodeError:
        pass  # this codec does not say where
    reason = fault or f" {str(error).capitalize()}."
    return (
        f"{source.name} cannot be read as {codec}.{reason} Say which encoding it is in: "
        "--encoding latin-1 (in Python encoding='latin-1'), or whichever it is."
    )
