"""The distinct texts of a column: its categories, and what else is looked at once each."""

import numpy as np
import pandas as pd

from disambig._core.typing import AnyArray, IntArray
from disambig.tables.cell_text import number_text
from disambig.tables.wording import written
from disambig.workbench.columns.cells import Cells

__all__ = ["as_texts", "distinct_texts"]


def distinct_texts(cells: Cells) -> tuple[IntArray, list[str]]:
    """Return the distinct texts of the cells, and which of them each cell is (-1: missing).

    3, 3.0 and "3" are the same text, so that a category does not depend on the type of its column.
    """
    # Typed numbers and booleans are written out as they came: large integers are no doubles.
    typed = cells.form in ("numbers", "booleans")
    source = cells.column if typed else cells.values
    present_codes, distinct = pd.factorize(source[~cells.missing])
    is_date = cells.form == "dates"
    as_written = pd.DatetimeIndex(distinct).astype(str) if is_date else map(written, distinct)
    present_codes, texts = _merged(present_codes, [number_text(text) for text in as_written])
    codes = np.full(len(cells.values), -1)
    codes[~cells.missing] = present_codes
    return codes, texts


def as_texts(cells: Cells) -> AnyArray:
    """Return the cells as text, None where missing."""
    codes, texts = distinct_texts(cells)
    return np.array([*texts, None], dtype=object)[codes]


def _merged(codes: IntArray, texts: list[str]) -> tuple[IntArray, list[str]]:
    """Give equal texts one code, the first of theirs."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(places) == len(texts):
        return codes, texts
    new_codes = np.array([places[text] for text in texts] + [-1])
    return new_codes[codes], list(places)
