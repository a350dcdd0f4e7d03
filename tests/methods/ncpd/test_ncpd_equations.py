"""The equations of NCPD, one by one."""

from math import exp, inf, log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.methods.ncpd import (
    ProgressiveCooperation,
    disambiguated_confidences,
    exchange,
    group_confidences,
    has_small_loss,
    reliable_candidates,
    share_of_small_losses,
)
from methods.ncpd.both_ways import groups_of, losses_and_predictions, random_sets

# ---- ncpd reliable candidates


def small(losses, share):
    losses = torch.as_tensor(losses, dtype=torch.float64)
    share = torch.tensor([share], dtype=torch.float64)
    n_candidates = losses.isfinite().flatten(-2).sum(-1).max()
    return has_small_loss(losses, share, int(n_candidates))


def test_the_smallest_losses_of_the_whole_batch_count_whatever_their_group():
    # Six losses, of which half are the three smallest: 0.1, 0.2 and 0.3.
    losses = [[0.1, 0.2, 2.0], [0.3, 0.4, 3.0]]
    assert small(losses, 0.5).tolist() == [[True, True, False], [True, False, False]]


def test_the_number_of_small_losses_is_rounded_down():
    # 0.66 * 3 = 1.98 of three losses is one; 0.67 * 3 = 2.01 is two.
    assert small([[0.3, 0.1, 0.2]], 0.66).tolist() == [[False, True, False]]
    assert small([[0.3, 0.1, 0.2]], 0.67).tolist() == [[False, True, True]]


def test_no_loss_is_small_where_the_share_is_less_than_one_candidate():
    # 0.3 * 3 = 0.9 of a candidate.
    assert not small([[0.0, 0.1, 0.2]], 0.3).any()
    # In the first of the paper's epochs T = 0.0074: of 134 candidates none, of 135 one.
    share = 0.0074428
    assert not small([[0.01 * place for place in range(134)]], share).any()
    assert small([[0.01 * place for place in range(135)]], share).sum() == 1


def test_the_number_of_small_losses_is_counted_in_double_precision():
    # In single precision 0.53 is a little less than that, and 0.53 * 100 less than 53.
    losses = [[float(place) for place in range(100)]]
    assert small(losses, 0.53).sum() == 53


def test_losses_that_tie_with_the_last_small_one_are_small_too():
    # Half of four is two, 0.1 and 0.2, and there is another 0.2.
    losses = [[0.1, 0.2], [0.2, 0.3]]
    assert small(losses, 0.5).tolist() == [[True, True], [True, False]]
    assert small(losses[::-1], 0.5).tolist() == [[True, False], [True, True]]


def test_ties_beyond_the_cut_change_nothing():
    # A quarter of four is one; the two that are equal come after it.
    assert small([[0.1, 0.2], [0.2, 0.3]], 0.25).tolist() == [[True, False], [False, False]]


def test_if_all_losses_are_equal_either_none_or_all_are_small():
    losses = [[0.7, 0.7], [0.7, 0.7]]
    assert not small(losses, 0.24).any()
    assert small(losses, 0.25).all()


def test_all_candidates_have_small_losses_if_the_share_is_one():
    losses = [[0.1, inf, inf], [5.0, 800.0, inf]]
    assert small(losses, 1.0).tolist() == [[True, False, False], [True, True, False]]


def test_places_that_are_not_used_are_not_ranked():
    # Three candidates in six places: 0.4 of three is one, 0.4 of six would be two.
    losses = [[0.1, inf, inf], [0.2, 0.3, inf]]
    assert small(losses, 0.4).tolist() == [[True, False, False], [False, False, False]]


def test_rows_that_fill_up_a_smaller_batch_are_not_ranked():
    # Four candidates in two rows, and two rows without any: half of four is two, half of the
    # eight places would be all four.
    losses = [[0.1, 0.4], [0.2, 0.3], [inf, inf], [inf, inf]]
    expected = [[True, False], [True, False], [False, False], [False, False]]
    assert small(losses, 0.5).tolist() == expected


def test_a_batch_of_singletons():
    # Half of the five is two.
    losses = [[0.5], [0.1], [0.4], [0.2], [0.3]]
    assert small(losses, 0.5).flatten().tolist() == [False, True, False, True, False]


