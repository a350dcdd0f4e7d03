"""Which columns are features, as a model keeps it, and their values read by this plan."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.tabular.columns.cells import (
    ColumnValues,
    as_strings,
    check_sizes,
    distinct_strings,
    read_column,
)
from disambig.tabular.columns.dates import (
    DATE_PARTS,
    REPEATING_PARTS,
    DateFormat,
    date_parts,
    example_of,
    parse_dates,
)
from disambig.tabular.columns.kinds import BOOLEAN_WORDS, MOST_CATEGORIES, ColumnKind, FeatureKind
from disambig.tabular.columns.misfits import misfit_error, read_all
from disambig.tabular.columns.numbers import (
    PLAIN,
    NumberFormat,
    Writing,
    as_written,
    without_gap_words,
)
from disambig.tabular.described.described_by import DescribedBy
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.described.describers import Describer
from disambig.tabular.embeddings import check_planned_embeddings
from disambig.tabular.listener import FitListener
from disambig.tabular.table_cells import check_columns

_MOST_EMBEDDINGS = 1_000_000
_STRINGS = ("category", "text")
_BOOLEAN_STRINGS = {**BOOLEAN_WORDS, "1": 1.0, "0": 0.0}


class Record(BaseModel):
    """Something that is kept with a model: checked strictly, and never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PlannedColumn(Record):
    """A column that is a feature.

    ``date_format`` goes with dates, and only with them; ``described_by`` with images, and with
    texts that a pretrained model describes.
    """

    name: str
    kind: FeatureKind
    date_format: DateFormat | None = None
    # Models of version 0.2.0 have plain numbers only, and nothing that was described.
    number_format: NumberFormat = PLAIN
    unit: str = Field(default="", max_length=1)  # of every number
    gap_words: bool = False  # whether words such as "-" stand for gaps
    described_by: DescribedBy | None = None

    @classmethod
    def of(cls, name: str, kind: ColumnKind) -> Self:
        """Return how a column is read that was described."""
        assert kind.feature is not None
        writing = kind.writing or Writing(PLAIN)
        return cls(
            name=name,
            kind=kind.feature,
            date_format=kind.date_format,
            number_format=writing.number_format,
            unit=writing.unit,
            gap_words=writing.gap_words,
        )

    @property
    def writing(self) -> Writing:
        """How its numbers are written."""
        return Writing(self.number_format, self.unit, self.gap_words)

    @property
    def is_string(self) -> bool:
        """Whether its values are strings, not numbers."""
        return self.kind in _STRINGS and self.described_by is None

    @model_validator(mode="after")
    def _check_date_format(self) -> Self:
        if (self.kind == "date") != (self.date_format is not None):
            raise ValueError(f"{self.name!r}: a date, and nothing else, needs a 'date_format'")
        described = self.described_by is not None
        if (self.kind == "image") != described and (self.kind != "text" or not described):
            raise ValueError(
                f"{self.name!r}: an image needs a 'described_by'; else only a text may have one"
            )
        return self


class ColumnPlan(Record):
    """The columns that are features, in the order of the table, and what comes beside them."""

    columns: tuple[PlannedColumn, ...]
    # How many numbers each row has beside the table. Models of version 0.2.0 have none.
    embeddings: int = Field(default=0, ge=0, le=_MOST_EMBEDDINGS)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def by_kind(self) -> dict[str, list[str]]:
        """Return the names of the columns of each kind; embeddings have none but their number."""
        kinds: dict[str, list[str]] = {}
        for column in self.columns:
            kinds.setdefault(column.kind, []).append(column.name)
        if self.embeddings:
            kinds["embedding"] = [f"{self.embeddings:,} numbers beside the table"]
        return kinds

    @model_validator(mode="after")
    def _check_names_differ(self) -> Self:
        if len(set(self.names)) < len(self.names):
            raise ValueError("a column is planned twice")
        if not self.columns and not self.embeddings:
            raise ValueError("nothing is planned")
        return self


class CategoryCodes(Record):
    """The categories of a column that were seen in training; None is a gap.

    Each of the ``frequent`` has a column of its own; all ``rare`` ones share one, the last.
    """

    frequent: list[str | None]
    rare: list[str | None] = Field(default_factory=list)

    @classmethod
    def seen(cls, cells: Sequence[str | None]) -> Self:
        """Return the categories of a column in alphabetical order, a gap last."""
        counts = Counter(cells)
        gaps = counts.pop(None, 0)
        names: list[str | None] = [*sorted(name for name in counts if name is not None)]
        sizes = [counts[name] for name in names]
        if gaps:
            names.append(None)
            sizes.append(gaps)
        if len(names) <= MOST_CATEGORIES:
            return cls(frequent=names)
        # Stable, so that of equally rare ones the last in the alphabet stay.
        by_size = np.argsort(sizes, kind="stable")
        frequent = set(by_size[-(MOST_CATEGORIES - 1) :].tolist())
        return cls(
            frequent=[name for place, name in enumerate(names) if place in frequent],
            rare=[name for place, name in enumerate(names) if place not in frequent],
        )

    @property
    def width(self) -> int:
        """Number of columns of 0 and 1."""
        return len(self.frequent) + bool(self.rare)

    def places(self, cells: Sequence[str | None]) -> IntArray:
        """Return which of these columns is 1 in every row; -1 where none is."""
        shared = len(self.frequent)
        place_of = {name: place for place, name in enumerate(self.frequent)}
        place_of |= dict.fromkeys(self.rare, shared)
        # What was not seen counts as rare, where anything is.
        unseen = shared if self.rare else -1
        return np.fromiter((place_of.get(cell, unseen) for cell in cells), np.intp, len(cells))

    def unseen(self, cells: Sequence[str | None]) -> list[str]:
        """Return the categories of a column that were not seen, sorted."""
        return sorted(
            cell for cell in set(cells) - {*self.frequent, *self.rare} if cell is not None
        )


