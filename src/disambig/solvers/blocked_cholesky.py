"""The Cholesky factor of a large array, in place.

Block by block, because SciPy's own (LAPACK from OpenBLAS 0.3.30) crashes on arrays of more than two
gigabytes when it works on two or three threads.
"""

from scipy.linalg import cholesky, solve_triangular

from disambig._core.typing import FloatArray

__all__ = ["cholesky_in_place"]

_ROWS_IN_A_BLOCK = 1024


def cholesky_in_place(matrix: FloatArray) -> None:
    """Overwrite the lower triangle by L with ``matrix = L @ L.T``.

    What is above the diagonal means nothing afterwards.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric, positive definite; otherwise ``LinAlgError`` is raised.
    """
    for start in range(0, len(matrix), _ROWS_IN_A_BLOCK):
        end = min(start + _ROWS_IN_A_BLOCK, len(matrix))
        matrix[start:, start:end] -= matrix[start:, :start] @ matrix[start:end, :start].T
        own = cholesky(matrix[start:end, start:end], lower=True, check_finite=False)
        matrix[start:end, start:end] = own
        below = matrix[end:, start:end]
        below[:] = solve_triangular(own, below.T, lower=True, check_finite=False).T
