"""From options to a table, and to where a result goes. Imported by commands when they run."""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from disambig._core.errors import ParameterError, TableError, warn_caller
from disambig._core.memory import memory_for_work
from disambig._core.messages import join_names
from disambig._core.parsing import parse_toml
from disambig._core.processes import available_cores
from disambig.candidates.labels import CandidateLabels
from disambig.cli.label_options import CellOptions, LabelOptions, NewSetOptions
from disambig.cli.options import FeatureOptions, FileOptions, GroupOptions, MethodOptions
from disambig.cli.tool_files import imported_file, new_rows, options_of, refuse_hidden_export
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.exchange.decided import decisions_of
from disambig.tabular.files.content import STANDARD_STREAM, read_size
from disambig.tabular.files.embedding_files import is_embedding_file, read_embeddings
from disambig.tabular.files.formats import check_takes_blocks, find_format, find_writer, read_table
from disambig.tabular.files.packed import packing_of
from disambig.tabular.files.table_on_disk import Table, TableOnDisk
from disambig.tabular.files.text_on_disk import text_on_disk
from disambig.tabular.labels.annotations import (
    check_same_within_items,
    one_row_per_item,
    read_annotations,
)
from disambig.tabular.labels.answers import read_answers
from disambig.tabular.labels.decided_rows import read_entries
from disambig.tabular.labels.decisions import Decision
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.labels.reviewers import decisions_in
from disambig.tabular.labels.row_groups import GROUPS
from disambig.tabular.table_cells import find_column

# What a command needs, over what a data frame of its table takes: features, networks, results.
_TIMES_THE_TABLE = 8
# What an array of a .mat or .npz is called that says which rows come together.
GROUPS_IN_ARRAYS = "groups"

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier
    from disambig.tabular.cleaned_table import CleanedTable
    from disambig.tabular.table_model import TableModel


def open_file(file: str, options: FileOptions, **arrays: bool) -> Table:
    """Return the table in a file: on disk if it is in Parquet, and would need too much memory."""
    file_format = find_format(file, options.format)
    most = memory_for_work() if options.memory is None else read_size(options.memory)
    path = Path(file)
    # What comes through a pipe is read once.
    if file_format is None or file == STANDARD_STREAM or not (path.is_file() or path.is_dir()):
        return read_file(file, options, **arrays)
    if file_format.in_folders:
        table = TableOnDisk(file)
        if table.memory * _TIMES_THE_TABLE > most:
            return table
    # A copy in Parquet is read: without the library for that, all has to fit into memory.
    is_text = file_format.delimiter is not None and packing_of(file) is None and path.is_file()
    if is_text and path.stat().st_size * _TIMES_THE_TABLE > most and find_spec("pyarrow"):
        given = {"delimiter": options.delimiter, "encoding": options.encoding}
        table = text_on_disk(path, file_format, **given)
        refuse_hidden_export(table, file, options)
        return table
    return read_file(file, options, **arrays)


def read_file(
    file: str, options: FileOptions, *, with_truth: bool = False, with_groups: bool = False
) -> pd.DataFrame:
    """Read the table in a file."""
    frame = read_table(
        file,
        format=options.format,
        delimiter=options.delimiter,
        encoding=options.encoding,
        with_truth=with_truth,
        with_groups=with_groups,
        max_memory=options.memory,
    )
    refuse_hidden_export(frame, file, options)
    return frame


def load_new_rows(
    file: str, options: FileOptions, model: "TableModel", *, with_groups: bool
) -> Table:
    """Return rows for a model: a table or, if these have its features, the tasks in an export."""
    features = [name for names in model.plan.by_kind().values() for name in names]
    imported = imported_file(file, options, features)
    if imported is None:
        return open_file(file, options, with_groups=with_groups)
    return new_rows(imported)


