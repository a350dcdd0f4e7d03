"""Which hidden units a training step leaves out."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from disambig.engine.random_bits import positions_of, random_words, streams_of
from disambig.engine.workspace import Workspace

__all__ = ["Dropout"]

# Rows that share a random number, each with a bit of its own.
_ROWS_PER_WORD = 32
# Probabilities are multiples of one over this: a random bit for every halving.
_HALVINGS = 8
_LEVELS = 2**_HALVINGS


class Dropout(nn.Module):
    """Units to keep in every step, for every network: a pure function of its seed and the step.

    Parameters
    ----------
    share : float
        Share of units to leave out, above 0 and below 1; to the nearest 1/256.
    n_units : int
        Units of the layer.
    seeds : sequence of int
        One for every network.
    layer : int
        Number of the layer: others draw other units.

    Attributes
    ----------
    scale : float
        What the outputs of the layer are to be multiplied by, so that as much comes through as
        without dropout.
    """

    _streams: Tensor
    _shifts: Tensor

    def __init__(self, share: float, n_units: int, seeds: Sequence[int], layer: int) -> None:
        super().__init__()
        self._kept = min(max(round((1 - share) * _LEVELS), 1), _LEVELS - 1)
        self.scale = _LEVELS / self._kept
        self._n_units = n_units
        self._workspace = Workspace()
        self._positions: Tensor | None = None
        self._drawn: tuple[int, int] | None = None
        self._masks: Tensor | None = None
        shifts = torch.arange(_ROWS_PER_WORD, dtype=torch.int32).unsqueeze(1)
        self.register_buffer("_shifts", shifts, persistent=False)
        self.register_buffer("_streams", streams_of(seeds, layer), persistent=False)

    def forward(self, n_rows: int, step: int | Tensor) -> Tensor:
        """Return an integer for every network, row and unit: all bits set to keep it, or none.

        As bits, because one operation on the bits of a number keeps it or makes it zero, and
        because rows can share random numbers then. What a row gets does not depend on the rows
        after it. A step that asks twice, for clean and for noisy inputs, gets the same.
        """
        if self._masks is not None and self._drawn == (n_rows, step):
            return self._masks
        bits = self._kept_bits(-(-n_rows // _ROWS_PER_WORD), step)
        networks, words, units = bits.shape
        shape = (networks, words, _ROWS_PER_WORD, units)
        masks = self._workspace.tensor("masks", bits, shape)
        torch.bitwise_left_shift(bits.unsqueeze(2), self._shifts, out=masks)
        # The sign, copied into every bit.
        masks.bitwise_right_shift_(_ROWS_PER_WORD - 1)
        self._masks = masks.view(networks, words * _ROWS_PER_WORD, units)[:, :n_rows]
        # A step that is counted on a card is not known here.
        self._drawn = (n_rows, step) if isinstance(step, int) else None
        return self._masks

    def _kept_bits(self, n_words: int, step: int | Tensor) -> Tensor:
        """Return random words whose bits are set with the probability of keeping a unit."""
        lowest = (self._kept & -self._kept).bit_length() - 1
        fair = self._fair_bits(n_words, _HALVINGS - lowest, step)
        # The binary digits of the probability, from the last one that is not zero to the first:
        # "and" with a fair bit halves what there is, "or" halves it and adds one half.
        bits = fair[:, :, 0]
        for number in range(1, _HALVINGS - lowest):
            is_set = self._kept >> (lowest + number) & 1
            bits = bits | fair[:, :, number] if is_set else bits & fair[:, :, number]
        return bits

    def _fair_bits(self, n_words: int, n_bits: int, step: int | Tensor) -> Tensor:
        """Return random integers of 32 bits of the shape (networks, words, bits, units)."""
        count = n_words * n_bits * self._n_units
        size = -(-count // 2)
        positions = self._positions
        if (
            positions is None
            or positions.shape[1] < size
            or positions.device != self._streams.device
        ):
            positions = self._positions = positions_of(self._streams, size)
        words = random_words(positions[:, :size], step).view(torch.int32)[:, :count]
        return words.reshape(len(words), n_words, n_bits, self._n_units)
