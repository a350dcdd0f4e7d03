"""What a column holds, judged by its cells and, for identifiers, its name."""

import datetime
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from disambig._core.messages import quote_value, row_name
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.tabular.columns.cells import (
    ColumnValues,
    are_codes,
    check_sizes,
    distinct_strings,
    is_number,
)
from disambig.tabular.table_cells import LARGEST_EXACT_INTEGER

# ---- dates: the formats that are read, and the parts that are learned from

DateFormat = Literal["ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"]
ISO_FORMAT: DateFormat = "ISO8601"
MONTH_FIRST: DateFormat = "%m/%d/%Y"
DATE_PARTS = ("days", "day of year", "weekday", "hour")
# The first counts on; the others begin again.
REPEATING_PARTS = DATE_PARTS[1:]

_TICKS_OF_HOUR = {"s": 3_600, "ms": 3_600 * 10**3, "us": 3_600 * 10**6, "ns": 3_600 * 10**9}
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_ZONE = r"( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?"
# pandas would also read others, such as a plain year, which is a number.
_PATTERNS: dict[DateFormat, re.Pattern[str]] = {
    ISO_FORMAT: re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_TIME}{_ZONE})?"),
    "%Y/%m/%d": re.compile(r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"),
    "%d.%m.%Y": re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"),
    MONTH_FIRST: re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"),
    "%d/%m/%Y": re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"),
}


def date_formats_of(strings: list[str]) -> list[DateFormat]:
    """Return the formats in which every string is a date, month first before day first."""
    return [name for name in _PATTERNS if _all_are_dates(strings, name)]


def parse_dates(strings: list[str], date_format: DateFormat) -> AnyArray:
    """Return moments in UTC, at midnight if no time is given; NaT for what is not a date."""
    pattern = _PATTERNS[date_format]
    matching = [text if pattern.fullmatch(text) else None for text in strings]
    parsed = pd.to_datetime(
        np.array(matching, dtype=object), format=date_format, utc=True, errors="coerce"
    )
    moments: AnyArray = parsed.tz_localize(None).to_numpy()
    return moments


def example_of(date_format: DateFormat) -> str:
    """Return an example of a date in a format."""
    pattern = "%Y-%m-%d" if date_format == ISO_FORMAT else date_format
    return datetime.date(2024, 12, 31).strftime(pattern)


def date_parts(moments: AnyArray) -> dict[str, FloatArray]:
    """Return the parts of moments that are learned from, NaN for NaT.

    Days are counted from 1970, with the time of day as a fraction.
    """
    missing = np.isnat(moments)
    midnights = moments.astype("datetime64[D]")
    day_numbers = midnights.astype(np.int64)
    ticks = _TICKS_OF_HOUR[np.datetime_data(moments.dtype)[0]]
    hours = moments.astype(np.int64) % (24 * ticks) / ticks
    days_of_year = (midnights - midnights.astype("datetime64[Y]")).astype(np.int64) + 1
    weekdays = (day_numbers + 3) % 7  # from Monday, 0; the first day of 1970 was a Thursday
    parts = (day_numbers + hours / 24, days_of_year, weekdays, hours)
    return {
        name: np.where(missing, np.nan, part) for name, part in zip(DATE_PARTS, parts, strict=True)
    }


def _all_are_dates(strings: list[str], date_format: DateFormat) -> bool:
    # The first string is enough to exclude most columns.
    if not _PATTERNS[date_format].fullmatch(strings[0]):
        return False
    return not np.isnat(parse_dates(strings, date_format)).any()


# ---- kinds

FeatureKind = Literal["number", "category", "boolean", "date", "text", "image"]
Kind = Literal[FeatureKind, "identifier", "names", "counter", "constant", "empty"]

# A column of booleans uses the words of one pair, in upper or lower case.
_BOOLEAN_PAIRS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
BOOLEAN_WORDS = {word: float(word == pair[0]) for pair in _BOOLEAN_PAIRS for word in pair}
# So many values of a category have a column each; the rarer ones share the last.
MOST_CATEGORIES = 50

