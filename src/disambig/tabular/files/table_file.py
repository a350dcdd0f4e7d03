"""Read and write a table in any format."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from disambig._core.errors import DisambigError, ParameterError, TableError
from disambig._core.files import FAULTS_OF_THE_DISK, written_atomically
from disambig.tabular.files.excel import read_excel, write_excel
from disambig.tabular.files.formats import (
    STANDARD_STREAM,
    FileContent,
    checked_delimiter,
    find_content,
    format_of,
)
from disambig.tabular.files.json_lines import read_json_lines, write_json_lines
from disambig.tabular.files.parquet import read_parquet, write_parquet
from disambig.tabular.files.text import read_text, write_text
from disambig.tabular.table_columns import checked_names

__all__ = ["read_table_file", "write_table"]


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


_Writer = Callable[[Any, BinaryIO], None]
_WRITERS: dict[str, _Writer] = {
    "jsonl": write_json_lines,
    "parquet": write_parquet,
    "xlsx": write_excel,
}


def write_table(
    frame: Any,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
) -> None:
    """Write a data frame to a file or, for ``"-"``, to standard output.

    A file that is there already is replaced once the new one is complete. The index is not written.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str or path
        Where it goes. Texts are written in UTF-8.
    format : {"csv", "tsv", "jsonl", "parquet", "xlsx"}, optional
        By default what the suffix says, and csv for standard output.
    delimiter : str, optional
        For CSV and TSV: what stands between two cells, a comma or a tab by default.
    """
    to_output = os.fspath(target) == STANDARD_STREAM
    kind = format_of(target, "csv" if to_output and format is None else format)
    between_cells = checked_delimiter(kind, delimiter)
    writer: _Writer
    if between_cells is None:
        writer = _WRITERS[kind]
    else:
        writer = partial(write_text, delimiter=between_cells)
    names = checked_names(frame.columns, "The table")
    named = frame.set_axis(names, axis=1)
    try:
        if to_output:
            _write_to_output(named, writer)
        else:
            _write_to_file(named, Path(target), writer)
    except UnicodeEncodeError as error:
        raise TableError(
            f"The table cannot be written to {target}: {error.object[error.start]!r} is half of a "
            "character. Take it out."
        ) from error
    except OSError as error:
        if error.errno in FAULTS_OF_THE_DISK:
            raise OSError(error.errno, error.strerror, os.fspath(target)) from error
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = "a part of its path is a file, no folder"
        raise TableError(
            f"{target} cannot be written: {reason}. Name another file, or check whether you may "
            "write there."
        ) from error


def _write_to_file(frame: Any, path: Path, writer: _Writer) -> None:
    if path.is_dir():
        raise TableError(f"A table goes into a file. {path} is a folder. Name a file in it.")
    if path.exists() and not path.is_file():
        # A device or a pipe, such as /dev/null: nothing may take its place.
        with path.open("wb") as stream:
            writer(frame, stream)
        return
    # A link stays, and what it leads to is replaced.
    with written_atomically(path.resolve()) as temporary, temporary.open("wb") as stream:
        writer(frame, stream)


def _write_to_output(frame: Any, writer: _Writer) -> None:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise TableError("Standard output takes no bytes here. Write to a file.")
    try:
        sys.stdout.flush()
        writer(frame, stream)
        stream.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough. Python flushes once more at its end, into nothing now.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
