"""A second opinion by the rows nearby: what it says, and how much it counts."""

import numpy as np
import pytest
from scipy import sparse

from disambig import CandidateLabels
from disambig.solvers.neighbor_opinions import (
    second_opinion,
    similarity_graph,
    spread_over,
)

NOBODY = np.empty(0, dtype=np.int64)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def two_clouds(n: int = 60) -> tuple[np.ndarray, np.ndarray, CandidateLabels]:
    """Return rows in two directions, their labels, and sets with a false label in half of them."""
    generator = np.random.default_rng(0)
    truth = np.arange(n) % 2
    rows = unit(np.array([[4.0, 0, 0], [0, 4.0, 0]])[truth] + generator.normal(size=(n, 3)))
    mask = np.zeros((n, 3), dtype=bool)
    mask[np.arange(n), truth] = True
    mask[: n // 2, :2] = True
    return rows, truth, CandidateLabels.from_mask(mask, ["a", "b", "c"])


def test_weights_rebuild_a_row_from_its_neighbours():
    rows = unit(np.array([[1.0, 0], [1, 1], [0, 1], [-1, 0]]))
    graph = similarity_graph(rows, 2).toarray()
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    assert np.diag(graph).tolist() == [0] * 4
    np.testing.assert_allclose(graph[1, [0, 2]], 0.5)  # half-way between the two
    # Nothing on its side of the plane: neighbours count alike.
    alone = similarity_graph(unit(np.array([[1.0, 0], [-1, 0.01], [-1, -0.01]])), 2).toarray()
    np.testing.assert_allclose(alone[0, 1:], 0.5)


def test_sparse_rows_weigh_neighbours_by_inner_products():
    rows = unit(np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0.5, 0.5, 0], [0, 0, 1]]))
    graph = similarity_graph(sparse.csr_array(rows), 2).toarray()
    products = rows @ rows.T
    np.testing.assert_allclose(graph[0, [1, 2]], products[0, [1, 2]] / products[0, [1, 2]].sum())
    np.testing.assert_allclose(graph.sum(axis=1), 1)


def test_confidences_spread_over_the_graph_find_the_labels():
    rows, truth, candidates = two_clouds()
    heard = spread_over(similarity_graph(rows, 5), candidates, NOBODY)
    pair_rows, columns = candidates.pairs()
    scores = np.zeros(candidates.shape)
    scores[pair_rows, columns] = heard
    assert (scores.argmax(axis=1) == truth).mean() > 0.9


def test_answers_are_heard_as_they_were_given():
    graph = sparse.csr_array(np.array([[0, 1.0, 0], [0.5, 0, 0.5], [0, 1.0, 0]]))
    candidates = CandidateLabels.from_strings(["a|b", "a|b", "a|b"])
    pairs = np.array([1, 5])  # both ends are b
    heard = spread_over(graph, candidates, pairs).reshape(3, 2)
    assert heard[1, 1] > 0.99 > 0.5 > heard[1, 0]


def test_a_class_that_was_answered_away_is_heard_no_more():
    graph = sparse.csr_array(np.array([[0, 1.0], [1.0, 0]]))
    candidates = CandidateLabels.from_strings(["a|b", "b|c"])
    heard = spread_over(graph, candidates, np.array([1, 2]))
    np.testing.assert_allclose(heard, [0, 1, 1, 0])


def test_spreading_ends_after_so_many_rounds(monkeypatch):
    rows, _, candidates = two_clouds()
    graph = similarity_graph(rows, 5)
    settled = spread_over(graph, candidates, NOBODY)
    monkeypatch.setattr("disambig.solvers.neighbor_opinions._MOST_ROUNDS", 1)
    assert np.abs(spread_over(graph, candidates, NOBODY) - settled).max() > 0.01


def test_a_view_that_knows_the_models_labels_counts_and_noise_does_not():
    rows, truth, candidates = two_clouds()
    pair_rows, columns = candidates.pairs()
    right = np.where(columns == truth[pair_rows], 0.9, 0.1)
    confidences = np.where(candidates.sizes[pair_rows] == 1, 1.0, right)
    near = second_opinion(similarity_graph(rows, 5), candidates, confidences, NOBODY)
    assert 0.1 < near.weight <= 0.25
    noise = np.random.default_rng(1).normal(size=rows.shape)
    anybody = second_opinion(similarity_graph(unit(noise), 5), candidates, confidences, NOBODY)
    assert anybody.weight < near.weight / 2
    sums = np.add.reduceat(near.confidences, candidates.starts)
    np.testing.assert_allclose(sums, 1)


def test_answers_move_the_weight_to_who_knew_them():
    rows, truth, candidates = two_clouds()
    graph = similarity_graph(rows, 5)
    pair_rows, columns = candidates.pairs()
    ambiguous = candidates.sizes[pair_rows] == 2
    is_true = columns == truth[pair_rows]
    confidences = np.where(ambiguous, np.where(is_true, 0.9, 0.1), 1.0)
    weight = second_opinion(graph, candidates, confidences, NOBODY).weight
    answers = np.flatnonzero(ambiguous & is_true)[:20]
    model_wrong = confidences.copy()
    of_answered = np.isin(pair_rows, pair_rows[answers])
    model_wrong[of_answered] = 1 - model_wrong[of_answered]
    after_model_erred = second_opinion(graph, candidates, model_wrong, answers).weight
    wrong = np.flatnonzero(ambiguous & ~is_true)[:20]
    after_neighbors_erred = second_opinion(graph, candidates, model_wrong, wrong).weight
    assert after_neighbors_erred < weight < after_model_erred


def test_answers_that_were_no_candidates_say_nothing_of_the_weight():
    rows, truth, candidates = two_clouds()
    graph = similarity_graph(rows, 5)
    pair_rows, columns = candidates.pairs()
    is_true = columns == truth[pair_rows]
    confidences = np.where(candidates.sizes[pair_rows] == 2, np.where(is_true, 1.0, 0.0), 1.0)
    never = np.flatnonzero(confidences == 0)[:5]
    assert second_opinion(graph, candidates, confidences, never).weight > 0


def test_probability_outside_the_sets_stays_there():
    rows, _, candidates = two_clouds()
    confidences = 0.8 / np.repeat(candidates.sizes, candidates.sizes)
    mixed = second_opinion(similarity_graph(rows, 5), candidates, confidences, NOBODY).confidences
    np.testing.assert_allclose(np.add.reduceat(mixed, candidates.starts), 0.8)


@pytest.mark.parametrize("texts", [["a", "b", "a"], ["a|b", "b|a", "a|b"]])
def test_without_several_candidates_or_neighbours_the_model_is_alone(texts):
    candidates = CandidateLabels.from_strings(texts)
    confidences = candidates.values_of(candidates.prior())
    graph = sparse.csr_array((3, 3)) if "|" in texts[0] else similarity_graph(np.eye(3), 2)
    opinion = second_opinion(graph, candidates, confidences, NOBODY)
    assert opinion.weight == 0
    np.testing.assert_array_equal(opinion.confidences, confidences)
