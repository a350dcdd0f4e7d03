"""Large CSV and TSV as tables on disk: copied once to Parquet, cell by cell, in the cache."""

from pathlib import Path

from disambig._core.cache_folder import made_file, mark_as_used, ready_folder
from disambig._core.errors import TableError, import_extra
from disambig._core.files import write_atomically
from disambig._core.fingerprint import file_state, fingerprint_of
from disambig._version import __version__
from disambig.tabular.files.content import FileContent
from disambig.tabular.files.formats import Format
from disambig.tabular.files.table_on_disk import TableOnDisk
from disambig.tabular.files.text import delimited_blocks, layout_of


def text_on_disk(
    path: Path, record: Format, *, delimiter: str | None = None, encoding: str | None = None
) -> TableOnDisk:
    """Return a text file as a table on disk, whose cells are the strings in the file."""
    import_extra("pyarrow.dataset", extra="parquet")
    from disambig.tabular.files.parquet import write_parquet  # not always there

    source = FileContent(str(path), path)
    options = record.delimiter_option(delimiter)
    layout, attrs = layout_of(
        source, **options, encoding=encoding, check_delimiter=delimiter is None
    )
    fingerprint = fingerprint_of(__version__, file_state(path), repr(layout), encoding)
    copy = made_file(fingerprint, ".parquet")
    if not copy.is_file():
        ready_folder()
        with write_atomically(copy, sweep_first=False) as temporary, temporary.open("wb") as stream:
            write_parquet(delimited_blocks(source, layout, encoding), stream)
    mark_as_used(copy)
    try:
        table = TableOnDisk(copy)
    except TableError:  # something else has its name
        copy.unlink()
        return text_on_disk(path, record, delimiter=delimiter, encoding=encoding)
    table.attrs.update(attrs)
    return table
