"""Matrices kept dense or sparse, whichever is smaller, and sums over groups of values.

``CandidateLabels`` holds its mask and its weights this way, read-only. The values of all its
candidates lie row after row in one array: the candidates of a row are a group.
"""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.typing import AnyArray, IntArray, Sparse

# A dense array or a CSR array; SciPy ships no types.
Storage = Any

_INDEX_BYTES = np.dtype(np.int32).itemsize


def compact(matrix: Storage) -> Storage:
    """Return the smaller of the two forms, read-only; ``matrix`` itself may become so."""
    rows, columns = matrix.shape
    item = matrix.dtype.itemsize
    n_entries = matrix.nnz if sparse.issparse(matrix) else np.count_nonzero(matrix)
    dense_is_smaller = rows * columns * item <= n_entries * (item + _INDEX_BYTES) + (
        (rows + 1) * _INDEX_BYTES
    )
    if dense_is_smaller:
        return _freeze(matrix.toarray() if sparse.issparse(matrix) else matrix)
    return _freeze(with_short_indices(sparse.csr_array(matrix)))


def as_csr(storage: Storage) -> Sparse:
    """Return the CSR form; its arrays may be those of ``storage``, and then are read-only."""
    return sparse.csr_array(storage)


def as_dense(storage: Storage) -> AnyArray:
    """Return a writeable dense copy."""
    dense: AnyArray = storage.toarray() if sparse.issparse(storage) else storage.copy()
    return dense


def nbytes(storage: Storage) -> int:
    """Return the memory that the arrays behind ``storage`` take."""
    return sum(array.nbytes for array in _arrays(storage))


def row_counts(storage: Storage) -> IntArray:
    """Return the number of entries other than zero in every row."""
    if sparse.issparse(storage):
        return np.asarray(np.diff(storage.indptr))
    return np.asarray(np.count_nonzero(storage, axis=1))


def rows_of(storage: Storage, key: Any) -> Storage:
    """Return the rows that ``key`` (a slice, indices or a boolean array) selects, read-only."""
    return _freeze(storage[key])


def values_at(storage: Storage, rows: IntArray, columns: IntArray) -> AnyArray:
    """Return one value for each pair of ``rows`` and ``columns``; zero where none is stored."""
    if sparse.issparse(storage):
        return np.asarray(sparse.csr_array(storage)[rows, columns])
    return np.asarray(storage[rows, columns])


def with_short_indices(csr: Sparse) -> Sparse:
    """Return the same array with indices of 32 bits, where they suffice."""
    largest = max(csr.nnz, csr.shape[1])
    kind = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    indices, ends = (part.astype(kind, copy=False) for part in (csr.indices, csr.indptr))
    return sparse.csr_array((csr.data, indices, ends), shape=csr.shape)


def _freeze(storage: Storage) -> Storage:
    for array in _arrays(storage):
        array.flags.writeable = False
    return storage


def _arrays(storage: Storage) -> tuple[AnyArray, ...]:
    if sparse.issparse(storage):
        return storage.data, storage.indices, storage.indptr
    return (storage,)


def group_sums(values: AnyArray, starts: IntArray) -> AnyArray:
    """Return the sum of every group; ``starts`` says where groups begin, none is empty."""
    return np.add.reduceat(values, starts)


def group_maxima(values: AnyArray, starts: IntArray) -> AnyArray:
    """Return the largest value of every group, as ``group_sums`` does sums."""
    return np.maximum.reduceat(values, starts)


def first_largest(values: AnyArray, starts: IntArray) -> IntArray:
    """Return where the largest value of every group is; ties go to the first."""
    sizes = np.diff(starts, append=len(values))
    largest = np.flatnonzero(values == np.repeat(group_maxima(values, starts), sizes))
    return largest[np.searchsorted(largest, starts)]
