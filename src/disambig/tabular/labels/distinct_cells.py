"""The distinct cells of a column: a million rows often hold only a few hundred."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import quote_value, row_name
from disambig._core.typing import AnyArray, IntArray
from disambig.candidates.checks import is_missing
from disambig.tabular.cell_values import is_blank, is_collection, text_of


def distinct_cells(column: Any) -> tuple[IntArray, list[Any]]:
    """Return for every row the number of its cell, and the distinct cells in order of appearance.

    Every kind of missing value is the cell ``None``.
    """
    import pandas as pd  # slow to import

    kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else "plain"
    # In Python True equals 1 and lists have no hash, so mixed cells are compared with their type.
    if kind not in ("plain", "string", "empty") or isinstance(column.dtype, pd.ArrowDtype):
        return _distinct_objects(column)
    codes, cells = pd.factorize(column, use_na_sentinel=False)
    return codes, [None if is_missing(cell) else cell for cell in cells]


def distinct_combinations(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Combine the numbers of cells in several columns.

    Return for every row the number of its combination, and the first row of every combination, in
    order of appearance.
    """
    import pandas as pd  # slow to import

    combined = codes[0]
    for other in codes[1:]:
        # Renumbered after every column, so that the product stays small.
        combined, _ = pd.factorize(combined * (int(other.max()) + 1) + other)
    _, first_rows = np.unique(combined, return_index=True)
    return combined, first_rows


def texts_of(column: Any, *, what: str, literal: bool = False) -> AnyArray:
    """Return ``text_of`` every cell as objects, None where a cell is missing or blank.

    Parameters
    ----------
    column : Series
        The cells.
    what : str
        What the column holds, for the error.
    literal : bool, default=False
        Take "NA" and the like as strings, and not as empty cells.
    """
    codes, cells = distinct_cells(column)
    for position, cell in enumerate(cells):
        if is_collection(cell):
            row = row_name(int(np.flatnonzero(codes == position)[0]))
            raise TableError(
                f"Column {column.name!r} holds {what}, one string or number in every row. "
                f"Got {quote_value(cell)} in {row}. Write a single value there."
            )
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [text_of(cell) if literal or not is_blank(cell) else None for cell in cells]
    return texts[codes]


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
        # The repr of a long array would leave out its middle.
        return type(cell), repr(cell.tolist() if isinstance(cell, np.ndarray) else cell)
    if is_missing(cell):
        return None
    return type(cell), cell if isinstance(cell, Hashable) else repr(cell)
