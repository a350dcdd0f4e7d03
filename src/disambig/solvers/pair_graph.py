"""A graph of rows, expanded to the pairs of a row and one of its candidates.

Candidate sets are small. Working on pairs instead of all rows and classes makes a product with the
graph as cheap as the sets are small. Where sets hold nearly all classes it has an entry for every
edge and class.
"""

import numpy as np
from scipy import sparse

from disambig._core.typing import FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels

__all__ = ["graph_to_candidates", "graph_to_labels"]


def graph_to_candidates(graph: Sparse, candidates: CandidateLabels) -> Sparse:
    """Return the matrix that takes values of candidates to ``graph @ F`` at the candidates.

    F is the array of rows and classes that the values fill, zero elsewhere. Values, and results,
    are in the order of ``candidates.pairs()``.

    Parameters
    ----------
    graph : sparse array of shape (n_samples, n_samples)
        Weights between rows.
    candidates : CandidateLabels
        Candidate sets of the rows.
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
