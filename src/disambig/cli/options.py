"""The options of commands, those that several share written down once."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from disambig.tabular.defaults import DEFAULT_METHOD, DEFAULT_PROMISE_STRENGTH
from disambig.tabular.exchange.registry import TOOLS
from disambig.tabular.files.formats import FORMATS, one_of

# An option of each group of --help.
learning_option: Callable[..., Any] = partial(typer.Option, rich_help_panel="Learning")
_file_option: Callable[..., Any] = partial(typer.Option, rich_help_panel="The file")
feature_option: Callable[..., Any] = partial(
    typer.Option, metavar="COLUMN", rich_help_panel="The features"
)
_group_option: Callable[..., Any] = partial(typer.Option, rich_help_panel="Rows that come together")

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help=f"A {one_of(each.suffixes[0] for each in FORMATS)} file, a folder of .parquet files, "
        "the export of an annotation tool, or - for standard input.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for a script.")]
Prefix = Annotated[
    str, typer.Option(help="Put this before the names of the new columns.", metavar="TEXT")
]
ExcelSafe = Annotated[
    bool,
    typer.Option(
        "--excel-safe",
        help="In CSV and TSV, put an apostrophe before cells that a spreadsheet would run as "
        "formulas: those that begin with =, +, - or @ and are not numbers.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Let --out be FILE itself, or another file that is read: it is replaced.",
    ),
]


ImageModel = Annotated[
    str | None,
    feature_option(
        help="What turns images into numbers: built-in, which needs no weights, or a pretrained "
        "network such as torchvision:resnet18 or timm:NAME:WEIGHTS-FILE.",
        metavar="NAME",
    ),
]


TextModel = Annotated[
    str | None,
    feature_option(
        help="What turns texts into numbers instead of counts of their words: the folder of a "
        "model of sentence-transformers, or the name of one that is on this machine.",
        metavar="NAME",
    ),
]


class Calibrate(StrEnum):
    """What probabilities are calibrated on."""

    sets = "sets"
    beliefs = "beliefs"
    truth = "truth"
    none = "none"


class Decimal(StrEnum):
    """What is before the decimals of a number."""

    point = "."
    comma = ","


class Promise(StrEnum):
    """What is known of a group of rows as a whole."""

    cover = "cover"
    exclusive = "exclusive"


class CoverageKind(StrEnum):
    """What prediction sets promise."""

    safe = "safe"
    weak = "weak"
    estimated = "estimated"


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How a file is written."""

    format: Annotated[
        str | None,
        _file_option(
            help="Format of FILE, if its suffix does not say: "
            f"{one_of(each.name for each in FORMATS)}. Or the tool that exported it: "
            f"{one_of(each.name for each in TOOLS)}.",
            metavar="NAME",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _file_option(
            help="Character between the cells of a text file, such as ';'. By default a comma, "
            "or a tab in TSV, or else what fits all lines.",
            metavar="CHARACTER",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _file_option(
            help="Encoding of a text file, such as latin-1; UTF-8 by default.", metavar="NAME"
        ),
    ] = None
    memory: Annotated[
        str | None,
        _file_option(
            "--memory",
            "--max-memory",  # as it was called before
            help="Most memory to use, such as 8GB. A table in Parquet, CSV or TSV that needs more "
            "stays on disk, by default if that is a quarter of the machine's; other files that "
            "take more once they are unpacked are refused, by default above 2GB or ten times their "
            "size.",
            metavar="SIZE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Which columns are learned from."""

    features: Annotated[
        list[str] | None,
        feature_option(
            help="Column to learn from; repeat the option for several. By default all usable ones. "
            "Or a .npy or .npz file of embeddings, numbers for every row that are used beside the "
            "columns."
        ),
    ] = None
    ignore: Annotated[
        list[str] | None, feature_option(help="Column to leave out; repeat the option.")
    ] = None
    category: Annotated[
        list[str] | None,
        feature_option(
            help="Column of codes, such as postal codes, that are categories even if they look "
            "like numbers; repeat the option."
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        feature_option(
            help="Column of free text, where it is not recognised as such; repeat the option."
        ),
    ] = None
    id: Annotated[
        str | None,
        feature_option(help="Column that names the rows; nothing is learned from it."),
    ] = None
    decimal: Annotated[
        Decimal | None,
        typer.Option(
            help="Decimal point or comma, where the numbers of a column do not show which: "
            "1,234 can be either.",
            rich_help_panel="The features",
        ),
    ] = None
    image: Annotated[
        list[str] | None,
        feature_option(
            help="Column of image files; repeat the option. Paths begin in the folder of FILE. Not "
            "needed where cells end like image files that are there."
        ),
    ] = None
    image_model: ImageModel = None
    text_model: TextModel = None


@dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """Which rows come together, and what that promises."""

    group: Annotated[
        str | None,
        _group_option(
            help="Column that names the picture, recording or document that a row is part of. "
            "Whole groups are held out; nothing is learned from the column. The word runs, if no "
            "column has that name: neighbouring rows with equal labels.",
            metavar="COLUMN",
        ),
    ] = None
    promise: Annotated[
        Promise | None,
        _group_option(
            help="What is known of a group as a whole: each label in its sets belongs to at least "
            "one of its rows (cover), or no label occurs twice (exclusive)."
        ),
    ] = None
    promise_strength: Annotated[
        float,
        _group_option(
            min=0,
            max=1,
            help="Share of the groups for which the promise is believed.",
            metavar="SHARE",
        ),
    ] = DEFAULT_PROMISE_STRENGTH


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """What learns, and how."""

    method: Annotated[
        str, learning_option(help="The method; 'disambig methods' lists them.", metavar="NAME")
    ] = DEFAULT_METHOD
    set: Annotated[
        list[str] | None,
        learning_option(
            help="Parameter of the method, such as class_weight=balanced; repeat the option.",
            metavar="NAME=VALUE",
        ),
    ] = None
    time: Annotated[
        str | None,
        learning_option(
            help="Time that all models together may take, such as 60s, 5min or 1h: the method "
            "auto then leaves out learners that would take longer.",
            metavar="TIME",
        ),
    ] = None
    decisions: Annotated[
        list[Path] | None,
        learning_option(
            help="Table of labels that a person has decided on: a column 'label', and a column "
            "'row' (counted from 1) or the one given to --id. Or what an annotation tool exports "
            "of a queue that 'disambig export' wrote. Repeat the option for several files; a later "
            "decision on a row replaces an earlier one.",
            metavar="FILE",
        ),
    ] = None
    use_truth: Annotated[
        bool,
        learning_option(
            "--use-truth",
            help="Also learn from --truth: rows whose true label is known are trained on with that "
            "label alone. The accuracy still comes from rows that were held out.",
        ),
    ] = False
    miss_rate: Annotated[
        str,
        learning_option(
            help="Share of the sets that do not contain the right label, such as 0.1, or auto to "
            "estimate it. Sets that seem to miss it get one more label for the training, which "
            "takes several times as long.",
            metavar="SHARE",
        ),
    ] = "0"
    calibrate: Annotated[
        Calibrate,
        learning_option(
            help="What probabilities are calibrated on: the candidate sets of held-out rows, "
            "their weights (beliefs of somebody who saw what the features say, such as a language "
            "model), known true labels (--truth), or nothing."
        ),
    ] = Calibrate.sets
    jobs: Annotated[
        int | None,
        learning_option(
            min=1,
            help="Models to train at once, in separate processes that each copy the table. By "
            "default one per core. The result does not depend on it, apart from rounding in "
            "methods without networks.",
            metavar="COUNT",
        ),
    ] = None
    seed: Annotated[
        int,
        learning_option(
            min=0,
            help="Random seed: the same seed gives the same result.",
            metavar="NUMBER",
        ),
    ] = 0
