"""Gamma, beta and Dirichlet draws, against the distributions of scipy and the gradient of torch."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions.dirichlet import _Dirichlet_backward

from disambig.engine.draws import beta_draws, dirichlet, gamma_numbers, log_gamma_draws
from disambig.engine.fast.random import streams_of

STREAMS = streams_of([1, 2])


def log_draws(concentration, streams=STREAMS, step=0):
    numbers = gamma_numbers(streams, concentration.shape[1:], torch.tensor([step]))
    return log_gamma_draws(concentration, numbers[0])


def draws(concentration, shape=(1, 40, 50), step=0, streams=STREAMS, dtype=torch.float64):
    return log_draws(torch.full((len(streams), *shape), concentration, dtype=dtype), streams, step)


@pytest.mark.parametrize("concentration", [0.01, 0.3, 1.0, 2.5, 30.0])
def test_gamma_draws_have_the_distribution_of_scipy(concentration):
    drawn = draws(concentration).flatten().numpy()
    assert np.isfinite(drawn).all()
    # In logarithms: those of a small concentration are below the smallest number.
    law = stats.loggamma(concentration)
    assert stats.kstest(drawn, law.cdf).pvalue > 0.01


def test_draws_follow_from_seed_step_and_position_alone():
    both = draws(0.5)
    torch.testing.assert_close(draws(0.5, streams=STREAMS[1:])[0], both[1], rtol=0, atol=0)
    torch.testing.assert_close(draws(0.5, (1, 60, 50))[:, :, :40], both, rtol=0, atol=0)
    steps = gamma_numbers(STREAMS, (1, 40, 50), torch.tensor([3, 0]))
    torch.testing.assert_close(
        log_gamma_draws(torch.full_like(steps[0, ..., 0], 0.5).double(), steps[1]),
        both,
        rtol=0,
        atol=0,
    )
    assert not torch.isclose(draws(0.5, step=3), both).any()
    assert np.abs(np.corrcoef(both.view(2, -1).numpy())[0, 1]) < 0.07


def test_beta_draws_have_the_distribution_of_scipy():
    for concentration in (0.5, 8.0):
        drawn = (
            beta_draws(concentration, STREAMS, (1, 1000), torch.tensor([5]))
            .flatten()
            .double()
            .numpy()
        )
        assert stats.kstest(drawn, stats.beta(concentration, concentration).cdf).pvalue > 0.01


def test_dirichlet_draws_have_mean_and_variance_of_the_distribution():
    concentration = torch.tensor([0.01, 0.21, 1.3]).double().expand(2, 1, 4000, 3)
    drawn = dirichlet(concentration, log_draws(concentration)).view(-1, 3)
    torch.testing.assert_close(drawn.sum(1), torch.ones(8000).double())
    law = stats.dirichlet([0.01, 0.21, 1.3])
    np.testing.assert_allclose(drawn.mean(0), law.mean(), atol=0.01)
    np.testing.assert_allclose(drawn.var(0), law.var(), atol=0.005)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_those_of_torch(dtype):
    concentration = torch.rand(2, 1, 30, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    concentration = (concentration + 0.01).requires_grad_()
    drawn = dirichlet(concentration, log_draws(concentration))
    weights = torch.linspace(-1, 1, drawn.numel(), dtype=dtype).view_as(drawn)
    (drawn * weights).sum().backward()
    expected = _Dirichlet_backward(drawn.detach(), concentration.detach(), weights)
    assert torch.isfinite(concentration.grad).all()
    torch.testing.assert_close(concentration.grad, expected)


def test_the_mean_gradient_is_that_of_the_mean():
    # E[d_1] = a_1 / (a_1 + a_2): its slopes are known.
    a = torch.tensor([0.4, 1.1], dtype=torch.float64)
    concentration = a.expand(2, 1, 4000, 2).clone().requires_grad_()
    drawn = dirichlet(concentration, log_draws(concentration))
    drawn[..., 0].sum().backward()
    found = concentration.grad.mean((0, 1, 2))
    expected = torch.stack([a[1], -a[0]]) / a.sum() ** 2
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0)
