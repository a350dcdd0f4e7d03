"""Rows chosen one after the other, against every choice there is."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from disambig.solvers.greedy_cover import choose_rows


def removed_by(rows: tuple[int, ...], doubt: np.ndarray, explained: np.ndarray) -> float:
    """Return the errors that answers on rows remove, whatever their order."""
    left = doubt.copy()
    for row in rows:
        left *= 1 - explained[row]
        left[row] = 0
    return float((doubt - left).sum())


def problem(seed: int, n: int = 9) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    explained = generator.random((n, n)) * (generator.random((n, n)) < 0.4)
    np.fill_diagonal(explained, 0)
    return generator.random(n), explained


@pytest.mark.parametrize("seed", range(20))
def test_nearly_as_much_as_the_best_choice_of_as_many_rows(seed):
    doubt, explained = problem(seed)
    chosen = choose_rows(
        doubt, sparse.csr_array(explained), np.ones(9),
        may_ask=np.ones(9, dtype=bool), most_rows=3,
    )  # fmt: skip
    best = max(removed_by(rows, doubt, explained) for rows in combinations(range(9), 3))
    gained = removed_by(tuple(chosen.rows.tolist()), doubt, explained)
    assert gained >= (1 - 1 / np.e) * best
    assert gained == pytest.approx(chosen.by_answers.sum() + chosen.nearby.sum())
    assert chosen.left.sum() == pytest.approx(doubt.sum() - gained)
    # Each row is the best one after those before it.
    for step in range(3):
        before = tuple(chosen.rows[:step].tolist())
        gains = [
            removed_by((*before, row), doubt, explained) for row in range(9) if row not in before
        ]
        assert removed_by((*before, int(chosen.rows[step])), doubt, explained) == pytest.approx(
            max(gains)
        )


def test_a_row_that_another_answer_explains_is_not_asked_about_too():
    doubt = np.array([0.5, 0.5, 0.3])
    explained = sparse.csr_array(np.array([[0, 0.9, 0], [0.9, 0, 0], [0, 0, 0.0]]))
    chosen = choose_rows(doubt, explained, np.ones(3), may_ask=np.ones(3, dtype=bool), most_rows=2)
    assert chosen.rows.tolist() == [0, 2]
    np.testing.assert_allclose(chosen.by_answers, [0.5, 0.3])
    np.testing.assert_allclose(chosen.nearby, [0.45, 0])


def test_errors_per_second_decide_and_time_runs_out():
    doubt, nothing = np.array([0.5, 0.4, 0.1]), sparse.csr_array((3, 3))
    seconds, anybody = np.array([2.0, 1.0, 1.0]), np.ones(3, dtype=bool)
    chosen = choose_rows(doubt, nothing, seconds, may_ask=anybody, most_rows=5, most_seconds=3.5)
    assert chosen.rows.tolist() == [1, 0]


def test_rows_without_doubt_and_rows_that_may_not_be_asked_about_are_left_out():
    doubt, nothing = np.array([0.5, 0.0, 0.1]), sparse.csr_array((3, 3))
    may_ask = np.array([False, True, True])
    chosen = choose_rows(doubt, nothing, np.ones(3), may_ask=may_ask, most_rows=5)
    assert chosen.rows.tolist() == [2]
    assert chosen.left.tolist() == [0.5, 0, 0]
