"""Every file format, one record each; ``read_table`` and ``write_table`` go by them."""

import errno
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from disambig._core.errors import (
    DisambigError,
    ParameterError,
    TableError,
    UnknownNameError,
    import_extra,
)
from disambig._core.files import DISK_ERRORS, write_atomically
from disambig._core.messages import quote_value
from disambig._core.temporaries import LONGEST_NAME
from disambig.tabular.defaults import DELIMITER
from disambig.tabular.files.content import (
    STANDARD_STREAM,
    FileContent,
    find_content,
    half_character,
)
from disambig.tabular.files.packed import (
    PACKED_SUFFIXES,
    check_can_pack,
    pack,
    packing_of,
    without_packing,
)

if TYPE_CHECKING:
    import pandas as pd

_FILES = "disambig.tabular.files"

Writer = Callable[[Iterable[Any], BinaryIO], None]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format: how it is recognised, read and written.

    Readers and writers are named by ``module:function`` and imported when they are needed.
    """

    name: str  # what format= and --format call it
    suffixes: tuple[str, ...]  # in lower case, the usual one first
    # Takes a FileContent and, where the format has them, delimiter, check_delimiter and encoding;
    # returns a data frame.
    reader: str
    # Takes a data frame, a binary stream and, where the format has one, a delimiter.
    writer: str | None = None
    in_blocks: bool = False  # whether the writer takes data frames, one after the other
    delimiter: str | None = None  # the usual one, where another can be chosen
    has_encoding: bool = False  # whether it is text, whose encoding can be chosen
    is_dataset: bool = False  # whether the reader returns a PartialLabelDataset
    in_folders: bool = False  # whether several files in a folder are one table
    library: str | None = None  # the package that reads and writes it
    extra: str | None = None  # the extra of disambig that installs it
    holds_more: str = ""  # what a file may hold besides the table, and would lose if overwritten

    def read(
        self, content: FileContent, *, delimiter: str | None = None, encoding: str | None = None
    ) -> Any:
        """Return what the reader makes of a file."""
        options: dict[str, Any] = self.delimiter_option(delimiter)
        if options:
            # A delimiter that was given is not doubted.
            options["check_delimiter"] = delimiter is None
        if self.has_encoding:
            options["encoding"] = encoding
        elif encoding is not None:
            known = one_of(each.name for each in FORMATS if each.has_encoding)
            raise ParameterError(
                f"An encoding goes with {known} only. Got {encoding!r} for {self.name}. "
                "Leave it out."
            )
        return self._resolve(self.reader)(content, **options)

    def find_writer(self, delimiter: str | None = None) -> "Writer":
        """Return what writes data frames of one table, one only unless ``in_blocks``."""
        if self.writer is None:
            known = one_of(each.name for each in FORMATS if each.writer)
            raise TableError(f"Tables are written as {known}. Got {self.name!r}.")
        writer = partial(self._resolve(self.writer), **self.delimiter_option(delimiter))
        return writer if self.in_blocks else partial(_write_one, writer)

    def _resolve(self, name: str) -> Any:
        if self.library is not None and self.extra is not None:
            import_extra(self.library, extra=self.extra)
        return pkgutil.resolve_name(name)

    def delimiter_option(self, given: str | None) -> dict[str, str]:
        """Return the delimiter to read or write with, checked; nothing for formats without one."""
        if given is None:
            return {} if self.delimiter is None else {"delimiter": self.delimiter}
        if self.delimiter is None:
            known = one_of(each.name for each in FORMATS if each.delimiter)
            raise ParameterError(
                f"A delimiter goes with {known} only. Got {given!r} for {self.name}. Leave it out."
            )
        delimiter = "\t" if given == "\\t" else given  # as a shell passes it on
        if len(delimiter) != 1 or delimiter in '"\r\n\0':
            raise ParameterError(
                "The delimiter must be one character, and neither a quote nor the end of a line. "
                f"Got {given!r}."
            )
        return {"delimiter": delimiter}


_CSV = Format(
    name="csv",
    suffixes=(".csv",),
    reader=f"{_FILES}.text:read_delimited",
    writer=f"{_FILES}.text:write_delimited",
    in_blocks=True,
    delimiter=",",
    has_encoding=True,
)
FORMATS = (
    _CSV,
    replace(_CSV, name="tsv", suffixes=(".tsv",), delimiter="\t"),
    Format(
        name="jsonl",
        suffixes=(".jsonl", ".ndjson"),
        reader=f"{_FILES}.json_lines:read_json_lines",
        writer=f"{_FILES}.json_lines:write_json_lines",
        in_blocks=True,
        has_encoding=True,
    ),
    Format(
        name="json",
        suffixes=(".json",),
        reader=f"{_FILES}.json_document:read_json",
        writer=f"{_FILES}.json_document:write_json",
        has_encoding=True,
    ),
    Format(
        name="parquet",
        suffixes=(".parquet",),
        reader=f"{_FILES}.parquet:read_parquet",
        writer=f"{_FILES}.parquet:write_parquet",
        in_blocks=True,
        in_folders=True,
        library="pyarrow",
        extra="parquet",
    ),
    Format(
        name="xlsx",
        suffixes=(".xlsx",),
        reader=f"{_FILES}.excel:read_excel",
        writer=f"{_FILES}.excel:write_excel",
        library="openpyxl",
        extra="excel",
        holds_more="formulas and other sheets",
    ),
    Format(name="mat", suffixes=(".mat",), reader=f"{_FILES}.arrays:read_mat", is_dataset=True),
    Format(name="npz", suffixes=(".npz",), reader=f"{_FILES}.arrays:read_npz", is_dataset=True),
)


def one_of(words: Iterable[str]) -> str:
    """Return words for a sentence: ``csv, tsv or jsonl``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def suffixes_of(formats: Iterable[Format]) -> list[str]:
    """Return all suffixes of some formats."""
    return [suffix for each in formats for suffix in each.suffixes]


