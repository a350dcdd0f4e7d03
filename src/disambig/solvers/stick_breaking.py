"""Logistic stick-breaking: every row is divided among components by linear gates.

Gate m takes the share ``expit(score)`` of what the gates before it left of a row; there is one more
component than gates, and the last one takes the rest.
"""

import numpy as np
from scipy.special import expit

from disambig._core.typing import FloatArray
from disambig.solvers.linear_model import LinearModel, LossOfScores


def even_gates(n_features: int, n_components: int) -> LinearModel:
    """Return gates that give every component the same share everywhere."""
    left = np.arange(n_components - 1, 0, -1)
    return LinearModel(np.zeros((n_features, n_components - 1)), -np.log(left))


def shares_of_gates(scores: FloatArray) -> FloatArray:
    """Return what every component takes of every row, given the scores of the gates."""
    log_shares = np.zeros((scores.shape[0], scores.shape[1] + 1))
    log_part = -_softplus(scores)  # what a gate leaves of what reaches it
    np.cumsum(log_part, axis=1, out=log_shares[:, 1:])
    log_part += scores  # what it takes
    log_shares[:, :-1] += log_part
    return np.exp(log_shares, out=log_shares)


def gate_loss(shares: FloatArray) -> LossOfScores:
    """Return the loss of all gates, ``-sum(shares * log(shares_of_gates(scores)))``.

    It is a logistic regression for every gate, on what reaches it of every row.
    """
    taken = np.ascontiguousarray(shares[:, :-1])
    reached = np.ascontiguousarray(np.cumsum(shares[:, ::-1], axis=1)[:, :0:-1])

    def loss_of_scores(scores: FloatArray) -> tuple[float, FloatArray]:
        loss = np.vdot(reached, _softplus(scores)) - np.vdot(taken, scores)
        slope = expit(scores)
        slope *= reached
        slope -= taken
        return float(loss), slope

    return loss_of_scores


def _softplus(scores: FloatArray) -> FloatArray:
    """Return log(1 + exp(score)); faster than logaddexp, and as safe."""
    values: FloatArray = -np.abs(scores)
    np.log1p(np.exp(values, out=values), out=values)
    values += np.maximum(scores, 0)
    return values
