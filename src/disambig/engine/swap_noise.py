"""Features that a training step takes from other rows."""

from collections.abc import Sequence

import torch
from torch import Tensor

from disambig.engine.random_bits import positions_of, random_words, streams_of
from disambig.engine.rows_in_batch import RowsInBatch

__all__ = ["SwapNoise"]

# Dropout takes the numbers of the layers, from zero on.
_PURPOSE = 2**16
# A random integer of 32 bits is cut into one half that decides and one that names the other row.
_HALF_BITS = 16
_LOW_HALF = 2**_HALF_BITS - 1


class SwapNoise:
    """Replace some features of every row by the same feature of other rows of the batch.

    What comes in is a value that the feature really takes, and as often as it takes it. Everything
    is a pure function of the seed and the step.

    Parameters
    ----------
    share : float
        Share of features to replace, above 0 and up to 1; to the nearest 1/65536.
    seeds : sequence of int
        One for every network.
    """

    def __init__(self, share: float, seeds: Sequence[int]) -> None:
        self._limit = round(float(share) * 2**_HALF_BITS)
        self._streams = streams_of(seeds, _PURPOSE)
        self._positions = torch.empty(0)
        self._own_rows = torch.empty(0)

    def __call__(self, features: Tensor, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return other features; rows that only fill up a batch are never taken from.

        Parameters
        ----------
        features : Tensor of shape (networks, rows, features)
            Left as they are.
        rows : RowsInBatch
            Which of them are real: the first ones.
        step : int or Tensor of one integer
            Number of the training step.
        """
        networks, n_rows, n_features = features.shape
        count = n_rows * n_features
        n_words = -(-count // 2)
        if self._positions.shape != (networks, n_words):
            self._positions = positions_of(self._streams.to(features.device), n_words)
        if self._own_rows.numel() != n_rows:
            self._own_rows = torch.arange(n_rows, device=features.device).view(1, -1, 1)
        bits = random_words(self._positions, step).view(torch.int32)[:, :count].view_as(features)
        decides = bits.bitwise_and(_LOW_HALF) < self._limit
        # A random number below the number of real rows: that number times a random fraction.
        other = (bits >> _HALF_BITS).bitwise_and_(_LOW_HALF).to(torch.int64)
        other.mul_(rows.counts.to(torch.int64)).bitwise_right_shift_(_HALF_BITS)
        return features.gather(1, torch.where(decides, other, self._own_rows))
