"""Draws from gamma, beta and Dirichlet distributions, which follow from seeds and the step."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from disambig.engine.views import uniform

# Proposals for every gamma draw, of which the first good one is taken: how many there are must not
# depend on the numbers. More than nineteen in twenty are good, so one draw in ten million has none.
_PROPOSALS = 6


def log_gamma_draws(concentration: Tensor, streams: Tensor, step: int | Tensor) -> Tensor:
    """Return logarithms of independent draws from gamma distributions of scale one.

    The method of Marsaglia and Tsang (2000) for a concentration larger by one, and their factor
    ``U^(1/a)`` for what that is too much. Draws for small concentrations are smaller than any
    number that there is; their logarithms are not.

    Parameters
    ----------
    concentration : Tensor of shape (problems, networks, rows, ...)
        Above zero. No gradient flows back; see ``dirichlet``.
    streams : Tensor of shape (problems,)
        From ``streams_of_problems``.
    step : int or Tensor of one integer
        Other steps draw other numbers.
    """
    concentration = concentration.detach()
    shape = concentration.shape[1:]
    first, second = uniform(streams, (*shape, _PROPOSALS), step, part=0)
    # Box and Muller (1958).
    normal = first.log_().mul_(-2).sqrt_().mul_(second.mul_(2 * math.pi).cos_())
    accepts, _ = uniform(streams, (*shape, _PROPOSALS), step, part=1)
    shrinks, _ = uniform(streams, shape, step, part=2)
    normal = normal.to(concentration.dtype)
    d = (concentration + 2 / 3).unsqueeze(-1)
    root = 1 + normal / (9 * d).sqrt()
    # Where the root is not above zero, there is no proposal.
    log_v = 3 * root.clamp(min=1e-6).log()
    log_ratio = normal.square() / 2 + d * (1 - log_v.exp() + log_v)
    is_good = (root > 0) & (accepts.to(concentration.dtype).log() < log_ratio)
    chosen = is_good.to(torch.int8).argmax(-1, keepdim=True)
    # Without any good one, the most probable draw.
    log_v = log_v.masked_fill(~is_good, 0).gather(-1, chosen)
    log_draws = (d.log() + log_v).squeeze(-1)
    return log_draws + shrinks.to(concentration.dtype).log() / concentration


def dirichlet(concentration: Tensor, log_draws: Tensor) -> Tensor:
    """Return draws from Dirichlet distributions over the last axis, from which gradients flow back.

    Parameters
    ----------
    concentration : Tensor of shape (..., classes)
        Above zero; gradients flow into it as in ``torch.distributions.Dirichlet.rsample``.
    log_draws : Tensor, same shape
        Of ``log_gamma_draws`` for this concentration.
    """
    drawn: Tensor = _Dirichlet.apply(concentration, log_draws)  # type: ignore[no-untyped-call]  # torch has no types for it
    return drawn


def beta_draws(
    concentration: float, streams: Tensor, shape: Sequence[int], step: int | Tensor
) -> Tensor:
    """Return draws from a symmetric beta distribution, in single precision.

    Parameters
    ----------
    concentration : float
        Both parameters of the distribution.
    shape : sequence of int
        That of the results, (networks, ...), behind an axis for the problems.
    streams, step
        As of ``log_gamma_draws``.
    """
    both = torch.full((len(streams), *shape, 2), concentration, device=streams.device)
    return log_gamma_draws(both, streams, step).softmax(-1)[..., 0]


class _Dirichlet(torch.autograd.Function):
    """Normalise gamma draws, with the pathwise gradient that torch has for Dirichlet draws."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor, log_draws: Tensor) -> Tensor:
        limits = torch.finfo(log_draws.dtype)
        # As torch does: the gradient needs numbers above zero.
        drawn = log_draws.softmax(-1).clamp(limits.tiny, 1 - limits.eps)
        ctx.save_for_backward(concentration, drawn)
        return drawn

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        concentration, drawn = ctx.saved_tensors
        total = concentration.sum(-1, keepdim=True).expand_as(concentration)
        slopes = torch._dirichlet_grad(drawn, concentration, total)
        return slopes * (gradient - (drawn * gradient).sum(-1, keepdim=True)), None