def load_table(
    file: str,
    options: FileOptions,
    labels: LabelOptions,
    features: FeatureOptions,
    groups: GroupOptions,
    *,
    unnamed_groups: bool = True,
) -> tuple[Table, dict[str, Any]]:
    """Return the table that the options name, and what ``fit_table`` and others take besides.

    With ``unnamed_groups``, the groups that a .mat or .npz holds are there to be noticed.
    """
    with_groups = unnamed_groups or groups.group == GROUPS_IN_ARRAYS
    with_truth = labels.truth is not None
    named = (*(labels.labels or ()), labels.item, labels.annotator, labels.label)
    imported = imported_file(file, options, named)
    if imported is None:
        arrays = {"with_truth": with_truth, "with_groups": with_groups}
        # A long table becomes another one, of its items.
        read = read_file if labels.is_long else open_file
        frame: Table = read(file, options, **arrays)
        file_format = find_format(file, options.format)
    else:
        frame, file_format = imported.frame, None
        labels, features = options_of(imported, labels, features)
    ignore = features.ignore or []
    is_dataset = file_format is not None and file_format.is_dataset
    if is_dataset and frame.columns[-1] == GROUPS_IN_ARRAYS:  # features come before the labels
        # Nothing is learned from it, named or not.
        ignore = [*ignore, GROUPS_IN_ARRAYS]
    of_columns, embedding_file = split_features(features.features, frame)
    columns: dict[str, Any] = {
        "truth": labels.truth,
        "features": of_columns,
        "ignore": ignore,
        "categories": features.category or (),
        "text": features.text or (),
        "decimal": None if features.decimal is None else features.decimal.value,
        "described": described_columns(
            file, features.image or (), features.image_model, features.text_model
        ),
        "embeddings": None,
        "id": features.id,
        **group_parameters(groups),
    }
    if isinstance(frame, pd.DataFrame) and labels.is_long:
        frame, columns = _with_annotations(frame, options, labels, columns)
    else:
        labels.refuse(*labels.LONG_ONLY, reason="needs a long table of annotations (--item)")
        if not labels.votes:
            labels.refuse("equal_votes", reason="is about annotators (--votes, or --annotator)")
        columns["labels"] = replace(_label_columns(labels, options), equal_votes=labels.equal_votes)
    if embedding_file is not None:  # of the rows that a long table has become
        columns["embeddings"] = read_embeddings(
            embedding_file, frame, id=columns["id"], max_memory=options.memory
        )
    return frame, columns


def split_features(features: list[str] | None, frame: Table) -> tuple[list[str] | None, str | None]:
    """Return the columns that --features names, if any, and its file of embeddings."""
    names = features or []
    files = [name for name in names if name not in frame.columns and is_embedding_file(name)]
    if not files:
        return features, None
    if len(files) > 1:
        raise ParameterError(
            f"--features takes one file of embeddings. Got {join_names(files)}: put the arrays "
            "side by side, by numpy.hstack."
        )
    return [name for name in names if name not in files] or None, files[0]


def described_columns(
    file: str,
    images: Sequence[str] = (),
    image_model: str | None = None,
    text_model: str | None = None,
) -> DescribedColumns:
    """Return where the images of a table are, and that their numbers are kept beside it."""
    is_stream = file == STANDARD_STREAM
    return DescribedColumns(
        images=images,
        image_model=image_model,
        text_model=text_model,
        folder=Path() if is_stream else Path(file).parent,
        cache=None if is_stream else f"{file}.described",
    )


def refuse_on_disk(table: Table, out: str, options: Mapping[str, object]) -> None:
    """Refuse what takes all rows of a table at once, where it stays on disk."""
    if not isinstance(table, TableOnDisk):
        return
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            f"{given[0]} needs all rows in memory, and the table stays on disk. Leave it out, or "
            "allow more memory: --memory SIZE."
        )
    check_takes_blocks(out)


def new_sets(labels: NewSetOptions, options: FileOptions) -> LabelColumns | None:
    """Return where the candidate sets of new rows are, or None if they have none."""
    if labels.labels is None:
        names = ("separator", "votes", "literal_labels", "column_per_label", "empty")
        labels.refuse(*names, reason="is about candidate labels of the new rows (--labels)")
        return None
    return _label_columns(labels, options)


def _label_columns(labels: CellOptions, options: FileOptions) -> LabelColumns:
    return LabelColumns(
        columns=tuple(labels.labels or ("label",)),
        separator=labels.split_at,
        literal=labels.literal_labels,
        votes=labels.votes,
        column_per_label=labels.column_per_label,
        empty=labels.if_empty,
        max_memory=options.memory,
    )


