"""The cells of a column, read once: numbers, booleans, dates or strings."""

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows, option, quote_value, safe_str
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.tabular.table_cells import MISSING_TEXTS, number_text

Form = Literal["numbers", "booleans", "dates", "strings"]

# Sums and squares of numbers must stay below the largest double.
_LARGEST_NUMBER = 1e300
# A longer column of strings is converted at once if its start is numbers: a try that fails is slow.
_LONG = 10_000
_START = 100

_BOOLEANS = (bool, np.bool_)
_NUMBERS = (int, float, Decimal, np.integer, np.floating)
_DATES = (datetime.date, np.datetime64)  # a datetime is a date
_PLAIN = (str, *_BOOLEANS, *_NUMBERS, *_DATES)

_LEAVE_OUT = f"leave the column out: {option('ignore')}"
# What other cells are called, and what to do with them.
_UNUSABLE: dict[tuple[type, ...], tuple[str, str]] = {
    (list, tuple, dict, set, frozenset, np.ndarray, pd.Series): (
        "lists or mappings",
        "embeddings and other lists must be spread out, one number per column",
    ),
    (bytes, bytearray, memoryview): ("bytes", "turn them into text or numbers"),
    (complex, np.complexfloating): ("complex numbers", "give real and imaginary part as columns"),
    (datetime.timedelta, np.timedelta64): ("time spans", "give them as numbers, such as seconds"),
}


class UnusableColumnError(TableError):
    """A column that cannot be a feature: what it holds, in which rows, and what to do about it."""

    def __init__(self, name: str, what: str, rows: str, advice: str) -> None:
        super().__init__(
            "A feature must be made of numbers, categories, booleans, dates or text. Column "
            f"{name!r} holds {what}{rows}: {advice}, or {_LEAVE_OUT}."
        )
        self.name, self.what, self.rows, self.advice = name, what, rows, advice

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        # Exceptions cross process borders by pickling, with the arguments of __init__.
        return type(self), (self.name, self.what, self.rows, self.advice)


