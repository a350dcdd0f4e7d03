"""The options of commands that read a table of the user's."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Empty",
    "FeatureOptions",
    "FileOptions",
    "LabelOptions",
    "MethodOptions",
    "TableFile",
]

_FILE, _LABELS = "The table", "The labels"
_ANNOTATORS, _FEATURES, _LEARNING = "Long annotator table", "The features", "Learning"

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A table: .csv, .tsv, .jsonl, .parquet, .xlsx, .mat or .npz; - is standard input.",
    ),
]


class Empty(StrEnum):
    """What a row without a label means."""

    refuse = "refuse"
    all = "all"


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How a file is written."""

    format: Annotated[
        str | None,
        typer.Option(
            help="csv, tsv, jsonl, parquet or xlsx, where the name does not tell.",
            rich_help_panel=_FILE,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(help="What stands between two cells of a text file.", rich_help_panel=_FILE),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="Of a text file, such as latin-1.", rich_help_panel=_FILE),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Where the candidate labels are, and how they are written."""

    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that says cat|dog: one of these labels is right. Also a JSON list, "
            "cat:0.7|dog:0.3 with weights, or !cat for anything but cat. Repeat it for several "
            "columns. By default 'label'.",
            metavar="COLUMN",
            rich_help_panel=_LABELS,
        ),
    ] = None
    separator: Annotated[
        str,
        typer.Option(help="What stands between two labels.", rich_help_panel=_LABELS),
    ] = "|"
    votes: Annotated[
        bool,
        typer.Option(
            "--votes",
            help="The label columns are annotators: count their votes.",
            rich_help_panel=_LABELS,
        ),
    ] = False
    literal_labels: Annotated[
        bool,
        typer.Option(
            "--literal-labels",
            help="Signs such as ! and : and [ in a label mean nothing special.",
            rich_help_panel=_LABELS,
        ),
    ] = False
    empty: Annotated[
        Empty,
        typer.Option(
            help="What a row without a label means: a mistake, or that any label may be right.",
            rich_help_panel=_LABELS,
        ),
    ] = Empty.refuse
    truth: Annotated[
        str | None,
        typer.Option(
            help="Column of true labels, for judging alone; it may be mostly empty.",
            metavar="COLUMN",
            rich_help_panel=_LABELS,
        ),
    ] = None
    item: Annotated[
        str | None,
        typer.Option(
            help="Column that says which item an annotation is about.",
            metavar="COLUMN",
            rich_help_panel=_ANNOTATORS,
        ),
    ] = None
    annotator: Annotated[
        str | None,
        typer.Option(
            help="Column that says whose it is.", metavar="COLUMN", rich_help_panel=_ANNOTATORS
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Column with the one label of an annotation.",
            metavar="COLUMN",
            rich_help_panel=_ANNOTATORS,
        ),
    ] = None
    annotations: Annotated[
        Path | None,
        typer.Option(
            help="The table of annotations; by default FILE itself, one row for each.",
            metavar="FILE",
            rich_help_panel=_ANNOTATORS,
        ),
    ] = None
    min_votes: Annotated[
        int,
        typer.Option(
            min=1, help="Votes that make a label a candidate.", rich_help_panel=_ANNOTATORS
        ),
    ] = 1


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Which columns are learned from."""

    features: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to learn from; repeat it. By default all that can be used.",
            metavar="COLUMN",
            rich_help_panel=_FEATURES,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to leave out; repeat it.", metavar="COLUMN", rich_help_panel=_FEATURES
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            help="The column that names the rows.", metavar="COLUMN", rich_help_panel=_FEATURES
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """What learns, and how."""

    method: Annotated[
        str,
        typer.Option(help="What learns; see 'disambig methods'.", rich_help_panel=_LEARNING),
    ] = "ncpd"
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="A parameter of the method, such as epochs=50; repeat it.",
            metavar="NAME=VALUE",
            rich_help_panel=_LEARNING,
        ),
    ] = None
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="Table of rows that a person has settled: 'row' (from 1) or the --id column, "
            "and 'label'.",
            metavar="FILE",
            rich_help_panel=_LEARNING,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(min=0, help="Of everything random.", rich_help_panel=_LEARNING)
    ] = 0
