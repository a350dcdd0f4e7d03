"""From the options of a command to a table and the labels of its rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from disambig._core.errors import ParameterError
from disambig.cli.table_options import FeatureOptions, FileOptions, LabelOptions, MethodOptions

if TYPE_CHECKING:
    import pandas as pd

    from disambig.methods.base import PartialLabelClassifier
    from disambig.workbench.task import Labels, TableTask

__all__ = ["LoadedTable", "load_table", "method_of", "task_of"]


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table, where its labels are, and which columns are no features."""

    frame: "pd.DataFrame"
    labels: "Labels"
    features: list[str] | None
    ignore: list[str]
    truth: str | None
    id: str | None
    notices: tuple[str, ...] = ()


def load_table(
    file: str, how: FileOptions, labels: LabelOptions, features: FeatureOptions
) -> LoadedTable:
    """Read the table that the options name."""
    from disambig.workbench.source import read_table  # keeps --help quick

    frame = read_table(
        file,
        format=how.format,
        delimiter=how.delimiter,
        encoding=how.encoding,
        with_truth=labels.truth is not None,
    )
    if any((labels.item, labels.annotator, labels.label, labels.annotations)):
        return _with_annotations(frame, labels, features)
    return LoadedTable(
        frame,
        _label_columns(labels),
        features.features,
        features.ignore or [],
        labels.truth,
        features.id,
    )


def task_of(table: LoadedTable, decisions: Any = None) -> "TableTask":
    """Make a table ready to learn from; ``decisions`` is a file of settled rows."""
    from disambig.tables.labels.decisions import read_decisions  # keeps --help quick
    from disambig.workbench.source import read_table
    from disambig.workbench.task import prepare_task

    settled = None
    if decisions is not None:
        settled = read_decisions(read_table(decisions), table.frame, id=table.id)
    return prepare_task(
        table.frame,
        labels=table.labels,
        truth=table.truth,
        features=table.features,
        ignore=table.ignore,
        id=table.id,
        decisions=settled,
    )


def method_of(options: MethodOptions) -> "PartialLabelClassifier":
    """Return the method that the options name, with its parameters."""
    from disambig.workbench.fitting import as_method  # keeps --help quick

    return as_method(options.method, dict(_parameter(text) for text in options.set or ()))


def _label_columns(options: LabelOptions) -> "Labels":
    from disambig.tables.labels.label_columns import LabelColumns  # keeps --help quick

    return LabelColumns(
        columns=tuple(options.labels or ("label",)),
        separator=options.separator,
        literal=options.literal_labels,
        votes=options.votes,
        empty=options.empty.value,
    )


def _with_annotations(
    frame: "pd.DataFrame", options: LabelOptions, features: FeatureOptions
) -> LoadedTable:
    """Read labels from a long table of annotations, the same file or one beside it."""
    from disambig.tables.columns import find_column, listed
    from disambig.tables.labels.annotations import one_row_per_item, read_annotations
    from disambig.workbench.source import read_table

    if options.item is None or options.label is None:
        raise ParameterError(
            "A long annotator table needs --item and --label, the columns that say which item and "
            "which label; --annotator says whose."
        )
    if options.labels:
        raise ParameterError(
            "--labels names columns of FILE, --label the column of an annotator table. Give one."
        )
    notices: tuple[str, ...] = ()
    item, annotator, label = options.item, options.annotator, options.label
    if options.annotations is None:
        annotations, own_id = frame, item
        frame, varying = one_row_per_item(frame, item=item, annotator=annotator, label=label)
        if varying:
            notices = (f"Columns that differ within an item are left out: {listed(varying)}.",)
    else:
        annotations, own_id = read_table(options.annotations), features.id or item
    order = find_column(frame, own_id, what="the item of every row")
    _, candidates = read_annotations(
        annotations,
        item=item,
        annotator=annotator,
        label=label,
        order=order,
        min_votes=options.min_votes,
    )
    return LoadedTable(
        frame,
        candidates,
        features.features,
        features.ignore or [],
        options.truth,
        own_id,
        notices,
    )


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
