"""CSV and TSV: strict, and every cell stays a string."""

import csv
import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pandas as pd

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import row_count, row_name
from disambig.tabular.defaults import DELIMITER
from disambig.tabular.files.content import FileContent, decode_lines
from disambig.tabular.files.formats import check_names, if_title
from disambig.tabular.files.layout import (
    LINES_LOOKED_AT,
    Layout,
    count_blank_end,
    find_layout,
    name_columns,
    notice_blank_end,
    notice_row_names,
)
from disambig.tabular.table_cells import cell_text

# Few enough for a processor's cache, and many enough to make calls between them cheap.
_ROWS_AT_ONCE = 2_000
_ROWS_IN_BLOCK = 50_000
# As objects, which take many times the memory that they take in the end.
CELLS_AT_ONCE = 4_000_000
BYTES_OF_COLUMN = 2_000  # of a table, whatever is in it
_BYTES_OF_CELL = 8  # besides its text
_CELLS_WRITTEN_AT_ONCE = 100_000
_FEWEST_WRITTEN_AT_ONCE = 50  # of rows, however many columns they have
_USUAL = ",\t"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# The csv module allows 131,072 characters a cell by default, for the whole process.
_LONGEST_CELL = 2**31 - 1
_cell_length_lock = threading.Lock()
# A column with more distinct strings than this has little to share.
_MOST_SHARED = 10_000


def read_delimited(
    source: FileContent, *, delimiter: str, encoding: str | None, check_delimiter: bool = True
) -> Any:
    """Return a data frame whose cells are strings exactly as they are written.

    Another delimiter is taken if it fits all lines and the usual one does not, unless
    ``check_delimiter`` is false; the frame says so in its ``attrs``.
    """
    layout, attrs = layout_of(
        source, delimiter=delimiter, encoding=encoding, check_delimiter=check_delimiter
    )
    with _cells_of_any_length():
        try:
            frame = _read_quickly(source, layout, encoding)
        except (csv.Error, _FaultyRowError):
            _raise_first_fault(source, layout, encoding)
    frame.attrs.update(attrs)
    return frame


def delimited_blocks(source: FileContent, layout: Layout, encoding: str | None) -> Iterator[Any]:
    """Yield the rows of a file as data frames of strings, as ``read_delimited`` reads them."""
    with _cells_of_any_length():
        try:
            yield from _without_blank_end(source, layout, encoding)
        except (csv.Error, _FaultyRowError):
            _raise_first_fault(source, layout, encoding)