def test_reliable_is_what_has_a_small_loss_and_is_predicted():
    # The candidates of two rows in brackets:
    # probabilities (.7) (.2) .1, losses .357 and 1.609, the first class predicted;
    # probabilities .1 (.6) (.3), losses .511 and 1.204, the second class predicted.
    logits = torch.tensor([[[[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]]]).log()
    losses, predicted = losses_and_predictions(logits, groups_of([[0, 1], [1, 2]]))
    assert predicted[0, 0].tolist() == [[True, False], [True, False]]

    def reliable(share):
        on_device = torch.tensor([share], dtype=torch.float64)
        return reliable_candidates(losses, predicted, on_device, 4)[0, 0].tolist()

    none, only = [False, False], [True, False]
    assert reliable(0.24) == [none, none]  # 0.96 candidates
    assert reliable(0.25) == [only, none]  # .357
    assert reliable(0.5) == [only, only]  # .357 and .511
    assert reliable(0.75) == [only, only]  # 1.204 as well, which is not predicted
    assert reliable(1.0) == [only, only]
    # Without a share nothing is ranked, and every loss is small.
    assert reliable_candidates(losses, predicted, None, 4)[0, 0].tolist() == [only, only]


def test_a_loss_that_is_small_without_being_predicted_is_not_reliable():
    # Probabilities .5 (.3) (.2): the first class is predicted and is no candidate.
    logits = torch.tensor([[[[0.5, 0.3, 0.2]]]]).log()
    losses, predicted = losses_and_predictions(logits, groups_of([[1, 2]]))
    assert small(losses, 1.0).all()
    # With and without ranking.
    for share in (torch.ones(1, dtype=torch.float64), None):
        assert not reliable_candidates(losses, predicted, share, 2).any()


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(2, 6), st.floats(0, 1))
def test_a_group_has_at_most_one_reliable_candidate(seed, n_rows, n_classes, share):
    generator = np.random.default_rng(seed)
    groups = groups_of(random_sets(generator, n_rows, n_classes), n_filler=1)
    # Whole numbers, so that the largest is often there twice.
    logits = torch.as_tensor(generator.integers(0, 3, (1, 2, n_rows + 1, n_classes))).double()
    losses, predicted = losses_and_predictions(logits, groups)
    on_device = torch.tensor([share], dtype=torch.float64)
    reliable = reliable_candidates(losses, predicted, on_device, groups.most_candidates)
    assert reliable.sum(-1).max() <= 1


@st.composite
def ranked_losses(draw):
    """Losses with any leading axes, many of them equal, and places that are not used."""
    leading = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    rows, places = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    losses = generator.integers(0, 8, (*leading, rows, places)) / 4
    losses[generator.random(losses.shape) < 0.3] = inf
    return torch.as_tensor(losses)


@given(ranked_losses(), st.floats(0, 1))
def test_small_losses_agree_with_a_loop_over_any_leading_axes(losses, share):
    on_device = torch.tensor([share], dtype=torch.float64)
    rows, places = losses.shape[-2:]
    found = has_small_loss(losses, on_device, rows * places)
    assert found.shape == losses.shape
    slices = zip(losses.reshape(-1, rows, places), found.reshape(-1, rows, places), strict=True)
    for own, small_in_stack in slices:
        alone = has_small_loss(own, on_device, rows * places)
        assert alone.tolist() == small_in_stack.tolist()
        ranked = sorted(own[own < inf].tolist())
        count = int(share * len(ranked))
        cut = ranked[count - 1] if count else -1
        assert alone.tolist() == [[loss <= cut for loss in row] for row in own.tolist()]


@given(ranked_losses(), st.floats(0, 1))
def test_ranking_may_stop_at_the_number_of_candidates(losses, share):
    on_device = torch.tensor([share], dtype=torch.float64)
    n_candidates = int(losses.isfinite().sum((-2, -1)).max())
    short = has_small_loss(losses, on_device, n_candidates)
    full = has_small_loss(losses, on_device, losses.shape[-2] * losses.shape[-1])
    assert short.tolist() == full.tolist()


@given(ranked_losses(), st.floats(0, 1), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(losses, share, random):
    order = list(range(losses.shape[-2]))
    random.shuffle(order)
    on_device = torch.tensor([share], dtype=torch.float64)
    most = losses.shape[-2] * losses.shape[-1]
    in_order = has_small_loss(losses, on_device, most)
    shuffled = has_small_loss(losses[..., order, :], on_device, most)
    assert shuffled.tolist() == in_order[..., order, :].tolist()


# ---- ncpd group confidences


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
            *(torch.as_tensor(values[place])[None] for values in (losses, prior, simple))
        )
        np.testing.assert_allclose(found[place], alone[0], atol=1e-15)


# ---- ncpd schedule


@pytest.mark.parametrize(
    ("epoch", "share"),
    [
        (1, 0.007442861),  # exp(-5 * (0.01 - 1)^2) = exp(-4.9005)
        (50, 0.286504797),  # exp(-5 * (0.5 - 1)^2) = exp(-1.25)
        (99, 0.999500125),  # exp(-5 * (0.99 - 1)^2) = exp(-0.0005)
        (100, 1),  # exp(0)
        (150, 1),
    ],
)
def test_eq_5_with_the_ramp_of_the_paper(epoch, share):
    assert share_of_small_losses(epoch, ramp_epochs=100) == pytest.approx(share, abs=1e-9)


