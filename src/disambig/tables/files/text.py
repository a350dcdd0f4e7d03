"""Tables as lines of text with a delimiter between cells: CSV and TSV.

The csv module of Python takes lines apart, because it says where quotes are broken and rows have
too few cells; pandas fills those up, or takes the first column for names of rows, and is silent.
Cells go into columns a few thousand rows at a time, which is as fast.
"""

import csv
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, BinaryIO, NoReturn

from disambig._core.errors import TableError
from disambig.tables.column_names import checked_names
from disambig.tables.files.decoding import decoded_lines
from disambig.tables.files.file_content import FileContent
from disambig.tables.files.plain_values import written_text
from disambig.tables.files.text_columns import text_columns
from disambig.tables.wording import row_in_words

__all__ = ["read_text", "write_text"]

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
                place = f"{row_in_words(row + 1).capitalize()} (line {line:,})"
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
