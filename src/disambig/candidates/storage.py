"""Matrices kept dense or sparse, whichever is smaller, and sums over groups of values.

``CandidateLabels`` holds its mask and its weights this way, read-only. The values of all its
candidates lie row after row in one array: the candidates of a row are a group.
"""

from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError
from disambig._core.typing import AnyArray, IntArray, Sparse

# A dense array or a CSR array; SciPy ships no types.
Storage = Any

_INDEX_BYTES = np.dtype(np.int32).itemsize
_ROWS_AT_A_TIME = 2**18


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


def checked_csr(matrix: Sparse) -> Sparse:
    """Return a CSR copy of a sparse matrix of any format; refuse indices outside of it.

    SciPy does not look at them when it converts a matrix, and writes wherever they point.
    """
    if matrix.format in ("csr", "csc"):
        lines = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        check_indices(matrix.data, matrix.indices, matrix.indptr, lines)
        return sparse.csr_array(matrix, copy=True)
    try:
        pairs = matrix.tocoo()
        checked = sparse.coo_array((pairs.data, (pairs.row, pairs.col)), shape=pairs.shape)
    except ValueError as error:
        raise CandidateError(f"A sparse matrix needs indices inside its shape: {error}.") from error
    return sparse.csr_array(checked)


def check_indices(
    values: AnyArray, indices: IntArray, ends: IntArray, lines: tuple[int, int]
) -> None:
    """Refuse the arrays of CSR or CSC where they do not describe ``lines``, count and length."""
    count, length = lines
    if len(ends) != count + 1:
        raise CandidateError(
            f"A sparse matrix of {count:,} lines needs {count + 1:,} pointers. Got {len(ends):,}."
        )
    # Compared, not subtracted: differences of small integers overflow.
    if ends[0] != 0 or (ends[1:] < ends[:-1]).any():
        raise CandidateError("The pointers of a sparse matrix need to begin at 0 and never fall.")
    used, held = int(ends[-1]), min(len(indices), len(values))
    if used > held:
        raise CandidateError(f"A sparse matrix claims {used:,} values. It holds {held:,}.")
    low, high = (indices[:used].min(), indices[:used].max()) if used else (0, -1)
    if low < 0 or high >= length:
        raise CandidateError(
            f"A sparse matrix needs indices from 0 to {length - 1:,}. Got {low:,} to {high:,}."
        )


def csr_in_place(values: AnyArray, indices: IntArray, ends: IntArray, n_columns: int) -> Sparse:
    """Return a read-only CSR array of these very arrays, which may be memory-mapped.

    Refuse arrays that do not describe one, or columns that do not ascend within a row.
    """
    if len(values) != len(indices) or not len(ends):
        raise CandidateError(
            "A CSR matrix needs one value for every index, and pointers. Got "
            f"{len(values):,} values, {len(indices):,} indices and {len(ends):,} pointers."
        )
    check_indices(values, indices, ends, (len(ends) - 1, n_columns))
    if int(ends[-1]) != len(indices):
        raise CandidateError(
            f"The pointers of a sparse matrix need to end at {len(indices):,}, the number of "
            f"indices. Got {int(ends[-1]):,}."
        )
    for start in range(0, len(ends) - 1, _ROWS_AT_A_TIME):
        some = ends[start : start + _ROWS_AT_A_TIME + 1]
        rises = np.diff(indices[some[0] : some[-1]].astype(np.int64)) > 0
        # From one row to the next they may fall.
        rises[some[1:-1][(some[1:-1] > some[0]) & (some[1:-1] < some[-1])] - some[0] - 1] = True
        if not rises.all():
            place = int(some[0]) + int(rises.argmin()) + 1
            row = int(np.searchsorted(ends, place, side="right")) - 1
            raise CandidateError(
                f"The indices of a row need to ascend, none twice. Got {int(indices[place - 1])} "
                f"before {int(indices[place])} in row {row}. Sort them."
            )
    shape = (len(ends) - 1, n_columns)
    return _freeze(sparse.csr_array((values, indices, ends), shape=shape, copy=False))


def has_entries_of(matrix: Any, csr: Sparse) -> bool:
    """Return whether a matrix is a CSR array with entries in the same places as another."""
    if not sparse.issparse(matrix) or matrix.format != "csr" or matrix.nnz != csr.nnz:
        return False
    pairs = ((matrix.indptr, csr.indptr), (matrix.indices, csr.indices))
    return all(_same_memory(*pair) or np.array_equal(*pair) for pair in pairs)


def _same_memory(left: AnyArray, right: AnyArray) -> bool:
    return bool(left.__array_interface__["data"] == right.__array_interface__["data"])


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
        values = sparse.csr_array(storage)[rows, columns]
        # Of no pairs SciPy makes a sparse array.
        return np.asarray(values.toarray() if sparse.issparse(values) else values)
    return np.asarray(storage[rows, columns])


def with_short_indices(csr: Sparse) -> Sparse:
    """Return the same array with indices of 32 bits, where they suffice."""
    largest = max(csr.nnz, csr.shape[1])
    kind = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    indices, ends = (part.astype(kind, copy=False) for part in (csr.indices, csr.indptr))
    return sparse.csr_array((csr.data, indices, ends), shape=csr.shape)


def row_numbers(csr: Sparse) -> IntArray:
    """Return a number for every row of booleans, the same where rows are equal; none is empty."""
    # A sum of 64 random bits for each column: millions of different rows have different ones.
    keys = np.random.default_rng(0).integers(2**64, size=csr.shape[1], dtype=np.uint64)
    sums = group_sums(keys[csr.indices], csr.indptr[:-1])
    return np.asarray(np.unique(sums, return_inverse=True)[1])


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
    places = np.empty(len(starts), dtype=np.intp)
    # Of many groups some at a time, which stay close to the processor.
    for group in range(0, len(starts), _ROWS_AT_A_TIME):
        some = slice(group, group + _ROWS_AT_A_TIME)
        begin = int(starts[group])
        end = int(starts[some.stop]) if some.stop < len(starts) else len(values)
        of_some, inside = values[begin:end], starts[some] - begin
        sizes = np.diff(inside, append=len(of_some))
        largest = np.flatnonzero(of_some == np.repeat(group_maxima(of_some, inside), sizes))
        places[some] = begin + largest[np.searchsorted(largest, inside)]
    return places
