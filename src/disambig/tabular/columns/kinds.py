"""What a column holds, judged by its cells and, for identifiers, its name."""

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from disambig._core.messages import describe_table_rows, join_names, option, quote_value, row_name
from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.tabular.columns.cells import (
    ColumnValues,
    are_codes,
    check_sizes,
    distinct_strings,
)
from disambig.tabular.columns.dates import (
    DIGITS,
    ISO_FORMAT,
    DateFormat,
    are_dates_of_digits,
    date_formats_of,
    example_of,
    most_frequent_format,
    parse_dates,
    remark_on_dates,
)
from disambig.tabular.columns.numbers import (
    GAP_WORDS,
    PLAIN,
    Decimal,
    Writing,
    are_written_like_most,
    as_written,
    find_writing,
    may_separate_thousands,
    without_gap_words,
)
from disambig.tabular.table_cells import LARGEST_EXACT_INTEGER

FeatureKind = Literal["number", "category", "boolean", "date", "text", "image"]
Kind = Literal[FeatureKind, "identifier", "names", "counter", "constant", "empty"]

# A column of booleans uses the words of one pair, in upper or lower case.
_BOOLEAN_PAIRS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
BOOLEAN_WORDS = {word: float(word == pair[0]) for pair in _BOOLEAN_PAIRS for word in pair}
# So many values of a category have a column each; the rarer ones share the last.
MOST_CATEGORIES = 50

_FEWEST_WORDS_OF_TEXT = 4
_FEWEST_WORDS_OF_NAMES = 2
_FEWEST_VALUES_OF_NAMES = 20
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

_NUMBER_LIKE = re.compile(
    r"[(+-]?[$€£<>~]? ?[(+-]?[0-9][0-9., ]*(e[+-]?[0-9]+)? ?[%$€£]?\)?"
    r"|[+-]?[0-9]+([.,][0-9]+)? [a-z]+",  # 12.5 kg
    re.IGNORECASE,
)
_WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OWNERS = {
    *("row", "record", "sample", "case", "item", "user", "customer", "client", "person", "patient"),
    *("subject", "student", "employee", "product", "order", "session", "transaction"),
}
_IDENTIFIER_WORDS = {"id", "ids", "uid", "uuid", "guid", "pk", *(f"{owner}id" for owner in _OWNERS)}
_IDENTIFIER_NAMES = {"index", "idx", "key", "row", "rownum", "rownames", "no", "nr", "serial"}
_DATE_NAMES = {"date", "dates", "day", "datum", "dt", "ymd", "yyyymmdd"}
_NUMBERED = {"row", "record", "sample", "line", "serial"}
_NUMBERS = {"number", "num", "no", "nr", "index", "idx", "key"}


@dataclass(frozen=True)
class ColumnKind:
    """What a column holds."""

    kind: Kind
    feature: FeatureKind | None  # what it is read as if it becomes a feature; None if it cannot
    date_format: DateFormat | None = None  # of dates only
    remark: str = ""  # what people should know about how it was read
    writing: Writing | None = None  # of numbers that are not plain; of dates, whether gaps are
    both_decimals: bool = False  # whether commas may be before decimals, or between thousands


def describe_cells(
    cells: ColumnValues,
    *,
    category: bool = False,
    text: bool = False,
    decimal: Decimal | None = None,
) -> ColumnKind:
    """Say what a column holds, the same for strings and for typed cells.

    Numbers are categories if pandas has them as such, if leading zeros say that they are codes, or
    with ``category=True``; anything is text with ``text=True``. ``decimal`` is what is before
    decimals, where numbers can be read in two ways. Infinite numbers raise ``UnusableColumnError``.
    """
    if cells.missing.all():
        return ColumnKind("empty", None)
    numbers = None if category or text else cells.numbers
    if numbers is not None and not (cells.is_category or are_codes(cells)):
        if _is_named_like_date(cells.name) and are_dates_of_digits(distinct_strings(cells)[1]):
            return ColumnKind("date", "date", DIGITS)
        if decimal == "," and may_separate_thousands(cells):
            return _kind_of_written(cells, Writing("1.234,5"))
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
    found = find_writing(strings, decimal=decimal)
    if found is not None and not cells.is_category:
        writing, both = found
        kind = _kind_of_written(cells, writing)
        remark = _remark_on_commas(cells) if both and decimal is None else ""
        return replace(kind, both_decimals=both, remark=f"{remark} {kind.remark}".strip())
    return _kind_of_dates(cells, strings) or _kind_of_strings(cells, codes, strings)


def _kind_of_written(cells: ColumnValues, writing: Writing) -> ColumnKind:
    """Say what numbers are that are not plain."""
    numbers = as_written(cells, writing)
    kind = _kind_of_numbers(numbers, numbers.values)
    remark = _remark_on_gap_words(cells, "numbers") if writing.gap_words else ""
    return replace(kind, writing=writing, remark=remark)


def _kind_of_dates(cells: ColumnValues, strings: list[str]) -> ColumnKind | None:
    """Say how dates are written, or return None if the strings are not dates."""
    present = [text for text in strings if text not in GAP_WORDS]
    formats = date_formats_of(present) if present else []
    if not formats:
        return None
    remark = remark_on_dates(cells.name, formats)
    if len(present) == len(strings):
        return ColumnKind("date", "date", formats[0], remark)
    remark = f"{remark} {_remark_on_gap_words(cells, 'dates')}".strip()
    return ColumnKind("date", "date", formats[0], remark, Writing(PLAIN, gap_words=True))


