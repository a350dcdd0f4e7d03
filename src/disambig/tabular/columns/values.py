"""Read the features of a table by a plan, in training and in prediction alike."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows, quote_value
from disambig._core.typing import AnyArray, BoolArray, FloatArray
from disambig.tabular.columns.cells import (
    ColumnValues,
    as_strings,
    check_sizes,
    distinct_strings,
    is_number,
    read_column,
)
from disambig.tabular.columns.kinds import (
    BOOLEAN_WORDS,
    DATE_PARTS,
    date_parts,
    example_of,
    parse_dates,
)
from disambig.tabular.columns.planned import ColumnPlan, PlannedColumn, check_column_names
from disambig.tabular.table_cells import check_columns

_BOOLEAN_STRINGS = {**BOOLEAN_WORDS, "1": 1.0, "0": 0.0}


def column_values(frame: Any, plan: ColumnPlan) -> Any:
    """Return the features of a table.

    Numbers, booleans (as 0 and 1) and the parts of dates are doubles, NaN where missing. Categories
    are strings in columns of objects, None where missing. Rows are numbered from zero.

    Other columns of the table, and their order, do not matter. Missing columns, and cells that
    cannot be read as the plan says, raise ``TableError``.
    """
    check_column_names(frame)
    check_columns(frame, plan.names, "a feature of the model", "features of the model")
    arrays = [read_values(read_column(frame[column.name]), column) for column in plan.columns]
    return values_frame(plan, arrays, len(frame))


def values_frame(plan: ColumnPlan, arrays: Sequence[list[Any]], n_rows: int) -> Any:
    """Return what ``column_values`` returns, of what ``read_values`` gave for every column."""
    names = chain.from_iterable(value_names(plan))
    values = dict(zip(names, chain.from_iterable(arrays), strict=True))
    # Built at once: adding thousands of columns one by one is slow.
    return pd.DataFrame(values, index=pd.RangeIndex(n_rows))


def value_names(plan: ColumnPlan) -> list[list[str]]:
    """Return the names that ``column_values`` gives to the values of every planned column.

    That is the name of the column; dates have several, such as ``"day (weekday)"``.
    """
    taken = set(plan.names)
    return [
        [_free_name(f"{column.name} ({part})", taken) for part in DATE_PARTS]
        if column.kind == "date"
        else [column.name]
        for column in plan.columns
    ]


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def read_values(cells: ColumnValues, column: PlannedColumn) -> list[Any]:
    """Return the values of a column, of which dates have several."""
    match column.kind:
        case "number":
            return [_numbers(cells)]
        case "boolean":
            return [_booleans(cells)]
        case "date":
            return list(date_parts(_moments(cells, column)).values())
        case "category":
            return [pd.Series(as_strings(cells), dtype=object)]


def _numbers(cells: ColumnValues) -> FloatArray:
    numbers = cells.numbers
    if numbers is None:
        codes, strings = distinct_strings(cells)
        bad = np.array([not is_number(text) for text in strings] + [False])[codes]
        raise _misfit_error(cells, bad, "numbers", "write them as digits with a decimal point")
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
        raise _misfit_error(cells, bad, "booleans", "write true or false")
    return values


def _moments(cells: ColumnValues, column: PlannedColumn) -> AnyArray:
    if cells.form == "dates":
        return cells.values
    assert column.date_format is not None
    codes, strings = distinct_strings(cells)
    moments = np.append(parse_dates(strings, column.date_format), np.datetime64("NaT"))[codes]
    bad = np.isnat(moments) & ~cells.missing
    if bad.any():
        raise _misfit_error(
            cells, bad, "dates", f"write them like {example_of(column.date_format)}"
        )
    return moments


def _misfit_error(cells: ColumnValues, bad: BoolArray, needed: str, advice: str) -> TableError:
    value = cells.column.iloc[int(np.flatnonzero(bad)[0])]
    return TableError(
        f"Column {cells.name!r} must hold {needed}, as those that its model learns from. Got "
        f"{quote_value(value)} ({describe_table_rows(bad)}): {advice}, and leave cells empty where "
        f"nothing is known."
    )
