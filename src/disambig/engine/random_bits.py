"""Random numbers as a pure function of a seed, a counter and a position.

No generator has a state to carry: a network draws the same bits alone or in a stack, on the CPU or
on a card, in a run of one piece or in one that was interrupted.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from disambig.engine.workspace import Workspace

__all__ = ["as_tensor_of_seeds", "keep_masks", "kept_share", "random_words", "stream_of"]

_ROWS_PER_WORD = 32
# The constants of splitmix64, as signed integers: that generator is a counter times the first one,
# mixed by the other two.
_STRIDE = -7046029254386353131
_FIRST_FACTOR = -4658895280553007687
_SECOND_FACTOR = -7723592293110705685
# Probabilities are multiples of 1/256: as many random bits as that takes, fewer for rounder ones.
_LEVELS = 256


def as_tensor_of_seeds(seeds: Sequence[int]) -> Tensor:
    """Return seeds of up to 64 bits as signed integers, which is all that torch has."""
    return torch.tensor([seed - 2**64 if seed >= 2**63 else seed for seed in seeds])


def stream_of(seeds: Tensor, counter: Tensor | int) -> Tensor:
    """Return a new seed for every seed and counter."""
    return _mixed(_mixed(seeds.clone()) + torch.as_tensor(counter) * _STRIDE)


def random_words(seeds: Tensor, count: int) -> Tensor:
    """Return ``count`` random integers of 64 bits for every seed, on a new last axis."""
    positions = torch.arange(1, count + 1, device=seeds.device)
    return _mixed(seeds.unsqueeze(-1) + positions * _STRIDE)


def keep_masks(
    seeds: Tensor, n_rows: int, n_units: int, keep_probability: float, workspace: Workspace
) -> Tensor:
    """Return, for every seed, an integer for every row and unit: all bits set to keep it, or none.

    As bits, because one operation on the bits of a number keeps it or makes it zero, and because
    32 rows then share one random number. What a row gets does not depend on the rows after it.
    """
    level = _level_of(keep_probability)
    lowest = (level & -level).bit_length() - 1
    planes = _LEVELS.bit_length() - 1 - lowest
    n_groups = -(-n_rows // _ROWS_PER_WORD)
    n_words = n_groups * planes * n_units
    words = random_words(seeds, -(-n_words // 2)).view(torch.int32)[:, :n_words]
    words = words.reshape(-1, n_groups, planes, n_units)
    # With bits b1 b2 b3... of the probability, from the last to the first: "or" with fair bits
    # halves the probability and adds one half, "and" halves it.
    bits = words[:, :, 0]
    for plane in range(1, planes):
        fair = words[:, :, plane]
        bits = bits | fair if level >> (lowest + plane) & 1 else bits & fair
    shifts = torch.arange(_ROWS_PER_WORD, dtype=torch.int32, device=seeds.device)
    masks = workspace.tensor("keep masks", bits, (len(seeds), n_groups, _ROWS_PER_WORD, n_units))
    torch.bitwise_left_shift(bits.unsqueeze(2), shifts.unsqueeze(1), out=masks)
    # The sign, copied into every bit.
    masks.bitwise_right_shift_(_ROWS_PER_WORD - 1)
    return masks.view(len(seeds), n_groups * _ROWS_PER_WORD, n_units)[:, :n_rows]


def _level_of(keep_probability: float) -> int:
    """Return the probability in steps of 1/256, neither none nor all of them."""
    return min(max(round(keep_probability * _LEVELS), 1), _LEVELS - 1)


def kept_share(keep_probability: float) -> float:
    """Return the probability that ``keep_masks`` really keeps with."""
    return _level_of(keep_probability) / _LEVELS


def _mixed(words: Tensor) -> Tensor:
    """Mix in place, so that every bit of the result hangs on every bit of the input."""
    # torch shifts signed integers and copies the sign bit. The mixing still loses nothing: the
    # first bits are left as they are, and from them all others can be found again.
    words ^= words >> 30
    words *= _FIRST_FACTOR
    words ^= words >> 27
    words *= _SECOND_FACTOR
    words ^= words >> 31
    return words
