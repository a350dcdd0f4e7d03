"""Random numbers as a pure function of a seed, a counter and a position.

No generator has a state to carry: a network draws the same bits alone or in a stack, on the CPU or
on a card, in a run of one piece or in one that was interrupted.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["positions_of", "random_words", "streams_of"]

# The constants of splitmix64, as signed integers: that generator is a counter times the first one,
# mixed by the other two.
_STRIDE = -7046029254386353131
_FIRST_FACTOR = -4658895280553007687
_SECOND_FACTOR = -7723592293110705685


def streams_of(seeds: Sequence[int], purpose: int = 0) -> Tensor:
    """Return a stream of random numbers for every seed: the integer that it begins with.

    Parameters
    ----------
    seeds : sequence of int
        Of up to 64 bits.
    purpose : int, default=0
        Numbers for different purposes have nothing to do with each other.
    """
    mixed = _mixed(torch.tensor([_wrapped(seed) for seed in seeds]))
    return _mixed(mixed + _wrapped((purpose + 1) * _STRIDE))


def positions_of(streams: Tensor, count: int) -> Tensor:
    """Return the first ``count`` positions of every stream, to be drawn from again and again."""
    return streams.unsqueeze(-1) + torch.arange(count, device=streams.device) * _STRIDE


def random_words(positions: Tensor, counter: Tensor | int) -> Tensor:
    """Return a random integer of 64 bits for every position and one counter.

    Parameters
    ----------
    positions : Tensor of integers
        From ``positions_of``.
    counter : Tensor of one integer, or int
        Such as the number of a step: another counter, other numbers.
    """
    offset = counter * _NEXT_COUNTER
    return _mixed(positions + (offset if isinstance(offset, Tensor) else _wrapped(offset)))


def _wrapped(value: int) -> int:
    """Return the signed integer of 64 bits that arithmetic with 64 bits would give."""
    return (value + 2**63) % 2**64 - 2**63


# So many positions on that no counter reaches into the next one's.
_NEXT_COUNTER = _wrapped(2**32 * _STRIDE)


def _mixed(words: Tensor) -> Tensor:
    """Mix in place, so that every bit of the result hangs on every bit of the input."""
    words ^= _shifted(words, 30)
    words *= _FIRST_FACTOR
    words ^= _shifted(words, 27)
    words *= _SECOND_FACTOR
    words ^= _shifted(words, 31)
    return words


def _shifted(words: Tensor, bits: int) -> Tensor:
    """Shift right and fill up with zeros; torch fills up with the sign, which would lose a bit."""
    return (words >> bits).bitwise_and_(2 ** (64 - bits) - 1)