@dataclass(frozen=True)
class ColumnValues:
    """The values of one column.

    ``values`` are doubles with NaN (numbers; booleans as 0 and 1), naive moments in UTC with NaT
    (dates), or strings with None. ``column`` is the series they came from; ``is_category`` says
    that pandas had it as categories.
    """

    name: str
    form: Form
    values: AnyArray
    missing: BoolArray
    column: Any
    is_category: bool = False

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The values as doubles, NaN where missing, or None if some are not numbers."""
        if self.form == "numbers":
            return self.values
        if self.form != "strings":
            return None
        # Python reads 1_000 and digits of every script as numbers; files of data do not mean that.
        joined = "".join(self.values[~self.missing])
        if "_" in joined or not joined.isascii():
            return None
        try:
            # None becomes NaN, and strings are rounded to the nearest double, as typed ones were.
            numbers: FloatArray = self.values.astype(np.float64)
        except ValueError:
            return None
        return None if np.isnan(numbers[~self.missing]).any() else numbers


def read_column(column: Any) -> ColumnValues:
    """Return the values of a pandas Series; refuse cells that cannot be a feature."""
    dtype, name = column.dtype, str(column.name)
    if isinstance(dtype, pd.StringDtype):
        long_arrow = dtype.storage == "pyarrow" and len(column) >= _LONG
        numbers = _numbers_in_arrow(column) if long_arrow else None
        return numbers or _strings(column, column.array.to_numpy(dtype=object, na_value=""))
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, pd.CategoricalDtype):
        return replace(read_column(column.astype(object)), is_category=True)
    if kind == "c":
        raise _unusable(column.name, complex)
    is_boolean = pd.api.types.is_bool_dtype(dtype) and kind != "O"
    if is_boolean or kind in "iuf":
        with np.errstate(over="ignore"):  # beyond doubles is infinite, which is refused where used
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        form: Form = "booleans" if is_boolean else "numbers"
        return ColumnValues(name, form, values, np.isnan(values), column)
    if (isinstance(dtype, np.dtype) and kind == "M") or isinstance(dtype, pd.DatetimeTZDtype):
        return _dates(column, column)
    return _read_objects(column)


def is_number(text: str) -> bool:
    """Tell whether ``ColumnValues.numbers`` takes a string for a number."""
    try:
        number = float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii() and not math.isnan(number)


def are_codes(cells: ColumnValues) -> bool:
    """Tell whether all values are digits, some with leading zeros as in 01001: not amounts."""
    if cells.form == "strings":
        # Not by pandas, whose overhead is most of the time that a table of many columns takes.
        present = cells.values[~cells.missing].tolist()
        zeros = any(len(text) > 1 and text[0] == "0" for text in present)
        return zeros and all(text.isdigit() and text.isascii() for text in present)
    if not isinstance(cells.column.dtype, pd.StringDtype):
        return False
    strings = cells.column[~cells.missing].str
    return bool(strings.fullmatch("0[0-9]+").any() and strings.fullmatch("[0-9]+").all())


def check_sizes(cells: ColumnValues, numbers: FloatArray) -> None:
    """Refuse numbers that are infinite or too large to compute with."""
    too_large = np.abs(numbers) > _LARGEST_NUMBER
    if too_large.any():
        row = int(np.flatnonzero(too_large)[0])
        raise UnusableColumnError(
            cells.name,
            f"numbers that are infinite or above {_LARGEST_NUMBER:g} in size",
            f" ({describe_table_rows(too_large)}: {quote_value(cells.column.iloc[row])})",
            "leave such cells empty",
        )


def distinct_strings(cells: ColumnValues) -> tuple[IntArray, list[str]]:
    """Return for every cell the number of its string (-1: missing), and the distinct strings.

    3, 3.0 and "3" are the same string, so that a category does not depend on the type of its
    column.
    """
    # Typed numbers and booleans are written out as they came: large integers are not doubles.
    typed = cells.form in ("numbers", "booleans")
    source = cells.column if typed else cells.values
    codes, distinct = pd.factorize(source[~cells.missing])
    is_date = cells.form == "dates"
    as_written = pd.DatetimeIndex(distinct).astype(str) if is_date else map(safe_str, distinct)
    strings = [number_text(text) for text in as_written]
    number_of = {text: number for number, text in enumerate(dict.fromkeys(strings))}
    all_codes = np.full(len(cells.values), -1)
    all_codes[~cells.missing] = np.array([number_of[text] for text in strings] + [-1])[codes]
    return all_codes, list(number_of)


def as_strings(cells: ColumnValues) -> AnyArray:
    """Return the values as strings, None where missing."""
    codes, strings = distinct_strings(cells)
    return np.array([*strings, None], dtype=object)[codes]


def _numbers_in_arrow(column: Any) -> ColumnValues | None:
    """Read strings as numbers if all are; several times faster than one at a time.

    Arrow reads nothing as a number that ``ColumnValues.numbers`` would not, and rounds alike; the
    little that it does not read (+1) is left to the latter.
    """
    stripped = column.str.strip()
    start = (text for text in stripped.iloc[:_START].dropna() if text not in MISSING_TEXTS)
    if not all(map(is_number, start)):
        return None
    missing = (stripped.isna() | stripped.isin(MISSING_TEXTS)).to_numpy(dtype=bool)
    if missing.any():
        stripped = stripped.mask(missing)
    try:
        doubles = stripped.astype("double[pyarrow]")
    except ValueError:
        return None
    values = doubles.to_numpy(dtype=np.float64, na_value=np.nan)
    if missing.all() or np.isnan(values[~missing]).any():
        return None
    return ColumnValues(str(column.name), "numbers", values, missing, stripped)


def _dates(column: Any, moments: Any) -> ColumnValues:
    zone = getattr(moments.dt, "tz", None)
    naive = moments if zone is None else moments.dt.tz_convert("UTC").dt.tz_localize(None)
    values = naive.to_numpy()
    return ColumnValues(str(column.name), "dates", values, np.isnat(values), column)


def _strings(column: Any, values: AnyArray) -> ColumnValues:
    """Read strings, an empty one where a cell is missing."""
    strings = np.empty(len(values), dtype=object)
    strings[:] = list(map(str.strip, values.tolist()))
    missing = np.fromiter(map(MISSING_TEXTS.__contains__, strings), bool, len(strings))
    strings[missing] = None
    return ColumnValues(str(column.name), "strings", strings, missing, column)


def _read_objects(column: Any) -> ColumnValues:
    """Read a column whose cells may each have another type."""
    name = str(column.name)
    cells = column.tolist()
    if any(issubclass(each, Decimal) for each in set(map(type, cells))):
        cells = [None if _is_nan_decimal(value) else value for value in cells]
    values = np.empty(len(column), dtype=object)
    values[:] = cells
    missing = np.asarray(pd.isna(values), dtype=bool)
    present = values[~missing]
    types = set(map(type, present))
    odd = {each for each in types if not issubclass(each, _PLAIN)}
    if odd:
        is_odd = ~missing
        is_odd[is_odd] = [type(value) in odd for value in present]
        first = type(values[int(np.flatnonzero(is_odd)[0])])
        raise _unusable(column.name, first, f" ({describe_table_rows(is_odd)})")
    if types and _all_within(types, _BOOLEANS):
        numbers = np.where(missing, np.nan, values).astype(np.float64)
        return ColumnValues(name, "booleans", numbers, missing, column)
    if types and _all_within(types, _NUMBERS) and not types & set(_BOOLEANS):
        numbers = np.full(len(values), np.nan)
        try:
            numbers[~missing] = present.astype(np.float64)
        except OverflowError:
            numbers[~missing] = [_as_double(number) for number in present]
        return ColumnValues(name, "numbers", numbers, missing, column)
    if types and _all_within(types, _DATES):
        return _read_dates(column, values, missing)
    if not _all_within(types, (str,)):
        values[~missing] = [safe_str(value) for value in present]
    values[missing] = ""
    return _strings(column, values)


def _is_nan_decimal(value: Any) -> bool:
    # pandas fails on a signalling one.
    return isinstance(value, Decimal) and value.is_nan()


def _all_within(types: Iterable[type], allowed: tuple[type, ...]) -> bool:
    return all(issubclass(each, allowed) for each in types)


def _as_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _read_dates(column: Any, values: AnyArray, missing: BoolArray) -> ColumnValues:
    moments = pd.to_datetime(pd.Series(values, dtype=object), utc=True, errors="coerce")
    beyond = moments.isna().to_numpy() & ~missing
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        raise UnusableColumnError(
            str(column.name),
            "dates that cannot be computed with",
            f" ({describe_table_rows(beyond)}: {quote_value(values[row])})",
            "leave such cells empty",
        )
    return _dates(column, moments)


def _unusable(name: object, kind: type, rows: str = "") -> UnusableColumnError:
    what, advice = next(
        (words for types, words in _UNUSABLE.items() if issubclass(kind, types)),
        (f"cells of the type {kind.__name__}", "turn them into text or numbers"),
    )
    return UnusableColumnError(str(name), what, rows, advice)
