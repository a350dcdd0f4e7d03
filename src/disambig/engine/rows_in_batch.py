"""Which rows of a batch are real, and which only fill it up to the common size."""

from typing import NamedTuple

from torch import Tensor

__all__ = ["RowsInBatch"]


class RowsInBatch(NamedTuple):
    """The rows of one batch, for every network of a stack.

    Attributes
    ----------
    counts : Tensor of shape (networks, 1, 1)
        Number of real rows.
    averaging : Tensor of shape (networks, 1, rows)
        One over that number for a real row, zero for one that only fills up.
    real : Tensor of shape (networks, rows, 1)
        One for a real row, zero for one that only fills up.
    """

    counts: Tensor
    averaging: Tensor
    real: Tensor
