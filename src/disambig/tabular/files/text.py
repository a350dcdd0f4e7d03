"""CSV and TSV: strict, and every cell stays a string."""

import codecs
import csv
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, BinaryIO, NoReturn, Protocol

import numpy as np

from disambig._core.errors import ParameterError, TableError
from disambig._core.messages import row_name
from disambig._core.optional import import_extra
from disambig._core.typing import AnyArray
from disambig.tabular.files.formats import FileContent, written_text
from disambig.tabular.table_columns import checked_names

__all__ = ["TextColumn", "decoded_lines", "read_text", "text_columns", "write_text"]


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


# A column with more different texts than this has little to share.
_MOST_SHARED = 10_000


class TextColumn(Protocol):
    """A column that is being filled."""

    def append(self, cells: tuple[str, ...]) -> None:
        """Add cells at the end."""

    def finished(self) -> Any:
        """Return it as a series."""


def text_columns(count: int) -> list[TextColumn]:
    """Return empty columns, kept as pandas keeps text: by pyarrow where that is installed."""
    import pandas as pd  # slow to import

    dtype = pd.Series([""], dtype="str").dtype
    if getattr(dtype, "storage", None) == "pyarrow":
        return [_ArrowColumn(dtype) for _ in range(count)]
    return [_ObjectColumn(dtype) for _ in range(count)]


class _ArrowColumn:
    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._pyarrow = import_extra("pyarrow", extra="parquet")
        self._pieces: list[Any] = []

    def append(self, cells: tuple[str, ...]) -> None:
        self._pieces.append(self._pyarrow.array(cells, type=self._pyarrow.large_string()))

    def finished(self) -> Any:
        import pandas as pd  # see above

        return pd.Series(self._pyarrow.concat_arrays(self._pieces), dtype=self._dtype)


class _ObjectColumn:
    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._pieces: list[AnyArray] = []
        self._shared: dict[str, str] = {}

    def append(self, cells: tuple[str, ...]) -> None:
        # Equal texts are kept once, or a column of few words would take ten times its memory.
        if len(self._shared) < _MOST_SHARED:
            piece = np.fromiter(
                map(self._shared.setdefault, cells, cells), dtype=object, count=len(cells)
            )
        else:
            piece = np.array(cells, dtype=object)
        self._pieces.append(piece)

    def finished(self) -> Any:
        import pandas as pd  # see above

        return pd.Series(np.concatenate(self._pieces), dtype=self._dtype, copy=False)


# Few enough for a processor's cache, and many enough to make calls between them cheap.
_ROWS_AT_ONCE = 2_000
_LINES_LOOKED_AT = 20
_OTHER_DELIMITERS = "\t;,|"
# The csv module allows 131,072 characters a cell unless told otherwise, for the whole process.
_LONGEST_CELL = 2**31 - 1
_cell_length_lock = threading.Lock()


class _FaultyTextError(Exception):
    """Something is wrong with a row; which one is found out by reading again, slowly."""


def read_text(
    source: FileContent, *, delimiter: str, encoding: str | None, doubt_delimiter: bool = True
) -> Any:
    """Return a data frame whose cells are texts exactly as they are written.

    A table of one column is refused if another delimiter fits all its lines, unless
    ``doubt_delimiter`` is false.
    """
    with _cells_of_any_length():
        try:
            return _read_quickly(source, delimiter, encoding, doubt_delimiter)
        except (csv.Error, _FaultyTextError):
            _raise_first_fault(source, delimiter, encoding)


