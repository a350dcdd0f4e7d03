"""The text that a cell stands for, whatever its type, and the texts that stand for nothing."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from disambig.candidates.classes import is_missing
from disambig.tables.wording import written

__all__ = [
    "LARGEST_EXACT_INTEGER",
    "MISSING_TEXTS",
    "is_blank",
    "is_collection",
    "number_text",
    "text_of",
]

# What pandas takes for missing in a file of text, kept here so that a saved model reads alike with
# any version of pandas.
MISSING_TEXTS = frozenset({
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
})  # fmt: skip
# Above it not every integer is a float, so a float no longer stands for one integer.
LARGEST_EXACT_INTEGER = 2**53
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]{1,16})\.0+")


def text_of(value: Any) -> str | None:
    """Return the text that a single value stands for, or None if it is missing or blank."""
    if value is None or isinstance(value, str):
        return (value and value.strip()) or None
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip() or None
    if isinstance(value, float | np.floating):
        # Excel, JSON and columns with gaps turn integers into floats.
        return number_text(str(value))
    return written(value).strip() or None


def is_blank(cell: Any) -> bool:
    """Tell whether a cell holds nothing, or a text that stands for nothing, such as NA."""
    return not is_collection(cell) and (text_of(cell) or "") in MISSING_TEXTS


def is_collection(cell: Any) -> bool:
    """Tell whether a cell holds several values, as those of JSON lines and parquet may."""
    return isinstance(cell, list | tuple | set | frozenset | np.ndarray | Mapping)


def number_text(text: str) -> str:
    """Return the one text of a whole number: 3 for 3.0, and 0 for -0; any other text as it is."""
    whole = _WHOLE_NUMBER.fullmatch(text)
    if whole and abs(int(whole[1])) <= LARGEST_EXACT_INTEGER:
        text = whole[1]
    return "0" if text == "-0" else text
