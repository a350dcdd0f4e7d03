"""Numbers as people write them: decimal commas, thousands, a unit, and words for gaps."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from disambig._core.typing import AnyArray, BoolArray
from disambig.tabular.columns.cells import ColumnValues, distinct_strings, is_number

Decimal = Literal[".", ","]
# An example of each.
NumberFormat = Literal["1234.5", "1,234.5", "1.234,5", "1 234.5", "1 234,5", "1'234.5"]
PLAIN: NumberFormat = "1234.5"
# The characters between thousands, and before decimals; of formats that fit alike the first counts.
_CHARACTERS: dict[NumberFormat, tuple[str, Decimal]] = {
    PLAIN: ("", "."),
    "1,234.5": (",", "."),
    "1.234,5": (".", ","),
    "1 234.5": (" ", "."),
    "1 234,5": (" ", ","),
    "1'234.5": ("'", "."),
}
# What stands in a column of numbers for a number that is not known: what R, SAS and people write,
# and the errors of a spreadsheet.
GAP_WORDS = frozenset({
    *("-", "--", "---", "\N{EN DASH}", "\N{EM DASH}", "?", ".", "..", "n.a.", "N.A.", "\\N"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"),
    *("#NV", "#WERT!", "#BEZUG!", "#ZAHL!"),  # of a German one
})  # fmt: skip
_MOST_LOOKED_AT = 1_000  # to find out how most are written
_UNITS = "%$€£"
_NO_UNIT_OR_ONE = ("", *_UNITS)
_WITH_UNIT = re.compile(rf"([{_UNITS}]?) ?([^{_UNITS}]*?) ?([{_UNITS}]?)")
# Spaces of several widths, apostrophes and minus signs of several shapes are one.
_ALIKE = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009", " ") | {"\u2019": "'", "\u2212": "-"})
# Between thousands there are always three digits, and 0,123 is never a thousand.
_GROUPED_BY_POINTS = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+")


def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    groups = rf"[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+|" if thousands else ""
    return re.compile(
        rf"[+-]?(?:(?:{groups}[0-9]+)(?:{point}[0-9]+)?|{point}[0-9]+)(?:e[+-]?[0-9]+)?",
        re.IGNORECASE | re.ASCII,
    )


_PATTERNS = {name: _pattern(*characters) for name, characters in _CHARACTERS.items()}


@dataclass(frozen=True)
class Writing:
    """How the numbers of a column are written."""

    number_format: NumberFormat
    unit: str = ""  # of every cell, before or behind the number
    gap_words: bool = False  # whether words such as "-" stand for gaps

    @property
    def decimal(self) -> Decimal:
        """What is between a number and its decimals."""
        return _CHARACTERS[self.number_format][1]

    @property
    def example(self) -> str:
        """An example of a number."""
        return f"{self.number_format} {self.unit}".strip()


def find_writing(
    strings: Sequence[str], *, decimal: Decimal | None = None
) -> tuple[Writing, bool] | None:
    """Return how all strings are written as numbers, or None if they are not.

    Also tells whether they can be read with a decimal comma and with a decimal point, as 1,234 can.
    ``decimal`` then decides; by default commas separate thousands.
    """
    present = [text for text in strings if text not in GAP_WORDS]
    first = _WITH_UNIT.fullmatch(_minus_first(present[0])) if present else None
    # Some numbers are negative. If all are in brackets, these mean something else.
    if first is None or all(text.endswith(")") for text in present):
        return None
    unit = first[1] or first[3]
    # The first string is enough to exclude most columns.
    if not any(pattern.fullmatch(first[2]) for pattern in _PATTERNS.values()):
        return None
    numbers = [_without_unit(text, unit) for text in present]
    if None in numbers:
        return None
    fitting = [
        name
        for name, pattern in _PATTERNS.items()
        if all(pattern.fullmatch(number or "") for number in numbers)
    ]
    if not fitting:
        return None
    preferred = [name for name in fitting if _CHARACTERS[name][1] == decimal] or fitting
    writing = Writing(preferred[0], unit, len(present) < len(strings))
    both = len({_CHARACTERS[name][1] for name in fitting}) > 1 and PLAIN not in fitting
    return writing, both and any("," in (number or "") for number in numbers)


def are_written_like_most(strings: Sequence[str]) -> BoolArray:
    """Tell which strings are numbers that are written like most of them, whatever their unit."""
    matches = map(_WITH_UNIT.fullmatch, map(_minus_first, strings))
    numbers = [match and match[2] for match in matches]

    def fit(pattern: re.Pattern[str], some: Sequence[str | None]) -> BoolArray:
        return np.array([number is not None and bool(pattern.fullmatch(number)) for number in some])

    looked_at = numbers[:_MOST_LOOKED_AT]
    return fit(max(_PATTERNS.values(), key=lambda each: fit(each, looked_at).sum()), numbers)


def as_written(cells: ColumnValues, writing: Writing) -> ColumnValues:
    """Return strings as the numbers that they are written for, NaN where they are not numbers.

    Other cells are returned as they are.
    """
    if cells.form != "strings":
        return cells
    if writing.gap_words:
        cells = without_gap_words(cells)
    codes, strings = distinct_strings(cells)
    numbers = [_number(text, writing) for text in strings]
    return replace(cells, form="numbers", values=np.array([*numbers, np.nan])[codes])


def without_gap_words(cells: ColumnValues) -> ColumnValues:
    """Return strings with gaps where a word stands for one."""
    if cells.form != "strings":
        return cells
    values: AnyArray = cells.values.copy()
    is_word = np.fromiter(map(GAP_WORDS.__contains__, values), bool, len(values))
    values[is_word] = None
    return replace(cells, values=values, missing=cells.missing | is_word)


def may_separate_thousands(cells: ColumnValues) -> bool:
    """Tell whether all points in a column of plain numbers may be between thousands: 1.234."""
    if cells.form != "strings":
        return False
    with_point = [text for text in distinct_strings(cells)[1] if "." in text]
    return bool(with_point) and all(map(_GROUPED_BY_POINTS.fullmatch, with_point))


def _minus_first(text: str) -> str:
    """Return a text with the minus right before the digits, where accountants do without.

    They write ``(5)``, ``(5 €)``, ``$(5)`` or ``-$5``.
    """
    text = text.translate(_ALIKE)
    unit, bracket, number = text.removesuffix(")").partition("(")
    if text.endswith(")") and bracket and unit.strip() in _NO_UNIT_OR_ONE:
        text = f"{unit.strip()}-{number.strip()}"
    if text.startswith("-") and text[1:2] in _NO_UNIT_OR_ONE:
        text = f"{text[1:2]}-{text[2:].lstrip()}"
    return text


def _without_unit(text: str, unit: str) -> str | None:
    match = _WITH_UNIT.fullmatch(_minus_first(text))
    if match is None or (match[1] and match[3]) or (match[1] or match[3]) != unit:
        return None
    return match[2]


def _number(text: str, writing: Writing) -> float:
    if writing.example == PLAIN and is_number(text):  # also 5., which no pattern has
        return float(text)
    number = _without_unit(text, writing.unit)
    if number is None or not _PATTERNS[writing.number_format].fullmatch(number):
        return np.nan
    thousands, decimal = _CHARACTERS[writing.number_format]
    return float((number.replace(thousands, "") if thousands else number).replace(decimal, "."))
