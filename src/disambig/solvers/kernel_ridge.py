"""Kernel ridge regression on many targets, factored in blocks."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn.metrics.pairwise import euclidean_distances

from disambig._core.errors import TrainingError
from disambig._core.typing import FloatArray
from disambig.solvers.blocks import for_each, split_rows

PRECISIONS = ("auto", "single", "double")

_COLUMNS_AT_A_TIME = 1024
_ROWS_IN_A_BLOCK = 512
_NUMBERS_AT_A_TIME = 2_000_000
# More training rows than this take more than seven gigabytes in double precision.
_MOST_ROWS_IN_DOUBLE = 30_000
_LEAST_PENALTY_IN_SINGLE = 0.03


def cholesky_in_place(matrix: FloatArray) -> None:
    """Overwrite the lower triangle of a positive definite matrix by L with ``matrix = L @ L.T``.

    The entries above the diagonal are undefined afterwards. ``LinAlgError`` if it is not definite.
    """
    for panel in split_rows(0, len(matrix), _COLUMNS_AT_A_TIME):
        _factor_panel(matrix, panel)


def _factor_panel(matrix: FloatArray, panel: slice) -> None:
    """Overwrite some columns by those of L; the columns before them are done."""
    columns, known = matrix[:, panel], matrix[:, : panel.start]

    def subtract_known(rows: slice) -> None:
        columns[rows] -= known[rows] @ known[panel].T

    def divide_by_diagonal(rows: slice) -> None:
        columns[rows] = solve_triangular(
            diagonal, columns[rows].T, lower=True, check_finite=False
        ).T

    if panel.start > 0:
        for_each(subtract_known, split_rows(panel.start, len(matrix), _ROWS_IN_A_BLOCK))
    diagonal = cholesky(columns[panel], lower=True, check_finite=False)
    columns[panel] = diagonal
    for_each(divide_by_diagonal, split_rows(panel.stop, len(matrix), _ROWS_IN_A_BLOCK))


class CholeskyFactor:
    """L of a positive definite matrix ``L @ L.T``, which is overwritten by it.

    ``LinAlgError`` if the matrix is not definite.
    """

    def __init__(self, matrix: FloatArray) -> None:
        cholesky_in_place(matrix)
        self._factor = matrix
        self._panels = split_rows(0, len(matrix), _COLUMNS_AT_A_TIME)
        # As LAPACK takes them: it would make a copy for every right side.
        self._diagonals = [np.asfortranarray(matrix[panel, panel]) for panel in self._panels]

    def solve(self, right_side: FloatArray) -> FloatArray:
        """Return X with ``L @ L.T @ X = right_side``, both (n_rows, n_outputs)."""
        factor = self._factor
        # Products of few rows by many are faster than those of many by few.
        rest = np.array(right_side.T, dtype=factor.dtype, order="C")

        def subtract_below(rows: slice) -> None:
            rest[:, rows] -= solved @ factor[rows, panel].T

        def subtract_above(rows: slice) -> None:
            rest[:, rows] -= solved @ factor[panel, rows]

        in_order = list(zip(self._panels, self._diagonals, strict=True))
        for panel, diagonal in in_order:
            rest[:, panel] = solved = _divided(rest[:, panel], diagonal, trans="N")
            for_each(subtract_below, split_rows(panel.stop, len(factor), _ROWS_IN_A_BLOCK))
        for panel, diagonal in reversed(in_order):
            rest[:, panel] = solved = _divided(rest[:, panel], diagonal, trans="T")
            for_each(subtract_above, split_rows(0, panel.start, _ROWS_IN_A_BLOCK))
        return rest.T


def _divided(rows: FloatArray, diagonal: FloatArray, *, trans: str) -> FloatArray:
    """Return rows divided by a triangle of L, from the right."""
    solved = solve_triangular(diagonal, rows.T, trans=trans, lower=True, check_finite=False)
    return np.ascontiguousarray(solved.T)


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

        def of_batch(batch: slice) -> FloatArray:
            squares = euclidean_distances(X[batch] - self.origin, self.rows, squared=True)
            kernel = _gaussian(squares, self.width).astype(self.coefficients.dtype, copy=False)
            outputs: FloatArray = kernel @ self.coefficients + self.intercepts
            return outputs

        return np.concatenate(for_each(of_batch, _batches_of_rows(len(X), len(self.rows))))


class KernelRidge:
    """Minimise ``|K A + 1 b' - targets|^2 + penalty tr(A' K A)`` for one target after the other.

    The width of the kernel is the mean distance between training rows, or one where that is zero.
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
        kernel, self._width = _kernel_among(self._rows, np.dtype(precision))
        kernel.flat[:: len(X) + 1] = 1 + penalty
        try:
            self._factor = CholeskyFactor(kernel)
        except LinAlgError as error:
            raise TrainingError(
                "The kernel plus the penalty must be positive definite. With the penalty "
                f"{penalty} in {precision} precision it is not, because of rounding. Choose "
                "precision='double', or a larger penalty."
            ) from error
        self._solution_for_ones = self._factor.solve(np.ones((len(X), 1)))

    def fit(self, targets: FloatArray) -> tuple[KernelModel, FloatArray]:
        """Return the model for targets (n_rows, n_outputs), and its outputs at the rows."""
        total = self._solution_for_ones.sum(dtype=np.float64)
        intercepts = (self._solution_for_ones.T.astype(np.float64) @ targets).ravel() / total
        coefficients = self._factor.solve(targets - intercepts)
        outputs = targets - self._penalty * coefficients
        return KernelModel(self._origin, self._rows, self._width, coefficients, intercepts), outputs

    def objective(self, model: KernelModel, outputs: FloatArray, targets: FloatArray) -> float:
        """Return ``|outputs - targets|^2 + penalty tr(A' K A)`` of a model that was fitted here."""
        size = np.vdot(model.coefficients, outputs - model.intercepts)
        return float(np.sum((outputs - targets) ** 2) + self._penalty * size)


