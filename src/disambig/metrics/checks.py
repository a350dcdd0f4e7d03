"""What the arguments of a metric must look like."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError, describe_rows
from disambig._core.typing import AnyArray, FloatArray, Label
from disambig.candidates.classes import as_class_array, as_list, is_missing

__all__ = ["as_probabilities", "as_true_labels", "check_same_length"]


def as_true_labels(labels: Iterable[Label]) -> list[Label]:
    """Return true labels as a list; refuse missing ones."""
    values = as_list(labels)
    missing = next((row for row, label in enumerate(values) if is_missing(label)), None)
    if missing is not None:
        raise ParameterError(
            f"True labels may not be missing. Got {values[missing]!r} in row {missing}. "
            "Evaluate on rows whose true label is known."
        )
    return values


def check_same_length(**lengths: int) -> None:
    """Refuse arguments of different lengths, and of no length at all."""
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        got = ", ".join(f"{length} {name.replace('_', ' ')}" for name, length in lengths.items())
        raise ParameterError(f"At least one sample is needed, and as many of each. Got {got}.")


def as_probabilities(probabilities: Any, classes: Iterable[Label]) -> tuple[FloatArray, AnyArray]:
    """Return class probabilities and the names of their columns, checked."""
    names = as_class_array(classes)
    matrix = np.asarray(probabilities, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ParameterError(
            f"Probabilities need one column for each of the {len(names)} classes. "
            f"Got the shape {matrix.shape}. Name its columns in 'classes'."
        )
    bad = ~(np.isfinite(matrix) & (matrix >= 0)).all(axis=1)
    bad |= ~np.isclose(matrix.sum(axis=1), 1, atol=1e-4)
    if bad.any():
        raise ParameterError(
            "Probabilities are not negative and sum to one in every row. "
            f"Not so for {describe_rows(bad)}. Give what predict_proba returns."
        )
    return matrix, names
