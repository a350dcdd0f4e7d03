from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig.methods.ncpd import ProgressiveCooperation, share_of_small_losses


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
