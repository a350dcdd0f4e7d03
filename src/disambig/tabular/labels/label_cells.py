"""The labels in one cell: read as people write them, and written with weights."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from disambig._core.messages import quote_value
from disambig._core.typing import FloatArray
from disambig.candidates.checks import is_missing
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.percentages import are_percentages, left_over, read_percentages
from disambig.tabular.labels.python_cells import EMPTY_SET, read_python
from disambig.tabular.table_cells import MISSING_TEXTS, is_blank, is_collection, text_of

# How to say that signs and words have no meaning.
LITERAL_OPTION = "--literal-labels (in Python literal=True)"

# No sign and no "inf": anything else behind a colon is a part of the label.
_WEIGHT = re.compile(r"(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MOST_PIECES = 2**16
_JSON_STARTS = ("[", "{")
_PYTHON_STARTS = (*_JSON_STARTS, "(", EMPTY_SET)
_IF_LITERAL = f"If these signs belong to your labels, use {LITERAL_OPTION}."
# In a label, it would be read as a separator, a weight, a percentage, a "not" or JSON.
_NEEDS_JSON = re.compile(r"[|:%]|^[!\[{]|^\s|\s$")


class LabelProblem(Exception):  # noqa: N818  # not for users, who get a TableError that names the row
    """What is wrong with a cell or a row, and what to do; it does not know which row it is."""


class CellLabels(NamedTuple):
    """The labels in a cell: without a weight, with one, and those that it rules out."""

    plain: Sequence[str] = ()
    weighted: Sequence[tuple[str, float]] = ()
    excluded: Sequence[str] = ()
    others: float = 0.0  # the weight of all labels together that are not named


NO_LABELS = CellLabels()


def join_labels(parts: Sequence[CellLabels]) -> CellLabels:
    """Return the labels of several cells, or of the pieces of one, together."""
    if len(parts) == 1:
        return parts[0]
    plain: list[str] = []
    weighted: list[tuple[str, float]] = []
    excluded: list[str] = []
    for part in parts:
        plain += part.plain
        weighted += part.weighted
        excluded += part.excluded
    return CellLabels(plain, weighted, excluded, math.fsum(part.others for part in parts))


class CellReader:
    """Reads the cells of one column, given all that are distinct.

    If all strings begin with a bracket, all must be lists or objects, in JSON or as Python prints
    them. Python's may also stand beside plain labels, if one of these is in a list too. With
    ``literal``, "!", ":", "%", brackets and words for nothing, such as NA, have no meaning.
    ``known`` are the labels of a model.
    """

    def __init__(
        self, cells: Iterable[Any], *, separator: str, literal: bool, known: Collection[str] = ()
    ) -> None:
        self._separator, self._literal = separator, literal
        # A column mostly has far fewer distinct pieces than cells.
        self._read_piece: Callable[[str], CellLabels] = (
            _plain_label if literal else lru_cache(_MOST_PIECES)(_read_piece)
        )
        self._all_lists = self._all_printed = self._some_printed = self.percentages = False
        strings = [cell for cell in cells if isinstance(cell, str) and not is_blank(cell)]
        if literal or not strings:
            return
        self._all_lists = all(
            text.lstrip().startswith((*_JSON_STARTS, EMPTY_SET)) for text in strings
        )
        # Labels may be "(a)" and "(b)", so that brackets of this kind need not mean tuples.
        self._all_printed = not self._all_lists and all(
            text.lstrip().startswith(_PYTHON_STARTS) and _is_printed(text) for text in strings
        )
        self._some_printed = not (self._all_lists or self._all_printed) and _share_labels(
            [text for text in strings if text.lstrip().startswith(_JSON_STARTS)],
            lambda: {*known, *(part.strip() for text in strings for part in text.split(separator))},
        )
        has_sign = any("%" in text for text in strings)
        self.percentages = has_sign and are_percentages(strings, known)

    def read(self, cell: Any) -> CellLabels:
        """Return the labels in a cell; raise ``LabelProblem`` if they cannot be read."""
        if isinstance(cell, str):
            return self._read_string(cell)
        if isinstance(cell, bytes):
            return self._read_string(cell.decode("utf-8", "replace"))
        if isinstance(cell, Mapping):
            return self._read_weights(cell)
        if _is_list_of_pairs(cell):
            return self._read_weights(dict(cell))
        if is_collection(cell):
            return self._read_list(cell)
        return _plain_label(text_of(cell) or "")

    def _read_string(self, text: str) -> CellLabels:
        """Read a list or an object, percentages, or labels between separators."""
        if not self._literal:
            stripped = text.strip()
            if stripped in MISSING_TEXTS:
                return NO_LABELS
            if self.percentages and "%" in text:
                pairs = read_percentages(text)
                return CellLabels(weighted=pairs, others=left_over(pairs))
            if self._all_lists or self._all_printed or stripped.startswith(_JSON_STARTS):
                value = self._parse_list(text)
                if value is not None:
                    is_object = isinstance(value, dict)
                    return self._read_weights(value) if is_object else self._read_list(value)
        return join_labels(
            [self._read_piece(piece.strip()) for piece in text.split(self._separator)]
        )

    def _parse_list(self, text: str) -> Any:
        """Return a list or an object; None if it is neither, which other cells need not be."""
        try:
            return json.loads(text, object_pairs_hook=_refuse_repeated_labels)
        except (ValueError, RecursionError):
            if not (self._all_lists or self._all_printed or self._some_printed):
                return None
        try:
            return read_python(text)
        except ValueError:
            if self._some_printed:
                return None
            raise LabelProblem(
                "Every cell of this column begins with a bracket, so it was read as a list of "
                "labels, or as labels with weights, in JSON or as Python prints them. This one is "
                "neither. Correct it. If brackets belong to your labels, use "
                f"{LITERAL_OPTION}."
            ) from None

    def _read_list(self, values: Any) -> CellLabels:
        # An array without dimensions is a single value.
        labels = np.atleast_1d(values).tolist() if isinstance(values, np.ndarray) else list(values)
        inner = next((label for label in labels if is_collection(label)), None)
        if inner is not None:
            raise LabelProblem(
                f"A list of labels holds strings or numbers. Got {quote_value(inner)} inside it. "
                "Write the labels one after the other, or as an object from label to weight."
            )
        pieces = [
            self._read_piece(label.strip())
            if isinstance(label, str)
            else _plain_label(text_of(label) or "")
            for label in labels
        ]
        return join_labels(pieces or [NO_LABELS])

    def _read_weights(self, weights: Mapping[Any, Any]) -> CellLabels:
        pairs = []
        for name, value in weights.items():
            label, weight = text_of(name), _as_number(value)
            # Parquet fills the labels that only other rows have with missing weights.
            if label is None or weight is None:
                continue
            if label.startswith("!") and not self._literal:
                raise LabelProblem(_weighted_exclusion(label))
            if not 0 <= weight < math.inf:
                raise LabelProblem(
                    f"A weight is a finite number, 0 or more. {quote_value(label)} has "
                    f"{quote_value(value)}. Correct it."
                )
            pairs.append((label, weight))
        return CellLabels(weighted=pairs)


def _is_printed(text: str) -> bool:
    try:
        read_python(text)
    except ValueError:
        return False
    return True


def _share_labels(cells: Sequence[str], find_labels: Callable[[], Collection[str]]) -> bool:
    """Tell whether one of the labels is in a list or an object that Python printed."""
    labels = find_labels() if cells else ()
    for text in cells:
        with suppress(ValueError):
            if any(isinstance(each, str) and each in labels for each in read_python(text)):
                return True
    return False


def blank_cell_note(cells: Iterable[Any]) -> str:
    """Return a sentence, after a space, on the first cell such as NA that counts as empty."""
    for cell in cells:
        if isinstance(cell, str) and cell.strip() and is_blank(cell):
            return (
                f" The cell {quote_value(cell)} counts as empty; if it is a label, use "
                f"{LITERAL_OPTION}."
            )
    return ""


def write_cells(rows: Iterable[Sequence[str]], classes: Sequence[str]) -> list[str]:
    """Return ``cat|dog`` for every row, or a JSON list if classes hold such signs themselves."""
    if any(_NEEDS_JSON.search(name) for name in classes):
        return [json.dumps(list(row), ensure_ascii=False) for row in rows]
    return ["|".join(row) for row in rows]


def write_weighted_cells(candidates: CandidateLabels, weights: FloatArray) -> list[str]:
    """Return ``cat:0.9|dog:0.1`` for every row, or JSON if labels hold such signs themselves.

    Classes are strings; weights are in the order of ``candidates.pairs()``.
    """
    _, columns = candidates.pairs()
    names = candidates.classes[columns].tolist()
    pairs = list(zip(names, weights.tolist(), strict=True))
    ends = [*candidates.starts.tolist(), len(pairs)]
    rows = (dict(pairs[start:end]) for start, end in pairwise(ends))
    return write_weights(rows, candidates.classes.tolist())


def write_weights(rows: Iterable[Mapping[str, float]], classes: Sequence[str]) -> list[str]:
    """Return the labels of every row with their weights, as ``write_weighted_cells`` does."""
    if any(_NEEDS_JSON.search(name) for name in classes):
        return [json.dumps(dict(row), ensure_ascii=False) for row in rows]
    return ["|".join(f"{name}:{weight:g}" for name, weight in row.items()) for row in rows]


def read_weighted_cell(cell: str) -> dict[str, float]:
    """Return the labels and weights of a cell that ``write_weighted_cells`` wrote.

    Weights are from 0 to 1; anything else raises ``ValueError``.
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
        is_number = isinstance(weight, float | int) and not isinstance(weight, bool)
        if not name or not is_number or not 0 <= weight <= 1:
            raise ValueError("not a label with a weight from 0 to 1")
    return {name: float(weight) for name, weight in found.items()}


