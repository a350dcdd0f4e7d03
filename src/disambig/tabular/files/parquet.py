"""Parquet, read and written by pyarrow."""

from collections.abc import Iterable, Mapping
from operator import mul
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from disambig._core.errors import TableError
from disambig._core.messages import plural, row_count, row_name
from disambig.tabular.defaults import ARROW_TYPES
from disambig.tabular.files.arrow_frames import bytes_of_value, frame_of, is_text
from disambig.tabular.files.content import FileContent, parquet_files
from disambig.tabular.files.parquet_pieces import ParquetPieces
from disambig.tabular.files.text import BYTES_OF_COLUMN
from disambig.tabular.table_cells import cell_text


def read_parquet(source: FileContent) -> Any:
    """Return a data frame of a file, or of all files in a folder.

    Lists in cells are Python lists, integers with gaps stay integers.
    """
    if source.path is not None and source.path.is_dir():
        return _read_folder(source, source.path)
    try:
        # Opened here: pyarrow would read columns out of the path of a file that it opens.
        with source.open() as stream:
            _check_size(source, stream)
            table = _read_table(source, stream)
        _check_text(source, table)
        frame = frame_of(table)
    except TableError:
        raise
    # Damaged files make pyarrow and pandas raise anything.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(
            f"{source.name} is damaged, or not a Parquet file: {error}. Write it again, or name "
            "its format by --format (in Python format=)."
        ) from error
    return frame


def _read_folder(source: FileContent, path: Path) -> Any:
    pieces, files = ParquetPieces.open(path), parquet_files(path)
    what = f"The table of {row_count(pieces.n_rows)} in {plural(len(files), 'file')}"
    source.check_memory(pieces.memory, what)
    needed = 0
    for name in files:
        with name.open("rb") as stream:
            needed = _check_size(source, stream, what, needed)
    return pieces.frame()


def write_parquet(frames: Iterable[Any], stream: BinaryIO) -> None:
    """Write data frames of one table; a column of values of several kinds is written as text.

    Where there are several, types are those that the first says, or its ``attrs``.
    """
    writer = None
    try:
        for frame in frames:
            table = pa.table({name: _arrow_column(column) for name, column in frame.items()})
            if writer is None:
                writer = pq.ParquetWriter(stream, _schema_of(table, frame.attrs.get(ARROW_TYPES)))
            writer.write_table(_in_types(table, frame, writer.schema))
    finally:
        if writer is not None:  # after an error as well, or it would complain when it is collected
            writer.close()


def _schema_of(table: Any, known: Mapping[str, Any] | None) -> Any:
    """Return the types of all rows by those of the first, where some columns are known."""
    if known is None:
        return table.schema
    fields = []
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        # Further rows may have a text where the first ones have nothing.
        learned = pa.string() if pa.types.is_null(kind) else kind
        fields.append((name, known.get(name, learned)))
    return pa.schema(fields)


def _in_types(table: Any, frame: Any, schema: Any) -> Any:
    """Return a table in the types of the first rows; what fits none of them is refused."""
    if table.schema.equals(schema):
        return table
    columns = {}
    for field in schema:
        column = table[field.name]
        try:
            columns[field.name] = column.cast(field.type)
        except pa.ArrowException:
            values = frame[field.name]
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                values = [cell_text(value) for value in values]
            # Mappings are text by now, and are read once more as what they are.
            columns[field.name] = pa.array(values, type=field.type, from_pandas=True)
    return pa.table(columns, schema=schema)


def _arrow_column(column: Any) -> Any:
    # Arrow would give every mapping the keys of all the others.
    if column.dtype != object or not any(isinstance(value, dict) for value in column):
        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass  # values of several kinds, or of a kind that Arrow does not know
    return pa.array([cell_text(value) for value in column], type=pa.large_string())


def _check_size(
    source: FileContent, stream: BinaryIO, what: str | None = None, needed: int = 0
) -> int:
    """Refuse a file whose columns would take too much memory, before any of them is read.

    Return how many bytes are ``needed`` for it and for the files before it.
    """
    file = pq.ParquetFile(stream)
    metadata = file.metadata
    widths = [bytes_of_value(field.type) for field in file.schema_arrow]
    names = {name: place for place, name in enumerate(file.schema_arrow.names)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    needed += BYTES_OF_COLUMN * metadata.num_columns
    # A text is in the file once, and can be in millions of cells.
    repeated: dict[str, int] = {}
    for place in range(metadata.num_columns):
        column = metadata.schema.column(place)
        width = widths[names.get(column.path, names.get(column.path.partition(".")[0], 0))]
        chunks = [group.column(place) for group in groups]
        counts = [
            max(group.num_rows, chunk.num_values)
            for group, chunk in zip(groups, chunks, strict=True)
        ]
        sizes = [chunk.total_uncompressed_size for chunk in chunks]
        needed += width * sum(counts) + sum(sizes)
        at_most = sum(map(mul, counts, sizes))
        if column.physical_type == "BYTE_ARRAY" and at_most > source.memory_limit:
            repeated[column.path] = max(sizes)
    rows, columns = row_count(metadata.num_rows), plural(metadata.num_columns, "column")
    what = what or f"The table of {rows} and {columns}"
    source.check_memory(needed, what)
    # Opened once: to open it takes time for every column.
    as_categories = pq.ParquetFile(stream, read_dictionary=list(repeated))
    for path, longest in repeated.items():
        try:
            texts = [
                _text_bytes(piece)
                for number in range(len(groups))
                for column in as_categories.read_row_group(number, columns=[path]).columns
                for piece in column.chunks
            ]
            source.check_memory(needed := needed + sum(texts), what)
        except (pa.ArrowException, OSError):
            # Texts that were not written as categories cannot always be read as such, only slower.
            at_once = max(1, source.memory_limit // longest)
            for batch in file.iter_batches(at_once, columns=[path]):
                source.check_memory(needed := needed + batch.nbytes, what)
    return needed


def _text_bytes(array: Any) -> int:
    """Return the bytes of all texts of an array, those that it holds once for many cells."""
    types, kind = pa.types, array.type
    if types.is_dictionary(kind):
        try:
            lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        except pa.ArrowNotImplementedError:  # categories that are not text
            return 0
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if types.is_map(kind):
        return _text_bytes(array.keys) + _text_bytes(array.items)
    if types.is_struct(kind):
        return sum(map(_text_bytes, array.flatten()))
    return _text_bytes(array.flatten()) if types.is_nested(kind) else 0


def _check_text(source: FileContent, table: Any) -> None:
    """Refuse text that is not UTF-8, and say where it is."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            if not _is_about_text(error):
                raise
            row = next(row for row in range(len(column)) if not is_text(column[row]))
            raise _not_text(source, name, f" in {row_name(row)}") from error


def _read_table(source: FileContent, stream: BinaryIO) -> Any:
    file = pq.ParquetFile(stream)
    try:
        return file.read()
    except pa.ArrowInvalid as error:
        # Of columns that are kept as categories pyarrow says so while it reads, and not which.
        for name in file.schema_arrow.names if _is_about_text(error) else ():
            try:
                file.read(columns=[name])
            except pa.ArrowInvalid:
                raise _not_text(source, name) from error
        raise


def _is_about_text(error: Exception) -> bool:
    return "UTF8" in str(error)


def _not_text(source: FileContent, column: str, where: str = "") -> TableError:
    return TableError(
        f"Text needs to be in UTF-8. Column {column!r} of {source.name} holds something else"
        f"{where}. Write the column again: decoded from the encoding that it is in, or as bytes."
    )