def _is_named_like_identifier(name: str) -> bool:
    """Tell whether a name is one for identifiers: ``id``, ``userId``, ``Unnamed: 0``."""
    words = [word.lower() for word in _WORDS_OF_NAME.findall(name)]
    if not words:
        return False
    if words[0] == "unnamed" and all(word.isdigit() for word in words[1:]):
        return True
    if words[:2] == ["index", "level"]:  # of a frame whose index has no name, in Parquet
        return True
    if words[0] in _IDENTIFIER_WORDS or words[-1] in _IDENTIFIER_WORDS:
        return True
    if words[0] in _NUMBERED and words[-1] in _NUMBERS:
        return True
    return words[-1] == "key" or (len(words) == 1 and words[0] in _IDENTIFIER_NAMES)


def _is_named_like_date(name: str) -> bool:
    return any(word.lower() in _DATE_NAMES for word in _WORDS_OF_NAME.findall(name))


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


def _kind_of_strings(cells: ColumnValues, codes: IntArray, strings: list[str]) -> ColumnKind:
    n_present = int((codes >= 0).sum())
    dates = _remark_on_mixed_dates(cells, codes, strings)
    remark = dates or _remark_on_numbers(cells, codes, strings)
    n_words = sum(map(_number_of_words, strings)) / len(strings)
    mostly_distinct = len(strings) > n_present / 2
    # A few long answers that many rows share are a category.
    shared = len(strings) <= MOST_CATEGORIES and not mostly_distinct
    if n_words >= _FEWEST_WORDS_OF_TEXT and not shared:
        return ColumnKind("text", "text", remark=remark)
    all_differ = 1 < len(strings) == n_present
    if all_differ and (remark or n_words < _FEWEST_WORDS_OF_NAMES):
        return ColumnKind("identifier", "category", remark=remark)
    # A first and a last name say little, and as a text they would outweigh everything beside them.
    if all_differ or (mostly_distinct and len(strings) > _FEWEST_VALUES_OF_NAMES):
        return ColumnKind("names", "text", remark=remark)
    return ColumnKind("category", "category", remark=remark)


def _number_of_words(text: str) -> float:
    """Return about how many words a text has, also in a script that puts no spaces between them."""
    text = text[:_MOST_LETTERS_LOOKED_AT]
    n_words = float(len(text.split()))
    if not text.isascii():
        n_words += sum(len(each.findall(text)) / n for each, n in _LETTERS_OF_WORD.items())
    return n_words


def _remark_on_numbers(cells: ColumnValues, codes: IntArray, strings: list[str]) -> str:
    """Name the first cell that keeps a column from being read as numbers."""
    looked_at = strings[:_MOST_LOOKED_AT]
    like_numbers = sum(_NUMBER_LIKE.fullmatch(text) is not None for text in looked_at)
    if like_numbers <= len(looked_at) / 2:
        return ""
    fits = are_written_like_most(strings)
    odd = _first_odd(codes, strings, fits)
    if odd is None:
        return ""
    like = "like the others" if fits.any() else "as one"
    return (
        f"Most cells of {cells.name!r} look like numbers, but "
        f"{quote_value(str(cells.column.iloc[odd]))} ({row_name(odd)}) cannot be read {like}, "
        "so the column is not read as numbers. Write plain numbers, all of them alike, and leave "
        "cells empty where none is known."
    )


def _remark_on_mixed_dates(cells: ColumnValues, codes: IntArray, strings: list[str]) -> str:
    """Name the first cell that keeps a column from being read as dates."""
    date_format = most_frequent_format(strings)
    if date_format is None:
        return ""
    odd = _first_odd(codes, strings, ~np.isnat(parse_dates(strings, date_format)))
    if odd is None:
        return ""
    return (
        f"Most cells of {cells.name!r} look like dates, but "
        f"{quote_value(str(cells.column.iloc[odd]))} ({row_name(odd)}) is not a date like "
        f"{example_of(date_format)}, so the column is not read as dates. Write all of them alike, "
        "and leave cells empty where none is known."
    )


def _first_odd(codes: IntArray, strings: list[str], fits: BoolArray) -> int | None:
    """Return the first row with a string that does not fit; words for gaps do."""
    is_word = np.fromiter(map(GAP_WORDS.__contains__, strings), bool, len(strings))
    rows = np.flatnonzero(np.append(~fits & ~is_word, False)[codes])
    return int(rows[0]) if rows.size else None


def _remark_on_gap_words(cells: ColumnValues, others: str) -> str:
    is_gap = without_gap_words(cells).missing & ~cells.missing
    words = dict.fromkeys(cells.values[is_gap])
    counts = "counts as a gap" if len(words) == 1 else "count as gaps"
    return (
        f"In {cells.name!r} {join_names(map(quote_value, words))} {counts} "
        f"({describe_table_rows(is_gap)}), because all other cells are {others}."
    )


def _remark_on_commas(cells: ColumnValues) -> str:
    row = next(row for row in np.flatnonzero(~cells.missing) if "," in str(cells.values[row]))
    return (
        f"Commas in {cells.name!r}, such as {quote_value(cells.values[row])} "
        f"({row_name(int(row))}), can be between thousands or before decimals: they are taken to "
        f"be between thousands. If that is wrong, use {option('decimal', ',')}."
    )
