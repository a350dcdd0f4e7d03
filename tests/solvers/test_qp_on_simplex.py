from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from disambig.solvers.nonnegative_qp import minimise_on_simplex

whole_numbers = st.integers(-3, 3).map(float)


def value(matrix, weights):
    return float(weights @ matrix @ weights)


def smallest_of_all_supports(matrix):
    """Try every set of weights that may be positive: those of equal slopes that sum to one."""
    size = len(matrix)
    best = np.inf
    for count in range(1, size + 1):
        for support in map(list, combinations(range(size), count)):
            system = np.ones((count + 1, count + 1))
            system[:count, :count] = matrix[np.ix_(support, support)]
            system[count, count] = 0
            share = np.linalg.lstsq(system, np.eye(count + 1)[count], rcond=1e-13)[0][:count]
            if share.min() > -1e-12 and abs(share.sum() - 1) < 1e-9:
                weights = np.zeros(size)
                weights[support] = np.maximum(share, 0)
                best = min(best, value(matrix, weights / weights.sum()))
    return best


def products_of_differences(generator, count, length, size):
    differences = generator.normal(size=(count, size, length))
    return differences @ differences.transpose(0, 2, 1)


@pytest.mark.parametrize(("length", "size"), [(1, 3), (2, 5), (5, 5), (10, 6), (3, 1)])
def test_no_set_of_weights_does_better_on_the_simplex(length, size):
    matrices = products_of_differences(np.random.default_rng(size), 25, length, size)
    for matrix, weights in zip(matrices, minimise_on_simplex(matrices), strict=True):
        expected = smallest_of_all_supports(matrix)
        assert value(matrix, weights) == pytest.approx(expected, abs=1e-9 * np.trace(matrix))


@pytest.mark.parametrize(("length", "size"), [(4, 8), (30, 10)])
def test_a_general_solver_finds_the_same_weights_on_the_simplex(length, size):
    matrices = products_of_differences(np.random.default_rng(0), 10, length, size)
    for matrix, weights in zip(matrices, minimise_on_simplex(matrices), strict=True):
        found = minimize(
            lambda shares, matrix=matrix: value(matrix, shares),
            np.full(size, 1 / size),
            jac=lambda shares, matrix=matrix: 2 * matrix @ shares,
            method="SLSQP",
            bounds=[(0, 1)] * size,
            constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        assert found.success
        assert value(matrix, weights) <= found.fun + 1e-8 * np.trace(matrix)
        if length > size:  # the minimum is one point
            np.testing.assert_allclose(weights, found.x, atol=1e-4)


def test_weights_on_the_simplex_by_hand():
    matrices = np.array([np.diag([1.0, 2.0, 2.0]), [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3, 6, 9]]])
    expected = [[0.5, 0.25, 0.25], [1, 0, 0]]
    np.testing.assert_allclose(minimise_on_simplex(matrices), expected, atol=1e-14)


def test_a_row_equal_to_a_neighbour_is_rebuilt_from_it_alone():
    generator = np.random.default_rng(0)
    for place in range(5):
        differences = generator.normal(size=(10, 5, 8))
        differences[:, place] = 0
        weights = minimise_on_simplex(differences @ differences.transpose(0, 2, 1))
        np.testing.assert_allclose(weights, np.tile(np.eye(5)[place], (10, 1)), atol=1e-9)


def test_a_row_equal_to_all_its_neighbours_is_rebuilt_from_any():
    weights = minimise_on_simplex(np.zeros((3, 4, 4)))
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_a_row_between_its_neighbours_is_rebuilt_exactly():
    # Inside of the hull of random points: nothing is missed.
    generator = np.random.default_rng(0)
    points = generator.normal(size=(20, 12, 3))
    inside = np.einsum("nk,nkd->nd", generator.dirichlet(np.ones(12), size=20), points)
    differences = points - inside[:, np.newaxis]
    weights = minimise_on_simplex(differences @ differences.transpose(0, 2, 1))
    np.testing.assert_allclose(np.einsum("nk,nkd->nd", weights, points), inside, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-310, 1e-16, 1e-8, 1e8, 1e16, 1e200])
def test_the_scale_of_a_matrix_does_not_matter_on_the_simplex(scale):
    matrices = products_of_differences(np.random.default_rng(0), 20, 12, 6)
    np.testing.assert_allclose(
        minimise_on_simplex(matrices * scale), minimise_on_simplex(matrices), atol=1e-9
    )


def test_one_neighbour_has_all_the_weight():
    np.testing.assert_allclose(minimise_on_simplex(np.array([[[3.0]], [[0.0]], [[1e-30]]])), 1)


@given(st.data(), st.integers(1, 6), st.integers(1, 8))
def test_weights_on_the_simplex_sum_to_one_and_cannot_be_moved_to_advantage(data, length, size):
    differences = data.draw(hnp.arrays(float, (1, size, length), elements=whole_numbers))
    matrices = differences @ differences.transpose(0, 2, 1)
    (weights,) = minimise_on_simplex(matrices)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    # At a minimum no neighbour has a smaller slope than those that carry weight.
    slope = matrices[0] @ weights
    assert slope.min() > weights @ slope - 1e-7
