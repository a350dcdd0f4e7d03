"""Which rows of a batch are real, and which only fill it up to the common size."""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from disambig.engine.clock import Clock

__all__ = ["RowsInBatch"]


class RowsInBatch(NamedTuple):
    """The rows of a batch for every network of a stack, as the layers need them.

    Attributes
    ----------
    real : Tensor of shape (networks, rows, 1)
        One for a real row, zero for one that only fills up.
    averaging : Tensor of shape (networks, 1, rows)
        One over the number of real rows for a real row, zero for one that only fills up.
    counts : Tensor of shape (networks, 1, 1)
        The number of real rows.
    unbiased : Tensor of shape (networks, 1, 1)
        n / (n - 1) for n real rows: what the variance is multiplied by before it is kept for
        inference, as torch does; one for a single row.
    """

    real: Tensor
    averaging: Tensor
    counts: Tensor
    unbiased: Tensor

    @classmethod
    def from_real(cls, real: Tensor, dtype: torch.dtype) -> Self:
        """Return what follows from which rows are real, a boolean of shape (..., rows)."""
        counts = real.sum(-1)[..., None, None].to(dtype)
        return cls(
            real=real.unsqueeze(-1).to(dtype),
            averaging=real.unsqueeze(-2) / counts,
            counts=counts,
            unbiased=counts / (counts - 1).clamp(min=1),
        )

    def at(self, clock: Clock) -> Self:
        """Return the present step, where the first axis of everything is the steps."""
        return type(self)(*(clock.at(table) for table in self))