def group_parameters(options: GroupOptions) -> dict[str, Any]:
    """Return what ``fit_table`` and others take to know which rows come together."""
    return {
        "group": options.group,
        "promise": None if options.promise is None else options.promise.value,
        "promise_strength": options.promise_strength,
    }


def load_decisions(
    paths: Sequence[Path] | None,
    frame: Table,
    id: str | None,
    options: FileOptions,
) -> dict[int, Decision] | None:
    """Return what files say is decided on rows, the last one last, or None without a file."""
    if not paths:
        return None
    return decisions_in(
        entry
        for path in paths
        for entry in read_entries(_read_decisions(path, id, options), frame, id=id)
    )


def _read_decisions(path: Path, id: str | None, options: FileOptions) -> pd.DataFrame:
    imported = imported_file(str(path), FileOptions(memory=options.memory))
    if imported is not None:
        return decisions_of(imported, id=id)
    try:  # as a page saves them, with commas
        return read_file(str(path), FileOptions(memory=options.memory))
    except TableError:  # or else as the table is written
        return _read_beside(path, options)


def method_of(options: MethodOptions, n_models: int, table: Table) -> "PartialLabelClassifier":
    """Return the method that the options name, with its parameters, to train so many models."""
    from disambig.tabular.task import method_for  # slow to import

    parameters = dict(_parameter(text) for text in options.set or ())
    if options.time is not None:
        if options.method != "auto":
            raise ParameterError(
                "--time chooses among the learners of --method auto. Got --method "
                f"{options.method}: leave one of the two out."
            )
        # Some models are trained at the same time, the others one after another.
        n_at_once = min(options.jobs or available_cores(), n_models)
        parameters["time_budget"] = _seconds(options.time) / math.ceil(n_models / n_at_once)
    return method_for(table, options.method, parameters)


def _seconds(text: str) -> float:
    """Return the seconds of a time as people write it."""
    written = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(s|sec|m|min|h|)", text.strip())
    if written is None:
        raise ParameterError(
            f"--time is a number with s, min or h behind it, such as 60s or 5min. Got {text!r}."
        )
    number, unit = written.groups()
    return float(number) * {"m": 60, "min": 60, "h": 3600}.get(unit, 1)


def miss_rate_of(options: MethodOptions) -> float | Literal["auto"]:
    """Return the miss rate that the options give: a share, or that it is to be estimated."""
    if options.miss_rate == "auto":
        return "auto"
    try:
        return float(options.miss_rate)
    except ValueError as error:
        raise ParameterError(
            "--miss-rate is the share of the sets that do not contain the right label, such as "
            f"0.1, or auto. Got {options.miss_rate!r}."
        ) from error


def _read_beside(path: Path, options: FileOptions) -> pd.DataFrame:
    """Read another table, in the delimiter and encoding of the first where both are CSV."""
    alike = options if _is_csv(path) else FileOptions(memory=options.memory)
    return read_file(str(path), replace(alike, format=None))


