"""Bytes become lines of text, and what is no text is named by its place."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager

from disambig._core.errors import ParameterError, TableError
from disambig.tables.files.file_content import FileContent

__all__ = ["decoded_lines"]

# The mark of UTF-32 begins with that of UTF-16, and is looked for first.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BYTE_ORDER_MARK = "\ufeff"


@contextmanager
def decoded_lines(
    source: FileContent, encoding: str | None, *, newline: str = ""
) -> Iterator[Iterator[str]]:
    """Give the lines of a file, with their ends; UTF-8 unless it is said, or marked, otherwise.

    With the ``newline`` of ``open``, a line ends in LF, CR or both.
    """
    codec = _marked_encoding(source) if encoding is None else _checked_encoding(encoding)
    try:
        with io.TextIOWrapper(source.open(), encoding=codec, newline=newline) as stream:
            yield _checked_lines(stream, source.name)
    except UnicodeError as error:
        raise TableError(_undecodable(source, codec, error)) from error


def _marked_encoding(source: FileContent) -> str:
    with source.open() as stream:
        start = stream.read(4)
    return next((codec for mark, codec in _MARKS.items() if start.startswith(mark)), "utf-8")


def _checked_encoding(encoding: str) -> str:
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError) as error:
        raise ParameterError(
            f"The encoding must be one that Python knows, such as utf-8, latin-1 or utf-16. "
            f"Got {encoding!r}."
        ) from error
    return encoding


def _checked_lines(stream: io.TextIOWrapper, name: str) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        if "\0" in line:
            raise TableError(
                f"{name} needs to be text. Line {number:,} holds a NUL character. It is damaged, "
                "of another format (--format, in Python format=), or in another encoding "
                "(--encoding utf-16-le, in Python encoding='utf-16-le')."
            )
        yield line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line


def _undecodable(source: FileContent, codec: str, error: UnicodeError) -> str:
    # Streams are decoded in pieces, and errors count from the start of a piece.
    with source.open() as stream:
        content = stream.read()
    place = ""
    try:
        content.decode(codec)
    except UnicodeDecodeError as found:
        line = content[: found.start].decode(codec, errors="ignore").count("\n") + 1
        byte = content[found.start]
        place = f" Byte {found.start + 1:,} (0x{byte:02x}, in line {line:,}) does not fit."
    except UnicodeError:
        pass  # a codec that knows no places
    reason = place or f" {str(error).capitalize()}."
    return (
        f"{source.name} cannot be read as {codec}.{reason} Say which encoding it is in: "
        "--encoding latin-1 (in Python encoding='latin-1'), or whichever it is."
    )
