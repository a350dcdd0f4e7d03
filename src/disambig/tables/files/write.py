"""``write_table``: a data frame into a file, or to standard output."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from disambig._core.errors import TableError
from disambig._core.files import FAULTS_OF_THE_DISK, written_atomically
from disambig.tables.column_names import checked_names
from disambig.tables.files.excel import write_excel
from disambig.tables.files.file_content import STANDARD_STREAM
from disambig.tables.files.formats import checked_delimiter, format_of
from disambig.tables.files.json_lines import write_json_lines
from disambig.tables.files.parquet import write_parquet
from disambig.tables.files.text import write_text

__all__ = ["write_table"]

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
