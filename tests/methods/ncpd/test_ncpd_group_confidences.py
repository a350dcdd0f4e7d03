from math import exp, inf, log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.methods.ncpd import disambiguated_confidences, group_confidences


def eq_1(*losses, dtype=torch.float64):
    return disambiguated_confidences(torch.tensor([losses], dtype=dtype))[0].tolist()


def test_eq_1_restricts_probabilities_to_the_candidates():
    # Probabilities .5 and .3 of two candidates, .2 outside: .5 / .8 and .3 / .8.
    assert eq_1(-log(0.5), -log(0.3)) == pytest.approx([0.625, 0.375], abs=1e-12)
    # .1, .2 and .1 of three candidates, .6 outside: a quarter, half, a quarter.
    expected = pytest.approx([0.25, 0.5, 0.25], abs=1e-12)
    assert eq_1(-log(0.1), -log(0.2), -log(0.1)) == expected


def test_eq_1_gives_nothing_to_places_that_are_not_used():
    assert eq_1(-log(0.3), -log(0.1), inf) == pytest.approx([0.75, 0.25, 0], abs=1e-12)


def test_eq_1_of_a_singleton_is_one_whatever_the_loss():
    for loss in (0.0, 1e-300, 3.0, 800.0, 1e30):
        assert eq_1(loss) == [1]
        assert eq_1(loss, inf, inf) == [1, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_eq_1_keeps_the_proportions_of_losses_too_large_for_exp(dtype):
    # exp(-800) is zero in both precisions. In exact arithmetic 800 and 900 stand to each other as
    # 1 and exp(-100) = 3.7e-44, 800 and 800 + log 3 as 3 and 1 (in single precision, losses near
    # 800 are 6e-5 apart).
    tolerance = 1e-4 if dtype == torch.float32 else 1e-12
    first, second = eq_1(800.0, 900.0, dtype=dtype)
    assert first == 1
    assert second == pytest.approx(exp(-100), abs=1e-44 if dtype == torch.float32 else 1e-55)
    found = eq_1(800.0, 800.0 + log(3), dtype=dtype)
    assert found == pytest.approx([0.75, 0.25], abs=tolerance)


def test_eq_1_where_all_losses_are_huge():
    assert eq_1(1e30, 1e30) == [0.5, 0.5]
    assert eq_1(1e30, 2e30, inf) == [1, 0, 0]


def test_simple_groups_get_eq_1_and_complicated_ones_eq_2():
    losses = -torch.tensor([[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]], dtype=torch.float64).log()
    thirds = torch.full((2, 3), 1 / 3, dtype=torch.float64)
    found = group_confidences(losses, thirds, torch.tensor([True, False]))
    np.testing.assert_allclose(found, [[0.6, 0.2, 0.2], [1 / 3, 1 / 3, 1 / 3]], atol=1e-12)


def test_weights_take_the_place_of_eq_2_and_leave_eq_1_alone():
    # Weights 3 and 1 of two candidates with probabilities .2 and .6: .75 and .25 as long as the
    # group is complicated, .25 and .75 once it is simple.
    losses = -torch.tensor([[0.2, 0.6], [0.2, 0.6]], dtype=torch.float64).log()
    prior = torch.tensor([[0.75, 0.25], [0.75, 0.25]], dtype=torch.float64)
    found = group_confidences(losses, prior, torch.tensor([False, True]))
    np.testing.assert_allclose(found, [[0.75, 0.25], [0.25, 0.75]], atol=1e-12)


def test_a_candidate_of_weight_zero_can_be_believed_once_its_group_is_simple():
    losses = -torch.tensor([[0.1, 0.9], [0.1, 0.9]], dtype=torch.float64).log()
    prior = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    found = group_confidences(losses, prior, torch.tensor([False, True]))
    np.testing.assert_allclose(found, [[1, 0], [0.1, 0.9]], atol=1e-12)


def test_a_row_that_only_fills_up_a_batch_gets_nothing():
    losses = torch.tensor([[inf, inf]])
    found = group_confidences(losses, torch.zeros(1, 2), torch.tensor([False]))
    assert found.tolist() == [[0, 0]]


@given(
    leading=st.lists(st.integers(1, 3), max_size=3),
    rows=st.integers(1, 4),
    places=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_confidences_agree_with_a_loop_over_any_leading_axes(leading, rows, places, seed):
    generator = np.random.default_rng(seed)
    shape = (*leading, rows, places)
    losses = generator.exponential(size=shape)
    losses[generator.random(shape) < 0.3] = inf
    losses[..., 0] = 1  # at least one candidate in each group
    prior = np.where(losses < inf, generator.random(shape), 0)
    simple = generator.random(shape[:-1]) < 0.5
    found = group_confidences(*map(torch.as_tensor, (losses, prior, simple))).numpy()
    assert found.shape == shape
    for place in np.ndindex(shape[:-1]):
        exponentials = [exp(-loss) for loss in losses[place]]
        eq_1_by_hand = [value / sum(exponentials) for value in exponentials]
        expected = eq_1_by_hand if simple[place] else prior[place]
        np.testing.assert_allclose(found[place], expected, atol=1e-12)
        alone = group_confidences(
            *(torch.as_tensor(values[place]) for values in (losses, prior, simple))
        )
        np.testing.assert_allclose(found[place], alone, atol=1e-15)
