"""What makes a mask and its weights valid candidate sets."""

from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.candidates.classes import as_list
from disambig.candidates.storage import Storage

__all__ = ["as_mask_matrix", "as_weight_matrix", "check_no_empty_row", "in_order_of"]


def as_mask_matrix(mask: Any) -> Storage:
    """Return ``mask`` as a boolean matrix of its own, CSR or dense; refuse all but 0 and 1."""
    matrix = _as_matrix(mask, "A mask holds True/False, or 0 and 1,")
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
    if hasattr(weights, "columns"):
        names, columns = classes.tolist(), weights.columns
        weights = in_order_of(names, weights)
        if weights is None:
            raise CandidateError(
                f"The columns of the weights must be the classes, {', '.join(map(str, names))}. "
                f"Got {', '.join(map(str, columns))}. Rename them, or give an array."
            )
    matrix = _as_matrix(weights, "Weights are numbers").astype(float)
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


def in_order_of(classes: list[Any], frame: Any) -> Any:
    """Put the columns of a data frame that is named after the classes into their order.

    Return None where its columns have other names.
    """
    columns = as_list(frame.columns)
    if Counter(columns) != Counter(classes):
        return None
    place = {name: position for position, name in enumerate(columns)}
    return frame.iloc[:, [place[name] for name in classes]]


def _as_matrix(values: Any, what: str) -> Storage:
    """Return a numeric matrix of its own: CSR without stored zeros, or dense."""
    if sparse.issparse(values):
        matrix = sparse.csr_array(values, copy=True)
        # Repeated entries are sums in waiting: add them up before looking at the values.
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    else:
        matrix = _as_dense_array(values, what)
    if matrix.ndim != 2:
        raise CandidateError(
            f"{what} for every sample and class: a matrix, one row a sample and one column a "
            f"class. Got the shape {matrix.shape}. For plain labels use from_labels."
        )
    if matrix.dtype.kind not in "biuf":
        raise CandidateError(
            f"{what} for every sample and class. Got values of type {matrix.dtype}. "
            "Fill in what is missing, and convert the rest to numbers."
        )
    return matrix


def _as_dense_array(values: Any, what: str) -> AnyArray:
    try:
        array = np.array(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else "no" for row in values]
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), 0)
        raise CandidateError(
            f"{what} for every sample and class: every row needs the same number of columns, each "
            f"a single value. Row 0 has {lengths[0]} columns, "
            f"row {odd} has {lengths[odd]} columns. "
            "For rows that list their labels use from_sets."
        ) from None
    if array.dtype == object:
        # Columns of pandas' nullable types arrive as objects.
        try:
            return array.astype(float)
        except (TypeError, ValueError):
            return array
    return array


def _rows_with(matrix: Any, marked: BoolArray) -> BoolArray:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.zeros(matrix.shape[0], dtype=bool)
    found[rows[marked]] = True
    return found


def _refuse_rows(bad: BoolArray, requirement: str, advice: str) -> None:
    if bad.any():
        raise CandidateError(f"{requirement}. Not so for {describe_rows(bad)}. {advice}")
