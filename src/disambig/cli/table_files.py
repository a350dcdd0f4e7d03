"""From options to a table, and to where a result goes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disambig._core.errors import ParameterError, TableError
from disambig.cli.table_options import FeatureOptions, FileOptions, LabelOptions, MethodOptions
from disambig.tabular.files.formats import (
    FORMATS,
    STANDARD_STREAM,
    find_format,
    read_table,
    suffixes_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from disambig.methods.base import PartialLabelClassifier
    from disambig.tabular.cleaned_rows import Disambiguated
    from disambig.tabular.task import TableTask

__all__ = [
    "LoadedTable",
    "check_output",
    "load_cleaned",
    "load_table",
    "method_of",
    "output_delimiter",
    "partial_folder",
    "read_file",
    "task_of",
    "where_it_is",
]


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table, what its columns are for, and what a person should know.

    ``columns`` is what ``audit_table`` and ``prepare_task`` take besides the table.
    """

    frame: "pd.DataFrame"
    columns: dict[str, Any]
    notices: tuple[str, ...] = ()

    @property
    def label_columns(self) -> list[str]:
        """Columns with the labels of a row; none where these are in a table of annotations."""
        return list(getattr(self.columns["labels"], "columns", ()))


def read_file(file: str, options: FileOptions, *, with_truth: bool = False) -> "pd.DataFrame":
    """Read the table in a file."""
    return read_table(
        file,
        format=options.format,
        delimiter=options.delimiter,
        encoding=options.encoding,
        with_truth=with_truth,
    )


def load_table(
    file: str, options: FileOptions, labels: LabelOptions, features: FeatureOptions
) -> LoadedTable:
    """Read the table that the options name."""
    frame = read_file(file, options, with_truth=labels.truth is not None)
    columns = {
        "truth": labels.truth,
        "features": features.features,
        "ignore": features.ignore or (),
        "categories": features.category or (),
        "id": features.id,
    }
    if labels.is_long:
        return _with_annotations(frame, options, labels, columns)
    labels.refuse(*labels.LONG_ONLY, reason="goes with a long table of annotations: --item")
    return LoadedTable(frame, {**columns, "labels": _label_columns(labels)})


def task_of(table: LoadedTable, decisions: Path | None, options: FileOptions) -> "TableTask":
    """Make a table ready to learn from; ``decisions`` is a file of settled rows."""
    from disambig.tabular.labels.decisions import read_decisions  # keeps --help quick
    from disambig.tabular.task import prepare_task

    settled = None
    if decisions is not None:
        others = _read_decision_file(decisions, options)
        settled = read_decisions(others, table.frame, id=table.columns["id"])
    return prepare_task(table.frame, **table.columns, decisions=settled)


def method_of(options: MethodOptions) -> "PartialLabelClassifier":
    """Return the method that the options name, with its parameters."""
    from disambig.tabular.task import chosen_method  # keeps --help quick

    return chosen_method(options.method, dict(_parameter(text) for text in options.set or ()))


def _label_columns(options: LabelOptions) -> Any:
    from disambig.tabular.labels.label_columns import LabelColumns  # keeps --help quick

    return LabelColumns(
        columns=tuple(options.labels or ("label",)),
        separator=options.separator,
        literal=options.literal_labels,
        votes=options.votes,
        empty=options.empty.value,
    )


def _read_decision_file(path: Path, options: FileOptions) -> "pd.DataFrame":
    """Read decisions as a page saves them, with commas, or else as the table is written."""
    try:
        return read_file(str(path), FileOptions())
    except TableError:
        return _read_beside(path, options)


def _read_beside(path: Path, options: FileOptions) -> "pd.DataFrame":
    """Read another table, in the delimiter and encoding of the first where both are CSV."""
    alike = options if path.suffix.lower() == ".csv" else FileOptions()
    return read_file(str(path), replace(alike, format=None))


