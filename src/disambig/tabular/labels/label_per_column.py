"""A column for each label: marks such as 0 and 1, shares, percentages or votes below its name."""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from disambig._core.messages import quote_value, quoted_list
from disambig._core.typing import FloatArray, IntArray
from disambig.tabular.labels.label_cells import (
    LITERAL_OPTION,
    NO_LABELS,
    CellLabels,
    LabelProblem,
)
from disambig.tabular.table_cells import is_blank, is_collection, text_of

COLUMN_OPTION = "--column-per-label (in Python column_per_label=True)"
_YES = frozenset({"1", "true", "yes", "y", "x", "✓", "✔"})
_NO = frozenset({"0", "false", "no", "n", "-"})
_WILDCARD = "*"


def columns_named(present: Sequence[str], names: Iterable[str]) -> dict[str, str]:
    """Return the columns that names stand for, each with the label that it may stand for.

    ``label_*`` names all columns that begin so; the labels are what the star stands for. A name
    that is there is just that column, and one that is not is kept, to be refused by others.
    """
    found: dict[str, str] = {}
    for name in names:
        before, star, after = name.partition(_WILDCARD)
        matching = {
            column: column[len(before) : len(column) - len(after)]
            for column in present
            if star
            and isinstance(column, str)
            and len(column) > len(before) + len(after)
            and column.startswith(before)
            and column.endswith(after)
        }
        if name in present or not matching:
            matching = {name: name}
        for column, label in matching.items():
            found.setdefault(column, label)
    return found


class ColumnOfLabel(NamedTuple):
    """Reads the cells of the column of one label."""

    label: str
    weights: bool  # whether cells are numbers, instead of marks

    def read(self, cell: Any) -> CellLabels:
        """Return the label where a cell marks it, with a weight where it is a number."""
        number = _number(cell)
        if number is None or not 0 <= number < math.inf:
            raise LabelProblem(
                f"Each of these columns stands for a label, so a cell is 0 or 1, a mark such as x, "
                f"or a weight, 0 or more. Got {quote_value(cell)}. Correct it, or leave out "
                "--column-per-label."
            )
        if not number:
            return NO_LABELS
        if self.weights:
            return CellLabels(weighted=((self.label, number),))
        return CellLabels(plain=(self.label,))


def columns_of_labels(
    labels: Sequence[str],
    distinct: Sequence[Sequence[Any]],
    codes: Sequence[IntArray],
    *,
    asked: bool,
    known: Collection[str] | None,
) -> tuple[list[ColumnOfLabel], str] | None:
    """Return how to read columns that each stand for a label, and what to know about it, or None.

    Unless it was ``asked`` for, it must be plain from the cells: several columns of nothing but 0
    and 1 or other marks, or of numbers that add up to 1, or to 100, in every row. ``known`` are the
    labels of a model: one of the columns must then be among them.
    """
    if not asked and (len(labels) < 2 or (known is not None and set(known).isdisjoint(labels))):
        return None
    if all(_is_mark(cell) for cells in distinct for cell in cells):
        marked = any(_number(cell) for cells in distinct for cell in cells)
        held, weights = "only 0 and 1, or other marks", False
        if not marked:
            return None
    elif asked:
        return [ColumnOfLabel(label, weights=True) for label in labels], ""
    else:
        total = _common_total(distinct, codes)
        if total is None:
            return None
        held, weights = f"numbers that add up to {total} in every row", True
    notice = (
        f"The label columns hold {held}, so each was read as a label of its own: "
        f"{quoted_list(labels)}. If the cells are the labels, use {LITERAL_OPTION}; if each column "
        "is an annotator, --votes (in Python votes=True)."
    )
    return [ColumnOfLabel(label, weights) for label in labels], "" if asked else notice


def _common_total(distinct: Sequence[Sequence[Any]], codes: Sequence[IntArray]) -> int | None:
    """Return 1 or 100, if numbers add up to it in every row but in those that are all 0."""
    columns: list[FloatArray] = []
    for cells, of_rows in zip(distinct, codes, strict=True):
        numbers = [_number(cell) for cell in cells]
        if any(number is None or not 0 <= number <= 100 for number in numbers):
            return None
        columns.append(np.array(numbers, dtype=float)[of_rows])
    sums = np.sum(columns, axis=0)
    sums = sums[sums > 0]
    for total in (1, 100):
        rounding = (0.005 * len(columns) + 0.005) * total  # to two digits, or to whole per cents
        if len(sums) and np.all(np.abs(sums - total) <= rounding):
            return total
    return None


def _is_mark(cell: Any) -> bool:
    return is_blank(cell) or (not is_collection(cell) and _text(cell) in _YES | _NO)


def _number(cell: Any) -> float | None:
    """Return what a cell says of the label of its column, 0 for a blank one."""
    if is_blank(cell):
        return 0.0
    if is_collection(cell):
        return None
    text = _text(cell)
    if text in _YES:
        return 1.0
    if text in _NO:
        return 0.0
    try:
        return float(text.removesuffix("%").replace(",", "."))
    except ValueError:
        return None


def _text(cell: Any) -> str:
    return (text_of(cell) or "").lower()