def _with_annotations(
    frame: pd.DataFrame,
    file_options: FileOptions,
    options: LabelOptions,
    columns: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read labels from a long table of annotations, the same file or one beside it."""
    options.refuse(
        *options.WIDE_ONLY, reason="cannot be used with a long table of annotations (--item)"
    )
    item, annotator, label = options.item, options.annotator, options.label
    if label is not None and not any((item, annotator, options.annotations)):
        raise ParameterError(
            "--label is about a long table, with a row for each annotation (--item). The column of "
            f"candidate labels is named by --labels: use --labels {shlex.quote(label)}."
        )
    if item is None or label is None:
        raise ParameterError(
            "A long table of annotations needs --item and --label, the columns of items and of "
            "labels. --annotator, the column of annotators, is optional."
        )
    if options.annotations is None:
        if columns["id"] not in (None, item):
            raise ParameterError("In a long table --item names the rows. Leave out --id.")
        annotations, id_column = frame, item
        group: str | None = columns.get("group")
        if group is not None and group in (item, annotator, label):
            raise ParameterError(
                f"--group names a column that is neither --item, --annotator nor --label. Got "
                f"{group!r}. Name another."
            )
        if group is not None and group in frame.columns:
            check_same_within_items(frame, item=item, column=group, what=GROUPS)
        frame, varying = one_row_per_item(frame, item=item, annotator=annotator, label=label)
        if varying:
            warn_caller(f"Left out columns that differ within an item: {join_names(varying)}.")
            columns["ignore"] = [name for name in columns["ignore"] if name not in varying]
    else:
        annotations = _read_beside(options.annotations, file_options)
        id_column = columns["id"] or item
    reading: dict[str, Any] = {
        "item": item,
        "label": label,
        "order": find_column(frame, id_column, what="the item of every row"),
        "separator": options.split_at,
        "literal": options.literal_labels,
        "empty": options.if_empty,
    }
    labels: CandidateLabels | AnnotatorModel
    if annotator is None or options.equal_votes or options.min_votes > 1:
        _, labels = read_annotations(
            annotations, annotator=annotator, min_votes=options.min_votes, **reading
        )
    else:
        _, labels = read_answers(annotations, annotator=annotator, **reading)
    return frame, {**columns, "labels": labels, "id": id_column}


def _parameter(text: str) -> tuple[str, Any]:
    """Read ``epochs=50``; a value that is not TOML is a string."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise ParameterError(f"--set needs NAME=VALUE, such as epochs=50. Got {text!r}.")
    try:
        return name.strip(), parse_toml(f"value = {value}", ParameterError)["value"]
    except ParameterError:
        return name.strip(), value.strip()


def load_cleaned(
    file: Path, options: FileOptions, id: str | None, *, on_disk: bool = False
) -> "CleanedTable":
    """Read a cleaned table, with what is known of how it came about.

    With ``on_disk``, the columns of a large one stay there.
    """
    # slow to import
    from disambig.tabular.clean_details import details_path, read_details
    from disambig.tabular.cleaned_table import read_cleaned

    read = open_file if on_disk else read_file
    frame = read(str(file), options)
    return read_cleaned(frame, read_details(details_path(file)), id=id)


def check_output(
    out: str,
    *,
    json: bool,
    sources: Sequence[str | Path | None],
    delimiter: str | None,
    overwrite: bool,
) -> str | None:
    """Refuse a place that the table cannot go to, or that is read from; return its delimiter.

    The first of the sources is the table itself. The delimiter is that of the input where both are
    CSV. With ``json`` something else goes to standard output. With ``overwrite`` a file that is
    read from is replaced, unless it holds more than a table.
    """
    to_stream = out == STANDARD_STREAM
    if to_stream and json:
        raise ParameterError(
            "Standard output can carry the table or the JSON, not both. Give --out a file."
        )
    delimiter = delimiter if to_stream or _is_csv(out) else None
    find_writer(out, delimiter=delimiter)
    first = Path(sources[0]) if sources and sources[0] else Path(STANDARD_STREAM)
    if first.is_dir() and first.resolve() in Path(out).resolve().parents:
        raise ParameterError(
            f"{out} is in the folder that is read, and would be part of the table the next time. "
            "Give --out a name elsewhere."
        )
    read_from = [source for source in sources if source is not None and is_same_file(out, source)]
    if not read_from:
        return delimiter
    file_format = find_format(out)
    if file_format and file_format.holds_more:
        raise TableError(
            f"{out} is the input file, and its {file_format.holds_more} would be lost. Give --out "
            "another name."
        )
    if not overwrite:
        what = "the input file" if read_from[0] == sources[0] else "a file that is read"
        raise ParameterError(
            f"{out} is {what}, and would be replaced. Give --out another name, or add --overwrite "
            "if it is to be replaced."
        )
    return delimiter


def _is_csv(path: str | Path) -> bool:
    file_format = find_format(path)
    return file_format is not None and file_format.name == "csv"


def is_same_file(one: str | Path, other: str | Path) -> bool:
    """Tell whether two paths lead to one file, over links or not."""
    if STANDARD_STREAM in (one, other):
        return False
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return False