def check_column_names(frame: Any) -> None:
    """Refuse a table whose columns are not named by different strings."""
    for name in frame.columns:
        if not isinstance(name, str):
            raise TableError(
                f"The columns of a table are known by their names. Got {name!r}, a "
                f"{type(name).__name__}. Write frame.columns = [...] with a string for each."
            )
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()]
        raise TableError(
            "The columns of a table need different names. More than one is called "
            f"{join_names(repr(name) for name in dict.fromkeys(twice))}: rename them."
        )


def column_values(
    frame: Any,
    plan: ColumnPlan,
    described: DescribedColumns | None = None,
    listener: FitListener | None = None,
    embeddings: Any = None,
) -> Any:
    """Return the features of a table.

    Numbers, booleans (as 0 and 1) and the parts of dates are doubles, NaN where missing; the
    numbers of images are in single precision, embeddings are what they were. Categories are strings
    in columns of objects, None where missing; texts too, "" where missing. Rows are numbered from
    zero.

    Other columns of the table, and their order, do not matter. Missing columns, and cells that
    cannot be read as the plan says, raise ``TableError``.
    """
    check_column_names(frame)
    check_columns(frame, plan.names, "a feature of the model", "features of the model")
    matrix = check_planned_embeddings(embeddings, len(frame), plan.embeddings)
    described, listener = described or DescribedColumns(), listener or FitListener()

    def read(column: PlannedColumn) -> list[Any] | AnyArray:
        cells = read_column(frame[column.name])
        if column.described_by is None:
            return read_values(cells, column)
        return read_described(cells, column, described, listener)

    arrays = read_all(partial(read, column) for column in plan.columns)
    return values_frame(plan, arrays, len(frame), matrix)


def values_frame(
    plan: ColumnPlan,
    arrays: Sequence[list[Any] | AnyArray],
    n_rows: int,
    embeddings: AnyArray | None = None,
) -> Any:
    """Return what ``column_values`` returns, of what was read of every column.

    That is what ``read_values`` gave, or the matrix of ``read_described``.
    """
    values: dict[str, Any] = {}
    matrices = []
    for names, read in zip(value_names(plan), arrays, strict=True):
        if isinstance(read, np.ndarray):
            matrices.append(pd.DataFrame(read, columns=names, copy=False))
        else:
            values.update(zip(names, read, strict=True))
    if embeddings is not None:  # which may be mapped from a file, and stay there
        names = embedding_names(plan)
        matrices.append(pd.DataFrame(np.asarray(embeddings), columns=names, copy=False))
    # Built at once: adding thousands of columns one by one is slow.
    frame = pd.DataFrame(values, index=pd.RangeIndex(n_rows))
    return pd.concat([frame, *matrices], axis=1) if matrices else frame


def value_names(plan: ColumnPlan) -> list[list[str]]:
    """Return the names that ``column_values`` gives to the values of every planned column.

    That is the name of the column; dates have several, such as ``"day (weekday)"``, and so have
    images: ``"photo (1)"``.
    """
    taken = set(plan.names)
    return [
        [_free_name(f"{column.name} ({part})", taken) for part in parts]
        if (parts := _parts_of(column))
        else [column.name]
        for column in plan.columns
    ]


def column_of_values(plan: ColumnPlan) -> dict[str, str]:
    """Return the column that each of ``value_names`` is made of."""
    named = zip(plan.columns, value_names(plan), strict=True)
    return {name: column.name for column, names in named for name in names}


def embedding_names(plan: ColumnPlan) -> list[str]:
    """Return the names that ``column_values`` gives to embeddings, such as ``"embedding (1)"``."""
    taken = set(chain.from_iterable(value_names(plan)))
    return [_free_name(f"embedding ({n})", taken) for n in range(1, plan.embeddings + 1)]


def _parts_of(column: PlannedColumn) -> Sequence[str]:
    if column.described_by is not None:
        return list(map(str, range(1, column.described_by.width + 1)))
    return DATE_PARTS if column.kind == "date" else ()