def _without_blank_end(source: FileContent, layout: Layout, encoding: str | None) -> Iterator[Any]:
    n_held, n_rows = 0, 0  # blank rows that may be the end, and all others
    with _open_rows(source, layout, encoding) as (reader, names, n_names):
        n_blank = count_blank_end(names)
        kept = check_names(names[: len(names) - n_blank] or names, source.name)
        dtype = pd.Series([""], dtype="str").dtype
        at_once = max(1, min(_ROWS_IN_BLOCK, CELLS_AT_ONCE // len(names)))
        while rows := list(islice(reader, at_once)):
            rows = [row for row in rows if not _is_blank(row, len(names))]
            if any(len(row) != len(names) for row in rows):
                raise _FaultyRowError
            if any(any(row[len(kept) :]) for row in rows) and n_blank:
                check_names(names, source.name)  # one of them is missing
            filled = [any(cell.strip() for cell in row) for row in rows]
            end = len(rows) - next(
                (i for i, is_filled in enumerate(filled[::-1]) if is_filled), len(rows)
            )
            if len(names) == 1:  # in a table of one column, an empty cell is one
                end = len(rows)
            if end:
                rows = [[""] * len(names)] * n_held + rows
                cells = zip(*rows[: n_held + end], strict=True)
                arrays = [pd.array(list(column), dtype=dtype) for column in cells]
                yield pd.DataFrame(dict(zip(kept, arrays, strict=False)), copy=False)
                n_rows, n_held = n_rows + n_held + end, len(rows) - n_held - end
            else:
                n_held += len(rows)
    if not n_rows:
        raise TableError(f"{source.name} needs at least one row. It holds a header only.")
    notice_blank_end(source.name, n_blank, n_held)
    if len(names) > n_names and not n_blank:
        notice_row_names(source.name)


def layout_of(
    source: FileContent, *, delimiter: str, encoding: str | None, check_delimiter: bool = True
) -> tuple[Layout, dict[str, str]]:
    """Return how a file is laid out, and what frames of it say of that in their ``attrs``."""
    with _cells_of_any_length():
        with decode_lines(source, encoding, partial(_place, delimiter)) as lines:
            first_lines = list(islice(lines, LINES_LOOKED_AT))
        layout = find_layout(first_lines, delimiter, source.name, is_given=not check_delimiter)
    is_usual = layout.delimiter == delimiter and delimiter in _USUAL
    # Without the quotes of R, spaces would not be found again.
    is_said = not is_usual and (layout.delimiter != " " or delimiter == " ")
    return layout, {DELIMITER: layout.delimiter} if is_said else {}


def write_delimited(frames: Iterable[Any], stream: BinaryIO, *, delimiter: str) -> None:
    """Write data frames of one table; missing values become empty cells, lists and mappings JSON.

    The header is written once.
    """
    lines = _LineFeedStream(stream)
    header = True
    for frame in frames:
        rows = max(_FEWEST_WRITTEN_AT_ONCE, _CELLS_WRITTEN_AT_ONCE // frame.shape[1])
        for start in range(0, max(len(frame), 1), rows):
            _with_texts(frame.iloc[start : start + rows]).to_csv(
                lines, sep=delimiter, index=False, header=header, lineterminator="\r\n",
                chunksize=rows, encoding="utf-8",
            )  # fmt: skip
            header = False
    if lines.n_with_nul:
        warn_caller(
            f"{row_count(lines.n_with_nul)} held NUL characters, which text cannot: each was "
            f"written as {_REPLACEMENT!r}."
        )


def _with_texts(frame: Any) -> Any:
    """Return a table whose strings and objects are text, in one array.

    pandas takes tens of microseconds for every column of strings that has an array to itself.
    """
    is_text = [
        isinstance(kind, pd.StringDtype) or pd.api.types.is_object_dtype(kind)
        for kind in frame.dtypes
    ]
    texts = frame.loc[:, is_text]
    cells = np.empty(texts.shape, dtype=object)
    for place, (_, column) in enumerate(texts.items()):
        values = column.array.to_numpy(dtype=object, na_value=None)
        if pd.api.types.is_object_dtype(column.dtype):
            values = list(map(cell_text, values))
        cells[:, place] = values
    others = frame.loc[:, [not text for text in is_text]]
    made = pd.DataFrame(cells, index=frame.index, columns=texts.columns, dtype=object)
    return pd.concat([made, others], axis=1)[list(frame.columns)]


class _FaultyRowError(Exception):
    """A row is faulty; which one is found by reading again, row by row."""


def _read_quickly(source: FileContent, layout: Layout, encoding: str | None) -> Any:
    with _open_rows(source, layout, encoding) as (reader, names, n_names):
        n_blank = count_blank_end(names)
        check_names(names[: len(names) - n_blank] or names, source.name)
        dtype = pd.Series([""], dtype="str").dtype
        needed = BYTES_OF_COLUMN * len(names)
        source.check_memory(needed, f"The {len(names):,} columns")
        columns = [_StringColumn(dtype) for _ in names]
        n_rows = 0
        at_once = max(1, min(_ROWS_AT_ONCE, CELLS_AT_ONCE // len(names)))
        while rows := list(islice(reader, at_once)):
            if set(map(len, rows)) != {len(names)}:
                rows = [row for row in rows if not _is_blank(row, len(names))]
                if any(len(row) != len(names) for row in rows):
                    raise _FaultyRowError
            for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
                column.append(cells)
            n_rows += len(rows)
            n_cells = n_rows * len(names)
            source.check_memory(needed + _BYTES_OF_CELL * n_cells, f"The {n_cells:,} cells")
    # Arrays and not series, which would take most of the time where there are many columns.
    arrays = [column.to_array() for column in columns] if n_rows else []
    # In a table of one column, an empty cell is one.
    end = _end_of_content(arrays, n_rows) if len(names) > 1 else n_rows
    if not end:
        raise TableError(f"{source.name} needs at least one row. It holds a header only.")
    for array in arrays[len(names) - n_blank :]:
        if _end_of_content([array], n_rows):
            check_names(names, source.name)  # one of them is missing
    notice_blank_end(source.name, n_blank, n_rows - end)
    if len(names) > n_names and not n_blank:
        notice_row_names(source.name)
    named = zip(names, arrays[: len(names) - n_blank], strict=False)
    return pd.DataFrame({name: array[:end] for name, array in named}, copy=False)


def _end_of_content(arrays: list[Any], n_rows: int) -> int:
    """Return the number of rows up to the last one with anything in it."""
    end = 0
    for array in arrays:
        for stop in range(n_rows, end, -_ROWS_AT_ONCE):
            start = max(stop - _ROWS_AT_ONCE, end)
            cells = array[start:stop].tolist()
            filled = (row for row in range(len(cells) - 1, -1, -1) if cells[row].strip())
            last = next(filled, None)
            if last is not None:
                end = start + last + 1
                break
        if end == n_rows:
            break
    return end


@contextmanager
def _open_rows(
    source: FileContent, layout: Layout, encoding: str | None
) -> Iterator[tuple[Any, list[str], int]]:
    """Give a reader of rows, a name for each of their cells, and how many the header has."""
    with decode_lines(source, encoding, partial(_place, layout.delimiter)) as lines:
        first_lines = list(islice(lines, LINES_LOOKED_AT))
        rest = chain(first_lines[layout.n_lines_before :], lines)
        reader = csv.reader(rest, delimiter=layout.delimiter, strict=True)
        header = _read_header(reader, source.name)
        names = layout.header_for_rows(header, first_lines)
        yield reader, name_columns(names), len(header)


class _StringColumn:
    """A column that is being filled, kept as pandas keeps strings: by pyarrow if installed."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._in_arrow = getattr(dtype, "storage", None) == "pyarrow"
        self._pieces: list[Any] = []
        self._shared: dict[str, str] = {}

    def append(self, cells: tuple[str, ...]) -> None:
        if self._in_arrow:
            import pyarrow as pa

            self._pieces.append(pa.array(cells, type=pa.large_string()))
        elif len(self._shared) < _MOST_SHARED:
            # Equal strings are kept once, or a column of few words would take ten times its memory.
            once = map(self._shared.setdefault, cells, cells)
            self._pieces.append(np.fromiter(once, dtype=object, count=len(cells)))
        else:
            self._pieces.append(np.array(cells, dtype=object))

    def to_array(self) -> Any:
        if self._in_arrow:
            import pyarrow as pa

            return self._dtype.__from_arrow__(pa.concat_arrays(self._pieces))
        return pd.array(np.concatenate(self._pieces), dtype=self._dtype, copy=False)


def _read_header(reader: Iterator[list[str]], name: str) -> list[str]:
    for row in reader:
        if row and not (len(row) == 1 and row[0].isspace()):
            return row
    raise TableError(f"{name} needs a header and rows. It is empty.")


def _is_blank(row: list[str], width: int) -> bool:
    # In a table of one column, spaces alone are a cell.
    return not row or (len(row) == 1 < width and not row[0].strip())


def _raise_first_fault(source: FileContent, layout: Layout, encoding: str | None) -> NoReturn:
    """Read row by row, and say what is wrong with the first faulty row."""
    row, line = -1, 1  # the header comes before the first row
    place = "The header"
    try:
        with _open_rows(source, layout, encoding) as (reader, names, _):
            while True:
                line = layout.n_lines_before + reader.line_num + 1
                place = f"{row_name(row + 1).capitalize()} (line {line:,})"
                record = next(reader)
                if _is_blank(record, len(names)):
                    continue
                row += 1
                if len(record) != len(names):
                    raise TableError(
                        f"Every row of {source.name} needs as many cells as the header, "
                        f"{len(names):,}. {place} has {len(record):,}. Look for a delimiter too "
                        "many or too few, a cell that needs quotes, or a name missing in the "
                        f"header.{if_title(names)}"
                    )
    except csv.Error as error:
        raise TableError(_broken_quotes(source.name, place, str(error))) from error
    # Both readings follow the same rules, so a fault of the first is one of the second.
    raise AssertionError("the fault was not found again")  # pragma: no cover  # see above


def _place(delimiter: str, before: str) -> str:
    """Return the row and column that begin behind some text."""
    header: list[str] = []
    row, cells = -2, [""]  # the header comes before the first row
    try:
        for cells in csv.reader(io.StringIO(f"{before}?", newline=""), delimiter=delimiter):
            header = header or cells
            row += bool(cells)
    except csv.Error:
        return ""
    if row < 0:
        return f"column {len(cells):,} of the header"
    name = header[len(cells) - 1] if len(cells) <= len(header) else f"{len(cells):,}"
    return f"{row_name(row)}, column {name!r}"


def _broken_quotes(name: str, place: str, reason: str) -> str:
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


class _LineFeedStream:
    """Ends lines in LF where pandas writes CR LF, which makes it quote cells that hold either.

    Cells may hold a NUL, as in JSON; files of text may not, and readers refuse them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.n_with_nul = 0

    def write(self, line: str) -> None:
        if "\0" in line:
            self.n_with_nul += 1
            line = line.replace("\0", _REPLACEMENT)
        self._stream.write(f"{line[:-2]}\n".encode())
