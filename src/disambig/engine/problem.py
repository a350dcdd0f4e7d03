"""What one training learns from, as plain arrays."""

from dataclasses import dataclass

from disambig._core.typing import FloatArray, Sparse

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """Features and candidate sets of one training.

    Attributes
    ----------
    features : ndarray of shape (rows, features)
        One row a sample.
    prior : sparse CSR array of shape (rows, classes)
        An entry for every candidate, rows summing to one: what is believed before training.
    order_seed : int
        The order of the rows in every epoch follows from it.
    """

    features: FloatArray
    prior: Sparse
    order_seed: int
