import numpy as np
import pytest
from scipy import sparse

from disambig.solvers.neighbors import index_of_rows, nearest_of_queries, nearest_of_training_rows

# A tree up to 15 features, the fast distance formula for more.
few_and_many_features = pytest.mark.parametrize("n_features", [2, 40])


def nearest_by_loop(queries, rows, count, *, not_itself=False):
    found = []
    for number, query in enumerate(queries):
        distances = np.sqrt(((rows - query) ** 2).sum(axis=1))
        order = [row for row in np.argsort(distances) if not (not_itself and row == number)]
        found.append(order[:count])
    return np.array(found)


def distances_to(queries, rows, neighbors):
    return np.sqrt(((rows[neighbors] - queries[:, np.newaxis]) ** 2).sum(axis=2))


@few_and_many_features
@pytest.mark.parametrize("count", [1, 5, 49])
def test_neighbours_of_training_rows_agree_with_a_loop(n_features, count):
    X = np.random.default_rng(0).normal(size=(50, n_features))
    found = nearest_of_training_rows(index_of_rows(X), count)
    np.testing.assert_array_equal(found, nearest_by_loop(X, X, count, not_itself=True))


@few_and_many_features
@pytest.mark.parametrize("count", [1, 5, 50])
def test_neighbours_of_new_rows_agree_with_a_loop(n_features, count):
    generator = np.random.default_rng(0)
    X, queries = generator.normal(size=(50, n_features)), generator.normal(size=(20, n_features))
    found = nearest_of_queries(index_of_rows(X), queries, count)
    np.testing.assert_array_equal(found, nearest_by_loop(queries, X, count))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_sparse_rows_have_the_neighbours_of_dense_ones(form):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(50, 12)) * (generator.random((50, 12)) < 0.4)
    queries = generator.normal(size=(10, 12)) * (generator.random((10, 12)) < 0.4)
    dense, other = index_of_rows(X), index_of_rows(form(X))
    np.testing.assert_array_equal(
        nearest_of_training_rows(other, 6), nearest_of_training_rows(dense, 6)
    )
    np.testing.assert_array_equal(
        nearest_of_queries(other, form(queries), 6), nearest_of_queries(dense, queries, 6)
    )


@few_and_many_features
@pytest.mark.parametrize("copies", [2, 5, 30])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_a_repeated_row_is_not_its_own_neighbour(n_features, copies, count):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, n_features)), copies, axis=0)
    found = nearest_of_training_rows(index_of_rows(X), count)
    assert found.shape == (len(X), min(count, len(X) - 1))
    for row, neighbors in enumerate(found.tolist()):
        assert row not in neighbors
        assert len(set(neighbors)) == len(neighbors)


@few_and_many_features
def test_repeated_rows_come_before_all_others(n_features):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, n_features)), 6, axis=0)
    found = nearest_of_training_rows(index_of_rows(X), 5)
    np.testing.assert_array_equal(found // 6, np.repeat(np.arange(4), 6)[:, np.newaxis] + [0] * 5)


@few_and_many_features
def test_where_all_rows_are_equal_there_are_still_others(n_features):
    found = nearest_of_training_rows(index_of_rows(np.full((7, n_features), 0.3)), 4)
    assert found.shape == (7, 4)
    for row, neighbors in enumerate(found.tolist()):
        assert row not in neighbors
        assert len(set(neighbors)) == 4


def test_constant_features_and_rows_of_zeros_change_nothing():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[4] = 0
    wider = np.column_stack([X, np.full(30, 7.0), np.zeros(30)])
    np.testing.assert_array_equal(
        nearest_of_training_rows(index_of_rows(wider), 5),
        nearest_of_training_rows(index_of_rows(X), 5),
    )


@few_and_many_features
def test_nearest_come_first(n_features):
    X = np.random.default_rng(0).normal(size=(40, n_features))
    found = nearest_of_training_rows(index_of_rows(X), 39)
    assert (np.diff(distances_to(X, X, found), axis=1) >= 0).all()


@few_and_many_features
def test_all_others_are_neighbours_where_there_are_fewer_than_asked_for(n_features):
    X = np.random.default_rng(0).normal(size=(5, n_features))
    found = nearest_of_training_rows(index_of_rows(X), 100)
    np.testing.assert_array_equal(found, nearest_by_loop(X, X, 4, not_itself=True))
    assert nearest_of_queries(index_of_rows(X), X[:2], 100).shape == (2, 5)


def test_one_row_has_no_neighbours_but_new_rows_have_it():
    index = index_of_rows(np.array([[1.0, 2.0]]))
    alone = nearest_of_training_rows(index, 10)
    assert alone.shape == (1, 0)
    assert alone.dtype.kind == "i"
    assert nearest_of_queries(index, np.zeros((3, 2)), 10).tolist() == [[0], [0], [0]]


def test_a_training_row_asked_for_as_a_new_one_is_its_own_nearest():
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(nearest_of_queries(index_of_rows(X), X, 1)[:, 0], np.arange(20))
