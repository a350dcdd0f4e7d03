"""Kernel ridge regression on many targets, factored in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches

from disambig._core.errors import TrainingError
from disambig._core.typing import FloatArray

PRECISIONS = ("auto", "single", "double")

_ROWS_IN_A_BLOCK = 1024
_NUMBERS_AT_A_TIME = 2_000_000
# More training rows than this take more than seven gigabytes in double precision.
_MOST_ROWS_IN_DOUBLE = 30_000
_LEAST_PENALTY_IN_SINGLE = 0.03


def cholesky_in_place(matrix: FloatArray) -> None:
    """Overwrite the lower triangle of a positive definite matrix by L with ``matrix = L @ L.T``.

    The entries above the diagonal are undefined afterwards. ``LinAlgError`` if it is not definite.
    """
    for start in range(0, len(matrix), _ROWS_IN_A_BLOCK):
        end = min(start + _ROWS_IN_A_BLOCK, len(matrix))
        matrix[start:, start:end] -= matrix[start:, :start] @ matrix[start:end, :start].T
        diagonal = cholesky(matrix[start:end, start:end], lower=True, check_finite=False)
        matrix[start:end, start:end] = diagonal
        below = matrix[end:, start:end]
        below[:] = solve_triangular(diagonal, below.T, lower=True, check_finite=False).T


@dataclass(frozen=True)
class KernelModel:
    """Outputs ``sum_i exp(-|x - x_i|^2 / (2 width^2)) coefficients_i + intercepts``."""

    # Subtracted from all rows, (n_features,): far from zero, distances would be lost to rounding.
    origin: FloatArray
    rows: FloatArray  # (n_rows, n_features): those of the training, minus the origin
    width: float
    coefficients: FloatArray  # (n_rows, n_outputs)
    intercepts: FloatArray  # (n_outputs,)

    def outputs(self, X: FloatArray) -> FloatArray:
        """Return the outputs at new rows, some rows at a time."""
        outputs = np.empty((len(X), len(self.intercepts)))
        for batch in _batches_of_rows(len(X), len(self.rows)):
            squares = euclidean_distances(X[batch] - self.origin, self.rows, squared=True)
            kernel = _gaussian(squares, self.width).astype(self.coefficients.dtype, copy=False)
            outputs[batch] = kernel @ self.coefficients + self.intercepts
        return outputs


class KernelRidge:
    """Minimise ``|K A + 1 b' - targets|^2 + penalty tr(A' K A)`` for one target after the other.

    The width of the kernel is the mean distance between training rows, or one where all are equal.
    ``K + penalty I`` is factored once, in place: a target then costs two triangular solves, and the
    kernel itself is never needed again, because ``K A + 1 b' = targets - penalty A``.

    The precision is that of the kernel and its factor; "auto" is single for more than 30,000 rows,
    unless the penalty is below 0.03: rounding counts for more the smaller it is.
    """

    def __init__(self, X: FloatArray, *, penalty: float, precision: str = "auto") -> None:
        if precision == "auto":
            large = len(X) > _MOST_ROWS_IN_DOUBLE and penalty >= _LEAST_PENALTY_IN_SINGLE
            precision = "single" if large else "double"
        # Medians ignore outliers, and are values that occur: where rows are equal, all become zero.
        self._origin = np.quantile(X, 0.5, axis=0, method="lower")
        self._rows = X - self._origin
        self._penalty = penalty
        self._dtype = np.dtype(precision)
        kernel, self._width = _kernel_among(self._rows, self._dtype)
        kernel.flat[:: len(X) + 1] = 1 + penalty
        try:
            cholesky_in_place(kernel)
        except LinAlgError as error:
            raise TrainingError(
                "The kernel plus the penalty must be positive definite. With the penalty "
                f"{penalty} in {precision} precision it is not, because of rounding. Choose "
                "precision='double', or a larger penalty."
            ) from error
        self._factor = kernel
        self._solution_for_ones = self._solve(np.ones((len(X), 1)))

    def fit(self, targets: FloatArray) -> tuple[KernelModel, FloatArray]:
        """Return the model for targets (n_rows, n_outputs), and its outputs at the rows."""
        total = self._solution_for_ones.sum(dtype=np.float64)
        intercepts = (self._solution_for_ones.T.astype(np.float64) @ targets).ravel() / total
        coefficients = self._solve(targets - intercepts)
        outputs = targets - self._penalty * coefficients
        return KernelModel(self._origin, self._rows, self._width, coefficients, intercepts), outputs

    def objective(self, model: KernelModel, outputs: FloatArray, targets: FloatArray) -> float:
        """Return ``|outputs - targets|^2 + penalty tr(A' K A)`` of a model that was fitted here."""
        size = np.vdot(model.coefficients, outputs - model.intercepts)
        return float(np.sum((outputs - targets) ** 2) + self._penalty * size)

    def _solve(self, targets: FloatArray) -> FloatArray:
        right_side = np.array(targets, dtype=self._dtype, order="F")
        # LAPACK counts by columns: to it, the lower triangle is the upper one of the transpose.
        solved: FloatArray = cho_solve(
            (self._factor.T, False), right_side, overwrite_b=True, check_finite=False
        )
        return solved


def _kernel_among(X: FloatArray, dtype: "np.dtype[np.floating]") -> tuple[FloatArray, float]:
    """Return the kernel of all pairs of rows, and its width, without a second array of its size."""
    count = len(X)
    array = np.empty((count, count), dtype=dtype)
    total = largest = 0.0
    for batch in _batches_of_rows(count, count):
        with np.errstate(over="ignore", invalid="ignore"):  # seen below
            squares = euclidean_distances(X[batch], X, squared=True)
            # The formula rounds, but the distance of a row to itself is zero.
            squares[np.arange(len(squares)), np.arange(count)[batch]] = 0
            array[batch] = squares
        total += float(np.sqrt(squares).sum())
        largest = np.maximum(largest, squares.max())  # unlike max(), it keeps NaN
    if not largest <= np.finfo(dtype).max:
        raise TrainingError(
            "Squared distances between rows must be finite numbers. Got features so large that "
            "they overflow. Scale the features, for example by scaling='standard'."
        )
    width = total / (count * (count - 1)) if total > 0 else 1.0
    for batch in _batches_of_rows(count, count):
        _gaussian(array[batch], width)
    return array, width


def _gaussian(squares: FloatArray, width: float) -> FloatArray:
    """Turn squared distances into values of the kernel, in place."""
    squares *= -1 / (2 * width**2)
    kernel: FloatArray = np.exp(squares, out=squares)
    return kernel


def _batches_of_rows(count: int, columns: int) -> Iterator[slice]:
    yield from gen_batches(count, max(1, _NUMBERS_AT_A_TIME // columns))
