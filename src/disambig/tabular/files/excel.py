"""The first sheet of an Excel workbook, read and written by openpyxl."""

import datetime
import io
import math
import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

import openpyxl
import pandas as pd

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import join_names, quote_value, row_name
from disambig.candidates.checks import is_missing
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.excel_size import MOST_COLUMNS, MOST_ROWS, open_first_sheet
from disambig.tabular.files.formats import if_title
from disambig.tabular.files.layout import name_columns
from disambig.tabular.table_cells import cell_text, is_collection, json_value

_LONGEST_TEXT = 32_767
# Numbers in a sheet have 15 digits, and days are counted from 1900.
_LARGEST_WHOLE_NUMBER = 10**15
_FIRST_DAY = datetime.date(1900, 3, 1)


def read_excel(source: FileContent) -> Any:
    """Return a data frame of objects: cells keep their types, empty ones are None."""
    try:
        with source.open() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and rules of a sheet
            sheet, sheets = open_first_sheet(source, stream)
            rows = list(_filled_rows(sheet))
    # Damaged files make openpyxl raise anything.
    except Exception as error:
        ours = next(
            (each for each in (error, error.__cause__) if isinstance(each, TableError)), None
        )
        if ours is not None:
            raise ours from None
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(
            f"{source.name} is damaged, or not an Excel workbook (.xlsx): {error}. Save it again."
        ) from error
    if len(sheets) > 1:
        first, *others = map(quote_value, sheets)
        warn_caller(
            f"Only the first sheet of {source.name}, {first}, is read. Left out: "
            f"{join_names(others)}."
        )
    if not rows:
        raise TableError(f"{source.name} needs a header and rows. Its first sheet is empty.")
    (line, header), *body = rows
    names = name_columns(["" if name is None else str(name) for name in header])
    for number, cells in body:
        if len(cells) > len(header):
            raise TableError(
                f"Every column of {source.name} needs a name. Line {number:,} of its first sheet "
                f"has a cell in column {len(cells):,}, and the header, line {line:,}, ends in "
                f"column {len(header):,}. Name the column, or clear the cell.{if_title(names)}"
            )
    padded = [cells + [None] * (len(header) - len(cells)) for _, cells in body]
    return pd.DataFrame(padded, columns=pd.Index(names, dtype=object), dtype=object)


def write_excel(frame: Any, stream: BinaryIO) -> None:
    """Write a data frame; what Excel cannot hold as a value becomes text."""
    n_rows, n_columns = frame.shape
    if n_rows + 1 > MOST_ROWS or n_columns > MOST_COLUMNS:
        raise TableError(
            f"A sheet of Excel holds {MOST_ROWS - 1:,} rows under the header and "
            f"{MOST_COLUMNS:,} columns. Got {n_rows:,} rows and {n_columns:,} columns. "
            "Write another format, such as .csv or .parquet."
        )
    names = [str(name) for name in frame.columns]
    # Checked before a sheet is begun, because openpyxl complains of one left unfinished.
    columns = [_excel_cells(name, column) for name, column in frame.items()]
    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet("Sheet1")
    for values in chain([names], zip(*columns, strict=True)):
        sheet.append([_as_cell(sheet, value) for value in values])
    content = io.BytesIO()
    workbook.save(content)
    stream.write(content.getbuffer())


def _filled_rows(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows with anything in them, up to their last cell, with their line in the sheet."""
    sheet.reset_dimensions()  # what the file says of its size is not always true
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        values = list(cells)
        while values and (values[-1] is None or values[-1] == ""):
            values.pop()
        if values:
            yield number, values


def _as_cell(sheet: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)
    cell = openpyxl.cell.WriteOnlyCell(sheet, text)
    cell.data_type = "s"  # never a formula, even if it begins with "="
    return cell


def _excel_cells(name: str, column: Any) -> list[Any]:
    cells = [_excel_value(value) for value in column.tolist()]
    for row, cell in enumerate(cells):
        if isinstance(cell, str):
            cell.encode()  # fails here and not in the middle of a sheet
            if len(cell) > _LONGEST_TEXT:
                raise TableError(
                    f"A cell of Excel holds {_LONGEST_TEXT:,} characters. Column {name!r} has "
                    f"{len(cell):,} in {row_name(row)}. Write another format, such as .csv."
                )
    return cells


def _excel_value(value: Any) -> Any:
    """Return a number, a date or a string."""
    if isinstance(value, str):
        return value
    if is_collection(value):
        return cell_text(value)
    if is_missing(value):
        return None
    if isinstance(value, datetime.datetime | datetime.date):
        day = value.date() if isinstance(value, datetime.datetime) else value
        zone = getattr(value, "tzinfo", None)
        return json_value(value) if zone is not None or day < _FIRST_DAY else value
    if isinstance(value, datetime.time | datetime.timedelta):
        return cell_text(value)
    plain = json_value(value)
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, int):
        return plain if abs(plain) < _LARGEST_WHOLE_NUMBER else str(plain)
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else str(plain)
    return cell_text(value)
