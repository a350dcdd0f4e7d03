"""The cells of the label columns of a table: the distinct ones, and their distinct combinations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows, join_names, option, quote_value
from disambig._core.typing import BoolArray, IntArray
from disambig.tabular.labels.label_cells import LabelProblem
from disambig.tabular.table_cells import distinct_cells, find_column, is_collection, text_of

_MOST_CELLS = 3
_LONGEST_CELL = 150  # with the name of its column


class LabelColumnCells(NamedTuple):
    """The cells of some columns of a table, each distinct one and each combination once."""

    names: tuple[str, ...]
    column_codes: list[IntArray]  # of every column and row, the number of the cell
    distinct: list[list[Any]]  # of every column, the cells by number
    codes: IntArray  # of every row, the number of its combination
    first_rows: IntArray  # of every combination

    @classmethod
    def of(cls, frame: Any, names: tuple[str, ...]) -> Self:
        """Return the cells of columns; refuse names that a table does not have."""
        what = "the label column" if len(names) == 1 else "one of the label columns"
        advice = f"Name it by {option('labels')}."
        columns = [find_column(frame, name, what=what, advice=advice) for name in names]
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

    def error(self, problems: Mapping[int, LabelProblem]) -> TableError:
        """Return the error that combinations of cells cannot be used, with that of the first."""
        number = next(iter(problems))
        first = int(self.first_rows[number])
        held = {
            name: distinct[int(codes[first])]
            for name, codes, distinct in zip(
                self.names, self.column_codes, self.distinct, strict=True
            )
        }
        return _label_error(np.isin(self.codes, list(problems)), held, problems[number])

    def cell_error(self, column: int, problems: Mapping[int, LabelProblem]) -> TableError:
        """Return the error that cells of a column cannot be used, with that of the first."""
        number = next(iter(problems))
        held = {self.names[column]: self.distinct[column][number]}
        bad = np.isin(self.column_codes[column], list(problems))
        return _label_error(bad, held, problems[number])

    def having(self, sign: str) -> list[tuple[BoolArray, Any]]:
        """Return which rows of every column have a cell with a sign, and the first such cell."""
        found: list[tuple[BoolArray, Any]] = []
        for codes, distinct in zip(self.column_codes, self.distinct, strict=True):
            numbers = [
                number
                for number, cell in enumerate(distinct)
                if isinstance(cell, str) and sign in cell
            ]
            found.append((np.isin(codes, numbers), distinct[numbers[0]] if numbers else None))
        return found


def _combine(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return a number for the cells of every row together, and the first row of every number."""
    import pandas as pd  # slow to import

    combined = codes[0]
    for other in codes[1:]:
        # Renumbered after every column, so that the product stays small.
        combined, _ = pd.factorize(combined * (int(other.max()) + 1) + other)
    _, first_rows = np.unique(combined, return_index=True)
    return combined, first_rows


def _label_error(bad: BoolArray, held: dict[str, Any], problem: LabelProblem) -> TableError:
    filled = {name: cell for name, cell in held.items() if is_collection(cell) or text_of(cell)}
    shown = join_names(
        (f"column {name!r} holds {quote_value(cell)}" for name, cell in filled.items()),
        most=_MOST_CELLS,
        longest=_LONGEST_CELL,
    )
    return TableError(f"Labels cannot be read in {describe_table_rows(bad)}: {shown}. {problem}")
