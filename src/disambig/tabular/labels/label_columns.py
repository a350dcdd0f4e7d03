"""``LabelColumns``: where the candidate labels of a table are, and how they are written."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from disambig._core.errors import ParameterError, TableError
from disambig._core.messages import (
    describe_table_rows,
    join_names,
    option,
    quote_value,
    row_count,
)
from disambig._core.parameters import check_boolean, check_choice
from disambig._core.typing import BoolArray, IntArray
from disambig.candidates.checks import first_repeated
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.tabular.files.content import FileContent, read_size
from disambig.tabular.labels.label_cells import (
    LITERAL_OPTION,
    CellReader,
    LabelProblem,
    blank_cell_note,
    join_labels,
)
from disambig.tabular.labels.label_column_cells import LabelColumnCells
from disambig.tabular.labels.label_per_column import (
    ColumnOfLabel,
    columns_named,
    columns_of_labels,
)
from disambig.tabular.labels.label_rows import (
    CollectedRows,
    RowLabels,
    count_votes,
    row_labels,
    unknown_label,
)
from disambig.tabular.labels.unsure_labels import (
    marked_as_unsure,
    unsure_notice,
    without_mark,
    without_marks,
)
from disambig.tabular.table_cells import (
    text_of,
)

_WEIGHTS_NOTICE = (
    "Labels were read with weights, as in cat:0.7|dog:0.3. If the number behind the colon belongs "
    f"to the label, use {LITERAL_OPTION}."
)


@dataclass(frozen=True, eq=False)
class LabelsInTable:
    """What the label columns of a table say."""

    candidates: CandidateLabels  # of the rows that have a label; of all rows with empty="all"
    empty: BoolArray  # marks the rows of the table without a label
    negative: bool  # whether labels were ruled out, as in "!cat"
    note: str = ""  # which cell was taken for empty, if one was; for messages
    notices: tuple[str, ...] = ()  # how cells were read that could mean something else


@dataclass(frozen=True, kw_only=True)
class LabelColumns:
    """Where the candidate labels of a table are, and how they are written.

    A cell holds labels with separators (``cat|dog``), a list of labels, or an object from label to
    weight (in JSON, or as Python prints it). ``cat:0.7|dog:0.3`` and ``cat (70%), dog (30%)`` give
    weights, ``!cat`` means anything but cat, ``cat|dog|!dog`` is cat. ``cat?``, where others are
    ``cat``, is probably a cat. An empty cell says nothing. All labels become strings.

    Parameters
    ----------
    columns : tuple of str, default=("label",)
        The label columns. The candidates of a row are the labels of all of them; weights add up.
        ``label_*`` stands for all columns that begin so.
    separator : str, default="|"
        Separator between the labels of a cell.
    literal : bool, default=False
        Whether "!", "?", ":", "%" and brackets are parts of the labels, and "NA" and the like, 0
        and 1 are labels.
    votes : bool, default=False
        Whether every column is an annotator, with one vote for each label in its cell. The votes
        of a row are counted and become weights.
    equal_votes : bool, default=False
        Whether ``fit_table`` and ``clean_table`` count votes alike, instead of weighing annotators
        by what is learned of them.
    column_per_label : bool, default=False
        Whether every column stands for a label, which is its name (of ``label_*``, what the star
        stands for). Its cells say whether a row may have the label (0 and 1, or marks), or are
        weights. That is also found out if all cells are 0 or 1, or if rows add up to 1 or 100.
    classes : tuple of str, optional
        All classes, in order. By default the labels that occur, sorted.
    empty : {"refuse", "all"}, default="refuse"
        What to do with a row without a label: refuse it, or let it have any label.
    max_memory : int or str, optional
        Most memory that rows with any label, or any but a few, may take, in bytes or as
        ``"8GB"``. By default 2 GB.

    See Also
    --------
    read_annotations : For a long table with one row per annotation.
    disambig.candidates.CandidateLabels : What ``read`` returns.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig import LabelColumns
    >>> table = pd.DataFrame({"one": ["cat", "dog", "!cat"], "two": ["dog", None, ""]})
    >>> LabelColumns(columns=("one", "two")).read(table).to_strings()
    ['cat|dog', 'dog', 'dog']
    """

    columns: tuple[str, ...] = ("label",)
    separator: str = "|"
    literal: bool = False
    votes: bool = False
    equal_votes: bool = False
    column_per_label: bool = False
    classes: tuple[str, ...] | None = None
    empty: str = "refuse"
    max_memory: int | str | None = None

    def __post_init__(self) -> None:
        names = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        object.__setattr__(self, "columns", names)
        _check_distinct("columns", names, "column")
        if not isinstance(self.separator, str) or not self.separator:
            raise ParameterError(
                "'separator' must be a string of at least one character. "
                f"Got {self.separator!r} instead."
            )
        check_boolean("literal", self.literal)
        check_boolean("votes", self.votes)
        check_boolean("equal_votes", self.equal_votes)
        check_boolean("column_per_label", self.column_per_label)
        if self.column_per_label and self.votes:
            raise ParameterError(
                "A column is either an annotator (--votes) or a label (--column-per-label). Got "
                "both. Leave one of them out: votes that were counted are weights."
            )
        check_choice("empty", self.empty, ("refuse", "all"))
        if self.classes is not None:
            given = (self.classes,) if isinstance(self.classes, str) else self.classes
            classes = tuple(text_of(name) for name in given)
            object.__setattr__(self, "classes", classes)
            _check_distinct("classes", classes, "class")

    @classmethod
    def of(cls, labels: Any) -> Self:
        """Return a ``LabelColumns`` as it is, or make one from the name of a column, or several."""
        if isinstance(labels, cls):
            return labels
        if isinstance(labels, str) or (
            isinstance(labels, Sequence) and all(isinstance(name, str) for name in labels)
        ):
            return cls(columns=(labels,) if isinstance(labels, str) else tuple(labels))
        raise ParameterError(
            "'labels' must be the name of a column, several names, or a LabelColumns. "
            f"Got {quote_value(labels)} instead."
        )

    def read(self, frame: Any) -> CandidateLabels:
        """Return the candidate sets of all rows of a data frame.

        Raises ``TableError`` for rows without a label, unless they may have any, and for a table
        with a single label.
        """
        return self.read_with_notices(frame)[0]

    def read_with_notices(self, frame: Any) -> tuple[CandidateLabels, tuple[str, ...]]:
        """Return the candidate sets of all rows, and what a person should know of their reading."""
        labels = self._parse_filled(frame)
        weights_were_read = labels.candidates.weights is not None and not self.votes
        check_labels_differ(labels.candidates, weights_were_read=weights_were_read)
        if weights_were_read and not labels.notices and not self.column_per_label:
            return labels.candidates, (_WEIGHTS_NOTICE,)
        return labels.candidates, labels.notices

    def read_new(self, frame: Any, classes: Iterable[Any]) -> CandidateLabels:
        """Return the candidate sets of new rows, over the labels that a model knows.

        Raises ``TableError`` for other labels, and for rows without a label unless they may have
        any.
        """
        return self.read_new_with_notices(frame, classes)[0]

    def read_new_with_notices(
        self, frame: Any, classes: Iterable[Any]
    ) -> tuple[CandidateLabels, tuple[str, ...]]:
        """Return what ``read_new`` does, and what a person should know of the reading."""
        labels = replace(self, classes=tuple(classes))._parse_filled(frame)
        return labels.candidates, labels.notices

    def columns_in(self, frame: Any) -> tuple[str, ...]:
        """Return the label columns of a table, all those of ``label_*`` by name."""
        return tuple(columns_named(list(frame.columns), self.columns))

    def weighs_annotators(self, frame: Any) -> bool:
        """Whether every column is an annotator who is weighed by what is learned of them all."""
        return self.votes and not self.equal_votes and len(self.columns_in(frame)) > 1

    def read_annotators(self, frame: Any) -> Iterator[tuple[IntArray, list[RowLabels]]]:
        """Yield for every column which answer is in each row, and the distinct answers."""
        cells = LabelColumnCells.of(frame, self.columns_in(frame))
        reading = self._reading(cells, cells.names)
        for column, codes in enumerate(cells.column_codes):
            yield codes, list(self._read_column(cells, column, reading))

    def _parse_filled(self, frame: Any) -> LabelsInTable:
        labels = self.parse(frame)
        if labels.empty.any() and self.empty == "refuse":
            raise TableError(
                f"Every row needs a label in {_column_list(self.columns_in(frame))}. There is none "
                f"in {describe_table_rows(labels.empty)}. Fill it in, drop such rows, or use "
                f"{option('empty', 'all')} if such a row may have any label."
                f"{labels.note}"
            )
        return labels

    def parse(self, frame: Any) -> LabelsInTable:
        """Return what the columns say, without refusing rows that have no label."""
        names = columns_named(list(frame.columns), self.columns)
        cells = LabelColumnCells.of(frame, tuple(names))
        reading = self._reading(cells, tuple(names.values()))
        rows = CollectedRows()
        unsure: list[int] = []
        for number, (row, is_unsure) in enumerate(self._distinct_rows(cells, reading)):
            rows.add(row)
            if is_unsure:
                unsure.append(number)
        nothing = rows.empty()
        blank = () if self.literal or not nothing.any() else chain(*cells.distinct)
        note = f"{blank_cell_note(blank)}{reading.if_empty}"
        if nothing.all():
            raise TableError(
                f"No row has a label in {_column_list(cells.names)}: all "
                f"{len(cells.codes):,} are empty. Name the column that holds the labels.{note}"
            )
        if self.empty == "all":
            rows.allow_any_label(nothing)
        classes = self._classes_of(rows, cells)
        empty = nothing[cells.codes]
        codes = cells.codes if self.empty == "all" else cells.codes[~empty]
        # Every "!cat" stands for all the other labels.
        limit = read_size(self.max_memory) if isinstance(self.max_memory, str) else self.max_memory
        FileContent("the table", max_memory=limit).check_memory(
            rows.implied_bytes(len(classes), codes), "The candidate sets"
        )
        candidates = rows.candidates(classes, codes)
        notices = [*reading.notices]
        if reading.unsure:
            rows_meant = np.isin(cells.codes, unsure)
            if self.votes:
                rows_meant = np.any([rows for rows, _ in cells.having("?")], axis=0)
            notices.append(unsure_notice(reading.unsure, int(rows_meant.sum()), votes=self.votes))
        return LabelsInTable(candidates, empty, rows.negative, note, tuple(notices))

    def _reading(self, cells: LabelColumnCells, labels: tuple[str, ...]) -> "_Reading":
        """Decide how the cells of every column are read; ``labels`` are what columns may mean."""
        if self.column_per_label or not (self.literal or self.votes):
            found = columns_of_labels(
                labels,
                cells.distinct,
                cells.column_codes,
                asked=self.column_per_label,
                known=self.classes,
            )
            if found is not None:
                readers, notice = found
                if_empty = "" if self.column_per_label else f" {notice}"
                return _Reading(readers, notices=(notice,) if notice else (), if_empty=if_empty)
        by_cell = [
            CellReader(
                distinct,
                separator=self.separator,
                literal=self.literal,
                known=self.classes or (),
            )
            for distinct in cells.distinct
        ]
        notices = [
            _percentages_notice(cells, column)
            for column, reader in enumerate(by_cell)
            if reader.percentages
        ]
        reading = _Reading(by_cell, notices=tuple(notices))
        if self.literal or not any(rows.any() for rows, _ in cells.having("?")):
            return reading
        as_they_are = replace(self, votes=False)
        named = (
            label
            for column in range(len(cells.names))
            for cell in as_they_are._read_column(cells, column, reading)
            for label in cell.plain
        )
        return reading._replace(unsure=marked_as_unsure(named, self.classes or ()))

    def _distinct_rows(
        self, cells: LabelColumnCells, reading: "_Reading"
    ) -> Iterator[tuple[RowLabels, bool]]:
        """Read every distinct combination of cells once; tell whether it leaves labels unsure."""
        columns = [self._read_column(cells, column, reading) for column in range(len(cells.names))]
        problems: dict[int, LabelProblem] = {}
        for number, parts in enumerate(cells.combinations_of(columns)):
            try:
                if self.votes:
                    yield count_votes(parts), False
                elif reading.unsure:
                    cell, is_unsure = without_marks(join_labels(parts), reading.unsure)
                    yield row_labels(cell), is_unsure
                else:
                    yield row_labels(join_labels(parts)), False
            except LabelProblem as problem:
                problems[number] = problem
        if problems:
            raise cells.error(problems)

    def _read_column(
        self, cells: LabelColumnCells, column: int, reading: "_Reading"
    ) -> Iterator[Any]:
        """Yield the labels in every distinct cell of a column; of an annotator, the votes."""
        problems: dict[int, LabelProblem] = {}
        for number, cell in enumerate(cells.distinct[column]):
            try:
                labels = reading.readers[column].read(cell)
                yield row_labels(without_mark(labels, reading.unsure)) if self.votes else labels
            except LabelProblem as problem:
                problems[number] = problem
        if problems:
            raise cells.cell_error(column, problems)

    def _classes_of(self, rows: CollectedRows, cells: LabelColumnCells) -> tuple[str, ...]:
        classes = tuple(sorted(rows.names)) if self.classes is None else self.classes
        known = set(classes)
        unknown = [label for label in rows.names if label not in known]
        if unknown:
            problem = unknown_label(unknown[0], classes, len(unknown) - 1)
            raise cells.error(dict.fromkeys(rows.naming(unknown), problem))
        without = rows.excludes_all(classes)
        if without is not None:
            problem = LabelProblem(
                f"It rules out every label there is ({join_names(classes)}). Correct the cell; if "
                "there are more labels, one of them must be in some row (or, in Python, in "
                "classes=)."
            )
            raise cells.error({without: problem})
        return classes


Labels = str | Sequence[str] | LabelColumns | CandidateLabels | AnnotatorModel


def label_column_names(labels: Labels, frame: Any) -> tuple[str, ...]:
    """Return the columns that labels are read from, which are therefore not features."""
    if isinstance(labels, CandidateLabels | AnnotatorModel):
        return ()
    return LabelColumns.of(labels).columns_in(frame)


def sets_of_rows(candidates: CandidateLabels, frame: Any) -> CandidateLabels:
    """Return sets that were made elsewhere as those of a table, whose labels are strings."""
    if len(candidates) != len(frame):
        raise TableError(
            "The table and the candidate sets need the same number of rows. "
            f"Got {len(frame):,} rows and {len(candidates):,} sets. Give one set for each row."
        )
    names = candidates.classes.tolist()
    if all(isinstance(name, str) for name in names):
        return candidates
    strings = [text_of(name) for name in names]
    renamed = CandidateLabels.from_mask(candidates.to_sparse(), strings, weights=candidates.weights)
    return renamed.with_rows_of(candidates)


class _Reading(NamedTuple):
    """How the cells of every column are read."""

    readers: Sequence[CellReader | ColumnOfLabel]
    unsure: frozenset[str] = frozenset()  # labels with a question mark that is a sign
    notices: tuple[str, ...] = ()
    if_empty: str = ""  # for the message that a row has no label


def check_labels_differ(candidates: CandidateLabels, *, weights_were_read: bool = False) -> None:
    """Refuse candidate sets with a single label: nothing can be learned from them."""
    _, columns = candidates.pairs()
    occurring = candidates.classes[np.unique(columns)]
    if len(occurring) < 2:
        label = str(occurring[0])
        hint = (
            f" A number behind a colon, as in {quote_value(f'{label}:1')}, was read as a weight: "
            f"use {LITERAL_OPTION} if it belongs to the label."
        )
        raise TableError(
            f"A classifier needs at least two labels. {quote_value(label)} is the only one, in "
            f"{row_count(len(candidates))}. Check that this is the column you "
            f"meant, or add rows with other labels.{hint if weights_were_read else ''}"
        )


def _percentages_notice(cells: LabelColumnCells, column: int) -> str:
    rows, first = cells.having("%")[column]
    return (
        f"Percentages were read as weights in {row_count(int(rows.sum()))} of column "
        f"{cells.names[column]!r}, such as {quote_value(first)}. What is missing to 100 % belongs "
        "to all other labels together. If the percentages belong to the labels, use "
        f"{LITERAL_OPTION}."
    )


def _check_distinct(parameter: str, names: tuple[Any, ...], what: str) -> None:
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(
            f"'{parameter}' must be the name of at least one {what}, none of them blank. "
            f"Got {quote_value(names)} instead."
        )
    repeated = first_repeated(names)
    if repeated is not None:
        raise ParameterError(f"'{parameter}' must name every {what} once. Got {repeated!r} twice.")


def _column_list(columns: tuple[str, ...]) -> str:
    quoted = join_names(repr(name) for name in columns)
    return f"column {quoted}" if len(columns) == 1 else f"one of the columns {quoted}"
