"""Nearest rows and reconstruction weights agree with loops and SciPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from disambig.solvers import neighbors as neighbor_module
from disambig.solvers.neighbors import (
    difference_products,
    distances_of_queries,
    graph_of_weights,
    index_of_rows,
    inner_products,
    nearest_of_queries,
    nearest_of_training_rows,
    reconstruction_weights,
)

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
@pytest.mark.parametrize("count", [1, 5, 80])
def test_mean_distances_agree_with_a_loop(n_features, count):
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(50, n_features)), rng.normal(size=(30, n_features))
    nearest = nearest_by_loop(queries, X, count)
    found = distances_of_queries(index_of_rows(X), queries, count)
    np.testing.assert_allclose(found, distances_to(queries, X, nearest).mean(axis=1))


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


@pytest.fixture(params=["random", "repeated rows", "rows of zeros", "constant features", "wide"])
def rows(request):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(30, 4))
    if request.param == "repeated rows":
        rows[10:20] = rows[:10]
    elif request.param == "rows of zeros":
        rows[[3, 7, 8]] = 0
    elif request.param == "constant features":
        rows[:, 1:] = 2.5
    elif request.param == "wide":
        rows = generator.normal(size=(30, 60))
    return rows


@pytest.fixture(params=[1, 5, 29])
def neighbors(request, rows):
    return nearest_of_training_rows(index_of_rows(rows), request.param)


def collected(queries, rows, neighbors):
    count, size = neighbors.shape
    among, with_query = np.full((count, size, size), np.nan), np.full((count, size), np.nan)
    for batch, products, of_query in inner_products(queries, rows, neighbors):
        among[batch], with_query[batch] = products, of_query
    return among, with_query


# Against loops -------------------------------------------------------------------------------


def test_inner_products_agree_with_a_loop(rows, neighbors):
    queries = np.random.default_rng(1).normal(size=rows.shape)
    among, with_query = collected(queries, rows, neighbors)
    for number, around in enumerate(neighbors):
        for place, one in enumerate(around):
            expected = sum(rows[one] * queries[number])
            assert with_query[number, place] == pytest.approx(expected, abs=1e-12)
            for other_place, other in enumerate(around):
                expected = sum(rows[one] * rows[other])
                assert among[number, place, other_place] == pytest.approx(expected, abs=1e-12)


def test_products_of_differences_agree_with_a_loop(rows, neighbors):
    products = difference_products(rows, neighbors)
    for number, around in enumerate(neighbors):
        differences = np.array([rows[neighbor] - rows[number] for neighbor in around])
        np.testing.assert_allclose(products[number], differences @ differences.T, atol=1e-12)


def test_products_of_differences_say_how_much_weights_miss():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(20, 6)) + 1e3
    neighbors = nearest_of_training_rows(index_of_rows(rows), 4)
    weights = generator.dirichlet(np.ones(4), size=20)
    found = np.einsum("nk,nkl,nl->n", weights, difference_products(rows, neighbors), weights)
    missed = rows - np.einsum("nk,nkd->nd", weights, rows[neighbors])
    np.testing.assert_allclose(found, (missed**2).sum(axis=1), rtol=1e-9)


def test_a_neighbour_equal_to_the_row_has_products_of_exactly_zero():
    rows = np.random.default_rng(0).normal(size=(6, 3)) + 1e6
    rows[1] = rows[0]
    products = difference_products(rows, np.array([[1, 2]] + [[0, 5]] * 5))
    assert not products[0, 0].any()
    assert not products[0, :, 0].any()


def test_rows_are_rebuilt_from_neighbours_as_well_as_by_nnls(rows, neighbors):
    weights = reconstruction_weights(rows, rows, neighbors)
    assert weights.shape == neighbors.shape
    assert weights.min() >= 0
    for row, around, found in zip(rows, neighbors, weights, strict=True):
        expected, _ = nnls(rows[around].T, row)
        np.testing.assert_allclose(
            found @ rows[around], expected @ rows[around], atol=1e-9 * max(1, np.abs(row).max())
        )


def test_weights_are_those_of_nnls_where_neighbours_are_independent():
    generator = np.random.default_rng(0)
    rows, queries = generator.normal(size=(40, 25)), generator.normal(size=(15, 25))
    neighbors = generator.permuted(np.tile(np.arange(40), (15, 1)), axis=1)[:, :8]
    expected = [nnls(rows[n].T, query)[0] for query, n in zip(queries, neighbors, strict=True)]
    np.testing.assert_allclose(
        reconstruction_weights(queries, rows, neighbors), expected, atol=1e-9
    )


def test_a_row_of_zeros_is_rebuilt_from_nothing():
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]])
    weights = reconstruction_weights(rows, rows, np.array([[1, 2], [0, 2], [0, 1]]))
    assert weights[0].tolist() == [0, 0]
    assert weights[1, 0] == 0  # nor does it help others


def test_a_row_opposite_to_its_neighbours_is_rebuilt_from_nothing():
    rows = np.array([[-1.0, -1.0], [1.0, 2.0], [2.0, 1.0]])
    assert not reconstruction_weights(rows[:1], rows, np.array([[1, 2]])).any()


def test_a_graph_has_the_weight_of_every_neighbour_at_its_place():
    generator = np.random.default_rng(0)
    neighbors = generator.permuted(np.tile(np.arange(9), (5, 1)), axis=1)[:, :3]
    weights = generator.random((5, 3))
    expected = np.zeros((5, 9))
    for query in range(5):
        for place in range(3):
            expected[query, neighbors[query, place]] = weights[query, place]
    graph = graph_of_weights(weights, neighbors, 9)
    np.testing.assert_array_equal(graph.toarray(), expected)
    values = generator.normal(size=(9, 2))
    np.testing.assert_allclose(graph @ values, expected @ values)
    # Columns out of order are sorted by SciPy on the way to other forms.
    np.testing.assert_array_equal(graph.T.tocsr().toarray(), expected.T)


# Edges and batches -----------------------------------------------------------------------------


def test_no_neighbours_give_no_products_no_weights_and_an_empty_graph():
    rows, nobody = np.ones((3, 2)), np.empty((3, 0), dtype=np.intp)
    among, with_query = collected(rows, rows, nobody)
    assert among.shape == (3, 0, 0)
    assert with_query.shape == (3, 0)
    assert difference_products(rows, nobody).shape == (3, 0, 0)
    assert reconstruction_weights(rows, rows, nobody).shape == (3, 0)
    graph = graph_of_weights(np.empty((3, 0)), nobody, 3)
    assert graph.shape == (3, 3)
    assert graph.nnz == 0


def test_one_row_alone_has_an_empty_graph():
    rows = np.array([[1.0, 2.0]])
    nobody = nearest_of_training_rows(index_of_rows(rows), 10)
    graph = graph_of_weights(reconstruction_weights(rows, rows, nobody), nobody, 1)
    assert sparse.issparse(graph)
    assert graph.toarray().tolist() == [[0]]


@pytest.mark.parametrize("numbers", [1, 19, 20, 21, 40, 41, 599, 600, 601])
def test_how_many_queries_are_taken_at_a_time_changes_nothing(monkeypatch, numbers):
    # 30 queries with 5 neighbours of 4 features: 20 numbers each, 600 in all.
    rows = np.random.default_rng(0).normal(size=(30, 4))
    neighbors = nearest_of_training_rows(index_of_rows(rows), 5)
    products = collected(rows, rows, neighbors)
    of_differences = difference_products(rows, neighbors)
    weights = reconstruction_weights(rows, rows, neighbors)
    monkeypatch.setattr(neighbor_module, "_NUMBERS_AT_A_TIME", numbers)
    for found, expected in zip(collected(rows, rows, neighbors), products, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(difference_products(rows, neighbors), of_differences, atol=1e-13)
    np.testing.assert_allclose(reconstruction_weights(rows, rows, neighbors), weights, atol=1e-9)


def test_batches_are_as_long_as_the_numbers_allow(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(30, 4))
    neighbors = nearest_of_training_rows(index_of_rows(rows), 5)
    monkeypatch.setattr(neighbor_module, "_NUMBERS_AT_A_TIME", 159)
    lengths = [len(products) for _, products, _ in inner_products(rows, rows, neighbors)]
    assert lengths == [7, 7, 7, 7, 2]


def test_rows_are_not_changed():
    rows = np.random.default_rng(0).normal(size=(10, 3))
    before = rows.copy()
    neighbors = nearest_of_training_rows(index_of_rows(rows), 3)
    difference_products(rows, neighbors)
    reconstruction_weights(rows, rows, neighbors)
    np.testing.assert_array_equal(rows, before)
