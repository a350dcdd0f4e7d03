"""AGGD written plainly: dense arrays, loops, and a general solver for every step."""

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from methods.classical.plain_kernel import explicit_kernel, explicit_ridge


def least_squares_on_simplices(matrix, target, groups):
    """Minimise |matrix f - target|^2 over f >= 0 where every group of entries sums to one.

    That a group sums to one is an equation like the others, but worth ten thousand of them.
    """
    sums = 1e4 * groups.astype(float)
    found, _ = nnls(np.vstack([matrix, sums]), np.concatenate([target, sums.max(axis=1)]))
    return found


def literal_graph(X, confidences, neighbors, similarity, smoothness):
    graph = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbors):
        rows = np.vstack(
            [
                np.sqrt(similarity) * (X[near] - X[i]).T,
                np.sqrt(smoothness) * (confidences[near] - confidences[i]).T,
            ]
        )
        everything = np.ones((1, len(near)), dtype=bool)
        graph[i, near] = least_squares_on_simplices(rows, np.zeros(len(rows)), everything)
    return graph


def literal_confidences(graph, mask, smoothness, anchor=None):
    """Minimise smoothness |F - W F|^2 + |F - anchor|^2 over all n x c entries of F at once."""
    n_rows, n_classes = mask.shape
    rows, columns = np.nonzero(mask)
    groups = rows == np.arange(n_rows)[:, np.newaxis]
    differences = np.zeros((n_rows * n_classes, len(rows)))
    for pair, (row, column) in enumerate(zip(rows, columns, strict=True)):
        filled = np.zeros(mask.shape)
        filled[row, column] = 1
        differences[:, pair] = np.sqrt(smoothness) * (filled - graph @ filled).ravel()
    target = np.zeros(len(differences))
    if anchor is not None:
        differences = np.vstack([differences, np.eye(len(rows))])
        target = np.concatenate([target, anchor[mask]])
    confidences = np.zeros(mask.shape)
    confidences[mask] = least_squares_on_simplices(differences, target, groups)
    return confidences


def literal_aggd(
    X, rows, mask, *, n_neighbors, similarity, smoothness, penalty, rounds, anchor=None
):
    """Return confidences and the objective after every round; ``rows`` are for the graph."""
    distances = cdist(rows, rows)
    np.fill_diagonal(distances, np.inf)
    neighbors = np.argsort(distances, axis=1)[:, : min(n_neighbors, len(X) - 1)]
    graph = literal_graph(rows, np.zeros(mask.shape), neighbors, 1, 0)
    confidences = literal_confidences(graph, mask, 1, anchor)
    kernel = explicit_kernel(X, X)
    coefficients, intercepts = explicit_ridge(kernel, confidences, penalty)
    objectives = []
    for _ in range(rounds):
        outputs = kernel @ coefficients + intercepts
        graph = literal_graph(rows, confidences, neighbors, similarity, smoothness)
        confidences = literal_confidences(graph, mask, smoothness, outputs)
        coefficients, intercepts = explicit_ridge(kernel, confidences, penalty)
        outputs = kernel @ coefficients + intercepts
        objectives.append(
            ((outputs - confidences) ** 2).sum()
            + penalty * np.trace(coefficients.T @ kernel @ coefficients)
            + similarity * ((rows - graph @ rows) ** 2).sum()
            + smoothness * ((confidences - graph @ confidences) ** 2).sum()
        )
    return confidences, np.array(objectives)
