"""What makes a mask and its weights valid candidate sets."""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.candidates.storage import Storage

__all__ = ["as_mask_matrix", "as_weight_matrix", "check_no_empty_row"]


def as_mask_matrix(mask: Any) -> Storage:
    """Return ``mask`` as a boolean matrix of its own, CSR or dense; refuse all but 0 and 1."""
    matrix = _as_matrix(mask, "A mask", "True/False, or 0 and 1,")
    values = matrix.data if sparse.issparse(matrix) else matrix
    if matrix.dtype != bool and not np.isin(values, (0, 1)).all():
        bad = values[~np.isin(values, (0, 1))]
        raise CandidateError(
            "A mask holds True/False, or 0 and 1, for every sample and class. "
            f"Got the value {bad[0]}. Give weights through 'weights', not through the mask."
        )
    return matrix.astype(bool)


def check_no_empty_row(sizes: IntArray) -> None:
    """Refuse set sizes of zero."""
    empty = sizes == 0
    if empty.any():
        raise CandidateError(
            "Every sample needs at least one candidate label. "
            f"Got none for {describe_rows(empty)}. Drop those rows, or give them all classes."
        )


def as_weight_matrix(weights: Any, mask: Storage, classes: AnyArray) -> Storage:
    """Return ``weights`` as a matrix of floats; refuse what is no weighting of ``mask``."""
    matrix = _as_matrix(_in_order(weights, classes), "Weights", "numbers").astype(float)
    if matrix.shape != mask.shape:
        raise CandidateError(
            f"Weights need the shape of the mask, {mask.shape}. Got {matrix.shape}. "
            "Give one weight for every sample and class, 0 outside the candidates."
        )
    csr = sparse.csr_array(matrix)
    _refuse_rows(
        _rows_with(csr, ~np.isfinite(csr.data) | (csr.data < 0)),
        "Weights must be finite and not negative",
        "Correct those weights.",
    )
    outside = csr - csr.multiply(mask)
    outside.eliminate_zeros()
    _refuse_rows(
        np.diff(outside.indptr) > 0,
        "Only candidates may carry a weight",
        "Set the other weights to 0, or make those labels candidates.",
    )
    _refuse_rows(
        np.diff(csr.indptr) == 0,
        "Every sample needs a candidate with a weight above 0",
        "Give those rows equal weights if nothing is known about them.",
    )
    return csr


def _in_order(weights: Any, classes: AnyArray) -> Any:
    """Put the columns of a data frame into the order of the classes that they are named after."""
    if not hasattr(weights, "columns"):
        return weights
    names = classes.tolist()
    if sorted(map(str, weights.columns)) != sorted(map(str, names)):
        raise CandidateError(
            f"The columns of the weights must be the classes, {', '.join(map(str, names))}. "
            f"Got {', '.join(map(str, weights.columns))}."
        )
    return weights[names]


def _as_matrix(values: Any, what: str, content: str) -> Storage:
    """Return a numeric matrix of its own: CSR without stored zeros, or dense."""
    if sparse.issparse(values):
        matrix = sparse.csr_array(values, copy=True)
        # Repeated entries are sums in waiting: add them up before looking at the values.
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    else:
        matrix = _as_dense_matrix(values, what)
    if matrix.dtype.kind not in "biuf":
        raise CandidateError(
            f"{what} holds {content} for every sample and class. Got values of type {matrix.dtype}."
        )
    return matrix


def _as_dense_matrix(values: Any, what: str) -> AnyArray:
    try:
        matrix = np.array(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 0 for row in values]
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), 0)
        raise CandidateError(
            f"{what}: every row needs the same number of columns, each a single value. "
            f"Row 0 has {lengths[0]} columns, row {odd} has {lengths[odd]}. "
            "For rows that list their labels use from_sets."
        ) from None
    if matrix.ndim != 2:
        raise CandidateError(
            f"{what}: a matrix is needed, one row a sample and one column a class. "
            f"Got the shape {matrix.shape}. "
            "For plain labels use from_labels, for rows that list their labels use from_sets."
        )
    if matrix.dtype == object:
        # Columns of pandas' nullable types arrive as objects.
        try:
            return matrix.astype(float)
        except (TypeError, ValueError):
            return matrix
    return matrix


def _rows_with(matrix: Any, marked: BoolArray) -> BoolArray:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.zeros(matrix.shape[0], dtype=bool)
    found[rows[marked]] = True
    return found


def _refuse_rows(bad: BoolArray, requirement: str, advice: str) -> None:
    if bad.any():
        raise CandidateError(f"{requirement}. Not so for {describe_rows(bad)}. {advice}")
