"""A linear model under any smooth loss of its scores, fitted by L-BFGS."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from disambig._core.typing import Features, FloatArray
from disambig.solvers.blocks import for_each, split_rows

_ROWS_AT_A_TIME = 4096

# From scores (n_samples, n_outputs) to their loss and its gradient, of the same shape.
LossOfScores = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True)
class LinearModel:
    """Scores ``X @ weights + intercepts``."""

    weights: FloatArray  # (n_features, n_outputs)
    intercepts: FloatArray  # (n_outputs,)
    n_iter: int = 0  # steps of the fit that led here

    @classmethod
    def zeros(cls, n_features: int, n_outputs: int) -> Self:
        """Return the model whose scores are all zero."""
        return cls(np.zeros((n_features, n_outputs)), np.zeros(n_outputs))

    def scores(self, X: Features) -> FloatArray:
        """Return one score for every sample and output; features may be sparse."""
        scores = _rows_times(X, self.weights)
        scores += self.intercepts
        return scores


def _rows_times(X: Features, weights: FloatArray) -> FloatArray:
    """Return ``X @ weights``."""
    blocks = _blocks(X)
    if len(blocks) > 1:
        return np.concatenate(for_each(lambda block: X[block] @ weights, blocks))
    product: FloatArray = X @ weights
    return product


def _columns_times(X: Features, slope: FloatArray) -> FloatArray:
    """Return ``X.T @ slope``."""
    blocks = _blocks(X)
    if len(blocks) > 1:
        first, *others = for_each(lambda block: X[block].T @ slope[block], blocks)
    else:
        first, others = X.T @ slope, []
    product: FloatArray = sum(others, start=first)
    return product


def _blocks(X: Features) -> list[slice]:
    # Products of sparse arrays are not shared among threads.
    return [] if sparse.issparse(X) else split_rows(0, len(X), _ROWS_AT_A_TIME)


def fit_linear_model(
    X: Features,
    loss_of_scores: LossOfScores,
    start: LinearModel,
    *,
    penalty: float,
    max_iter: int,
    tol: float = 1e-9,
) -> LinearModel:
    """Minimise ``loss_of_scores(scores) + penalty / 2 * sum(weights ** 2)``.

    Every step of L-BFGS lowers the objective, so a fit that is cut short by ``max_iter`` is never
    worse than its start. Intercepts are not penalised. The fit stops where a step lowers the
    objective by less than ``tol`` times the larger of it and one.
    """
    shape, size = start.weights.shape, start.weights.size
    if size + start.intercepts.size == 0:
        return start  # no outputs, nothing to fit

    def unpack(parameters: FloatArray) -> LinearModel:
        return LinearModel(parameters[:size].reshape(shape), parameters[size:])

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        model = unpack(parameters)
        loss, slope = loss_of_scores(model.scores(X))
        by_weights = _columns_times(X, slope) + penalty * model.weights
        gradient = np.concatenate([by_weights.ravel(), slope.sum(axis=0)])
        return loss + penalty / 2 * float(np.sum(model.weights**2)), gradient

    found = minimize(
        objective,
        np.concatenate([start.weights.ravel(), start.intercepts]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 1e-12},
    )
    return replace(unpack(found.x), n_iter=found.nit)
