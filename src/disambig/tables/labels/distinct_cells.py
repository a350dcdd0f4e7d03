"""Every distinct cell of a column once, and the text that a cell stands for.

Columns of a million rows often hold a few hundred distinct cells: whoever reads these, and looks
up the rows by number, is done quickly.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.typing import AnyArray, IntArray
from disambig.candidates.classes import is_missing
from disambig.tables.columns import row_in_words

__all__ = [
    "cell_in_words",
    "distinct_cells",
    "distinct_combinations",
    "is_collection",
    "text_of",
    "texts_of",
]

_MOST_CHARACTERS = 60
# Above it not every integer is a float, so a float no longer stands for one integer.
_LARGEST_EXACT_INTEGER = 2**53


def distinct_cells(column: Any) -> tuple[IntArray, list[Any]]:
    """Return for every row the number of its cell, and the distinct cells as they first appear.

    Every kind of missing value is the cell ``None``.
    """
    import pandas as pd  # slow to import

    kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else "plain"
    # Python takes True for 1 and cannot hash lists, so mixed cells are told apart by their type.
    if kind not in ("plain", "string", "empty") or isinstance(column.dtype, pd.ArrowDtype):
        return _distinct_objects(column)
    codes, cells = pd.factorize(column, use_na_sentinel=False)
    return codes, [None if is_missing(cell) else cell for cell in cells]


def distinct_combinations(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Combine the numbers of cells in several columns.

    Return for every row the number of its combination, and the first row of every combination;
    combinations are numbered as they first appear.
    """
    import pandas as pd  # slow to import

    combined = codes[0]
    for other in codes[1:]:
        # Numbered anew after every column, so that the product stays small.
        combined, _ = pd.factorize(combined * (int(other.max()) + 1) + other)
    _, first_rows = np.unique(combined, return_index=True)
    return combined, first_rows


def texts_of(column: Any, *, what: str) -> AnyArray:
    """Return the text of every cell as objects, None where a cell is missing or blank.

    Values are compared as texts because files disagree on types: an identifier comes as 3 from
    one, as "3" from another, and as 3.0 from a column with gaps. ``what`` says in the error what
    the column holds.
    """
    codes, cells = distinct_cells(column)
    for position, cell in enumerate(cells):
        if is_collection(cell):
            row = row_in_words(int(np.flatnonzero(codes == position)[0]))
            raise TableError(
                f"Column {column.name!r} holds {what}, one text or number in every row. "
                f"Got {cell_in_words(cell)} in {row}. Write a single value there."
            )
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [text_of(cell) for cell in cells]
    return texts[codes]


def text_of(value: Any) -> str | None:
    """Return the text that a single value stands for, or None if it is missing or blank."""
    if value is None or isinstance(value, str):
        return (value and value.strip()) or None
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip() or None
    if isinstance(value, float | np.floating) and value.is_integer():
        # Excel, JSON and columns with gaps turn integers into floats.
        return str(int(value)) if abs(float(value)) <= _LARGEST_EXACT_INTEGER else str(value)
    return str(value).strip() or None


def is_collection(cell: Any) -> bool:
    """Tell whether a cell holds several values, as those of JSON lines and parquet may."""
    return isinstance(cell, list | tuple | set | frozenset | np.ndarray | Mapping)


def cell_in_words(cell: Any) -> str:
    """Return how messages show a cell: quoted if it is a text, the start of a long one."""
    text = str(cell)
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[: _MOST_CHARACTERS - 3]}..."
    return repr(text) if isinstance(cell, str) else text


def _distinct_objects(column: Any) -> tuple[IntArray, list[Any]]:
    numbers: dict[Any, int] = {}
    cells: list[Any] = []
    codes = np.empty(len(column), dtype=np.int64)
    for row, cell in enumerate(column):
        key = _key_of(cell)
        number = numbers.setdefault(key, len(cells))
        if number == len(cells):
            cells.append(None if key is None else cell)
        codes[row] = number
    return codes, cells


def _key_of(cell: Any) -> Any:
    if is_collection(cell):
        # In full: the text of an array leaves out the middle of a long one.
        return type(cell), repr(cell.tolist() if isinstance(cell, np.ndarray) else cell)
    if is_missing(cell):
        return None
    return type(cell), cell if isinstance(cell, Hashable) else repr(cell)
