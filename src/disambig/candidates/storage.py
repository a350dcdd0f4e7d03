"""One boolean or float matrix, kept dense or sparse, whichever takes less memory, and frozen.

``CandidateLabels`` holds its mask and its weights this way. Everything here works on both forms.
"""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.typing import AnyArray, IntArray, Sparse

__all__ = ["Storage", "as_csr", "as_dense", "compact", "nbytes", "rows_of", "values_at"]

# A dense array or a CSR array; SciPy ships no types, so this says no more than Any.
Storage = Any


def compact(matrix: Sparse) -> Storage:
    """Return the smaller of the two forms of a CSR array, read-only."""
    rows, columns = matrix.shape
    if rows * columns * matrix.dtype.itemsize <= nbytes(matrix):
        return _frozen(matrix.toarray())
    return _frozen(matrix)


def as_csr(storage: Storage) -> Sparse:
    """Return the CSR form, as an object of its own: changing it leaves ``storage`` alone."""
    return sparse.csr_array(storage)


def as_dense(storage: Storage) -> AnyArray:
    """Return a writeable dense copy."""
    dense: AnyArray = storage.toarray() if sparse.issparse(storage) else storage.copy()
    return dense


def nbytes(storage: Storage) -> int:
    """Return the memory that the arrays behind ``storage`` take."""
    return sum(array.nbytes for array in _arrays(storage))


def rows_of(storage: Storage, key: Any) -> Storage:
    """Return the rows that ``key`` (a slice, indices or a boolean array) selects, read-only."""
    return _frozen(storage[key])


def values_at(storage: Storage, rows: IntArray, columns: IntArray) -> AnyArray:
    """Return one value for each pair of ``rows`` and ``columns``; zero where none is stored."""
    if sparse.issparse(storage):
        return np.asarray(sparse.csr_array(storage)[rows, columns])
    return np.asarray(storage[rows, columns])


def _frozen(storage: Storage) -> Storage:
    for array in _arrays(storage):
        array.flags.writeable = False
    return storage


def _arrays(storage: Storage) -> tuple[AnyArray, ...]:
    if sparse.issparse(storage):
        return storage.data, storage.indices, storage.indptr
    return (storage,)