def _refuse_repeated_labels(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise LabelProblem("A label is there twice. Give it one weight.")
    return value


def _is_list_of_pairs(cell: Any) -> bool:
    """Tell whether a cell is a map of Parquet."""
    return (
        isinstance(cell, list)
        and bool(cell)
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in cell)
    )


def _as_number(value: Any) -> float | None:
    """Return a number, None for a missing one, and an invalid weight for anything else."""
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


def _plain_label(text: str) -> CellLabels:
    return CellLabels(plain=(text,)) if text else NO_LABELS


def _read_piece(text: str) -> CellLabels:
    """Read one label between separators, without spaces around it."""
    label, weight = _split_weight(text)
    if not label.startswith("!"):
        if weight is None:
            return _plain_label(label)
        if not label:
            raise LabelProblem(
                f"The weight in {quote_value(text)} belongs to no label. {_IF_LITERAL}"
            )
        return CellLabels(weighted=((label, weight),))
    if weight is not None:
        raise LabelProblem(_weighted_exclusion(text))
    name = label[1:].strip()
    if not name or name.startswith("!"):
        raise LabelProblem(
            f"'!' goes before the label that is ruled out, as in '!cat'. Got "
            f"{quote_value(label)}. {_IF_LITERAL}"
        )
    return CellLabels(excluded=(name,))


def _split_weight(text: str) -> tuple[str, float | None]:
    if ":" in text:
        label, _, number = text.rpartition(":")
        if _WEIGHT.fullmatch(number.strip()):
            weight = float(number.replace(",", "."))
            if math.isfinite(weight):
                return label.strip(), weight
    return text, None


def _weighted_exclusion(text: str) -> str:
    return (
        f"A label that is ruled out has no weight. Got {quote_value(text)} with one. "
        f"Write '!cat' or 'cat:0.7'. {_IF_LITERAL}"
    )
