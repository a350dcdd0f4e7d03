"""What a method accepts as ``y``, read as candidate sets."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import AnyArray
from disambig.candidates.classes import is_missing
from disambig.candidates.labels import CandidateLabels

__all__ = ["as_candidates"]


def as_candidates(y: Any) -> CandidateLabels:
    """Read ``y`` as candidate sets.

    Parameters
    ----------
    y : CandidateLabels, boolean mask, sparse mask, or plain labels
        A boolean matrix (dense, sparse, or a data frame) is a mask; a one-dimensional array holds
        plain labels, so that every set has one member. A matrix of integers 0 and 1 could be
        either and is refused.
    """
    if isinstance(y, CandidateLabels):
        return y
    if sparse.issparse(y):
        return CandidateLabels.from_mask(y)
    _refuse_nested(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.dtype == bool:
        return CandidateLabels.from_mask(y)
    if array.ndim == 2 and array.shape[1] > 1 and np.isin(array, (0, 1)).all():
        raise CandidateError(
            f"'y' is a matrix of 0 and 1 of shape {array.shape}, which could be a mask of "
            "candidates or several outputs. Say that it is a mask: "
            "y = CandidateLabels.from_mask(y)."
        )
    labels = column_or_1d(y, warn=True)
    _refuse_missing(labels)
    check_classification_targets(labels)
    return CandidateLabels.from_labels(labels)


def _refuse_nested(y: Any) -> None:
    first = next(iter(y), None) if isinstance(y, list | tuple) else None
    if isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1 and y.size:
        first = y[0]
    is_collection = isinstance(first, set | frozenset | dict)
    if is_collection or (isinstance(first, list | tuple) and not _is_matrix_of_bits(y)):
        raise CandidateError(
            f"'y' seems to hold one collection of labels per sample, such as {first!r}. "
            "Say how to read it: y = CandidateLabels.from_sets(y)."
        )


def _is_matrix_of_bits(rows: Any) -> bool:
    width = len(rows[0])
    return all(len(row) == width and all(value in (0, 1) for value in row) for row in rows)


def _refuse_missing(labels: AnyArray) -> None:
    if labels.dtype.kind == "f":
        missing = ~np.isfinite(labels)
    else:
        missing = np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
    if missing.any():
        raise CandidateError(
            f"Input y contains NaN, None or infinity for {describe_rows(missing)}. "
            "Drop such rows, or give them all classes."
        )
