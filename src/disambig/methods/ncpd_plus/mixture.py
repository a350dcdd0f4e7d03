"""Weights of a mix, from candidate sets alone."""

import numpy as np

from disambig._core.typing import FloatArray

__all__ = ["SMALLEST_MASS", "mixture_weights"]

_STEPS = 300
# Below this a probability is as good as none; its logarithm must not decide alone.
SMALLEST_MASS = 1e-6


def mixture_weights(masses: FloatArray, pseudo_rows: float) -> FloatArray:
    """Return the weights under which a mix of models gives the candidate sets the most probability.

    The sum over the rows of ``log(sum_k weight_k mass_ik)`` is concave in the weights; expectation
    and maximisation climb it.

    Parameters
    ----------
    masses : ndarray of shape (models, rows)
        The probability that each model gives to each held-out candidate set as a whole.
    pseudo_rows : float
        So many more rows are counted for every model, which keeps weights from few rows near to
        each other.
    """
    n_models, n_rows = masses.shape
    masses = np.maximum(masses, SMALLEST_MASS)
    weights: FloatArray = np.full(n_models, 1 / n_models)
    for _ in range(_STEPS):
        share = weights[:, np.newaxis] * masses
        share /= share.sum(axis=0)
        weights = (share.sum(axis=1) + pseudo_rows) / (n_rows + n_models * pseudo_rows)
    return weights
