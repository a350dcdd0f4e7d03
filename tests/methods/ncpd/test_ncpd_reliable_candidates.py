from math import inf

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.methods.ncpd import has_small_loss, reliable_candidates
from methods.ncpd.both_ways import groups_of, losses_and_predictions, random_sets


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
