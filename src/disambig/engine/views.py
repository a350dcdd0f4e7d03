"""Views of tables: the same rows with noise and gaps.

A table has no crops and no flips. What leaves the meaning of a row alone is a little noise, and
some features left out. Everything here is a pure function of the streams, the step and the
position: in a stack a problem draws what it draws alone, and a row the same whatever rows come
after it.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from disambig.engine.fast.random import positions_of, random_words, streams_of
from disambig.engine.rule import TrainingData

# Dropout and swap noise of networks take the numbers up to here; those are for other seeds, too.
_FIRST_PURPOSE = 2**17
# Random bits of a number below one: with half a step added it is exact in single precision.
_BITS = 23
_HALF_WORD = 32


def streams_of_problems(
    problems: Sequence[TrainingData], device: torch.device, purpose: int = 0
) -> Tensor:
    """Return a stream of random numbers for every problem, of shape (problems,).

    Streams for different purposes, such as two views, have nothing to do with each other.
    """
    seeds = [problem.order_seed for problem in problems]
    return streams_of(seeds, _FIRST_PURPOSE + purpose).to(device)


def uniform(
    streams: Tensor, shape: Sequence[int], step: int | Tensor, *, part: int = 0
) -> tuple[Tensor, Tensor]:
    """Return two independent tensors of numbers between zero and one, neither of them included.

    Parameters
    ----------
    streams : Tensor of shape (problems,)
        From ``streams_of_problems``.
    shape : sequence of int
        (networks, rows, ...): that of the results, behind an axis for the problems. Other networks
        draw other numbers. More rows leave the numbers of the first ones as they are.
    step : int or Tensor of one integer
        Other steps draw other numbers.
    part : int, default=0
        So do other parts of a step.

    Returns
    -------
    first, second : Tensor of shape (problems, networks, rows, ...)
        In single precision.
    """
    n_networks, *others = shape
    of_networks = random_words(positions_of(streams, n_networks), part)
    words = random_words(positions_of(of_networks, math.prod(others)), step)
    halves = (words >> (_HALF_WORD - _BITS), words >> (2 * _HALF_WORD - _BITS))
    first, second = ((half & (2**_BITS - 1)).to(torch.float32) for half in halves)
    size = (len(streams), *shape)
    return first.add_(0.5).mul_(2**-_BITS).view(size), second.add_(0.5).mul_(2**-_BITS).view(size)


def normal(streams: Tensor, shape: Sequence[int], step: int | Tensor, *, part: int = 0) -> Tensor:
    """Return standard normal numbers; parameters as of ``uniform``."""
    first, second = uniform(streams, shape, step, part=part)
    # Box and Muller (1958).
    return first.log_().mul_(-2).sqrt_().mul_(second.mul_(2 * math.pi).cos_())


def with_noise(
    features: Tensor, streams: Tensor, step: int | Tensor, scale: float = 0.1, *, part: int = 0
) -> Tensor:
    """Return features with fresh Gaussian noise added.

    Parameters
    ----------
    features : Tensor of shape (problems, networks, rows, features)
        Left as they are.
    streams, step, part
        As of ``uniform``.
    scale : float, default=0.1
        Standard deviation of the noise; features are scaled before.
    """
    noise = normal(streams, features.shape[1:], step, part=part)
    return features + noise.to(features.dtype) * scale


def with_gaps(
    features: Tensor, streams: Tensor, step: int | Tensor, share: float = 0.1, *, part: int = 0
) -> Tensor:
    """Return features of which a share is zero, the middle of a scaled feature.

    Parameters as of ``with_noise``.
    """
    left_out, _ = uniform(streams, features.shape[1:], step, part=part)
    return features.masked_fill(left_out < share, 0)


def tabular_view(
    features: Tensor,
    streams: Tensor,
    step: int | Tensor,
    noise: float = 0.1,
    gaps: float = 0.1,
) -> Tensor:
    """Return the view that our methods take for an augmented image: noise, and then some gaps.

    Parameters
    ----------
    noise : float, default=0.1
        Standard deviation of the noise.
    gaps : float, default=0.1
        Share of features left out.
    features, streams, step
        As of ``with_noise``.
    """
    noisy = with_noise(features, streams, step, noise, part=0)
    return with_gaps(noisy, streams, step, gaps, part=1)


def shuffled(is_real: Tensor, streams: Tensor, n_networks: int, step: int | Tensor) -> Tensor:
    """Return, for every row, the position of another one: a random order of the real rows.

    What rows are mixed with. Filler rows stay where they are.

    Parameters
    ----------
    is_real : Tensor of booleans of shape (problems, 1, rows)
        Which rows are no filler; those come first.
    streams, step
        As of ``uniform``.
    n_networks : int
        Each has an order of its own.

    Returns
    -------
    positions : Tensor of integers of shape (problems, networks, rows)
        For ``gather``.
    """
    keys, _ = uniform(streams, (n_networks, is_real.shape[-1]), step)
    return keys.masked_fill(~is_real, 2).argsort(dim=-1, stable=True)