_FEWEST_WORDS_OF_TEXT = 4
_FEWEST_WORDS_OF_TITLES = 2
_FEWEST_VALUES_OF_TEXT = 20
# Of scripts without spaces: about how many letters a word has, Chinese and Japanese, and Thai, Lao,
# Khmer, Burmese and Tibetan.
_LETTERS_OF_WORD = {
    re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"): 2,
    re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"): 4,
}
# The beginning of a cell tells what it is.
_MOST_LETTERS_LOOKED_AT = 1_000
_FEWEST_ROWS_OF_COUNTER = 10
_MOST_LOOKED_AT = 1_000

_NUMBER_LIKE = re.compile(r"[$€£<>~]? ?[+-]?[0-9][0-9., ]*(e[+-]?[0-9]+)? ?[%$€£]?", re.IGNORECASE)
_WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OWNERS = {
    *("row", "record", "sample", "case", "item", "user", "customer", "client", "person", "patient"),
    *("subject", "student", "employee", "product", "order", "session", "transaction"),
}
_IDENTIFIER_WORDS = {"id", "ids", "uid", "uuid", "guid", "pk", *(f"{owner}id" for owner in _OWNERS)}
_IDENTIFIER_NAMES = {"index", "idx", "key", "row", "rownum", "rownames", "no", "nr", "serial"}
_NUMBERED = {"row", "record", "sample", "line", "serial"}
_NUMBERS = {"number", "num", "no", "nr", "index", "idx", "key"}


@dataclass(frozen=True)
class ColumnKind:
    """What a column holds."""

    kind: Kind
    feature: FeatureKind | None  # what it is read as if it becomes a feature; None if it cannot
    date_format: DateFormat | None = None  # of dates only
    remark: str = ""  # what people should know about how it was read


def describe_cells(
    cells: ColumnValues, *, category: bool = False, text: bool = False
) -> ColumnKind:
    """Say what a column holds, the same for strings and for typed cells.

    Numbers are categories if pandas has them as such, if leading zeros say that they are codes, or
    with ``category=True``; anything is text with ``text=True``. Infinite numbers raise
    ``TableError``.
    """
    if cells.missing.all():
        return ColumnKind("empty", None)
    numbers = None if category or text else cells.numbers
    if numbers is not None and not (cells.is_category or are_codes(cells)):
        return _kind_of_numbers(cells, numbers)
    codes, strings = distinct_strings(cells)
    if len(strings) == 1 and not cells.missing.any():
        return ColumnKind("constant", None)
    if category or text:
        chosen: FeatureKind = "text" if text else "category"
        return ColumnKind(chosen, chosen)
    if numbers is not None:
        all_differ = 1 < len(strings) == (codes >= 0).sum()
        return ColumnKind("identifier" if all_differ else "category", "category")
    if cells.form == "dates":
        return ColumnKind("date", "date", ISO_FORMAT)
    if _are_booleans(strings):
        return ColumnKind("boolean", "boolean")
    formats = date_formats_of(strings)
    if formats:
        return ColumnKind("date", "date", formats[0], _remark_on_dates(cells.name, formats))
    return _kind_of_strings(cells, codes, strings)


def _is_named_like_identifier(name: str) -> bool:
    """Tell whether a name is one for identifiers: ``id``, ``userId``, ``Unnamed: 0``."""
    words = [word.lower() for word in _WORDS_OF_NAME.findall(name)]
    if not words:
        return False
    if words[0] == "unnamed" and all(word.isdigit() for word in words[1:]):
        return True
    if words[0] in _IDENTIFIER_WORDS or words[-1] in _IDENTIFIER_WORDS:
        return True
    if words[0] in _NUMBERED and words[-1] in _NUMBERS:
        return True
    return words[-1] == "key" or (len(words) == 1 and words[0] in _IDENTIFIER_NAMES)


