"""Lists, sets and dictionaries as Python and NumPy print them, read back from text."""

import ast
import re
from typing import Any

# A set without elements is printed as a call.
EMPTY_SET = "set()"
_CLOSING = {"[": "]", "{": "}", "(": ")"}
# One of these at a time: text in quotes, the name of a type of NumPy with its bracket, a sign, or
# a word such as None, nan or 1.5. Matched without going back, so in time proportional to the text.
_PIECE = re.compile(
    r"""\s*+(?:
        (?P<text>[bu]?'(?:[^'\\]|\\.)*+'|[bu]?"(?:[^"\\]|\\.)*+")
        |(?P<call>(?:np|numpy)\.[A-Za-z_0-9]++\()
        |(?P<sign>[,:)\]}\[({])
        |(?P<word>[^\s,:()\[\]{}'"]++)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"None": None, "nan": None, "NaN": None, "True": True, "False": False}


def read_python(text: str) -> list[Any] | dict[Any, Any]:
    """Return the labels in a printed list, tuple or set, or those of a dictionary with weights.

    NumPy puts no commas between the elements of an array; then spaces part them. Anything else,
    also a list inside a list, raises ``ValueError``. Nothing is evaluated but single strings.
    """
    stripped = text.strip()
    if stripped == EMPTY_SET:
        return []
    closing = _CLOSING.get(stripped[:1])
    if closing is None or stripped[-1:] != closing or len(stripped) < 2:
        raise ValueError("not a printed list, tuple, set or dictionary")
    pieces = _pieces(stripped[1:-1])
    if stripped[0] == "{" and any(sign == ":" for _, sign in pieces):
        return _dictionary(pieces)
    return _elements(pieces)


def _pieces(text: str) -> list[tuple[Any, str]]:
    """Return values, each with no sign, and signs between them."""
    found: list[tuple[Any, str]] = []
    place, open_calls, end = 0, 0, len(text.rstrip())
    while place < end:
        match = _PIECE.match(text, place)
        if match is None:
            raise ValueError("a quote that is not closed")
        place, kind, piece = match.end(), match.lastgroup, match[match.lastgroup or 0]
        if kind == "call":
            open_calls += 1
        elif kind == "sign" and piece == ")" and open_calls:
            open_calls -= 1
        elif kind == "sign":
            if piece not in ",:":
                raise ValueError("a list inside a list")
            found.append((None, piece))
        else:
            found.append((_string(piece) if kind == "text" else _word(piece), ""))
    if open_calls:
        raise ValueError("a bracket that is not closed")
    return found


def _string(piece: str) -> str:
    value = ast.literal_eval(piece)  # one string: no depth, no operators
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _word(piece: str) -> Any:
    """Return a constant or a number; Python prints no label without quotes."""
    if piece in _WORDS:
        return _WORDS[piece]
    try:
        return int(piece)
    except ValueError:
        return float(piece)  # refuses "..." as well, which NumPy puts where it leaves out elements


def _elements(pieces: list[tuple[Any, str]]) -> list[Any]:
    values = [value for value, sign in pieces if not sign]
    signs = [sign for _, sign in pieces if sign]
    # Python puts a comma between any two, and one behind the only element of a tuple.
    if ":" in signs or len(signs) not in (0, max(0, len(values) - 1), len(values)):
        raise ValueError("neither commas between all elements nor none")
    return values


def _dictionary(pieces: list[tuple[Any, str]]) -> dict[Any, Any]:
    weights: dict[Any, Any] = {}
    for start in range(0, len(pieces), 4):
        entry = [*pieces[start : start + 4], (None, ",")][:4]
        if [sign for _, sign in entry] != ["", ":", "", ","]:
            raise ValueError("not label: weight, label: weight")
        name, value = entry[0][0], entry[2][0]
        if name in weights:
            raise ValueError("a label is there twice")
        weights[name] = value
    return weights
