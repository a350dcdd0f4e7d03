"""What makes a mask and its weights valid candidate sets."""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import AnyArray, BoolArray, IntArray, Sparse

__all__ = ["as_mask_matrix", "as_weight_matrix", "check_no_empty_row"]


def as_mask_matrix(mask: Any) -> Sparse:
    """Return ``mask`` as a boolean CSR array of its own; refuse anything but 0 and 1."""
    if sparse.issparse(mask):
        matrix = sparse.csr_array(mask, copy=True)
        # Repeated entries are sums in waiting: add them up before looking at the values.
        matrix.sum_duplicates()
        values = matrix.data
    else:
        matrix = values = _as_matrix(mask)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise CandidateError(
            "A mask holds True/False, or 0 and 1, for every sample and class. "
            f"Got {_first_bad_value(values)}. Give weights through 'weights', not through the mask."
        )
    csr = sparse.csr_array(matrix, dtype=bool)
    csr.eliminate_zeros()
    return csr


def check_no_empty_row(sizes: IntArray) -> None:
    """Refuse set sizes of zero."""
    empty = sizes == 0
    if empty.any():
        raise CandidateError(
            "Every sample needs at least one candidate label. "
            f"Got none for {describe_rows(empty)}. Drop those rows, or give them all classes."
        )


def as_weight_matrix(weights: Any, mask: Sparse) -> Sparse:
    """Return ``weights`` as a CSR array of floats; refuse what is no weighting of ``mask``."""
    if sparse.issparse(weights):
        matrix = sparse.csr_array(weights, dtype=float, copy=True)
        matrix.sum_duplicates()
    else:
        matrix = sparse.csr_array(_as_matrix(weights).astype(float))
    if matrix.shape != mask.shape:
        raise CandidateError(
            f"Weights need the shape of the mask, {mask.shape}. Got {matrix.shape}. "
            "Give one weight for every sample and class, 0 outside the candidates."
        )
    _refuse_rows(
        _rows_with(matrix, ~np.isfinite(matrix.data) | (matrix.data < 0)),
        "Weights must be finite and not negative",
        "Correct those weights.",
    )
    matrix.eliminate_zeros()
    outside = matrix - matrix.multiply(mask)
    outside.eliminate_zeros()
    _refuse_rows(
        np.diff(outside.indptr) > 0,
        "Only candidates may carry a weight",
        "Set the other weights to 0, or make those labels candidates.",
    )
    _refuse_rows(
        np.diff(matrix.indptr) == 0,
        "Every sample needs a candidate with a weight above 0",
        "Give those rows equal weights if nothing is known about them.",
    )
    return matrix


def _as_matrix(values: Any) -> AnyArray:
    try:
        matrix = np.asarray(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 0 for row in values]
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), 0)
        raise CandidateError(
            "Every row of a mask needs the same number of columns, each a single value. "
            f"Row 0 has {lengths[0]} columns, row {odd} has {lengths[odd]}. "
            "For rows that list their labels use from_sets."
        ) from None
    if matrix.ndim != 2:
        raise CandidateError(
            "A mask is a matrix, one row a sample and one column a class. "
            f"Got the shape {matrix.shape}. "
            "For plain labels use from_labels, for rows that list their labels use from_sets."
        )
    return matrix


def _first_bad_value(values: AnyArray) -> str:
    if values.dtype.kind not in "biuf":
        return f"values of type {values.dtype}"
    bad = values[~np.isin(values, (0, 1))]
    return f"the value {bad.ravel()[0]}"


def _rows_with(matrix: Sparse, marked: BoolArray) -> BoolArray:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.zeros(matrix.shape[0], dtype=bool)
    found[rows[marked]] = True
    return found


def _refuse_rows(bad: BoolArray, requirement: str, advice: str) -> None:
    if bad.any():
        raise CandidateError(f"{requirement}. Not so for {describe_rows(bad)}. {advice}")
