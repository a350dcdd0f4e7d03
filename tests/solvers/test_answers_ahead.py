"""What the next answers change: against draws of what is assumed."""

import numpy as np
import pytest

from disambig.solvers.answers_ahead import foresee_changes


def test_without_answers_doubt_is_believed():
    ahead = foresee_changes(np.array([0.5, 0.3, 0.2]))
    assert (ahead.n_answers, ahead.ratio) == (3, 1.0)
    assert ahead.changes == pytest.approx(1)


def test_answers_that_change_less_than_foreseen_lower_what_is_foreseen():
    doubts = np.full(20, 0.2)
    ahead = foresee_changes(doubts, changed=2, foreseen=9)
    assert ahead.ratio == pytest.approx((5 + 2) / (5 + 9))
    assert ahead.changes == pytest.approx(4 * 0.5)
    more = foresee_changes(doubts, changed=18, foreseen=9)
    assert more.changes == pytest.approx(4 * 23 / 14)
    assert ahead.low <= ahead.changes <= ahead.high < more.high


def test_the_interval_is_that_of_draws():
    generator = np.random.default_rng(0)
    ratio = generator.gamma(5 + 7, 1 / (5 + 10), 200_000)
    drawn = generator.poisson(ratio * 8.0)
    ahead = foresee_changes(np.full(40, 0.2), changed=7, foreseen=10.0)
    # The smallest number with at least so many draws at or below it.
    low, high = np.quantile(drawn, [0.05, 0.95], method="inverted_cdf")
    assert (ahead.low, ahead.high) == (low, high)


def test_no_more_labels_change_than_there_are_answers():
    ahead = foresee_changes(np.full(3, 0.9), changed=40, foreseen=10)
    assert (ahead.changes, ahead.high) == (3, 3)


def test_nothing_is_foreseen_of_no_answers():
    assert foresee_changes(np.empty(0))[:4] == (0, 0.0, 0, 0)
