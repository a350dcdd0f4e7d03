"""What the rows near a row say of its label, as a second opinion beside a model's confidences."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_sums
from disambig.solvers.neighbors import (
    graph_of_weights,
    index_of_rows,
    nearest_of_training_rows,
    reconstruction_weights,
)
from disambig.solvers.pair_graph import graph_to_candidates

_SPREAD = 0.95  # of a row's confidences that comes from its neighbours, in every round
_MOST_ROUNDS = 100
_SMALLEST_CHANGE = 1e-4
_FLOOR = 0.02  # of a label that no neighbour has
_PRIOR = 0.5  # of the neighbours' weight, before there are answers
_PRIOR_ANSWERS = 4  # that the weight before answers counts for
_WEIGHTS = np.linspace(0.02, 0.98, 25)
_POWERS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0)


class SecondOpinion(NamedTuple):
    """Confidences of candidates, by a model and by the neighbours of each row."""

    confidences: FloatArray  # of every candidate, in the order of pairs
    weight: float  # of the neighbours, beside the model: from 0 to 1


def similarity_graph(rows: Features, n_neighbors: int) -> Sparse:
    """Return how much of every row its nearest other rows make up: weights >= 0 that sum to one.

    Dense rows are rebuilt from their neighbours, as in IPAL. Sparse rows have weights in proportion
    to their inner products. Rows should have length one.
    """
    nearest = nearest_of_training_rows(index_of_rows(rows), n_neighbors)
    if sparse.issparse(rows):
        weights = _inner_products(rows, nearest)
    else:
        weights = reconstruction_weights(rows, rows, nearest)
    sums = weights.sum(axis=1, keepdims=True)
    # Rows that point away from all others: these count alike.
    alike = 1 / max(1, nearest.shape[1])
    shares = np.where(sums > 0, weights / np.where(sums > 0, sums, 1), alike)
    return graph_of_weights(shares, nearest, rows.shape[0])


def second_opinion(
    graph: Sparse, candidates: CandidateLabels, confidences: FloatArray, answers: IntArray
) -> SecondOpinion:
    """Return the average of a model's confidences and what the neighbours of each row say.

    The neighbours know candidate sets, not the model: confidences spread from equal shares over the
    graph, and a row hears what others have come to. Two views of one row that disagree are a sign
    of an error that neither shows alone.

    How sharp and how heavy the second view is comes from the data. It is taken to the power under
    which the model's confidences on rows with several candidates are likeliest, and counts by what
    it then knows of them: the log-likelihood gained over equal shares, beside that of the model.
    Half of that at first, as both may err alike; answers on rows that the model had not learned
    from then say which of the two knew them.

    ``answers`` are the pairs that people have settled: their rows spread nothing but the answer.
    """
    starts, sizes = candidates.starts, candidates.sizes
    several = sizes > 1
    several[candidates.pairs()[0][answers]] = False
    if not several.any() or not graph.nnz:
        return SecondOpinion(confidences, 0.0)
    heard = spread_over(graph, candidates, answers) + _FLOOR
    totals = group_sums(confidences, starts)
    model = confidences / np.repeat(np.where(totals > 0, totals, 1), sizes)
    counted = np.repeat(several, sizes) * model

    def known(opinion: FloatArray) -> float:
        relative = np.log(np.maximum(opinion, 1e-12) * np.repeat(sizes, sizes))
        return float((counted * relative).sum())

    prior = candidates.values_of(candidates.prior())
    opinions = [_shares(heard**power * prior, candidates) for power in _POWERS]
    opinion = max(opinions, key=known)
    by_neighbors, by_model = max(known(opinion), 0.0), max(known(model), 1e-9)
    weight = _PRIOR * by_neighbors / (by_neighbors + by_model)
    weight = _learned_weight(weight, model[answers], opinion[answers])
    # Where some probability is outside the set, it stays there.
    mixed = (1 - weight) * confidences + weight * opinion * np.repeat(totals, sizes)
    return SecondOpinion(mixed, weight)


def _learned_weight(weight: float, by_model: FloatArray, by_neighbors: FloatArray) -> float:
    """Return the weight of the neighbours after answers, by what both held of these before."""
    possible = by_model > 0  # the others were not among the candidates
    weights = _WEIGHTS[:, np.newaxis]
    likelihoods = (1 - weights) * by_model[possible] + weights * by_neighbors[possible]
    evidence = np.log(likelihoods).sum(axis=1) + _PRIOR_ANSWERS * (
        weight * np.log(_WEIGHTS) + (1 - weight) * np.log(1 - _WEIGHTS)
    )
    belief = np.exp(evidence - evidence.max())
    return float(belief @ _WEIGHTS / belief.sum()) if possible.any() else weight


def spread_over(graph: Sparse, candidates: CandidateLabels, answers: IntArray) -> FloatArray:
    """Return what neighbours think of every candidate, after confidences have spread."""
    step = graph_to_candidates(graph, candidates)
    start = candidates.values_of(candidates.prior())
    rows, columns = candidates.pairs()
    answered = np.zeros(len(candidates), dtype=bool)
    answered[rows[answers]] = True
    settled = answered[rows]
    start = np.where(settled, 0.0, start)
    start[answers] = 1
    current = start
    for _ in range(_MOST_ROUNDS):
        spread = _SPREAD * (step @ current) + (1 - _SPREAD) * start
        new = _shares(np.where(settled, start, spread), candidates)
        change = float(np.linalg.norm(new - current))
        current = new
        if change < _SMALLEST_CHANGE:
            break
    # Every class keeps its mass, or frequent ones would take over.
    before, after = (np.bincount(columns, values) for values in (start, current))
    factors = before / np.where(after > 0, after, 1)  # a class may have been answered away
    balanced = _shares(current * factors[columns], candidates)
    heard: FloatArray = step @ balanced
    return heard


def _shares(values: FloatArray, candidates: CandidateLabels) -> FloatArray:
    shares: FloatArray = values / np.repeat(group_sums(values, candidates.starts), candidates.sizes)
    return shares


def _inner_products(rows: Sparse, nearest: IntArray) -> FloatArray:
    products = [
        np.asarray(rows.multiply(rows[nearest[:, place]]).sum(axis=1)).ravel()
        for place in range(nearest.shape[1])
    ]
    stacked: FloatArray = np.maximum(np.array(products).T.reshape(nearest.shape), 0)
    return stacked
