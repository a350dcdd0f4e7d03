"""IPAL written plainly: dense arrays, loops, and non-negative least squares from SciPy."""

import numpy as np
from scipy.optimize import nnls


def nearest(X, row, count, without=None):
    distances = np.linalg.norm(X - row, axis=1)
    if without is not None:
        distances[without] = np.inf
    return np.argsort(distances)[: min(count, len(X) - (without is not None))]


def literal_confidences(X, first, *, n_neighbors=10, alpha=0.95, max_iter=100, tol=1e-4):
    """Spread dense n x c confidences over a dense n x n graph; ``first`` is F0."""
    graph = np.zeros((len(X), len(X)))
    for i, row in enumerate(X):
        neighbors = nearest(X, row, n_neighbors, without=i)
        weights, _ = nnls(X[neighbors].T, row)
        if weights.sum() > 0:
            graph[i, neighbors] = weights / weights.sum()
    confidences, rounds, change = first, 0, np.inf
    while rounds < max_iter and change >= tol:
        mixed = alpha * graph @ confidences + (1 - alpha) * first
        mixed[first == 0] = 0
        mixed /= mixed.sum(axis=1, keepdims=True)
        change = np.sqrt(((mixed - confidences) ** 2).sum())
        confidences = mixed
        rounds += 1
    balanced = confidences.copy()
    for j in range(first.shape[1]):
        if confidences[:, j].sum() > 0:
            balanced[:, j] *= first[:, j].sum() / confidences[:, j].sum()
    return balanced / balanced.sum(axis=1, keepdims=True), rounds


def literal_residuals(X, labels, query, n_classes, n_neighbors=10):
    """Return one residual for every query and class; ``labels`` are columns."""
    residuals = np.empty((len(query), n_classes))
    for i, row in enumerate(query):
        neighbors = nearest(X, row, n_neighbors)
        weights, _ = nnls(X[neighbors].T, row)
        for j in range(n_classes):
            rebuilt = np.zeros(X.shape[1])
            for neighbor, weight in zip(neighbors, weights, strict=True):
                if labels[neighbor] == j:
                    rebuilt += weight * X[neighbor]
            residuals[i, j] = np.linalg.norm(row - rebuilt)
    return residuals


def shares_explained(query, residuals):
    explained = np.maximum((query**2).sum(axis=1, keepdims=True) - residuals**2, 0)
    return explained / explained.sum(axis=1, keepdims=True)
