"""Graphs on pairs of row and candidate, and confidences smooth on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from candidates.strategies import masks
from disambig import CandidateLabels
from disambig.solvers.nonnegative_qp import project_groups_on_simplex
from disambig.solvers.pair_graph import (
    _largest_singular_value,
    graph_to_candidates,
    graph_to_labels,
    smooth_confidences,
)


def filled(candidates, values):
    """Return values of pairs as a dense array of rows and classes."""
    dense = np.zeros(candidates.shape)
    dense[candidates.pairs()] = values
    return dense


def random_graph(generator, count, density):
    weights = generator.normal(size=(count, count)) * (generator.random((count, count)) < density)
    return sparse.csr_array(weights)


def assert_agrees_with_dense_arithmetic(graph, candidates, generator):
    values = generator.normal(size=candidates.sizes.sum())
    product = graph.toarray() @ filled(candidates, values)
    at_candidates = graph_to_candidates(graph, candidates)
    assert at_candidates.shape == (len(values), len(values))
    np.testing.assert_allclose(
        at_candidates @ values, candidates.values_of(product), rtol=1e-12, atol=1e-12
    )
    at_labels = graph_to_labels(graph, candidates)
    assert at_labels.shape[1] == len(values)
    # The same numbers other than zero, in the order of rows and classes.
    found = at_labels @ values
    np.testing.assert_allclose(found[found != 0], product[product != 0], rtol=1e-12, atol=1e-12)
    assert np.sum(found**2) == pytest.approx(np.sum(product**2), rel=1e-12)


@given(masks(max_rows=12), st.floats(0, 1), st.integers(0, 1000))
def test_both_products_are_those_of_dense_arrays(mask, density, seed):
    generator = np.random.default_rng(seed)
    graph = random_graph(generator, len(mask), density)
    assert_agrees_with_dense_arithmetic(graph, CandidateLabels.from_mask(mask), generator)


@pytest.mark.parametrize("n_classes", [1, 3, 50])
@pytest.mark.parametrize("sets", ["full", "single", "mixed"])
def test_full_sets_and_sets_of_one_are_no_exception(n_classes, sets):
    generator = np.random.default_rng(0)
    mask = np.ones((20, n_classes), dtype=bool)
    if sets != "full":
        single = np.eye(n_classes, dtype=bool)[generator.integers(0, n_classes, 20)]
        mask = single if sets == "single" else np.where(np.arange(20)[:, None] % 2, mask, single)
    graph = random_graph(generator, 20, 0.3)
    assert_agrees_with_dense_arithmetic(graph, CandidateLabels.from_mask(mask), generator)


def test_self_loops_lead_from_every_candidate_to_itself():
    candidates = CandidateLabels.from_sets([["a", "b"], ["c"], ["a", "b", "c"]])
    loops = sparse.diags_array([2.0, 3.0, 4.0], format="csr")
    expected = np.diag([2.0, 2, 3, 4, 4, 4])
    np.testing.assert_array_equal(graph_to_candidates(loops, candidates).toarray(), expected)
    np.testing.assert_array_equal(graph_to_labels(loops, candidates).toarray(), expected)


def test_one_edge_by_hand():
    # Row 0 takes half of row 1: of the candidates of row 1 only b is one of row 0.
    candidates = CandidateLabels.from_sets([["a", "b"], ["b", "c"]])
    graph = sparse.csr_array([[0.0, 0.5], [0.0, 0.0]])
    to_candidates = np.zeros((4, 4))
    to_candidates[1, 2] = 0.5
    np.testing.assert_array_equal(graph_to_candidates(graph, candidates).toarray(), to_candidates)
    to_labels = [[0, 0, 0.5, 0], [0, 0, 0, 0.5]]
    np.testing.assert_array_equal(graph_to_labels(graph, candidates).toarray(), to_labels)


def test_a_place_that_several_rows_reach_is_one_row():
    candidates = CandidateLabels.from_labels(["a", "a", "b"])
    graph = sparse.csr_array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
    expected = [[0, 1, 0], [0, 0, 2], [3, 4, 0]]  # at (0, a), (0, b) and (2, a)
    np.testing.assert_array_equal(graph_to_labels(graph, candidates).toarray(), expected)


@pytest.mark.parametrize("n_rows", [1, 4])
def test_an_empty_graph_leads_nowhere(n_rows):
    candidates = CandidateLabels.from_mask(np.ones((n_rows, 3), dtype=bool))
    graph = sparse.csr_array((n_rows, n_rows))
    nowhere = graph_to_candidates(graph, candidates)
    assert nowhere.shape == (3 * n_rows, 3 * n_rows)
    assert nowhere.nnz == 0
    assert (graph_to_labels(graph, candidates) @ np.ones(3 * n_rows)).shape == (0,)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_every_form_of_a_graph_is_read(form):
    generator = np.random.default_rng(0)
    candidates = CandidateLabels.from_mask(
        np.eye(3, dtype=bool)[[0, 1, 2, 0, 1]] | np.eye(5, 3, dtype=bool)
    )
    assert_agrees_with_dense_arithmetic(
        form(random_graph(generator, 5, 0.7)), candidates, generator
    )


def test_an_edge_given_twice_counts_twice():
    candidates = CandidateLabels.from_labels(["a", "a"])
    twice = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert graph_to_candidates(twice, candidates).toarray().tolist() == [[0, 3], [0, 0]]


def test_candidates_in_another_order_of_classes_stay_in_step():
    generator = np.random.default_rng(0)
    mask = generator.random((15, 60)) < 0.05
    mask[:, 0] = True
    turned = CandidateLabels.from_mask(mask).with_classes(range(59, -1, -1))
    assert_agrees_with_dense_arithmetic(random_graph(generator, 15, 0.4), turned, generator)


def test_numbers_of_places_do_not_overflow():
    # 3,000,000,000 places are more than 32 bits count.
    rows, classes = 30_000, 100_000
    columns = np.array([classes - 1] * rows)
    mask = sparse.csr_array((np.ones(rows, bool), columns, np.arange(rows + 1)), (rows, classes))
    candidates = CandidateLabels.from_mask(mask)
    last_to_first = sparse.coo_array(([2.0], ([rows - 1], [0])), shape=(rows, rows)).tocsr()
    found = graph_to_candidates(last_to_first, candidates).tocoo()
    assert [int(place[0]) for place in found.coords] == [rows - 1, 0]
    assert found.data.tolist() == [2]


def objective(graph, candidates, values, anchor=None, smoothness=1.0):
    confidences = np.zeros(candidates.shape)
    confidences[candidates.pairs()] = values
    smooth = smoothness * np.sum((confidences - graph.toarray() @ confidences) ** 2)
    return smooth + (0 if anchor is None else np.sum((values - anchor) ** 2))


def smallest_objective(graph, candidates, anchor=None, smoothness=1.0):
    """Return what a general solver finds, on the whole array of rows and classes."""
    rows, columns = candidates.pairs()
    apart = np.eye(len(candidates)) - graph.toarray()

    def value(values):
        return objective(graph, candidates, values, anchor, smoothness)

    def slope(values):
        confidences = np.zeros(candidates.shape)
        confidences[rows, columns] = values
        found = 2 * smoothness * (apart.T @ apart @ confidences)[rows, columns]
        return found + (0 if anchor is None else 2 * (values - anchor))

    memberships = np.zeros((len(candidates), len(rows)))
    memberships[rows, np.arange(len(rows))] = 1
    found = minimize(
        value,
        candidates.prior().data,
        jac=slope,
        method="SLSQP",
        bounds=[(0, 1)] * len(rows),
        constraints={
            "type": "eq",
            "fun": lambda values: memberships @ values - 1,
            "jac": lambda values: memberships,
        },
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    return found.fun


def random_sets(generator, count, n_classes, density=0.5):
    mask = generator.random((count, n_classes)) < density
    mask[np.arange(count), generator.integers(0, n_classes, count)] = True
    return CandidateLabels.from_mask(mask)


def distribution_graph(generator, count, neighbors):
    """Every row a distribution over some others."""
    weights = np.zeros((count, count))
    for row in range(count):
        others = generator.permutation(np.delete(np.arange(count), row))[:neighbors]
        weights[row, others] = generator.dirichlet(np.ones(len(others))) if len(others) else 0
    return sparse.csr_array(weights)


def random_confidences(generator, candidates):
    return np.concatenate([generator.dirichlet(np.ones(size)) for size in candidates.sizes])


def assert_distributions(candidates, values):
    assert values.min() >= 0
    np.testing.assert_allclose(np.add.reduceat(values, candidates.starts), 1, atol=1e-13)


# Against a general solver --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("smoothness", [0.05, 1, 20])
def test_with_an_anchor_the_minimum_of_a_general_solver_is_reached(seed, smoothness):
    generator = np.random.default_rng(seed)
    candidates, graph = random_sets(generator, 8, 4), distribution_graph(generator, 8, 3)
    anchor = generator.normal(0.3, 0.5, size=candidates.sizes.sum())
    found = smooth_confidences(
        graph, candidates, candidates.prior().data, anchor=anchor, smoothness=smoothness
    )
    assert_distributions(candidates, found)
    expected = smallest_objective(graph, candidates, anchor, smoothness)
    assert objective(graph, candidates, found, anchor, smoothness) == pytest.approx(
        expected, rel=1e-6, abs=1e-8
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("density", [0.2, 0.5, 1])
def test_without_an_anchor_the_minimum_of_a_general_solver_is_reached(seed, density):
    generator = np.random.default_rng(seed)
    candidates, graph = random_sets(generator, 8, 4, density), distribution_graph(generator, 8, 3)
    found = smooth_confidences(graph, candidates, candidates.prior().data)
    assert_distributions(candidates, found)
    expected = smallest_objective(graph, candidates)
    assert objective(graph, candidates, found) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_weights_that_sum_to_less_or_more_and_self_loops_are_allowed():
    generator = np.random.default_rng(0)
    candidates = random_sets(generator, 7, 3)
    graph = sparse.csr_array(generator.random((7, 7)) * (generator.random((7, 7)) < 0.5))
    found = smooth_confidences(graph, candidates, candidates.prior().data)
    expected = smallest_objective(graph, candidates)
    assert objective(graph, candidates, found) == pytest.approx(expected, rel=1e-6)


def test_two_rows_by_hand():
    # Row 1 is certain of b and row 0 copies it; without an anchor nothing speaks against that.
    candidates = CandidateLabels.from_sets([["a", "b"], ["b"]])
    graph = sparse.csr_array([[0.0, 1.0], [0.0, 0.0]])
    found = smooth_confidences(graph, candidates, np.array([0.5, 0.5, 1.0]))
    np.testing.assert_allclose(found, [0, 1, 1], atol=1e-6)
    # With one, it is the mean of its anchor (1, 0) and its neighbour (0, 1).
    anchor = np.array([1.0, 0.0, 1.0])
    found = smooth_confidences(graph, candidates, np.array([0.5, 0.5, 1.0]), anchor=anchor)
    np.testing.assert_allclose(found, [0.5, 0.5, 1], atol=1e-6)
    # Three times as much smoothness moves it to a quarter.
    found = smooth_confidences(
        graph, candidates, np.array([0.5, 0.5, 1.0]), anchor=anchor, smoothness=3
    )
    np.testing.assert_allclose(found, [0.25, 0.75, 1], atol=1e-6)


# What holds always -----------------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(1, 5), st.booleans(), st.integers(0, 10_000))
def test_the_objective_is_never_above_that_of_the_start(count, n_classes, anchored, seed):
    generator = np.random.default_rng(seed)
    candidates = random_sets(generator, count, n_classes, generator.random())
    graph = distribution_graph(generator, count, 3)
    start = random_confidences(generator, candidates)
    anchor = generator.normal(size=len(start)) if anchored else None
    smoothness = 10.0 ** generator.uniform(-2, 2)
    before = objective(graph, candidates, start, anchor, smoothness)
    for steps in (1, 2, 5, 20, 500):
        found = smooth_confidences(
            graph, candidates, start, anchor=anchor, smoothness=smoothness, max_iter=steps
        )
        assert_distributions(candidates, found)
        after = objective(graph, candidates, found, anchor, smoothness)
        assert after <= before * (1 + 1e-12) + 1e-12


def test_a_minimum_is_not_left():
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, 30, 4), distribution_graph(generator, 30, 4)
    anchor = generator.normal(size=candidates.sizes.sum())
    once = smooth_confidences(graph, candidates, candidates.prior().data, anchor=anchor)
    again = smooth_confidences(graph, candidates, once, anchor=anchor)
    np.testing.assert_allclose(again, once, atol=1e-6)


def test_with_an_anchor_the_start_does_not_matter():
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, 40, 5), distribution_graph(generator, 40, 5)
    anchor = generator.normal(size=candidates.sizes.sum())
    found = [
        smooth_confidences(
            graph, candidates, random_confidences(generator, candidates), anchor=anchor
        )
        for _ in range(2)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


@pytest.mark.parametrize("count", [1, 10, 80])
def test_without_smoothness_the_anchor_is_projected(count):
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, count, 4), distribution_graph(generator, count, 3)
    anchor = generator.normal(size=candidates.sizes.sum())
    found = smooth_confidences(
        graph, candidates, candidates.prior().data, anchor=anchor, smoothness=0
    )
    expected = project_groups_on_simplex(anchor, candidates.starts)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_without_smoothness_and_anchor_the_start_stays():
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, 10, 4), distribution_graph(generator, 10, 3)
    start = random_confidences(generator, candidates)
    np.testing.assert_array_equal(smooth_confidences(graph, candidates, start, smoothness=0), start)


# Edges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchored", [False, True])
def test_sets_of_one_are_certain_whatever_the_graph(anchored):
    generator = np.random.default_rng(0)
    candidates = CandidateLabels.from_labels(generator.integers(0, 3, 20))
    anchor = generator.normal(size=20) if anchored else None
    found = smooth_confidences(
        distribution_graph(generator, 20, 3), candidates, np.ones(20), anchor=anchor
    )
    np.testing.assert_array_equal(found, 1)


def test_full_sets_that_are_all_equal_agree_already():
    candidates = CandidateLabels.from_mask(np.ones((20, 3), dtype=bool))
    graph = distribution_graph(np.random.default_rng(0), 20, 3)
    found = smooth_confidences(graph, candidates, candidates.prior().data)
    np.testing.assert_allclose(found, 1 / 3, atol=1e-12)


@pytest.mark.parametrize("count", [1, 60])
def test_without_edges_confidences_are_as_equal_as_they_can_be(count):
    candidates = CandidateLabels.from_mask(np.ones((count, 4), dtype=bool))
    start = random_confidences(np.random.default_rng(0), candidates)
    found = smooth_confidences(sparse.csr_array((count, count)), candidates, start)
    np.testing.assert_allclose(found, 0.25, atol=1e-6)


@pytest.mark.parametrize(
    "count",
    [5, 60],
)
def test_where_every_row_is_its_own_neighbour_the_start_stays(count):
    candidates = CandidateLabels.from_mask(np.ones((count, 3), dtype=bool))
    start = random_confidences(np.random.default_rng(0), candidates)
    found = smooth_confidences(sparse.eye_array(count, format="csr"), candidates, start)
    np.testing.assert_array_equal(found, start)


def test_start_and_anchor_are_not_changed():
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, 10, 4), distribution_graph(generator, 10, 3)
    start = random_confidences(generator, candidates)
    anchor = generator.normal(size=len(start))
    before = start.copy(), anchor.copy()
    smooth_confidences(graph, candidates, start, anchor=anchor)
    np.testing.assert_array_equal((start, anchor), before)


# Large graphs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [51, 60, 300])
@pytest.mark.parametrize("kind", ["neighbours", "nothing", "heavy", "one hub"])
def test_the_steepness_of_a_large_graph_is_not_underestimated(count, kind):
    generator = np.random.default_rng(count)
    graph = distribution_graph(generator, count, 5)
    if kind == "nothing":
        graph = sparse.csr_array((count, count))
    elif kind == "heavy":
        graph = graph * generator.exponential(10, size=(count, 1))
    elif kind == "one hub":
        graph = sparse.csr_array(np.outer(np.ones(count), np.eye(count)[0]))
    apart = sparse.csr_array(sparse.eye_array(count) - graph)
    exact = np.linalg.norm(apart.toarray(), 2)
    assert exact <= _largest_singular_value(apart) <= 1.02 * exact


def test_a_large_graph_reaches_the_same_minimum_with_either_norm(monkeypatch):
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, 120, 4), distribution_graph(generator, 120, 5)
    anchor = generator.normal(size=candidates.sizes.sum())
    start = candidates.prior().data
    by_iteration = smooth_confidences(graph, candidates, start, anchor=anchor)
    monkeypatch.setattr("disambig.solvers.pair_graph._SMALL_GRAPH", 1000)
    by_decomposition = smooth_confidences(graph, candidates, start, anchor=anchor)
    np.testing.assert_allclose(by_iteration, by_decomposition, atol=1e-5)


@pytest.mark.parametrize("count", [20, 120])
def test_the_same_bits_come_twice_and_the_global_random_state_stays(count):
    generator = np.random.default_rng(0)
    candidates, graph = random_sets(generator, count, 4), distribution_graph(generator, count, 5)
    start = candidates.prior().data
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = smooth_confidences(graph, candidates, start)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    np.testing.assert_array_equal(smooth_confidences(graph, candidates, start), first)