def _kernel_among(X: FloatArray, dtype: "np.dtype[np.floating]") -> tuple[FloatArray, float]:
    """Return the kernel of all pairs of rows, and its width, without a second array of its size."""
    count = len(X)
    array = np.empty((count, count), dtype=dtype)

    def fill(batch: slice) -> tuple[float, float]:
        """Fill some rows with squared distances; return the sum of distances, and the largest."""
        with np.errstate(over="ignore", invalid="ignore"):  # seen below
            squares = euclidean_distances(X[batch], X, squared=True)
            # The formula rounds, but the distance of a row to itself is zero.
            squares[np.arange(len(squares)), np.arange(count)[batch]] = 0
            array[batch] = squares
        return float(np.sqrt(squares).sum()), float(squares.max())

    totals, largest = zip(*for_each(fill, _batches_of_rows(count, count)), strict=True)
    if not np.max(largest) <= np.finfo(dtype).max:  # nor is NaN
        raise TrainingError(
            "Squared distances between rows must be finite numbers. Got features so large that "
            "they overflow. Scale the features, for example by scaling='standard'."
        )
    width = sum(totals) / max(1, count * (count - 1))
    if width**2 < np.finfo(np.float64).tiny:  # rows are equal, or so near that it is lost
        width = 1.0
    for_each(lambda batch: _gaussian(array[batch], width), _batches_of_rows(count, count))
    return array, width


def _gaussian(squares: FloatArray, width: float) -> FloatArray:
    """Turn squared distances into values of the kernel, in place."""
    squares *= -1 / (2 * width**2)
    kernel: FloatArray = np.exp(squares, out=squares)
    return kernel


def _batches_of_rows(count: int, columns: int) -> list[slice]:
    return split_rows(0, count, max(1, _NUMBERS_AT_A_TIME // columns))
