"""What annotation tools export, as input of any command. Imported by commands when they run."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from disambig._core.errors import DisambigError, TableError, warn_caller
from disambig._core.messages import plural
from disambig.cli.label_options import Empty, LabelOptions
from disambig.cli.options import FeatureOptions, FileOptions
from disambig.tabular.exchange.imported import Imported, LongLabels
from disambig.tabular.exchange.reading import read_export
from disambig.tabular.exchange.registry import MOST_LOOKED_AT, TOOLS, Tool, maker_of, recognise
from disambig.tabular.exchange.tasks import OWN_COLUMNS, QUEUED
from disambig.tabular.files.content import STANDARD_STREAM, FileContent
from disambig.tabular.files.packed import open_unpacked, packing_of
from disambig.tabular.labels.annotations import one_row_per_item


def imported_file(
    file: str, options: FileOptions, named: Iterable[str | None] = ()
) -> Imported | None:
    """Return what the export of a tool says; None where a file is, or is to be read as, a table.

    An export that was not named by its format is a table where columns are named that only the
    table has: results of a crowd can be read as they are.
    """
    tool = _tool_of(file, options)
    if tool is None:
        return None
    columns = [name for name in named if name is not None] if options.format is None else []
    try:
        imported = read_export(
            file, tool=tool.name, encoding=options.encoding, max_memory=options.memory
        )
    except DisambigError as error:
        if columns:
            return None
        if options.format is not None:
            raise
        raise TableError(f"{error} {_recognised(file, tool)}") from error
    if any(name not in imported.frame.columns for name in columns):
        return None
    for notice in imported.notices:
        warn_caller(notice)
    if options.format is None:
        warn_caller(_recognised(file, tool))
    return imported


def _recognised(file: str, tool: Tool) -> str:
    return (
        f"{file} was recognised as an export of {tool.title}. To read it as a plain table, name "
        "its --format."
    )


def _tool_of(file: str, options: FileOptions) -> Tool | None:
    if options.format is not None:
        return next((tool for tool in TOOLS if tool.name == options.format), None)
    path = Path(file)
    if file == STANDARD_STREAM or not path.is_file():  # what comes through a pipe is read once
        return None
    if packing_of(path) is None:
        return recognise(FileContent(file, path))
    with open_unpacked(path) as (stream, _):
        return recognise(FileContent(file, content=stream.read(MOST_LOOKED_AT)))


def refuse_hidden_export(frame: pd.DataFrame, file: str, options: FileOptions) -> None:
    """Refuse a table that came through a pipe and has the columns of an export."""
    if options.format is not None or Path(file).is_file():
        return
    tool = maker_of(dict.fromkeys(map(str, frame.columns), ""))
    if tool is not None:
        raise TableError(
            f"This looks like an export of {tool.title}: name it by --format {tool.name}. If it is "
            "a plain table, name its own format."
        )


def options_of(
    imported: Imported, labels: LabelOptions, features: FeatureOptions
) -> tuple[LabelOptions, FeatureOptions]:
    """Return the options that read an import, as far as nobody has given others."""
    found = imported.labels
    labels = replace(labels, truth=labels.truth or imported.truth)
    if labels.labels is None and not labels.is_long:
        labels = replace(labels, separator=found.separator, literal_labels=found.literal)
        labels = _with_unanswered(labels, imported)
        if isinstance(found, LongLabels):
            labels = replace(labels, item=found.item, annotator=found.annotator, label=found.label)
        else:
            labels = replace(labels, labels=list(found.columns))
            features = replace(features, id=features.id or imported.id)
    # Answers and true labels that were not named are not learned from either.
    own = [name for name in (*OWN_COLUMNS, *QUEUED) if name in imported.frame.columns]
    named = {labels.item, labels.annotator, labels.label, labels.truth, features.id}
    unused = [name for name in own if name not in {*named, *(labels.labels or ())}]
    return labels, replace(features, ignore=[*(features.ignore or ()), *unused])


def _with_unanswered(labels: LabelOptions, imported: Imported) -> LabelOptions:
    """Let items that nobody has answered yet have any label, unless somebody says otherwise."""
    counts = imported.counts()
    unanswered = counts.unanswered
    if not counts.labels:
        known = (
            f" There are only known answers, from which nothing is learned. To learn from them, "
            f"make a table by 'disambig import', and name their column: --labels {imported.truth}."
        )
        raise TableError(
            f"Nobody has answered yet: none of {plural(unanswered, 'item')} has a label."
            f"{known if imported.truth else ''}"
        )
    if labels.empty is not None or not unanswered:
        return labels
    warn_caller(
        f"{plural(unanswered, 'item')} without an answer may have any label. To refuse such items, "
        "use --empty refuse."
    )
    return replace(labels, empty=Empty.all)


def new_rows(imported: Imported) -> pd.DataFrame:
    """Return a row for each item of an import."""
    labels = imported.labels
    if not isinstance(labels, LongLabels):
        return imported.frame
    frame, _ = one_row_per_item(
        imported.frame, item=labels.item, annotator=labels.annotator, label=labels.label
    )
    return frame