@dataclass(frozen=True)
class ValueNames:
    """The names that ``value_names`` gives, by what may be done with the values."""

    numbers: list[str]  # all that are not strings
    marked: list[str]  # those that may have a mark for gaps: of several the first
    amounts: list[str]  # those that may have a heavy tail, or a value that stands out
    repeating: list[str]  # the parts of dates that begin again
    blocks: list[list[str]]  # those of a described column, and embeddings, each a block
    categories: list[str]
    texts: list[str]

    @classmethod
    def of(cls, plan: ColumnPlan) -> Self:
        """Return the names of the values of a plan."""
        named = list(zip(plan.columns, value_names(plan), strict=True))
        of_numbers = [names for column, names in named if not column.is_string]
        of_dates = [names for column, names in named if column.kind == "date"]
        beside = embedding_names(plan)
        blocks = [names for column, names in named if column.described_by is not None]
        return cls(
            numbers=[*chain.from_iterable(of_numbers), *beside],
            marked=[names[0] for names in of_numbers],
            amounts=[names[0] for column, names in named if column.kind == "number"],
            repeating=[
                name
                for names in of_dates
                for part, name in zip(DATE_PARTS, names, strict=True)
                if part in REPEATING_PARTS
            ],
            blocks=[*blocks, beside] if beside else blocks,
            categories=[names[0] for column, names in named if column.kind == "category"],
            texts=[
                names[0] for column, names in named if column.kind == "text" and column.is_string
            ],
        )

    def places(self, names: Sequence[str]) -> list[int]:
        """Return where some of the numbers are among all of them."""
        place_of = {name: place for place, name in enumerate(self.numbers)}
        return [place_of[name] for name in names]


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def read_described(
    cells: ColumnValues,
    column: PlannedColumn,
    described: DescribedColumns,
    listener: FitListener,
    describer: Describer | None = None,
) -> AnyArray:
    """Return the numbers of a column of images or texts, a row for each row.

    The describer is found by what the plan says, unless it is given.
    """
    assert column.described_by is not None
    assert column.kind in ("image", "text")
    if cells.form != "strings" and column.kind == "image":
        what = "paths of image files"
        raise misfit_error(cells, ~cells.missing, what, "write paths")
    if describer is None:
        describer = column.described_by.find(column.kind, described.model_of(column.kind))
    codes, strings = distinct_strings(cells)
    progress = partial(listener.on_described, column.name)
    return described.numbers_of(column.name, codes, strings, column.kind, describer, progress)


def read_values(cells: ColumnValues, column: PlannedColumn) -> list[Any]:
    """Return the values of a column that nothing describes, of which dates have several."""
    match column.kind:
        case "number":
            return [_numbers(cells, column.writing)]
        case "boolean":
            return [_booleans(cells)]
        case "date":
            return list(date_parts(_moments(cells, column)).values())
        case "category":
            return [pd.Series(as_strings(cells), dtype=object)]
        case "text":
            strings = as_strings(cells)
            strings[cells.missing] = ""
            return [pd.Series(strings, dtype=object)]
        case "image":
            raise AssertionError("images are described")


def _numbers(cells: ColumnValues, writing: Writing) -> FloatArray:
    numbers = cells.numbers
    if cells.form != "strings":
        if numbers is None:
            advice = "write them as digits with a decimal point"
            raise misfit_error(cells, ~cells.missing, "numbers", advice)
        if writing.unit == "%" and not cells.missing.all():
            # A spreadsheet shows 12 % and keeps 0.12, others keep 12.
            advice = f"write them as text like {writing.example}"
            raise misfit_error(cells, ~cells.missing, "percentages", advice)
    elif numbers is None or writing != Writing(PLAIN):
        written = as_written(cells, writing)
        numbers = written.values
        bad = np.isnan(numbers) & ~written.missing
        if bad.any():
            raise misfit_error(cells, bad, "numbers", f"write them like {writing.example}")
    check_sizes(cells, numbers)
    return numbers


def _booleans(cells: ColumnValues) -> FloatArray:
    if cells.form == "booleans":
        return cells.values
    codes, strings = distinct_strings(cells)
    known = np.array([_BOOLEAN_STRINGS.get(text.lower(), np.nan) for text in strings] + [np.nan])
    values: FloatArray = known[codes]
    bad = np.isnan(values) & ~cells.missing
    if bad.any():
        raise misfit_error(cells, bad, "booleans", "write true or false")
    return values


def _moments(cells: ColumnValues, column: PlannedColumn) -> AnyArray:
    if cells.form == "dates":
        return cells.values
    assert column.date_format is not None
    if column.gap_words:
        cells = without_gap_words(cells)
    codes, strings = distinct_strings(cells)
    moments = np.append(parse_dates(strings, column.date_format), np.datetime64("NaT"))[codes]
    bad = np.isnat(moments) & ~cells.missing
    if bad.any():
        raise misfit_error(cells, bad, "dates", f"write them like {example_of(column.date_format)}")
    return moments
