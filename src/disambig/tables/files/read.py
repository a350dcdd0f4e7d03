"""``read_table_file``: a file, or standard input, as a data frame."""

import os
from collections.abc import Callable
from typing import Any

from disambig._core.errors import DisambigError, ParameterError, TableError
from disambig.tables.column_names import checked_names
from disambig.tables.files.excel import read_excel
from disambig.tables.files.file_content import STANDARD_STREAM, FileContent, find_content
from disambig.tables.files.formats import checked_delimiter, format_of
from disambig.tables.files.json_lines import read_json_lines
from disambig.tables.files.parquet import read_parquet
from disambig.tables.files.text import read_text

__all__ = ["read_table_file"]

# Of formats that are no text.
_READERS: dict[str, Callable[[FileContent], Any]] = {"parquet": read_parquet, "xlsx": read_excel}


def read_table_file(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Any:
    """Read a table from a file or, for ``"-"``, from standard input.

    Columns have different names, which are texts; there is at least one column and one row.

    Parameters
    ----------
    source : str or path
        The file. Cells of CSV and TSV are read as texts, as they are written; other formats keep
        their types.
    format : {"csv", "tsv", "jsonl", "parquet", "xlsx"}, optional
        By default what the suffix says, and csv for standard input.
    delimiter : str, optional
        For CSV and TSV: what stands between two cells, a comma or a tab by default.
    encoding : str, optional
        For texts: UTF-8 by default, or what a mark at the start of the file says.
    """
    try:
        content = find_content(source)
        given = "csv" if os.fspath(source) == STANDARD_STREAM and format is None else format
        kind = format_of(source, given)
        frame = _read(content, kind, delimiter, encoding)
    except DisambigError:
        raise  # some of them are errors of the system, too
    except OSError as error:
        raise TableError(
            f"{source} cannot be read: {error.strerror or error}. Check the path, and whether you "
            "may read it."
        ) from error
    frame.columns = checked_names(frame.columns, content.name)
    if not len(frame):
        raise TableError(f"{content.name} needs at least one row. It has columns only.")
    return frame


def _read(content: FileContent, kind: str, delimiter: str | None, encoding: str | None) -> Any:
    between_cells = checked_delimiter(kind, delimiter)
    if between_cells is not None:
        return read_text(
            content, delimiter=between_cells, encoding=encoding, doubt_delimiter=delimiter is None
        )
    if kind == "jsonl":
        return read_json_lines(content, encoding=encoding)
    if encoding is not None:
        raise ParameterError(
            f"An encoding goes with csv, tsv and jsonl only. Got {encoding!r} for {kind}. "
            "Leave it out."
        )
    return _READERS[kind](content)
