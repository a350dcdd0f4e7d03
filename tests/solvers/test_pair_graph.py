import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from candidates.strategies import masks
from disambig import CandidateLabels
from disambig.solvers.pair_graph import graph_to_candidates, graph_to_labels


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
