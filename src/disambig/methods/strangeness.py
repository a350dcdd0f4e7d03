"""How unlike the training rows a row is: its distance to the nearest of them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array

from disambig._core.typing import Features, FloatArray
from disambig.methods.scaling import apply_scaler, fit_scaler
from disambig.solvers.blocks import one_thread_each
from disambig.solvers.neighbors import RowIndex, distances_of_queries, index_of_rows

_NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class Strangeness:
    """The mean distance to the five nearest training rows, in standardised features."""

    scaler: Any
    index: RowIndex

    @classmethod
    def fit(cls, X: Any) -> Self:
        """Learn from training rows, dense or sparse."""
        checked = _as_numbers(X)
        with one_thread_each():
            scaler = fit_scaler("standard", checked)
            return cls(scaler, index_of_rows(apply_scaler(scaler, checked)))

    def of_rows(self, X: Any) -> FloatArray:
        """Return how strange new rows are."""
        with one_thread_each():
            scaled = apply_scaler(self.scaler, _as_numbers(X))
            return distances_of_queries(self.index, scaled, _NEIGHBORS)


def _as_numbers(X: Any) -> Features:
    return check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
