"""Draws from gamma, beta and Dirichlet distributions, which follow from seeds and the step."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from disambig.engine.views import normal_of, uniform

# Proposals for every gamma draw, of which the first good one is taken: how many there are must not
# depend on the numbers. More than nineteen in twenty are good, so one draw in ten million has none.
_PROPOSALS = 6


def gamma_numbers(streams: Tensor, shape: Sequence[int], steps: Tensor) -> Tensor:
    """Return random numbers for ``log_gamma_draws``, which depend on no concentration.

    Parameters
    ----------
    streams, shape, steps
        As of ``uniform``.

    Returns
    -------
    Tensor of shape (steps, problems, *shape, numbers)
        In single precision.
    """
    half = _PROPOSALS // 2
    first, second = uniform(streams, (*shape, _PROPOSALS + half + 1), steps)
    proposals = normal_of(first[..., :_PROPOSALS], second[..., :_PROPOSALS])
    accepts = torch.cat([first[..., _PROPOSALS:], second[..., _PROPOSALS : _PROPOSALS + half]], -1)
    # As many as decide on proposals, and one more.
    logs = accepts.log()
    # A proposal is good where the last part of the logarithm of its likelihood is above this.
    bounds = logs[..., :-1] - proposals.square() / 2
    return torch.cat([proposals, bounds, logs[..., -1:]], -1)


def log_gamma_draws(concentration: Tensor, numbers: Tensor) -> Tensor:
    """Return logarithms of independent draws from gamma distributions of scale one.

    The method of Marsaglia and Tsang (2000) for a concentration larger by one, and their factor
    ``U^(1/a)`` for what that is too much. Draws for small concentrations are smaller than any
    number that there is; their logarithms are not.

    Parameters
    ----------
    concentration : Tensor
        Above zero. No gradient flows back; see ``dirichlet``.
    numbers : Tensor, one more axis
        Of ``gamma_numbers``.
    """
    concentration = concentration.detach()
    numbers = numbers.to(concentration.dtype)
    proposals, bounds, shrinks = torch.tensor_split(numbers, (_PROPOSALS, 2 * _PROPOSALS), -1)
    d = (concentration + 2 / 3).unsqueeze(-1)
    # Where the root is not above zero, there is no proposal: so small a one is never good.
    root = torch.addcmul(torch.ones_like(d), proposals, (9 * d).rsqrt()).clamp_(min=1e-12)
    log_v = root.log_().mul_(3)
    is_good = bounds < (log_v - log_v.expm1()).mul_(d)
    chosen = is_good.to(torch.int8).argmax(-1, keepdim=True)
    # Without any good one, the most probable draw.
    log_v = log_v.masked_fill_(~is_good, 0).gather(-1, chosen)
    return (d.log_().add_(log_v) + shrinks / concentration.unsqueeze(-1)).squeeze(-1)


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
    concentration: float, streams: Tensor, shape: Sequence[int], steps: Tensor
) -> Tensor:
    """Return draws from a symmetric beta distribution, in single precision.

    Parameters
    ----------
    concentration : float
        Both parameters of the distribution.
    streams, shape, steps
        As of ``uniform``.
    """
    numbers = gamma_numbers(streams, (*shape, 2), steps)
    both = torch.full(numbers.shape[:-1], concentration, device=numbers.device)
    return log_gamma_draws(both, numbers).softmax(-1)[..., 0]


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
