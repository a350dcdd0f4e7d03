"""Views of tables: how much changes, and that nothing depends on who else is there."""

import numpy as np
import pytest
import torch
from scipy import stats

from disambig.engine.views import (
    normal,
    shuffled,
    streams_of_problems,
    tabular_view,
    uniform,
    with_gaps,
    with_noise,
)
from engine.plain_network import normal as given
from engine.small_problems import make_problem

SHAPE = (2, 300, 40)


def streams(*order_seeds, purpose=0):
    problems = [make_problem(order_seed=seed) for seed in order_seeds]
    return streams_of_problems(problems, torch.device("cpu"), purpose)


def real(*counts, rows=300):
    return (torch.arange(rows) < torch.tensor(counts).unsqueeze(1)).unsqueeze(1)


def test_numbers_are_uniform_and_normal():
    first, second = uniform(streams(3), SHAPE, 5)
    assert first.shape == second.shape == (1, *SHAPE)
    for numbers in (first, second):
        assert 0 < numbers.min() < 1e-3
        assert 1 - 1e-3 < numbers.max() < 1
        assert stats.kstest(numbers.flatten(), "uniform").pvalue > 0.01
    assert stats.kstest(normal(streams(3), SHAPE, 5).flatten(), "norm").pvalue > 0.01


def drawn():
    """Return numbers that may have nothing to do with each other, by how they differ."""
    base = uniform(streams(3), SHAPE, 5)
    numbers = base[0][0]
    return {
        "halves": (numbers, base[1][0]),
        "rows": (numbers[:, 1:], numbers[:, :-1]),
        "features": (numbers[..., 1:], numbers[..., :-1]),
        "networks": (numbers[0], numbers[1]),
        "steps": (numbers, uniform(streams(3), SHAPE, 6)[0][0]),
        "parts": (numbers, uniform(streams(3), SHAPE, 5, part=1)[0][0]),
        "problems": (numbers, uniform(streams(3, 4), SHAPE, 5)[0][1]),
        "purposes": (numbers, uniform(streams(3, purpose=1), SHAPE, 5)[0][0]),
    }


@pytest.mark.parametrize("way", list(drawn()))
def test_numbers_have_nothing_to_do_with_each_other(way):
    one, other = (numbers.flatten().numpy() for numbers in drawn()[way])
    # Four standard errors of a correlation of zero.
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(one.size)
    assert (one == other).mean() < 1e-4


VIEWS = {"noise": with_noise, "gaps": with_gaps, "both": tabular_view}
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


@views
def test_a_problem_and_its_first_rows_draw_what_they_draw_alone(view):
    features = given(3, *SHAPE)
    together = view(features, streams(3, 4, 5), torch.tensor([7]))
    alone = view(features[1:2, :, :200], streams(4), 7)
    assert torch.equal(together[1:2, :, :200], alone)
    assert together.dtype == features.dtype


@views
def test_features_stay_as_they_are(view):
    features = given(1, *SHAPE)
    before = features.clone()
    assert not torch.equal(view(features, streams(3), 0), features)
    assert torch.equal(features, before)


def test_noise_has_its_mean_and_its_scale():
    noise = with_noise(torch.ones(1, *SHAPE).double(), streams(3), 0, 0.5) - 1
    n = noise.numel()
    assert abs(noise.mean()) < 4 * 0.5 / np.sqrt(n)
    assert noise.std() == pytest.approx(0.5, rel=4 / np.sqrt(2 * n))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.75, 1.0])
def test_a_share_of_features_is_left_out_and_no_other_changes(share):
    features = given(1, *SHAPE)
    view = with_gaps(features, streams(3), 0, share)
    error = 4 * np.sqrt(share * (1 - share) / features.numel())
    assert (view == 0).double().mean() == pytest.approx(share, abs=error)
    assert torch.equal(view[view != 0], features[view != 0])


def test_a_view_has_noise_where_it_has_no_gaps():
    view = tabular_view(torch.ones(1, *SHAPE).double(), streams(3), 0, noise=0.2, gaps=0.3)
    is_gap = view == 0
    assert is_gap.double().mean() == pytest.approx(0.3, abs=0.02)
    assert view[~is_gap].std() == pytest.approx(0.2, rel=0.03)


def test_rows_are_mixed_with_others_in_any_order_and_filler_stays():
    order = shuffled(real(5, 3, rows=6), streams(3, 4), 2, 0)
    assert order.shape == (2, 2, 6)
    assert torch.equal(order.sort(-1).values, torch.arange(6).expand(2, 2, 6))
    assert torch.equal(order[0, :, 5:], torch.full((2, 1), 5))
    assert torch.equal(order[1, :, 3:], torch.arange(3, 6).expand(2, 3))
    # As many networks as orders are wanted.
    orders = shuffled(real(3, rows=3), streams(3), 3000, 0)[0]
    found = np.unique(orders.numpy(), axis=0, return_counts=True)[1]
    assert len(found) == 6
    assert stats.chisquare(found).pvalue > 0.01
