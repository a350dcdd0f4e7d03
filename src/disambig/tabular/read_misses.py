"""The columns of a cleaned table that say which sets may miss the right label."""

import math
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import quote_value, row_name
from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.table_cells import MISS_COLUMNS, text_of

_ADVICE = "Clean the table again."


def has_misses(frame: pd.DataFrame, prefix: str) -> bool:
    """Tell whether a cleaned table has the columns; tables of earlier versions do not."""
    return all(prefix + name in frame.columns for name in MISS_COLUMNS)


def read_misses(
    frame: Any, prefix: str, candidates: CandidateLabels
) -> tuple[CandidateLabels, FloatArray, IntArray]:
    """Return the sets, and for each row the probability of a miss and the label it would then have.

    Labels are indices of classes, -1 where a row has none. The sets are as given, with classes for
    labels that no row has as a candidate.
    """
    probability, label = (frame[prefix + name] for name in MISS_COLUMNS)
    labels = [cell if isinstance(cell, str) else text_of(cell) or "" for cell in label]
    known = set(candidates.classes.tolist())
    new = sorted({name for name in labels if name} - known)
    if new:
        candidates = candidates.with_classes([*candidates.classes.tolist(), *new])
    return candidates, _probabilities(probability), known_columns_of(labels, candidates.classes)


def listed_labels(candidates: CandidateLabels, label: IntArray) -> BoolArray:
    """Tell in which rows the label from outside the set is listed beside the candidates.

    It is where cleaning was allowed to choose it.
    """
    listed = np.asarray(candidates.to_sparse()[np.arange(len(label)), label]).ravel()
    return listed.astype(bool) & (label >= 0)


def _probabilities(column: "pd.Series[Any]") -> FloatArray:
    """Return numbers from 0 to 1; an empty cell is 0."""
    values = np.zeros(len(column))
    for row, cell in enumerate(column):
        text = text_of(cell) or "0"
        try:
            values[row] = float(text)
        except ValueError:
            values[row] = math.nan
        if not 0 <= values[row] <= 1:
            raise TableError(
                f"Column {column.name!r} must hold probabilities, numbers from 0 to 1. Got "
                f"{quote_value(cell)} in {row_name(row)}. {_ADVICE}"
            )
    return values
