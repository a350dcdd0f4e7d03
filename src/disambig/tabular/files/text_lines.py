"""The lines of a text file, decoded; what cannot be decoded is named by its place."""

import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.files.content import FileContent

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
