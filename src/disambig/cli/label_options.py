"""The options about candidate labels: where they are, and how they are written."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from disambig._core.errors import ParameterError

_label_option: Callable[..., Any] = partial(typer.Option, rich_help_panel="The labels")
_long_option: Callable[..., Any] = partial(
    typer.Option, rich_help_panel="The labels, in a long table with a row for each annotation"
)


class Empty(StrEnum):
    """What a row without a label means."""

    refuse = "refuse"
    all = "all"


@dataclass(frozen=True, kw_only=True)
class CellOptions:
    """Which columns hold candidate labels, and how these are written."""

    labels: Annotated[
        list[str] | None,
        _label_option(
            help="Column of candidate labels: cat|dog means that one of the two is right. A cell "
            "may also be a list, have weights (cat:0.7|dog:0.3, or cat (70%)), or rule a label out "
            "(!cat: anything but cat). Repeat the option for several columns, or write label_* for "
            "all that begin so. By default 'label'.",
            metavar="COLUMN",
        ),
    ] = None
    separator: Annotated[
        str, _label_option(help="Separator between the labels of a cell.", metavar="TEXT")
    ] = "|"
    votes: Annotated[
        bool,
        _label_option(
            "--votes",
            help="Treat each label column as an annotator, whose answers are votes for labels.",
        ),
    ] = False
    literal_labels: Annotated[
        bool,
        _label_option(
            "--literal-labels",
            help="Treat !, ?, :, % and [ as parts of the labels, and NA, 0 and 1 as labels.",
        ),
    ] = False
    column_per_label: Annotated[
        bool,
        _label_option(
            "--column-per-label",
            help="Each label column is a label, and its cells are 0 and 1, marks, or weights such "
            "as votes. Not needed if cells are only 0 and 1, or add up to 1 or 100.",
        ),
    ] = False
    empty: Annotated[
        Empty | None,
        _label_option(
            help="What to do with a row without a label: refuse it, or let it have any (all). By "
            "default refuse; all where FILE is the export of an annotation tool."
        ),
    ] = None

    @property
    def split_at(self) -> str:
        """The separator; a tab or the end of a line also as shells pass them on."""
        return {"\\t": "\t", "\\n": "\n"}.get(self.separator, self.separator)

    @property
    def if_empty(self) -> str:
        """What becomes of a row without a label."""
        return (self.empty or Empty.refuse).value

    def refuse(self, *names: str, reason: str) -> None:
        """Refuse options that were given and would have no effect."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                raise ParameterError(f"--{name.replace('_', '-')} {reason}. Leave it out.")


@dataclass(frozen=True, kw_only=True)
class NewSetOptions(CellOptions):
    """Which columns of new rows hold candidate labels, if any do."""

    labels: Annotated[
        list[str] | None,
        _label_option(
            help="Column of candidate labels, if the new rows have some: one of them is then "
            "predicted. Written as for 'disambig fit'. Repeat the option for several columns.",
            metavar="COLUMN",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LabelOptions(CellOptions):
    """Where the candidate labels are, and how they are written."""

    LONG_ONLY: ClassVar = ("min_votes",)
    WIDE_ONLY: ClassVar = ("labels", "votes", "column_per_label")

    truth: Annotated[
        str | None,
        _label_option(
            help="Column of true labels, where some are known; it may be mostly empty. Nothing is "
            "learned from them unless you ask for it.",
            metavar="COLUMN",
        ),
    ] = None
    equal_votes: Annotated[
        bool,
        _label_option(
            "--equal-votes",
            help="With --votes or --annotator, count everybody's votes alike instead of weighing "
            "annotators by what is learned of them.",
        ),
    ] = False
    item: Annotated[
        str | None,
        _long_option(help="Column with the item that was annotated.", metavar="COLUMN"),
    ] = None
    annotator: Annotated[
        str | None, _long_option(help="Column with the annotator's name.", metavar="COLUMN")
    ] = None
    label: Annotated[
        str | None, _long_option(help="Column with the label that was given.", metavar="COLUMN")
    ] = None
    annotations: Annotated[
        Path | None,
        _long_option(
            help="File of the long table, if it is not FILE; FILE then holds the features.",
            metavar="FILE",
        ),
    ] = None
    min_votes: Annotated[
        int,
        _long_option(
            min=1,
            help="Votes that a label needs to be a candidate; with more than 1, votes count alike.",
            metavar="COUNT",
        ),
    ] = 1

    @property
    def is_long(self) -> bool:
        """Whether labels come from a long table of annotations."""
        return any((self.item, self.annotator, self.label, self.annotations))
