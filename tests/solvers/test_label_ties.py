"""What an answer on one row is worth in another, against sums over all answers."""

import numpy as np
import pytest
from scipy import sparse

from disambig.solvers.label_ties import errors_removed, value_if_tied


def joint(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the probabilities of both labels of two tied rows, entry by entry."""
    n = len(first)
    both = [min(first[y], second[y]) for y in range(n)]
    apart = 1 - sum(both)
    table = np.zeros((n, n))
    for y in range(n):
        for k in range(n):
            rest = (first[y] - both[y]) * (second[k] - both[k])
            table[y, k] = (rest / apart if apart > 1e-12 else 0) + (both[y] if y == k else 0)
    return table


def random_shares(generator: np.random.Generator, n: int) -> np.ndarray:
    shares = generator.random((n, 4)) ** 3 * (generator.random((n, 4)) < 0.8)
    shares[:, 0] += 0.01
    return shares / shares.sum(axis=1, keepdims=True)


def test_the_value_is_what_choosing_after_every_answer_wins():
    generator = np.random.default_rng(0)
    first, second = random_shares(generator, 300), random_shares(generator, 300)
    values = value_if_tied(first, second)
    for p, q, value in zip(first, second, values, strict=True):
        table = joint(p, q)
        # The mean over all answers is what was believed before, in both rows.
        np.testing.assert_allclose(table.sum(axis=1), p, atol=1e-12)
        np.testing.assert_allclose(table.sum(axis=0), q, atol=1e-12)
        assert value == pytest.approx(table.max(axis=1).sum() - q.max(), abs=1e-12)
        assert 0 <= value <= 1 - q.max() + 1e-12
    assert (values > 0.05).any()


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ([0.5, 0.5, 0], [0.5, 0.5, 0], 0.5),  # the same label: nothing stays open
        ([1, 0, 0], [0.5, 0.5, 0], 0.0),  # a sure row tells nothing
        ([0.5, 0.5, 0], [0, 0, 1], 0.0),  # a sure row needs nothing
        ([0.6, 0.4, 0], [0.7, 0.3, 0], 0.2),  # 0.6 + 0.3 of 1 are right then, not 0.7
        ([0.5, 0, 0.5], [0.0, 0.6, 0.4], 0.3),  # by exclusion: not the third, so the second
    ],
)
def test_values_by_hand(first, second, value):
    found = value_if_tied(np.array([first], dtype=float), np.array([second], dtype=float))
    assert found[0] == pytest.approx(value)


def test_what_is_outside_of_sets_agrees_with_nothing():
    found = value_if_tied(np.array([[0.4, 0.4]]), np.array([[0.4, 0.4]]))
    assert found[0] == pytest.approx(0.4)  # of 0.6: the rest stays open


def test_ties_weigh_the_values(monkeypatch):
    generator = np.random.default_rng(1)
    shares = random_shares(generator, 5)
    ties = sparse.csr_array(np.array([
        [0, 0.5, 0, 0, 0], [0, 0, 0.2, 0, 0.1], [0] * 5, [1, 0, 0, 0, 0], [0, 0, 0, 0.3, 0]
    ]))  # fmt: skip
    removed = errors_removed(sparse.csr_array(shares), ties).toarray()
    for i, j in np.ndindex(5, 5):
        value = value_if_tied(shares[[i]], shares[[j]])[0]
        assert removed[i, j] == pytest.approx(ties[i, j] * value)
    monkeypatch.setattr("disambig.solvers.label_ties._NUMBERS_AT_A_TIME", 4)
    np.testing.assert_array_equal(errors_removed(sparse.csr_array(shares), ties).toarray(), removed)
