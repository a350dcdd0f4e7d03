"""Labels and weights in one cell."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from disambig._core.messages import quote_value
from disambig._core.typing import FloatArray
from disambig.candidates.checks import is_missing
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.cell_values import MISSING_TEXTS, is_blank, is_collection, text_of

__all__ = [
    "LITERALLY",
    "LabelProblem",
    "Said",
    "make_cell_reader",
    "note_on_blank_texts",
    "read_weighted_cell",
    "said_together",
    "weighted_cells",
]


# What could not be told from the marks of a delimited cell.
_MEANS_SOMETHING = re.compile(r"[|:]|^[!\[{]|^\s|\s$")


def weighted_cells(candidates: CandidateLabels, weights: FloatArray) -> list[str]:
    """Return ``cat:0.9|dog:0.1`` for every row, or JSON where labels hold such signs themselves.

    Parameters
    ----------
    candidates : CandidateLabels
        Whose classes are texts.
    weights : ndarray
        In the order of ``candidates.pairs()``.
    """
    _, columns = candidates.pairs()
    names = candidates.classes[columns].tolist()
    pairs = list(zip(names, weights.tolist(), strict=True))
    ends = [*candidates.starts.tolist(), len(pairs)]
    rows = (pairs[start:end] for start, end in pairwise(ends))
    if any(_MEANS_SOMETHING.search(name) for name in candidates.classes.tolist()):
        return [json.dumps(dict(row), ensure_ascii=False) for row in rows]
    return ["|".join(f"{name}:{weight:g}" for name, weight in row) for row in rows]


def read_weighted_cell(cell: str) -> dict[str, float]:
    """Return the labels of a cell and their weights; raise ``ValueError`` if it holds none.

    Parameters
    ----------
    cell : str
        As ``weighted_cells`` writes it, with weights from 0 to 1.
    """
    found: Any
    if cell.startswith("{"):
        try:
            found = json.loads(cell)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    else:
        pieces = [piece.rpartition(":") for piece in cell.split("|")]
        found = {name: float(weight) for name, _, weight in pieces}
        if len(found) < len(pieces):
            raise ValueError("a label is named twice")
    if not found:
        raise ValueError("no label")
    for name, weight in found.items():
        is_share = isinstance(weight, float | int) and not isinstance(weight, bool)
        if not name or not is_share or not 0 <= weight <= 1:
            raise ValueError("no share of a label")
    return {name: float(weight) for name, weight in found.items()}


# How to say that signs and words have no meaning.
LITERALLY = "--literal-labels (in Python literal=True)"

# No sign, no comma and no "inf": what else follows a colon is a part of the label.
_WEIGHT = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MOST_PIECES = 2**16
_JSON_STARTS = ("[", "{")
_AS_IT_IS = f"If these signs belong to your labels, say {LITERALLY}."


class LabelProblem(Exception):  # noqa: N818  # not for users, who get a TableError that names the row
    """What is wrong with a cell or a row, and what to do; it does not know which row it is."""


class Said(NamedTuple):
    """What a cell says: labels without and with a weight, and labels that it rules out."""

    plain: Sequence[str] = ()
    weighted: Sequence[tuple[str, float]] = ()
    excluded: Sequence[str] = ()


_NOTHING = Said()


def said_together(parts: Sequence[Said]) -> Said:
    """Return what several cells, or the pieces of one, say together."""
    if len(parts) == 1:
        return parts[0]
    plain: list[str] = []
    weighted: list[tuple[str, float]] = []
    excluded: list[str] = []
    for part in parts:
        plain += part.plain
        weighted += part.weighted
        excluded += part.excluded
    return Said(plain, weighted, excluded)


def make_cell_reader(
    cells: Iterable[Any], *, separator: str, literal: bool
) -> Callable[[Any], Said]:
    """Return a function that reads one cell of a column; it raises ``LabelProblem``.

    Parameters
    ----------
    cells : iterable
        All distinct cells of the column: where all texts begin as JSON does, all must be JSON.
    separator : str
        What stands between two labels in a text.
    literal : bool
        Whether "!", ":", JSON and words for nothing, such as NA, have no meaning.
    """
    # A column mostly has far fewer distinct pieces than cells.
    read_piece = _plain_piece if literal else lru_cache(_MOST_PIECES)(_read_piece)
    read_text = partial(_read_delimited, read_piece=read_piece, separator=separator)
    if not literal:
        texts = (cell for cell in cells if isinstance(cell, str) and not is_blank(cell))
        all_json = all(text.lstrip().startswith(_JSON_STARTS) for text in texts)
        read_text = partial(
            _read_text, read_piece=read_piece, read_delimited=read_text, all_json=all_json
        )
    return partial(_read_cell, read_text=read_text, read_piece=read_piece, literal=literal)


def note_on_blank_texts(cells: Iterable[Any]) -> str:
    """Return a sentence, after a space, on texts such as NA that count as empty, if there are."""
    for cell in cells:
        if isinstance(cell, str) and cell.strip() and is_blank(cell):
            return (
                f" The cell {quote_value(cell)} counts as empty; if it is a label, say {LITERALLY}."
            )
    return ""


def _read_cell(
    cell: Any,
    *,
    read_text: Callable[[str], Said],
    read_piece: Callable[[str], Said],
    literal: bool,
) -> Said:
    if isinstance(cell, str):
        return read_text(cell)
    if isinstance(cell, bytes):
        return read_text(cell.decode("utf-8", "replace"))
    if isinstance(cell, Mapping):
        return _read_weights(cell, literal=literal)
    if _is_list_of_pairs(cell):
        return _read_weights(dict(cell), literal=literal)
    if is_collection(cell):
        return _read_list(cell, read_piece=read_piece)
    return _plain_piece(text_of(cell) or "")


def _read_delimited(text: str, *, read_piece: Callable[[str], Said], separator: str) -> Said:
    return said_together([read_piece(piece.strip()) for piece in text.split(separator)])


def _read_text(
    text: str,
    *,
    read_piece: Callable[[str], Said],
    read_delimited: Callable[[str], Said],
    all_json: bool,
) -> Said:
    """Read JSON where it is some, and labels between separators elsewhere."""
    stripped = text.strip()
    if stripped in MISSING_TEXTS:
        return _NOTHING
    if not stripped.startswith(_JSON_STARTS):
        return read_delimited(text)
    try:
        value = json.loads(text, object_pairs_hook=_refuse_repeated_names)
    except (ValueError, RecursionError):
        if not all_json:
            return read_delimited(text)
        raise LabelProblem(
            "Every cell of this column begins with '[' or '{', so it was read as JSON, and this "
            f"one is not JSON. Correct it. If brackets belong to your labels, say {LITERALLY}."
        ) from None
    if isinstance(value, dict):
        return _read_weights(value, literal=False)
    return _read_list(value, read_piece=read_piece)


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise LabelProblem("A label stands there twice. Give it one weight.")
    return value


def _is_list_of_pairs(cell: Any) -> bool:
    """Tell whether a cell holds what parquet calls a map."""
    return (
        isinstance(cell, list)
        and bool(cell)
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in cell)
    )


def _read_list(values: Any, *, read_piece: Callable[[str], Said]) -> Said:
    # An array without dimensions is a single value.
    labels = np.atleast_1d(values).tolist() if isinstance(values, np.ndarray) else list(values)
    inner = next((label for label in labels if is_collection(label)), None)
    if inner is not None:
        raise LabelProblem(
            f"A list of labels holds texts or numbers. Got {quote_value(inner)} inside it. "
            "Write the labels one after the other, or as an object from label to weight."
        )
    return said_together(
        [
            read_piece(label.strip())
            if isinstance(label, str)
            else _plain_piece(text_of(label) or "")
            for label in labels
        ]
        or [_NOTHING]
    )


def _read_weights(weights: Mapping[Any, Any], *, literal: bool) -> Said:
    pairs = []
    for name, value in weights.items():
        label, weight = text_of(name), _as_number(value)
        # Parquet fills the labels that only other rows have with missing weights.
        if label is None or weight is None:
            continue
        if label.startswith("!") and not literal:
            raise LabelProblem(_weight_of_a_negative(label))
        if not 0 <= weight < math.inf:
            raise LabelProblem(
                f"A weight is a finite number, 0 or more. {quote_value(label)} has "
                f"{quote_value(value)}. Correct it."
            )
        pairs.append((label, weight))
    return Said(weighted=pairs)


def _as_number(value: Any) -> float | None:
    """Return a number, None for a missing one, and one that is no weight for anything else."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if is_collection(value) or isinstance(value, bool | str):
        return -math.inf
    if is_missing(value):
        return None
    try:
        return float(value) if isinstance(value, Real | Decimal) else -math.inf
    except OverflowError:  # an integer beyond all floats
        return math.inf


