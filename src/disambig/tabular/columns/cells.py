"""Cells of a column, read once: numbers, strings, and those that cannot be used."""

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows, option, quote_value, row_name, safe_str
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.tabular.cell_values import MISSING_TEXTS, number_text

__all__ = [
    "LARGEST_NUMBER",
    "LEAVE_OUT",
    "Cells",
    "are_codes",
    "as_texts",
    "check_sizes",
    "distinct_texts",
    "is_number",
    "parse_numbers",
    "read_cells",
    "unusable",
]


LEAVE_OUT = f"leave the column out: {option('ignore')}"
# What such cells are called, and what to do with them.
_UNUSABLE: dict[tuple[type, ...], tuple[str, str]] = {
    (list, tuple, dict, set, frozenset, np.ndarray, pd.Series): (
        "lists or mappings",
        "embeddings and other lists must be spread out, one number per column",
    ),
    (bytes, bytearray, memoryview): ("bytes", "turn them into text or numbers"),
    (complex, np.complexfloating): (
        "complex numbers",
        "give real and imaginary part as columns",
    ),
    (datetime.timedelta, np.timedelta64): (
        "time spans",
        "give them as numbers, such as seconds",
    ),
}


def unusable(name: object, kind: type, where: str = "") -> TableError:
    """Return the error that a column has cells of a type; ``where`` is the first of them."""
    what, advice = next(
        (words for types, words in _UNUSABLE.items() if issubclass(kind, types)),
        (f"cells of the type {kind.__name__}", "turn them into text or numbers"),
    )
    return TableError(
        f"A feature must be made of numbers, categories, booleans or dates. Column {name!r} holds "
        f"{what}{where}: {advice}, or {LEAVE_OUT}."
    )


Form = Literal["numbers", "booleans", "dates", "texts"]

# Sums and squares in what follows must stay below the largest double.
LARGEST_NUMBER = 1e300
# From here on a column is read at once if its start is numbers: a try that fails is slow.
_LONG = 10_000
_START = 100

_BOOLEANS = (bool, np.bool_)
_NUMBERS = (int, float, Decimal, np.integer, np.floating)
_DATES = (datetime.date, np.datetime64)  # a datetime is a date
_PLAIN = (str, *_BOOLEANS, *_NUMBERS, *_DATES)


@dataclass(frozen=True)
class Cells:
    """The cells of one column.

    ``values`` are doubles with NaN (numbers; booleans as 0 and 1), naive moments in UTC with NaT
    (dates), or text with None. ``column`` is where they came from.
    """

    name: str
    form: Form
    values: AnyArray
    missing: BoolArray
    column: Any


def read_cells(column: Any) -> Cells:
    """Return the cells of a pandas Series; refuse what no feature can be made of."""
    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return read_cells(column.astype(object))
    if kind == "c":
        raise unusable(column.name, complex)
    if pd.api.types.is_bool_dtype(column.dtype) and kind != "O":
        return _floats(column, "booleans")
    if kind in "iuf":
        return _floats(column, "numbers")
    if isinstance(column.dtype, np.dtype) and kind == "M":
        return _dates(column, column)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return _dates(column, column)
    if isinstance(column.dtype, pd.StringDtype):
        long_arrow = column.dtype.storage == "pyarrow" and len(column) >= _LONG
        numbers = _numbers_in_arrow(column) if long_arrow else None
        return numbers or _texts(
            column, column.to_numpy(dtype=object, copy=True), column.isna().to_numpy()
        )
    return _read_objects(column)


def parse_numbers(cells: Cells) -> FloatArray | None:
    """Return the cells as doubles, NaN where missing, or None if some are no numbers."""
    if cells.form == "numbers":
        return cells.values
    if cells.form != "texts":
        return None
    # Python reads 1_000 and digits of every script as numbers; files of data do not mean that.
    joined = "".join(cells.values[~cells.missing])
    if "_" in joined or not joined.isascii():
        return None
    try:
        # None becomes NaN, and text is rounded to the nearest double, as typed numbers were.
        numbers: FloatArray = cells.values.astype(np.float64)
    except ValueError:
        return None
    return None if np.isnan(numbers[~cells.missing]).any() else numbers


def is_number(text: str) -> bool:
    """Tell whether the text of one cell is a number, as ``parse_numbers`` has it."""
    try:
        number = float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii() and not math.isnan(number)


def are_codes(cells: Cells) -> bool:
    """Tell whether all cells are digits, some with zeros before them as in 01001: no amounts."""
    if cells.form != "texts" and not isinstance(cells.column.dtype, pd.StringDtype):
        return False
    texts = pd.Series(cells.values) if cells.form == "texts" else cells.column
    present = texts[~cells.missing].str
    return bool(present.fullmatch("0[0-9]+").any() and present.fullmatch("[0-9]+").all())


