"""Texts that a spreadsheet would run as formulas, made harmless before they are written."""

import re
from typing import Any

import pandas as pd

# What a cell of a text file begins with when a spreadsheet calculates it.
_STARTS = ("=", "+", "-", "@", "\t", "\r")
# Nothing but a number can come of these, whatever the marks mean where the file is opened.
_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?%?", re.ASCII | re.IGNORECASE)


def without_formulas(frame: Any) -> Any:
    """Return a table with an apostrophe before every text and name that would be a formula.

    Numbers stay as they are, also those that are written as text.
    """
    # By number, because a name with an apostrophe may be there already.
    columns = {place: _harmless_column(column) for place, (_, column) in enumerate(frame.items())}
    changed = pd.DataFrame(columns, index=frame.index, copy=False)
    return changed.set_axis([harmless(name) for name in frame.columns], axis=1)


def _harmless_column(column: Any) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)  # its categories may be text
    if not (isinstance(column.dtype, pd.StringDtype) or pd.api.types.is_object_dtype(column.dtype)):
        return column.array
    values = column.array.to_numpy(dtype=object, na_value=None)
    changed = [harmless(value) for value in values]
    return pd.array(changed, dtype=column.dtype)


def harmless(value: Any) -> Any:
    """Return a cell with an apostrophe before it if it is a text that would be a formula."""
    is_formula = isinstance(value, str) and value.startswith(_STARTS)
    return f"'{value}" if is_formula and not _NUMBER.fullmatch(value) else value