def _kind_of_numbers(cells: ColumnValues, numbers: FloatArray) -> ColumnKind:
    present = numbers[~cells.missing]
    complete = len(present) == len(numbers)
    if complete and (present == present[0]).all() and _number_of_distinct(cells, present) == 1:
        return ColumnKind("constant", None)
    check_sizes(cells, numbers)
    if (present == np.floor(present)).all():
        if complete and _is_counter(present):
            return ColumnKind("counter", "number")
        named = len(present) > 1 and _is_named_like_identifier(cells.name)
        if named and _number_of_distinct(cells, present) == len(present):
            return ColumnKind("identifier", "number")
    return ColumnKind("number", "number")


def _is_counter(integers: FloatArray) -> bool:
    """Tell whether rows are numbered: rising or falling, or without a gap in any order."""
    n_rows = len(integers)
    if n_rows < _FEWEST_ROWS_OF_COUNTER:
        return False
    steps = np.diff(integers)
    if (steps > 0).all() or (steps < 0).all():
        return True
    return integers.max() - integers.min() == n_rows - 1 and len(np.unique(integers)) == n_rows


def _number_of_distinct(cells: ColumnValues, present: FloatArray) -> int:
    # Integers that doubles cannot tell apart are compared as strings.
    if (np.abs(present) >= LARGEST_EXACT_INTEGER).any():
        return len(distinct_strings(cells)[1])
    return len(np.unique(present))


def _are_booleans(strings: list[str]) -> bool:
    # Upper and lower case give a word of n letters 2**n spellings at most.
    if len(strings) > 2 ** len("false"):
        return False
    words = {text.lower() for text in strings}
    return any(words <= set(pair) for pair in _BOOLEAN_PAIRS)


def _remark_on_dates(name: str, formats: list[DateFormat]) -> str:
    if formats[0] != MONTH_FIRST or len(formats) == 1:
        return ""
    return (
        f"The dates in {name!r} can be read with the month first or the day first: the month is "
        f"taken to be first. Write them as 2024-12-31 if that is wrong."
    )


def _kind_of_strings(cells: ColumnValues, codes: IntArray, strings: list[str]) -> ColumnKind:
    n_present = int((codes >= 0).sum())
    remark = _remark_on_numbers(cells, strings)
    n_words = sum(map(_number_of_words, strings)) / len(strings)
    mostly_distinct = len(strings) > n_present / 2
    # A few long answers that many rows share are a category.
    shared = len(strings) <= MOST_CATEGORIES and not mostly_distinct
    if n_words >= _FEWEST_WORDS_OF_TEXT and not shared:
        return ColumnKind("text", "text", remark=remark)
    if len(strings) == n_present and n_present > 1:
        return ColumnKind("identifier", "category", remark=remark)
    if mostly_distinct and len(strings) > _FEWEST_VALUES_OF_TEXT:
        kind: Kind = "names" if remark or n_words < _FEWEST_WORDS_OF_TITLES else "text"
        return ColumnKind(kind, "text", remark=remark)
    return ColumnKind("category", "category", remark=remark)


def _number_of_words(text: str) -> float:
    """Return about how many words a text has, also in a script that puts no spaces between them."""
    text = text[:_MOST_LETTERS_LOOKED_AT]
    n_words = float(len(text.split()))
    if not text.isascii():
        n_words += sum(len(each.findall(text)) / n for each, n in _LETTERS_OF_WORD.items())
    return n_words


def _remark_on_numbers(cells: ColumnValues, strings: list[str]) -> str:
    """Name the first cell that keeps a column from being read as numbers."""
    looked_at = strings[:_MOST_LOOKED_AT]
    like_numbers = sum(_NUMBER_LIKE.fullmatch(text) is not None for text in looked_at)
    if like_numbers <= len(looked_at) / 2:
        return ""
    for row in np.flatnonzero(~cells.missing):
        text = str(cells.values[row])
        if not is_number(text):
            break
    return (
        f"Most cells of {cells.name!r} look like numbers, but {quote_value(text)} "
        f"({row_name(int(row))}) cannot be read as one, so the column is not read as numbers. "
        f"Numbers need a decimal point and no other signs; leave cells empty where none is known."
    )
