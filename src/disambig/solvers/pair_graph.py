"""A graph of rows, expanded to pairs of row and candidate, and confidences smooth on it.

Candidate sets are small. Working on pairs instead of all rows and classes makes a product with the
graph as cheap as the sets are small. Where sets hold nearly all classes it has an entry for every
edge and class.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from disambig._core.parameters import make_generator
from disambig._core.typing import FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.nonnegative_qp import project_groups_on_simplex

_SMALL_GRAPH = 50


def graph_to_candidates(graph: Sparse, candidates: CandidateLabels) -> Sparse:
    """Return the matrix that takes values of candidates to ``graph @ F`` at the candidates.

    F is the array of rows and classes that the values fill, zero elsewhere. Values, and results,
    are in the order of ``candidates.pairs()``. The graph holds weights between rows.
    """
    entries, sources, weights = _expand_to_pairs(graph, candidates)
    pairs = _entry(*candidates.pairs(), candidates)
    found = np.minimum(np.searchsorted(pairs, entries), len(pairs) - 1)
    is_candidate = pairs[found] == entries
    return sparse.csr_array(
        (weights[is_candidate], (found[is_candidate], sources[is_candidate])),
        shape=(len(pairs), len(pairs)),
    )


def graph_to_labels(graph: Sparse, candidates: CandidateLabels) -> Sparse:
    """Return the matrix that takes values of candidates to all of ``graph @ F`` that is not zero.

    As ``graph_to_candidates``, but with a row for every entry that some candidate reaches, whether
    it is a candidate itself or not. So results have the sum of squares of ``graph @ F``.
    """
    entries, sources, weights = _expand_to_pairs(graph, candidates)
    reached, rows = np.unique(entries, return_inverse=True)
    return sparse.csr_array(
        (weights, (rows, sources)), shape=(len(reached), candidates.sizes.sum())
    )


def _expand_to_pairs(
    graph: Sparse, candidates: CandidateLabels
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return (entry reached, pair it comes from, weight) for every edge and candidate."""
    edges = graph.tocoo()
    targets, rows = edges.coords
    counts = candidates.sizes[rows]
    # Every edge is repeated for every candidate of the row it comes from.
    edge = np.repeat(np.arange(len(rows)), counts)
    rank = np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = candidates.starts[rows][edge] + rank
    _, labels = candidates.pairs()
    return _entry(targets[edge], labels[pairs], candidates), pairs, edges.data[edge]


def _entry(rows: IntArray, labels: IntArray, candidates: CandidateLabels) -> IntArray:
    """Return one number for every row and label."""
    entries: IntArray = rows.astype(np.int64) * candidates.shape[1] + labels
    return entries


def smooth_confidences(
    graph: Sparse,
    candidates: CandidateLabels,
    start: FloatArray,
    *,
    anchor: FloatArray | None = None,
    smoothness: float = 1.0,
    max_iter: int = 500,
    tol: float = 1e-7,
) -> FloatArray:
    """Minimise ``smoothness * |F - graph @ F|^2 + |F - anchor|^2`` over confidences F.

    Every row of F is a distribution over the candidates of its row. Accelerated projected gradient:
    without an anchor with Nesterov's growing momentum, with one with the constant momentum of a
    strongly convex problem. It stops where no confidence changes by more than ``tol``.

    The graph holds the weights with which rows are rebuilt from their neighbours. ``start``,
    ``anchor`` and the result are in the order of ``candidates.pairs()``.
    """
    apart = sparse.eye_array(len(candidates), format="csr") - graph
    differences = graph_to_labels(apart, candidates)
    transposed = differences.T.tocsr()
    steepest = 2 * smoothness * _largest_singular_value(apart) ** 2
    if anchor is not None:
        steepest += 2
    if steepest == 0:
        return start
    constant_momentum = (1 - np.sqrt(2 / steepest)) / (1 + np.sqrt(2 / steepest))
    starts = candidates.starts
    confidences, ahead, growth = start, start, 1.0
    for _ in range(max_iter):
        slope = 2 * smoothness * (transposed @ (differences @ ahead))
        if anchor is not None:
            slope += 2 * (ahead - anchor)
        moved = project_groups_on_simplex(ahead - slope / steepest, starts)
        change = moved - confidences
        confidences = moved
        if np.abs(change).max() <= tol:
            break
        if anchor is None:
            following = (1 + np.sqrt(1 + 4 * growth**2)) / 2
            momentum, growth = (growth - 1) / following, following
        else:
            momentum = constant_momentum
        ahead = moved + momentum * change
    return confidences


def _largest_singular_value(matrix: Sparse) -> float:
    """Return the largest singular value, or a little more."""
    if min(matrix.shape) <= _SMALL_GRAPH or matrix.count_nonzero() == 0:
        return float(np.linalg.norm(matrix.toarray(), 2))
    # A fixed start, because SciPy draws a random one.
    start = make_generator(0).standard_normal(min(matrix.shape))
    (largest,) = svds(matrix, k=1, v0=start, tol=1e-3, return_singular_vectors=False)
    return 1.01 * float(largest)