def _read_quickly(
    source: FileContent, delimiter: str, encoding: str | None, doubt_delimiter: bool
) -> Any:
    import pandas as pd  # slow to import

    with decoded_lines(source, encoding) as lines:
        first_lines = list(islice(lines, _LINES_LOOKED_AT))
        reader = csv.reader(chain(first_lines, lines), delimiter=delimiter, strict=True)
        names = _read_header(reader, source.name)
        if len(names) == 1 and doubt_delimiter:
            _check_delimiter(first_lines, delimiter, source.name)
        checked_names(names, source.name)
        columns = text_columns(len(names))
        empty = True
        while rows := list(islice(reader, _ROWS_AT_ONCE)):
            if set(map(len, rows)) != {len(names)}:
                rows = [row for row in rows if not _is_blank(row, len(names))]
                if any(len(row) != len(names) for row in rows):
                    raise _FaultyTextError
            for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
                column.append(cells)
            empty = empty and not rows
    if empty:
        raise TableError(f"{source.name} needs at least one row. It holds a header only.")
    series = {name: column.finished() for name, column in zip(names, columns, strict=True)}
    return pd.DataFrame(series, copy=False)


def _read_header(reader: Iterator[list[str]], name: str) -> list[str]:
    for row in reader:
        if row and not (len(row) == 1 and row[0].isspace()):
            return row
    raise TableError(f"{name} needs a header and rows. It is empty.")


def _is_blank(row: list[str], width: int) -> bool:
    # In a table of one column, spaces alone are a cell.
    return not row or (len(row) == 1 < width and not row[0].strip())


def _check_delimiter(lines: list[str], delimiter: str, name: str) -> None:
    """Refuse a table of one column that is one of several with another delimiter."""
    for other in _OTHER_DELIMITERS.replace(delimiter, ""):
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=other, strict=True) if row}
        except csv.Error:
            continue
        if len(widths) == 1 and widths != {1} and len(lines) > 1:
            shown = "\\t" if other == "\t" else other
            raise TableError(
                f"{name} has one column when it is separated by {delimiter!r}. It looks separated "
                f"by {other!r}, into {widths.pop():,} columns: say --delimiter '{shown}' "
                f"(in Python delimiter={other!r})."
            )


def _raise_first_fault(source: FileContent, delimiter: str, encoding: str | None) -> NoReturn:
    """Read row by row, and say what is wrong with the first that is."""
    with decoded_lines(source, encoding) as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        width, row, line = 0, -1, 1  # the header comes before the first row
        place = "The header"
        try:
            width = len(_read_header(reader, source.name))
            while True:
                line = reader.line_num + 1
                place = f"{row_name(row + 1).capitalize()} (line {line:,})"
                record = next(reader)
                if _is_blank(record, width):
                    continue
                row += 1
                if len(record) != width:
                    raise TableError(
                        f"Every row of {source.name} needs as many cells as the header, {width:,}. "
                        f"{place} has {len(record):,}. Look for a delimiter too many or too few, "
                        "a cell that needs quotes, or a name missing in the header."
                    )
        except csv.Error as error:
            raise TableError(_quoting_message(source.name, place, str(error))) from error
    raise AssertionError("a fault that was met once is met again")  # pragma: no cover


def _quoting_message(name: str, place: str, reason: str) -> str:
    if "unexpected end" in reason:
        fault = "begins a quoted cell that never ends"
    elif "expected after" in reason:
        fault = "has text behind a closing quote"
    else:
        fault = f"cannot be taken apart ({reason})"
    return (
        f"The quotes in {name} are broken. {place} {fault}. Close the quote; inside a quoted cell, "
        'a quote is written twice ("").'
    )


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    with _cell_length_lock:
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def write_text(frame: Any, stream: BinaryIO, *, delimiter: str) -> None:
    """Write a data frame; missing values become empty cells, lists and mappings JSON."""
    import pandas as pd  # slow to import

    cells = {
        name: column.map(written_text) if pd.api.types.is_object_dtype(column.dtype) else column
        for name, column in frame.items()
    }
    lines = _LinesWithLineFeeds(stream)
    pd.DataFrame(cells, copy=False).to_csv(
        lines, sep=delimiter, index=False, lineterminator="\r\n", encoding="utf-8"
    )


class _LinesWithLineFeeds:
    """Takes lines that end in CR LF, so that cells with either are quoted, and writes LF."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        self._stream.write(f"{line[:-2]}\n".encode())