def _with_annotations(
    frame: "pd.DataFrame",
    file_options: FileOptions,
    options: LabelOptions,
    columns: dict[str, Any],
) -> LoadedTable:
    """Read labels from a long table of annotations, the same file or one beside it."""
    from disambig._core.messages import join_names
    from disambig.tabular.labels.annotations import one_row_per_item, read_annotations
    from disambig.tabular.table_columns import find_column

    options.refuse(
        *options.WIDE_ONLY, reason="does not go with a long table of annotations (--item)"
    )
    item, annotator, label = options.item, options.annotator, options.label
    if item is None or label is None:
        raise ParameterError(
            "A long annotator table needs --item and --label, the columns that say which item and "
            "which label; --annotator says whose."
        )
    notices: tuple[str, ...] = ()
    if options.annotations is None:
        if columns["id"] not in (None, item):
            raise ParameterError("In a long table --item names the rows. Leave out --id.")
        annotations, own_id = frame, item
        frame, varying = one_row_per_item(frame, item=item, annotator=annotator, label=label)
        if varying:
            notices = (f"Columns that differ within an item are left out: {join_names(varying)}.",)
            columns["ignore"] = [name for name in columns["ignore"] if name not in varying]
    else:
        annotations = _read_beside(options.annotations, file_options)
        own_id = columns["id"] or item
    _, candidates = read_annotations(
        annotations,
        item=item,
        annotator=annotator,
        label=label,
        order=find_column(frame, own_id, what="the item of every row"),
        min_votes=options.min_votes,
        literal=options.literal_labels,
    )
    return LoadedTable(frame, {**columns, "labels": candidates, "id": own_id}, notices)


def _parameter(text: str) -> tuple[str, Any]:
    """Read ``epochs=50``; a value that is no TOML is a text."""
    import tomllib

    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise ParameterError(f"--set needs NAME=VALUE, such as epochs=50. Got {text!r}.")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def load_cleaned(file: Path, options: FileOptions, id: str | None) -> "Disambiguated":  # noqa: A002
    """Read a cleaned table, with what is known of how it came about."""
    # keeps --help quick
    from disambig.tabular.clean_details import details_path, read_details
    from disambig.tabular.cleaned_rows import read_cleaned

    frame = read_file(str(file), options)
    return read_cleaned(frame, read_details(details_path(file)), id=id)


def check_output(out: str, *, json: bool, source: str) -> None:
    """Refuse a place that no table can be written to, or where more than the table would go.

    Parameters
    ----------
    out, source : str
        Where the table goes, and where it comes from.
    json : bool
        Whether something else goes to standard output.
    """
    if out == STANDARD_STREAM:
        if json:
            raise ParameterError(
                "Standard output can carry the table or the JSON, not both. Give --out a file."
            )
        return
    path = Path(out)
    try:
        is_folder = path.is_dir()
    except OSError as error:  # a name that is too long, and the like
        raise TableError(
            f"{out} cannot be written: {error.strerror or error}. Name another file."
        ) from error
    if is_folder:
        raise TableError(f"{out} is a folder. Give --out the name of a file.")
    file_format = find_format(path)
    if file_format is None or file_format.writer is None:
        suffixes = suffixes_of(each for each in FORMATS if each.writer)
        raise TableError(
            f"--out needs a name that ends in one of {', '.join(suffixes)}, or - for a CSV on "
            f"standard output. Got {out!r}."
        )
    file_format.check_installed()
    if file_format.holds_more and path.resolve() == Path(source).resolve():
        raise TableError(
            f"{out} is the file that is read. Its {file_format.holds_more} would be lost: give "
            "--out another name."
        )


def output_delimiter(out: str, delimiter: str | None) -> str | None:
    """Return what stands between cells of the output: that of the input, where it is a CSV too."""
    return delimiter if out == STANDARD_STREAM or Path(out).suffix.lower() == ".csv" else None


def partial_folder(out: str | Path) -> str | None:
    """Return where unfinished work for an output is kept; nowhere for standard output."""
    return None if out == STANDARD_STREAM else f"{Path(out).resolve()}.partial"


def where_it_is(out: str) -> str:
    """Return a line on where the table is, if that is a file."""
    return "" if out == STANDARD_STREAM else f"\nThe table is in {out}."
