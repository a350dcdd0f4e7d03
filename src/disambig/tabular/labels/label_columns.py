"""``LabelColumns``: where the candidate labels of a table are, and how they are written."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from disambig._core.errors import ParameterError, TableError
from disambig._core.messages import describe_table_rows, join_names, option, quote_value
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
from disambig.tabular.labels.label_rows import (
    CollectedRows,
    RowLabels,
    count_votes,
    row_labels,
    unknown_label,
)
from disambig.tabular.table_cells import (
    distinct_cells,
    find_column,
    is_collection,
    text_of,
)

_MOST_CELLS = 3
_LONGEST_CELL = 150  # with the name of its column


@dataclass(frozen=True, eq=False)
class LabelsInTable:
    """What the label columns of a table say."""

    candidates: CandidateLabels  # of the rows that have a label; of all rows with empty="all"
    empty: BoolArray  # marks the rows of the table without a label
    negative: bool  # whether labels were ruled out, as in "!cat"
    note: str = ""  # which cell was taken for empty, if one was; for messages


@dataclass(frozen=True, kw_only=True)
class LabelColumns:
    """Where the candidate labels of a table are, and how they are written.

    A cell holds labels with separators (``cat|dog``), a list of labels (in JSON or Python), or a
    JSON object from label to weight. ``cat:0.7|dog:0.3`` gives weights, ``!cat`` means anything but
    cat, ``cat|dog|!dog`` is cat. An empty cell says nothing. All labels become strings.

    Parameters
    ----------
    columns : tuple of str, default=("label",)
        The label columns. The candidates of a row are the labels of all of them; weights add up.
    separator : str, default="|"
        Separator between the labels of a cell.
    literal : bool, default=False
        Whether "!", ":" and brackets are parts of the labels, and "NA" and the like are labels.
    votes : bool, default=False
        Whether every column is an annotator, with one vote for each label in its cell. The votes
        of a row are counted and become weights.
    equal_votes : bool, default=False
        Whether ``fit_table`` and ``clean_table`` count votes alike, instead of weighing annotators
        by what is learned of them.
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
        labels = self._parse_filled(frame)
        weights_were_read = labels.candidates.weights is not None and not self.votes
        check_labels_differ(labels.candidates, weights_were_read=weights_were_read)
        return labels.candidates

    def read_new(self, frame: Any, classes: Iterable[Any]) -> CandidateLabels:
        """Return the candidate sets of new rows, over the labels that a model knows.

        Raises ``TableError`` for other labels, and for rows without a label unless they may have
        any.
        """
        return replace(self, classes=tuple(classes))._parse_filled(frame).candidates

    @property
    def weighs_annotators(self) -> bool:
        """Whether every column is an annotator who is weighed by what is learned of them all."""
        return self.votes and not self.equal_votes and len(self.columns) > 1

    def read_annotators(self, frame: Any) -> Iterator[tuple[IntArray, list[RowLabels]]]:
        """Yield for every column which answer is in each row, and the distinct answers."""
        cells = _LabelCells.of(frame, self.columns)
        for column, codes in enumerate(cells.column_codes):
            yield codes, list(self._read_column(cells, column))

    def _parse_filled(self, frame: Any) -> LabelsInTable:
        labels = self.parse(frame)
        if labels.empty.any() and self.empty == "refuse":
            raise TableError(
                f"Every row needs a label in {_column_list(self.columns)}. There is none in "
                f"{describe_table_rows(labels.empty)}. Fill it in, drop such rows, or use "
                f"{option('empty', 'all')} if such a row may have any label."
                f"{labels.note}"
            )
        return labels

    def parse(self, frame: Any) -> LabelsInTable:
        """Return what the columns say, without refusing rows that have no label."""
        cells = _LabelCells.of(frame, self.columns)
        rows = CollectedRows()
        for row in self._distinct_rows(cells):
            rows.add(row)
        nothing = rows.empty()
        blank = () if self.literal or not nothing.any() else chain(*cells.distinct)
        note = blank_cell_note(blank)
        if nothing.all():
            raise TableError(
                f"No row has a label in {_column_list(self.columns)}: all "
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
        return LabelsInTable(candidates, empty, rows.negative, note)

    def _distinct_rows(self, cells: "_LabelCells") -> Iterator[RowLabels]:
        """Read every distinct combination of cells once."""
        columns = [self._read_column(cells, column) for column in range(len(self.columns))]
        for number, parts in enumerate(cells.combinations_of(columns)):
            try:
                yield count_votes(parts) if self.votes else row_labels(join_labels(parts))
            except LabelProblem as problem:
                raise cells.error(number, problem) from None

    def _read_column(self, cells: "_LabelCells", column: int) -> Iterator[Any]:
        """Yield the labels in every distinct cell of a column; of an annotator, the votes."""
        distinct = cells.distinct[column]
        reader = CellReader(distinct, separator=self.separator, literal=self.literal)
        for number, cell in enumerate(distinct):
            try:
                labels = reader.read(cell)
                yield row_labels(labels) if self.votes else labels
            except LabelProblem as problem:
                raise cells.cell_error(column, number, problem) from None

    def _classes_of(self, rows: CollectedRows, cells: "_LabelCells") -> tuple[str, ...]:
        classes = tuple(sorted(rows.names)) if self.classes is None else self.classes
        if self.classes is not None:
            known = set(classes)
            for label, number in zip(rows.names, rows.named_in, strict=True):
                if label not in known:
                    raise cells.error(number, unknown_label(label, classes))
        without = rows.excludes_all(classes)
        if without is not None:
            problem = (
                f"It rules out every label there is ({join_names(classes)}). Correct the cell; if "
                "there are more labels, one of them must be in some row (or, in Python, in "
                "classes=)."
            )
            raise cells.error(without, LabelProblem(problem))
        return classes


Labels = str | Sequence[str] | LabelColumns | CandidateLabels | AnnotatorModel


def label_column_names(labels: Labels) -> tuple[str, ...]:
    """Return the columns that labels are read from, which are therefore not features."""
    if isinstance(labels, CandidateLabels | AnnotatorModel):
        return ()
    return LabelColumns.of(labels).columns


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


class _LabelCells(NamedTuple):
    """The cells of some columns of a table, and their distinct combinations."""

    names: tuple[str, ...]
    column_codes: list[IntArray]  # of every column and row, the number of the cell
    distinct: list[list[Any]]  # of every column, the cells by number
    codes: IntArray  # of every row, the number of its combination
    first_rows: IntArray  # of every combination

    @classmethod
    def of(cls, frame: Any, names: tuple[str, ...]) -> Self:
        what = "the label column" if len(names) == 1 else "one of the label columns"
        columns = [find_column(frame, name, what=what) for name in names]
        if not len(frame):
            raise TableError("The table has no rows. Give one with at least one row.")
        column_codes, distinct = zip(*map(distinct_cells, columns), strict=True)
        codes, first_rows = _combine(column_codes)
        return cls(names, list(column_codes), list(distinct), codes, first_rows)

    def combinations_of(self, columns: list[Iterator[Any]]) -> Iterator[tuple[Any, ...]]:
        """Yield the labels of every combination of cells, given those of the distinct cells."""
        if len(columns) == 1:  # every distinct cell is one, and need not be kept
            return zip(*columns, strict=True)
        # Looked up at the rows where combinations first appear.
        return zip(
            *(
                map(list(labels).__getitem__, codes[self.first_rows].tolist())
                for labels, codes in zip(columns, self.column_codes, strict=True)
            ),
            strict=True,
        )

    def error(self, number: int, problem: LabelProblem) -> TableError:
        """Return the error that a combination of cells cannot be used."""
        first = int(self.first_rows[number])
        held = {
            name: distinct[int(codes[first])]
            for name, codes, distinct in zip(
                self.names, self.column_codes, self.distinct, strict=True
            )
        }
        return _label_error(self.codes == number, held, problem)

    def cell_error(self, column: int, number: int, problem: LabelProblem) -> TableError:
        """Return the error that a cell of a column cannot be used."""
        held = {self.names[column]: self.distinct[column][number]}
        return _label_error(self.column_codes[column] == number, held, problem)


def _combine(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return a number for the cells of every row together, and the first row of every number."""
    import pandas as pd  # slow to import

    combined = codes[0]
    for other in codes[1:]:
        # Renumbered after every column, so that the product stays small.
        combined, _ = pd.factorize(combined * (int(other.max()) + 1) + other)
    _, first_rows = np.unique(combined, return_index=True)
    return combined, first_rows


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
            f"A classifier needs at least two labels. All {len(candidates):,} rows have "
            f"{quote_value(label)} and no other. Check that this is the column you "
            f"meant, or add rows with other labels.{hint if weights_were_read else ''}"
        )


def _label_error(bad: BoolArray, held: dict[str, Any], problem: LabelProblem) -> TableError:
    filled = {name: cell for name, cell in held.items() if is_collection(cell) or text_of(cell)}
    shown = join_names(
        (f"column {name!r} holds {quote_value(cell)}" for name, cell in filled.items()),
        most=_MOST_CELLS,
        longest=_LONGEST_CELL,
    )
    return TableError(f"Labels cannot be read in {describe_table_rows(bad)}: {shown}. {problem}")


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