def _plain_piece(text: str) -> Said:
    return Said(plain=(text,)) if text else _NOTHING


def _read_piece(text: str) -> Said:
    """Read one label as it stands between separators, spaces trimmed."""
    label, weight = _split_weight(text)
    if not label.startswith("!"):
        if weight is None:
            return _plain_piece(label)
        if not label:
            raise LabelProblem(
                f"The weight in {quote_value(text)} belongs to no label. {_AS_IT_IS}"
            )
        return Said(weighted=((label, weight),))
    if weight is not None:
        raise LabelProblem(_weight_of_a_negative(text))
    name = label[1:].strip()
    if not name or name.startswith("!"):
        raise LabelProblem(
            f"'!' stands before the label that is ruled out, as in '!cat'. Got "
            f"{quote_value(label)}. {_AS_IT_IS}"
        )
    return Said(excluded=(name,))


def _split_weight(text: str) -> tuple[str, float | None]:
    if ":" in text:
        label, _, number = text.rpartition(":")
        if _WEIGHT.fullmatch(number.strip()) and math.isfinite(float(number)):
            return label.strip(), float(number)
    return text, None


def _weight_of_a_negative(text: str) -> str:
    return (
        f"A label that is ruled out has no weight. Got {quote_value(text)} with one. "
        f"Write '!cat' or 'cat:0.7'. {_AS_IT_IS}"
    )