def find_format(
    path: str | os.PathLike[str], given: str | None = None, *, folders: bool = True
) -> Format | None:
    """Return the format with a given name, or the one that the suffix of a file says, if any.

    With ``folders``, the one of files in a folder for that.
    """
    if given is not None:
        by_name = {each.name: each for each in FORMATS}
        if given not in by_name:
            raise UnknownNameError("format of tables", given, list(by_name))
        return by_name[given]
    if folders and os.path.isdir(path):  # noqa: PTH112 - for any name, however long
        return next(each for each in FORMATS if each.in_folders)
    suffix = without_packing(path).suffix.lower()
    found = next((each for each in FORMATS if suffix in each.suffixes), None)
    # Other formats are packed in themselves.
    return found if packing_of(path) is None or (found and found.has_encoding) else None


def split_name(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name of a file without its suffixes, and these: ``"pets"`` and ``".csv.gz"``."""
    name = Path(path).name
    stem = without_packing(name).stem if packing_of(path) else Path(name).stem
    return stem, name[len(stem) :]


def _need_format(path: str | os.PathLike[str], given: str | None, *, to_write: bool) -> Format:
    """Return the format of a file; a standard stream is CSV unless another one is given."""
    to_stream = os.fspath(path) == STANDARD_STREAM
    found = find_format(path, "csv" if to_stream and given is None else given, folders=not to_write)
    if found is None:
        known = [each for each in FORMATS if each.writer or not to_write]
        suffixes = split_name(path)[1]
        ending = f"ends in {suffixes!r}" if suffixes else "has no suffix"
        by_option = "Name the format by --format (in Python format=)"
        way_out = "Choose another name, or in Python give format=" if to_write else by_option
        raise TableError(
            f"The suffix of a table says its format: {', '.join(suffixes_of(known))}; text may "
            f"be packed as well, such as .csv.gz ({', '.join(PACKED_SUFFIXES)}). {path} {ending}. "
            f"{way_out}: {one_of(each.name for each in known)}."
        )
    return found


def check_names(names: Iterable[object], table: str) -> list[str]:
    """Return the names of columns as strings; refuse blank and repeated ones.

    ``table`` is what messages call the table.
    """
    texts = [str(name) for name in names]
    if not texts:
        raise TableError(f"{table} needs at least one column. It has none.")
    seen: dict[str, int] = {}
    for position, text in enumerate(texts, start=1):
        if not text.strip():
            raise TableError(
                f"Every column of {table} needs a name. Column {position:,} of {len(texts):,} has "
                f"none. Name it in the header, or take the column out.{if_title(texts)}"
            )
        if half_character(text) is not None:
            raise TableError(
                f"The columns of {table} need names of whole characters. Column {position:,} of "
                f"{len(texts):,} is called {text!r}. Rename it."
            )
        if text in seen:
            raise TableError(
                f"The columns of {table} need different names. Columns {seen[text]:,} and "
                f"{position:,} are both called {text!r}. Rename one of them."
            )
        seen[text] = position
    return texts


def if_title(header: Sequence[str]) -> str:
    """Return advice if a header has one name only, which may be a title above it."""
    names = [name for name in header if name.strip()]
    return f" If {quote_value(names[0])} is a title, take its line out." if len(names) == 1 else ""


def read_table(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    with_truth: bool = False,
    with_groups: bool = False,
    max_memory: int | str | None = None,
) -> "pd.DataFrame":
    r"""Read a table from a file.

    The names of its columns are strings, all different; there is at least one row. A first column
    without a name, as an index has none, is called ``Unnamed: 0``.

    Parameters
    ----------
    source : str or path
        A ``.csv``, ``.tsv``, ``.json``, ``.jsonl`` (or ``.ndjson``), ``.parquet``, ``.xlsx``,
        ``.mat`` or ``.npz`` file, a folder of ``.parquet`` files that are one table, or ``"-"`` for
        standard input. Text may be packed, as in ``.csv.gz``, ``.bz2``, ``.xz``, ``.zip`` and
        ``.zst``. Cells of CSV and TSV stay strings, as
        they are written; other formats keep their types. The arrays of a ``.mat`` or ``.npz``
        become columns of features and a column ``label`` with lists of labels.
    format : str, optional
        The format, such as "csv". By default that of the suffix, and CSV for standard input.
    delimiter : str, optional
        Delimiter of a CSV or TSV. By default a comma or a tab, or else what fits all lines.
    encoding : str, optional
        Encoding of a text file. By default UTF-8, or what its byte order mark says.
    with_truth : bool, default=False
        Add a column ``truth`` with the true labels, where a ``.mat`` or ``.npz`` holds them.
    with_groups : bool, default=False
        Add a column ``groups`` that says which rows come together, where a ``.mat`` or ``.npz``
        holds an array of that name.
    max_memory : int or str, optional
        Most memory that the file may take once it is unpacked, in bytes or as ``"8GB"``. By
        default 2 GB, or ten times the size of the file if that is more.

    See Also
    --------
    write_table : Writes a table.
    disambig.datasets.load_dataset : Reads arrays of features and candidate sets.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("size,label\n1,cat|dog\n2,dog\n", encoding="utf-8")
    ...     frame = read_table(path)
    >>> frame.to_dict("list")
    {'size': ['1', '2'], 'label': ['cat|dog', 'dog']}
    """
    try:
        content = find_content(source, max_memory)
        named = find_format(content.inner_name) if content.inner_name else None
        record = _need_format(source, format or (named.name if named else None), to_write=False)
        table = record.read(content, delimiter=delimiter, encoding=encoding)
    except DisambigError:
        raise  # some of them are an OSError, too
    except OSError as error:
        raise TableError(
            f"{source} cannot be read: {error.strerror or error}. Check the path, and whether you "
            "may read it."
        ) from error
    frame: pd.DataFrame = table
    if record.is_dataset:
        content.check_memory(table.frame_nbytes, "The table of candidate labels")
        frame = table.to_frame(with_truth=with_truth, with_groups=with_groups)
    frame.columns = check_names(frame.columns, content.name)
    if not len(frame):
        raise TableError(f"{content.name} needs at least one row. It has columns only.")
    return frame


def write_table(
    frame: Any,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    excel_safe: bool = False,
) -> None:
    """Write a data frame to a file or, for ``"-"``, to standard output.

    An existing file is replaced once the new one is complete. The index is not written.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str or path
        Where it goes: a ``.csv``, ``.tsv``, ``.json``, ``.jsonl`` (or ``.ndjson``), ``.parquet`` or
        ``.xlsx`` file. Text is written in UTF-8, and packed if the name says so: ``.csv.gz``.
    format : str, optional
        The format, such as "csv". By default that of the suffix, and CSV for standard output.
    delimiter : str, optional
        Delimiter of a CSV or TSV; by default a comma or a tab, or in a CSV what was between the
        cells of the file that the table was read from.
    excel_safe : bool, default=False
        In CSV and TSV, put an apostrophe before every cell that a spreadsheet would run as a
        formula: those that begin with ``=``, ``+``, ``-`` or ``@`` and are not numbers. In other
        formats text is never a formula.

    See Also
    --------
    read_table : Reads a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from disambig.tabular import write_table
    >>> frame = pd.DataFrame({"size": [1, 2], "label": ["cat|dog", "dog"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     write_table(frame, path)
    ...     path.read_text(encoding="utf-8").splitlines()
    ['size,label', '1,cat|dog', '2,dog']
    """
    write_blocks(
        [frame], target, format=format, delimiter=delimiter, excel_safe=excel_safe, like=frame
    )


def write_blocks(
    blocks: Iterable[Any],
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    excel_safe: bool = False,
    like: Any = None,
) -> None:
    """Write data frames, one after the other, as one table; a file appears when it is complete.

    A CSV has the delimiter of the table that it is ``like``, unless another is given.
    """
    if delimiter is None and _need_format(target, format, to_write=True).name == "csv":
        delimiter = None if like is None else like.attrs.get(DELIMITER)
    writer = find_writer(target, format=format, delimiter=delimiter)
    is_text = _need_format(target, format, to_write=True).delimiter is not None
    named = _checked(blocks, excel_safe=excel_safe and is_text)
    try:
        if os.fspath(target) == STANDARD_STREAM:
            _write_to_output(named, writer)
        else:
            _write_to_file(named, Path(target), writer)
    except UnicodeEncodeError as error:
        raise TableError(
            f"The table cannot be written to {target}: {error.object[error.start]!r} is half of a "
            "character. Take it out."
        ) from error
    except OSError as error:
        raise unwritable(target, error) from error


def check_takes_blocks(target: str | os.PathLike[str]) -> None:
    """Refuse a format whose files are written at once, for a table that is not in memory."""
    record = _need_format(target, None, to_write=True)
    if not record.in_blocks:
        known = one_of(each.name for each in FORMATS if each.in_blocks)
        raise TableError(
            f"A table that stays on disk is written as {known}. Got {record.name!r}. Name another "
            "file."
        )


def _write_one(
    writer: Callable[[Any, BinaryIO], None], frames: Iterable[Any], stream: BinaryIO
) -> None:
    (frame,) = frames
    writer(frame, stream)


def _checked(blocks: Iterable[Any], *, excel_safe: bool) -> Iterator[Any]:
    for block in blocks:
        named = block.set_axis(check_names(block.columns, "The table"), axis=1)
        if excel_safe:
            from disambig.tabular.files.spreadsheet import without_formulas  # pandas comes with it

            named = without_formulas(named)
            check_names(named.columns, "The table for a spreadsheet")
        yield named


def find_writer(
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
) -> Writer:
    """Return what writes a table to a file; refuse, before any work, what no table can go to."""
    writer = _need_format(target, format, to_write=True).find_writer(delimiter)
    suffix = None if os.fspath(target) == STANDARD_STREAM else packing_of(target)
    if suffix is not None:
        check_can_pack(suffix)
        writer = partial(_write_packed, writer, suffix, without_packing(target).name)
    try:
        if len(os.fsencode(Path(target).name)) > LONGEST_NAME:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        is_folder = os.fspath(target) != STANDARD_STREAM and Path(target).is_dir()
    except OSError as error:
        raise unwritable(target, error) from error
    if is_folder:
        raise TableError(f"A table goes into a file. {target} is a folder. Name a file in it.")
    return writer


def unwritable(target: str | os.PathLike[str], error: OSError) -> Exception:
    """Return the error that a file cannot be written; one of the disk stays what it is."""
    if error.errno in DISK_ERRORS:
        return OSError(error.errno, error.strerror, os.fspath(target))
    reason = error.strerror or str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "a part of its path is a file, not a folder"
    return TableError(
        f"{target} cannot be written: {reason}. Name another file, or check whether you may write "
        "there."
    )


def _write_packed(
    writer: Writer, suffix: str, name: str, frames: Iterable[Any], stream: BinaryIO
) -> None:
    with pack(suffix, stream, name) as packed:
        writer(frames, packed)


def _write_to_file(frames: Iterable[Any], path: Path, writer: Writer) -> None:
    if path.exists() and not path.is_file():
        # A device or a pipe, such as /dev/null, is written to and never replaced.
        with path.open("wb") as stream:
            writer(frames, stream)
        return
    # A link stays, and its target is replaced.
    with write_atomically(path.resolve()) as temporary, temporary.open("wb") as stream:
        writer(frames, stream)


def _write_to_output(frames: Iterable[Any], writer: Writer) -> None:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise TableError("Standard output takes no bytes here. Write to a file.")
    try:
        sys.stdout.flush()
        writer(frames, stream)
        stream.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python flushes once more when it ends, now into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
