"""Sparse rows reduced to dense ones, compared with NumPy's SVD."""

import numpy as np
import pytest
from scipy import sparse

from disambig.solvers import reduction as module
from disambig.solvers.reduction import Reduction, columns_beside_words


def words(n_rows=40, n_columns=30, seed=0):
    return sparse.csr_array(
        sparse.random_array((n_rows, n_columns), density=0.2, rng=np.random.default_rng(seed))
    )


def test_few_columns_keep_all_distances():
    X = words()
    reduced = Reduction.fit(X).apply(X)
    assert reduced.shape == (40, 30)
    np.testing.assert_allclose(reduced @ reduced.T, (X @ X.T).toarray(), atol=1e-5)


def test_directions_are_those_of_a_singular_value_decomposition(monkeypatch):
    monkeypatch.setattr(module, "MOST_DIRECTIONS", 3)
    generator = np.random.default_rng(0)
    X = sparse.csr_array(generator.normal(size=(60, 3)) @ generator.normal(size=(3, 20)))
    # Columns with many zeros, so that none is kept as it is.
    X = sparse.csr_array(X.multiply(generator.random((60, 20)) < 0.4))
    dense = X.toarray()
    _, _, expected = np.linalg.svd(dense)
    reduced = Reduction.fit(X).apply(X)
    best = dense @ expected[:3].T
    assert reduced.shape == (60, 3)
    assert np.square(reduced).sum() >= 0.98 * np.square(best).sum()


def test_columns_that_most_rows_fill_stay_as_they_are():
    numbers = np.random.default_rng(1).normal(size=(40, 2))
    X = sparse.csr_array(sparse.hstack([words()[:, :5], numbers, words()[:, 5:]]))
    assert columns_beside_words(X).tolist() == [5, 6]
    learned = Reduction.fit(X)
    np.testing.assert_array_equal(learned.apply(X)[:, :2], numbers)
    assert learned.width == 2 + 30


def test_categories_stay_as_they_are_the_most_frequent_if_they_are_many(monkeypatch):
    category = np.eye(60)[np.arange(60) % 7, :7]
    X = sparse.csr_array(sparse.hstack([category, words(60)]))
    assert columns_beside_words(X).tolist() == list(range(7))
    np.testing.assert_array_equal(Reduction.fit(X).apply(X)[:, :7], category)
    monkeypatch.setattr(module, "_MOST_MARKS", 4)
    assert columns_beside_words(X).tolist() == [0, 1, 2, 3]


def test_columns_that_are_all_full_are_all_kept():
    X = np.random.default_rng(1).normal(size=(10, 3))
    learned = Reduction.fit(sparse.csr_array(X))
    np.testing.assert_array_equal(learned.apply(X), X)


def test_directions_are_learned_from_some_of_many_rows(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 20)
    X = words()
    np.testing.assert_array_equal(Reduction.fit(X).directions, Reduction.fit(X[::2]).directions)


def test_what_is_read_from_arrays_gives_the_same_bits():
    X = words()
    learned = Reduction.fit(X)
    again = Reduction.from_arrays(30, learned.to_arrays())
    np.testing.assert_array_equal(again.apply(X), learned.apply(X))


@pytest.mark.parametrize(
    "changed",
    [
        {"kept": np.array([2, 1])},
        {"kept": np.array([30])},
        {"kept": np.array([[1]])},
        {"kept": np.array([0.5])},
        {"directions": np.zeros((3, 29), np.float32)},
        {"directions": np.zeros((3, 30))},
        {"directions": np.full((3, 30), np.nan, np.float32)},
        {"more": np.zeros(3)},
    ],
)
def test_arrays_that_no_fit_can_have_learned_are_refused(changed):
    with pytest.raises(ValueError, match="reduction"):
        Reduction.from_arrays(30, Reduction.fit(words()).to_arrays() | changed)