def check_sizes(cells: Cells, numbers: FloatArray) -> None:
    """Refuse numbers that are infinite or too large to compute with."""
    too_large = np.abs(numbers) > LARGEST_NUMBER
    if not too_large.any():
        return
    row = int(np.flatnonzero(too_large)[0])
    raise TableError(
        f"Numbers must be finite and at most {LARGEST_NUMBER:g} in size. Column {cells.name!r} has "
        f"{quote_value(cells.column.iloc[row])} ({describe_table_rows(too_large)}). Leave such "
        f"cells empty, or {LEAVE_OUT}."
    )


def _floats(column: Any, form: Form) -> Cells:
    with np.errstate(over="ignore"):  # beyond doubles is infinite, which is refused where used
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return Cells(str(column.name), form, values, np.isnan(values), column)


def _numbers_in_arrow(column: Any) -> Cells | None:
    """Read text as numbers if all of it is; several times faster than a cell at a time.

    Arrow reads nothing as a number that ``parse_numbers`` would not, and rounds alike; the little
    that it does not read (+1) is left to ``parse_numbers``.
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
    return Cells(str(column.name), "numbers", values, missing, stripped)


def _dates(column: Any, moments: Any) -> Cells:
    zone = getattr(moments.dt, "tz", None)
    naive = moments if zone is None else moments.dt.tz_convert("UTC").dt.tz_localize(None)
    values = naive.to_numpy()
    return Cells(str(column.name), "dates", values, np.isnat(values), column)


def _texts(column: Any, values: AnyArray, missing: BoolArray) -> Cells:
    values[missing] = ""
    texts = np.empty(len(values), dtype=object)
    texts[:] = list(map(str.strip, values))
    missing = np.fromiter(map(MISSING_TEXTS.__contains__, texts), bool, len(texts))
    texts[missing] = None
    return Cells(str(column.name), "texts", texts, missing, column)


def _read_objects(column: Any) -> Cells:
    """Read cells of which every one has a type of its own."""
    values = np.empty(len(column), dtype=object)
    values[:] = [None if _is_no_decimal(value) else value for value in column.array]
    missing = np.asarray(pd.isna(values), dtype=bool)
    present = values[~missing]
    types = set(map(type, present))
    odd = {each for each in types if not issubclass(each, _PLAIN)}
    if odd:
        first = next(row for row in np.flatnonzero(~missing) if type(values[row]) in odd)
        raise unusable(column.name, type(values[first]), f" ({row_name(int(first))})")
    if types and _all_within(types, _BOOLEANS):
        numbers = np.where(missing, np.nan, values).astype(np.float64)
        return Cells(str(column.name), "booleans", numbers, missing, column)
    if types and _all_within(types, _NUMBERS) and not types & set(_BOOLEANS):
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = _as_doubles(present)
        return Cells(str(column.name), "numbers", numbers, missing, column)
    if types and _all_within(types, _DATES):
        return _read_dates(column, values, missing)
    if not _all_within(types, (str,)):
        values[~missing] = [safe_str(value) for value in present]
    return _texts(column, values, missing)


def _is_no_decimal(value: Any) -> bool:
    # pandas fails on a signalling one.
    return isinstance(value, Decimal) and value.is_nan()


def _all_within(types: Iterable[type], allowed: tuple[type, ...]) -> bool:
    return all(issubclass(each, allowed) for each in types)


def _as_doubles(numbers: AnyArray) -> FloatArray:
    try:
        return numbers.astype(np.float64)
    except OverflowError:
        return np.array([_as_double(number) for number in numbers])


def _as_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _read_dates(column: Any, values: AnyArray, missing: BoolArray) -> Cells:
    moments = pd.to_datetime(pd.Series(values, dtype=object), utc=True, errors="coerce")
    beyond = moments.isna().to_numpy() & ~missing
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        raise TableError(
            f"Column {column.name!r} has a date that cannot be computed with: "
            f"{quote_value(values[row])} ({describe_table_rows(beyond)}). Leave such cells empty, "
            f"or {LEAVE_OUT}."
        )
    return _dates(column, moments)


def distinct_texts(cells: Cells) -> tuple[IntArray, list[str]]:
    """Return the distinct texts of the cells, and which of them each cell is (-1: missing).

    3, 3.0 and "3" are the same text, so that a category does not depend on the type of its column.
    """
    # Typed numbers and booleans are written out as they came: large integers are no doubles.
    typed = cells.form in ("numbers", "booleans")
    source = cells.column if typed else cells.values
    present_codes, distinct = pd.factorize(source[~cells.missing])
    is_date = cells.form == "dates"
    as_written = pd.DatetimeIndex(distinct).astype(str) if is_date else map(safe_str, distinct)
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
