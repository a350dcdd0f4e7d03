"""Nearest rows, and the weights that rebuild a row from its neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.solvers.blocks import for_each, split_rows
from disambig.solvers.nonnegative_qp import minimise_on_orthant

_NUMBERS_AT_A_TIME = 1_000_000
_QUERIES_AT_A_TIME = 1024


@dataclass(frozen=True)
class RowIndex:
    """Training rows, and the search for neighbours among them."""

    rows: Features
    search: NearestNeighbors


def index_of_rows(X: Features) -> RowIndex:
    """Prepare training rows for the search of neighbours by Euclidean distance."""
    return RowIndex(X, NearestNeighbors().fit(X))


def nearest_of_training_rows(index: RowIndex, n_neighbors: int) -> IntArray:
    """Return the nearest other training rows of every training row, nearest first.

    A row is not its own neighbour, not even where rows are repeated. Where there are fewer other
    rows than asked for, all of them are neighbours.
    """
    count = min(n_neighbors, index.rows.shape[0] - 1)
    if count == 0:
        return np.empty((1, 0), dtype=np.intp)
    nearest = _nearest(index, index.rows, count + 1)
    is_other = nearest != np.arange(len(nearest))[:, np.newaxis]
    # Among so many equal rows that it is not there itself, any of them may be left out.
    is_other[is_other.all(axis=1), 0] = False
    others: IntArray = nearest[is_other].reshape(len(nearest), count)
    return others


def nearest_of_queries(index: RowIndex, X: Features, n_neighbors: int) -> IntArray:
    """Return the nearest training rows of every query, nearest first; all where there are fewer."""
    return _nearest(index, X, min(n_neighbors, index.rows.shape[0]))


def distances_of_queries(index: RowIndex, X: Features, n_neighbors: int) -> FloatArray:
    """Return the mean distance of every query to its nearest training rows."""
    count = min(n_neighbors, index.rows.shape[0])

    def distances_of(queries: slice) -> FloatArray:
        distances, _ = index.search.kneighbors(X[queries], count)
        means: FloatArray = distances.mean(axis=1)
        return means

    return np.concatenate(for_each(distances_of, split_rows(0, X.shape[0], _QUERIES_AT_A_TIME)))


def _nearest(index: RowIndex, X: Features, count: int) -> IntArray:
    """Return the nearest rows, of those that are equally near the first ones.

    The search itself would share its work among threads, and then which ones it finds depends on
    how many threads there are.
    """

    def nearest_of(queries: slice) -> IntArray:
        nearest: IntArray = index.search.kneighbors(X[queries], count, return_distance=False)
        return nearest

    return np.concatenate(for_each(nearest_of, split_rows(0, X.shape[0], _QUERIES_AT_A_TIME)))


def inner_products(
    queries: FloatArray, rows: FloatArray, neighbors: IntArray
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield, some queries at a time, the inner products around them.

    ``neighbors`` has the numbers of the rows that are neighbours of every query. Yielded are which
    queries these are, the products of their neighbours with each other, (n_batch, n_neighbors,
    n_neighbors), and those of their neighbours with the query, (n_batch, n_neighbors).
    """
    for batch in _batches(neighbors, queries.shape[1]):
        around = rows[neighbors[batch]]
        among = around @ around.transpose(0, 2, 1)
        yield batch, among, (around @ queries[batch, :, np.newaxis])[:, :, 0]


def difference_products(rows: FloatArray, neighbors: IntArray) -> FloatArray:
    """Return the inner products of the differences between every row and its neighbours.

    Weights w that sum to one miss the row by ``w @ products @ w``, squared.
    """
    products = np.empty((*neighbors.shape, neighbors.shape[1]))
    for batch in _batches(neighbors, rows.shape[1]):
        differences = rows[neighbors[batch]]
        differences -= rows[batch, np.newaxis]
        np.matmul(differences, differences.transpose(0, 2, 1), out=products[batch])
    return products


def reconstruction_weights(
    queries: FloatArray, rows: FloatArray, neighbors: IntArray
) -> FloatArray:
    """Return the weights >= 0 with which neighbours come nearest to every query."""
    weights = np.empty(neighbors.shape)
    for batch, among, with_query in inner_products(queries, rows, neighbors):
        weights[batch] = minimise_on_orthant(among, with_query)
    return weights


def graph_of_weights(weights: FloatArray, neighbors: IntArray, n_rows: int) -> Sparse:
    """Return weights of neighbours as a sparse array of shape (n_queries, n_rows)."""
    queries, count = neighbors.shape
    ends = np.arange(queries + 1) * count
    return sparse.csr_array((weights.ravel(), neighbors.ravel(), ends), (queries, n_rows))


def _batches(neighbors: IntArray, n_features: int) -> list[slice]:
    queries, count = neighbors.shape
    numbers = max(1, count * n_features)
    return split_rows(0, queries, max(1, _NUMBERS_AT_A_TIME // numbers))
