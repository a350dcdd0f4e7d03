"""Nearest rows: of the training rows among each other, and of new ones among them."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from disambig._core.typing import Features, IntArray

__all__ = ["index_of_rows", "nearest_of_queries", "nearest_of_training_rows"]


def index_of_rows(X: Features) -> NearestNeighbors:
    """Prepare training rows for the search of neighbours by Euclidean distance."""
    return NearestNeighbors().fit(X)


def nearest_of_training_rows(index: NearestNeighbors, n_neighbors: int) -> IntArray:
    """Return the nearest other training rows of every training row, nearest first.

    A row is not its own neighbour, not even where rows are repeated. Where there are fewer other
    rows than asked for, all of them are neighbours.
    """
    count = min(n_neighbors, index.n_samples_fit_ - 1)
    if count == 0:
        return np.empty((1, 0), dtype=np.intp)
    nearest: IntArray = index.kneighbors(n_neighbors=count, return_distance=False)
    return nearest


def nearest_of_queries(index: NearestNeighbors, X: Features, n_neighbors: int) -> IntArray:
    """Return the nearest training rows of every query, nearest first; all where there are fewer."""
    count = min(n_neighbors, index.n_samples_fit_)
    nearest: IntArray = index.kneighbors(X, count, return_distance=False)
    return nearest
