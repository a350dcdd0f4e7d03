"""Random numbers as a pure function of a seed, a counter and a position.

No generator has a state to carry: a network draws the same bits alone or in a stack, on the CPU or
on a card, in a run of one piece or in one that was interrupted.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["origins_of", "random_words", "words_at"]

# The constants of splitmix64, as signed integers: that generator is a counter times the first one,
# mixed by the other two.
_STRIDE = -7046029254386353131
_FIRST_FACTOR = -4658895280553007687
_SECOND_FACTOR = -7723592293110705685


def origins_of(seeds: Sequence[int], purpose: int = 0) -> Tensor:
    """Return where the random numbers of every seed begin.

    Parameters
    ----------
    seeds : sequence of int
        Of up to 64 bits.
    purpose : int, default=0
        Numbers for different purposes have nothing to do with each other.
    """
    mixed = _mixed(torch.tensor([_wrapped(seed) for seed in seeds]))
    return _mixed(mixed + _wrapped((purpose + 1) * _STRIDE))


def words_at(origins: Tensor, count: int) -> Tensor:
    """Return the first ``count`` positions of every origin, to be drawn from again and again."""
    positions = torch.arange(count, device=origins.device) * _STRIDE
    return origins.unsqueeze(-1) + positions


def random_words(places: Tensor, counter: Tensor | int) -> Tensor:
    """Return a random integer of 64 bits for every place and one counter.

    Parameters
    ----------
    places : Tensor of integers
        From ``words_at``.
    counter : Tensor of one integer, or int
        Such as the number of a step: another counter, other numbers.
    """
    offset = counter * _NEXT_COUNTER
    return _mixed(places + (offset if isinstance(offset, Tensor) else _wrapped(offset)))


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
