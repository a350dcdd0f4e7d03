"""The multi-class support vector machine of Crammer and Singer, for classes that may be empty."""

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.extmath import row_norms

from disambig._core.typing import Features, FloatArray, IntArray

_ONE_AT_A_TIME = Lock()
_MOST_PASSES = 1000
# How far a class without rows is below all others: e ** -30 is a negligible probability.
_GAP_BELOW = 30.0


@dataclass(frozen=True)
class MarginMachine:
    """Linear scores of the classes that some row has."""

    weights: FloatArray  # (n_features, n_present)
    intercepts: FloatArray  # (n_present,)
    present: IntArray  # (n_present,): which classes they are
    n_classes: int  # all of them

    @property
    def penalty(self) -> float:
        """Half the squared length of weights and intercepts."""
        return float(np.sum(self.weights**2) + np.sum(self.intercepts**2)) / 2

    def scores(self, X: Features) -> FloatArray:
        """Return one score for every row and class; classes without rows get the lowest."""
        of_present = X @ self.weights + self.intercepts
        scores = np.tile(of_present.min(axis=1, keepdims=True), self.n_classes)
        scores[:, self.present] = of_present
        return scores

    def logits(self, X: Features) -> FloatArray:
        """Return scores to predict from; classes without rows are far below all others."""
        logits = self.scores(X) - _GAP_BELOW
        logits[:, self.present] += _GAP_BELOW
        return logits


def fit_margin_machine(
    X: Features, labels: IntArray, n_classes: int, *, C: float, tol: float
) -> MarginMachine:
    """Minimise ``machine.penalty + C sum_i max(0, 1 - margin of row i)``.

    The margin of a row is the score of its label less the best other score. liblinear does it, and
    stops after a thousand passes over the rows if it has not converged before. The tolerance is for
    the conditions of an optimum, relative to the influence of a row. Some classes may have no row.
    """
    present = np.unique(labels)
    if len(present) == 1:
        return MarginMachine(np.zeros((X.shape[1], 1)), np.zeros(1), present, n_classes)
    # How far a single row can move its score; small values of C need a small tolerance.
    influence = C * (1 + row_norms(X, squared=True).mean())
    machine = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        tol=tol * min(1, influence),
        max_iter=_MOST_PASSES,
        random_state=0,  # in which order rows are visited; the optimum does not depend on it
    )
    # liblinear's random numbers and Python's warning filters belong to all threads.
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, labels)
    weights, intercepts = machine.coef_.T, machine.intercept_
    if len(present) == 2:  # given as one difference; at the optimum the two are opposite
        halves = np.array([-0.5, 0.5])
        weights, intercepts = weights * halves, intercepts * halves
    return MarginMachine(weights, intercepts, present, n_classes)
