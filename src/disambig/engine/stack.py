"""What the training loop asks of networks, whatever they are made of."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from disambig.engine.rows_in_batch import RowsInBatch

__all__ = ["Stack"]

# In inference, so that memory does not grow with the number of rows.
_ROWS_AT_A_TIME = 8192


class Stack(nn.Module, ABC):
    """Several networks side by side."""

    # Whether a step can be recorded once and replayed: nothing in it may look at the numbers.
    capturable: ClassVar[bool]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of networks."""

    @abstractmethod
    def forward(self, features: Tensor, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return the logits of a training batch: shape (networks, rows, classes).

        Parameters
        ----------
        features : Tensor of shape (networks, rows, features)
            Rows that only fill up are zero.
        rows : RowsInBatch
            Which rows are real.
        step : int or Tensor of one integer
            Number of the training step: all randomness follows from it and the seeds.
        """

    @abstractmethod
    def backward(self, gradient: Tensor) -> None:
        """Take the gradient of the logits, leave that of every parameter in its ``.grad``."""

    @abstractmethod
    def infer(self, features: Tensor) -> Tensor:
        """Return the logits of every network for the same rows: (networks, rows, classes).

        Parameters
        ----------
        features : Tensor of shape (rows, features)
            Rows that nothing is learned from.
        """

    @abstractmethod
    def multiplications_per_row(self) -> float:
        """Return how many multiplications a row costs all networks, in one direction."""

    def mean_probabilities(self, features: Tensor) -> Tensor:
        """Return the mean of the networks' class probabilities: shape (rows, classes)."""
        parts = torch.split(features, _ROWS_AT_A_TIME)
        return torch.cat([self.infer(part).softmax(-1).mean(0) for part in parts])

    @abstractmethod
    def part(self, first: int, count: int) -> Self:
        """Return a stack of its own with ``count`` of the networks, from number ``first`` on.

        It carries nothing that only training needs.
        """