def test_from_the_end_of_the_ramp_on_the_share_is_exactly_one():
    # The loop leaves out the ranking then, so nearly one would not do.
    assert share_of_small_losses(100, 100) == share_of_small_losses(101, 100) == 1


def test_a_ramp_of_one_epoch_is_over_at_once():
    assert [share_of_small_losses(epoch, ramp_epochs=1) for epoch in (1, 2, 3)] == [1, 1, 1]


def test_a_ramp_of_two_epochs():
    # exp(-5 * (1/2 - 1)^2) = exp(-5/4)
    assert share_of_small_losses(1, ramp_epochs=2) == exp(-1.25)
    assert share_of_small_losses(2, ramp_epochs=2) == 1


@given(st.integers(1, 500), st.integers(1, 500))
def test_the_share_is_above_zero_and_never_falls(epoch, ramp_epochs):
    now, later = (share_of_small_losses(t, ramp_epochs) for t in (epoch, epoch + 1))
    assert 0 < now <= later <= 1
    assert (now == 1) == (epoch >= ramp_epochs)


def test_the_rule_follows_the_schedule_only_if_it_is_progressive():
    rule = ProgressiveCooperation(ramp_epochs=10, cooperation=True, progressive=True)
    for epoch in (1, 5, 10):
        expected = share_of_small_losses(epoch, 10)
        # Losses are ranked only where not all of them are small.
        assert rule.begin_epoch(epoch) == (expected < 1)
        assert rule.measures() == {"T": expected}
        assert rule.share.item() == expected
    rule = ProgressiveCooperation(ramp_epochs=10, cooperation=True, progressive=False)
    assert [rule.begin_epoch(epoch) for epoch in (1, 5, 10)] == [False] * 3
    assert rule.measures() == {"T": 1}


# ---- ncpd exchange


# What each of four networks thinks of the two candidates of one row.
FOUND = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]], [[0.0, 1.0]], [[0.2, 0.8]]])


def test_two_networks_swap():
    assert exchange(FOUND[:2]).tolist() == [[[0.5, 0.5]], [[1.0, 0.0]]]


def test_three_networks_get_the_mean_of_the_other_two():
    # (.5 + 0) / 2, (1 + 0) / 2, (1 + .5) / 2 for the first candidate.
    expected = [[[0.25, 0.75]], [[0.5, 0.5]], [[0.75, 0.25]]]
    np.testing.assert_allclose(exchange(FOUND[:3]), expected, atol=1e-6)


def test_four_networks_get_the_mean_of_the_other_three():
    # The first candidate has 1 + .5 + 0 + .2 = 1.7 in all, less the network's own.
    first = np.array([0.7, 1.2, 1.7, 1.5]) / 3
    expected = np.stack([first, 1 - first], axis=-1)[:, np.newaxis]
    np.testing.assert_allclose(exchange(FOUND), expected, atol=1e-6)


def test_networks_that_agree_are_taught_what_they_think():
    same = torch.tensor([[0.3, 0.7], [1.0, 0.0]]).expand(4, 2, 2)
    np.testing.assert_allclose(exchange(same), same, atol=1e-6)


@given(
    leading=st.lists(st.integers(1, 3), max_size=2),
    n_networks=st.integers(2, 5),
    seed=st.integers(0, 10_000),
)
def test_exchange_agrees_with_a_loop_over_any_leading_axes(leading, n_networks, seed):
    found = np.random.default_rng(seed).dirichlet([1, 1, 1], size=(*leading, n_networks, 4))
    taught = exchange(torch.as_tensor(found)).numpy()
    assert taught.shape == found.shape
    np.testing.assert_allclose(taught.sum(-1), 1, atol=1e-12)
    for place in np.ndindex(*leading):
        for own in range(n_networks):
            peers = [found[place][peer] for peer in range(n_networks) if peer != own]
            np.testing.assert_allclose(taught[place][own], np.mean(peers, axis=0), atol=1e-12)


@pytest.mark.parametrize("n_networks", [2, 3, 4])
def test_what_a_network_finds_never_comes_back_to_it(n_networks):
    found = FOUND[:n_networks]
    for own in range(n_networks):
        changed = found.clone()
        changed[own] = torch.tensor([0.9, 0.1])
        before, after = exchange(found), exchange(changed)
        torch.testing.assert_close(after[own], before[own])
        for peer in set(range(n_networks)) - {own}:
            assert not torch.allclose(after[peer], before[peer])
