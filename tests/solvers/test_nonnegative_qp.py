"""Quadratic problems on the orthant and on the simplex."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.linalg import hilbert
from scipy.optimize import minimize, nnls

from disambig.solvers import nonnegative_qp
from disambig.solvers.nonnegative_qp import (
    minimise_on_orthant,
    minimise_on_simplex,
    project_groups_on_simplex,
    project_rows_on_simplex,
)


def least_squares(columns, wanted):
    """Return our solution of ``|columns @ z - wanted|``, z >= 0, for many problems."""
    transposed = columns.transpose(0, 2, 1)
    return minimise_on_orthant(
        transposed @ columns, (transposed @ wanted[:, :, np.newaxis])[..., 0]
    )


def by_scipy(columns, wanted):
    return np.array(
        [nnls(*problem, maxiter=10_000)[0] for problem in zip(columns, wanted, strict=True)]
    )


def fitted(columns, weights):
    return np.einsum("ndk,nk->nd", columns, weights)


def loss(columns, wanted, weights):
    """Return how much more is missed than by SciPy, as a share of what weights of zero miss."""

    def missed(found):
        return np.sum((fitted(columns, found) - wanted) ** 2, axis=1)

    return (missed(weights) - missed(by_scipy(columns, wanted))) / np.sum(wanted**2, axis=1)


def assert_same_weights(columns, wanted, tolerance):
    expected = by_scipy(columns, wanted)
    sizes = np.abs(expected).max(axis=1, keepdims=True, initial=1e-300)
    error = np.abs(least_squares(columns, wanted) - expected) / sizes
    assert error.max() < tolerance


def assert_same_fit(columns, wanted):
    found, expected = least_squares(columns, wanted), by_scipy(columns, wanted)
    assert found.min(initial=0) >= 0
    apart = np.linalg.norm(fitted(columns, found) - fitted(columns, expected), axis=1)
    assert (apart / np.linalg.norm(wanted, axis=1)).max() < 1e-9


# Independent columns: one minimum ------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "size"), [(2, 1), (2, 2), (5, 3), (10, 10), (35, 30), (200, 1), (200, 10), (200, 30)]
)
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_weights_of_independent_columns_are_those_of_nnls(length, size, kind):
    generator = np.random.default_rng(length + size)
    draw = generator.normal if kind == "normal" else generator.uniform
    columns, wanted = draw(size=(60, length, size)), draw(size=(60, length))
    assert_same_weights(columns, wanted, 1e-6)


@given(st.integers(1, 30), st.integers(0, 60), st.integers(0, 10_000))
def test_weights_of_any_number_of_independent_columns_are_those_of_nnls(size, more, seed):
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(3, size + 2 + more, size))
    assert_same_weights(columns, generator.normal(size=(3, size + 2 + more)), 1e-6)


@pytest.mark.parametrize("noise", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("length", [20, 100])
def test_weights_of_neighbours_close_to_each_other_are_those_of_nnls(noise, length):
    columns, wanted = close_neighbours(noise, length, 8)
    assert_same_weights(columns, wanted, 1e-3 if noise < 1e-2 else 1e-6)


def test_weights_of_neighbours_very_close_to_each_other_are_those_of_nnls():
    columns, wanted = close_neighbours(1e-4, 100, 8)
    assert_same_weights(columns, wanted, 1e-4)


def close_neighbours(noise, length, size, count=60):
    generator = np.random.default_rng(0)
    center = generator.normal(size=(count, length, 1))
    columns = center + noise * generator.normal(size=(count, length, size))
    return columns, center[:, :, 0] + noise * generator.normal(size=(count, length))


# Nearly or fully dependent columns: one minimum of the objective -------------------------------


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9])
@pytest.mark.parametrize(("length", "size"), [(3, 10), (10, 10), (100, 10), (10, 30)])
def test_nothing_is_missed_of_neighbours_that_are_nearly_collinear(noise, length, size):
    columns, wanted = close_neighbours(noise, length, size)
    assert loss(columns, wanted, least_squares(columns, wanted)).max() < 1e-9


@pytest.mark.parametrize(("length", "size"), [(1, 5), (2, 10), (5, 30), (10, 12)])
def test_more_columns_than_numbers_fit_as_well_as_nnls(length, size):
    generator = np.random.default_rng(size)
    assert_same_fit(generator.normal(size=(60, length, size)), generator.normal(size=(60, length)))


@pytest.mark.parametrize("rank", [1, 2, 5, 9])
def test_matrices_of_low_rank_fit_as_well_as_nnls(rank):
    generator = np.random.default_rng(rank)
    columns = generator.normal(size=(60, 30, rank)) @ generator.normal(size=(60, rank, 12))
    assert_same_fit(columns, generator.normal(size=(60, 30)))
    assert_same_fit(columns, fitted(columns, generator.normal(size=(60, 12))))


def test_repeated_columns_and_columns_of_zeros_fit_as_well_as_nnls():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(60, 20, 4))[:, :, [0, 0, 1, 1, 1, 2, 3, 3, 0]]
    columns[:30, :, [1, 5]] = 0
    assert_same_fit(columns, generator.normal(size=(60, 20)))
    assert_same_fit(columns, columns[:, :, 6] * 2)


def test_small_whole_numbers_fit_as_well_as_nnls():
    # Many ties, many dependent columns, many columns of zeros.
    generator = np.random.default_rng(0)
    for length, size in [(2, 6), (4, 4), (6, 12), (12, 25)]:
        columns = generator.integers(-1, 2, size=(80, length, size)).astype(float)
        assert_same_fit(columns, generator.integers(1, 4, size=(80, length)).astype(float))


def test_a_column_of_zeros_has_no_weight():
    columns = np.random.default_rng(0).uniform(size=(10, 5, 4))
    columns[:, :, 2] = 0
    assert (least_squares(columns, np.ones((10, 5)))[:, 2] == 0).all()


def test_the_first_of_equal_columns_carries_the_weight():
    found = least_squares(np.ones((1, 3, 4)), np.full((1, 3), 2.0))
    np.testing.assert_allclose(found, [[2, 0, 0, 0]], rtol=1e-14)


# Hard ones -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 6, 12, 25])
def test_hilbert_matrices_miss_nothing(size):
    generator = np.random.default_rng(size)
    columns = np.broadcast_to(hilbert(size), (60, size, size))
    for weights in (generator.normal(size=(60, size)), generator.random(size=(60, size))):
        for wanted in (weights, fitted(columns, weights)):
            assert loss(columns, wanted, least_squares(columns, wanted)).max() < 1e-9


@pytest.mark.parametrize("size", [5, 10, 20])
@pytest.mark.parametrize("growth", [1, 4])
def test_matrices_on_which_going_to_the_first_violation_takes_forever(size, growth):
    # Fathi 1979: Murty's rule alone takes 2^size - 1 pivots, for size 10 more than are allowed.
    lower = np.tril(np.full((size, size), 2.0), -1) + np.eye(size)
    columns = lower if growth == 1 else lower.T
    wanted = np.linalg.solve(columns.T, float(growth) ** np.arange(size))
    assert_same_weights(columns[np.newaxis], wanted[np.newaxis], 1e-9)


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 1e-9, 0])
@pytest.mark.parametrize("length", [3, 10, 50])
def test_of_near_duplicates_no_more_is_missed_than_they_are_apart(apart, length):
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(60, length, 4))
    columns = centers[:, :, generator.integers(0, 4, size=12)]
    columns = columns + apart * generator.normal(size=columns.shape)
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    wanted = centers[:, :, 0] + generator.normal(size=(60, length))
    assert loss(columns, wanted, least_squares(columns, wanted)).max() < 1e-9 + apart


@pytest.mark.parametrize("noise", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize(("length", "size"), [(5, 5), (10, 30)])
def test_columns_opposite_to_each_other_but_for_rounding_get_no_wild_weights(noise, length, size):
    # Weights of 1 / noise would fit better, but products of columns no longer tell which.
    columns, wanted = close_neighbours(noise, length, size)
    generator = np.random.default_rng(1)
    columns = columns * generator.choice([-1, 1], size=(len(columns), 1, size))
    wanted = wanted + generator.normal(size=wanted.shape)
    missed = np.sum((fitted(columns, least_squares(columns, wanted)) - wanted) ** 2, axis=1)
    assert (missed <= np.sum(wanted**2, axis=1) * (1 + 1e-9)).all()


def test_columns_of_very_different_lengths_are_weighed_as_by_nnls():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(60, 20, 6)) * 10.0 ** generator.uniform(-6, 6, size=(60, 1, 6))
    wanted = generator.normal(size=(60, 20))
    assert loss(columns, wanted, least_squares(columns, wanted)).max() < 1e-9


@pytest.mark.parametrize("size", [1, 4, 9])
def test_problems_that_pivots_leave_unsolved_are_solved_one_by_one(monkeypatch, size):
    monkeypatch.setattr(nonnegative_qp, "_MOST_PIVOTS", 0)
    generator = np.random.default_rng(size)
    columns, wanted = generator.normal(size=(20, 12, size)), generator.normal(size=(20, 12))
    assert_same_weights(columns, wanted, 1e-9)


@pytest.mark.parametrize(("seed", "problem"), [(151, 121), (267, 2), (349, 97)])
def test_no_solution_is_worse_than_weights_of_zero(seed, problem):
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(200, 10, 25)) ** 7
    if seed % 4 < 2:
        wanted = fitted(columns, generator.normal(size=(200, 25)))
    else:
        wanted = generator.normal(size=(200, 10))
    columns, wanted = columns[problem : problem + 1], wanted[problem : problem + 1]
    missed = np.sum((fitted(columns, least_squares(columns, wanted)) - wanted) ** 2)
    assert missed <= np.sum(wanted**2) * (1 + 1e-9)


whole_numbers = st.integers(-3, 3).map(float)


@given(st.data(), st.integers(1, 7), st.integers(1, 7))
def test_the_conditions_of_a_minimum_hold(data, length, size):
    columns = data.draw(hnp.arrays(float, (1, length, size), elements=whole_numbers))
    wanted = data.draw(hnp.arrays(float, (1, length), elements=whole_numbers))
    (found,) = least_squares(columns, wanted)
    slope = columns[0].T @ (columns[0] @ found - wanted[0])
    assert found.min() >= 0
    assert slope.min() > -1e-7
    assert np.abs(slope * found).max() < 1e-7 * (1 + np.abs(found).max())


# Scales, edges, many at once -------------------------------------------------------------------


@pytest.mark.parametrize("of_columns", [1e-8, 1, 1e8])
@pytest.mark.parametrize("of_wanted", [1e-8, 1, 1e8])
def test_scales_are_only_scales(of_columns, of_wanted):
    generator = np.random.default_rng(0)
    columns, wanted = generator.normal(size=(40, 12, 6)), generator.normal(size=(40, 12))
    expected = by_scipy(columns, wanted)
    found = least_squares(columns * of_columns, wanted * of_wanted)
    np.testing.assert_allclose(found * of_columns / of_wanted, expected, rtol=1e-9, atol=1e-12)


def test_targets_that_are_not_positive_give_zeros():
    columns = np.random.default_rng(0).normal(size=(10, 12, 6))
    matrices = columns.transpose(0, 2, 1) @ columns
    assert not minimise_on_orthant(matrices, np.full((10, 6), -3.0)).any()
    assert not minimise_on_orthant(matrices, np.zeros((10, 6))).any()


def test_matrices_of_zeros_give_zeros():
    assert not minimise_on_orthant(np.zeros((4, 3, 3)), np.zeros((4, 3))).any()


def test_problems_by_hand():
    matrices = np.array([[[2.0, 0.0], [0.0, 4.0]], [[2.0, 1.0], [1.0, 2.0]]])
    targets = np.array([[2.0, -1.0], [3.0, 3.0]])
    np.testing.assert_allclose(minimise_on_orthant(matrices, targets), [[1, 0], [1, 1]], rtol=1e-14)


def test_problems_of_size_nothing_have_solutions_of_size_nothing():
    assert minimise_on_orthant(np.empty((3, 0, 0)), np.empty((3, 0))).shape == (3, 0)
    assert minimise_on_simplex(np.empty((3, 0, 0))).shape == (3, 0)


def test_no_problems_have_no_solutions():
    assert minimise_on_orthant(np.empty((0, 3, 3)), np.empty((0, 3))).shape == (0, 3)


def test_thousands_of_problems_at_once_are_solved_as_one_at_a_time():
    generator = np.random.default_rng(0)
    columns, wanted = generator.normal(size=(3000, 6, 5)), generator.normal(size=(3000, 6))
    columns[::7, :, 1] = columns[::7, :, 0]
    wanted[::11] *= 1e6
    together = least_squares(columns, wanted)
    for problem in range(0, 3000, 10):
        one = slice(problem, problem + 1)
        np.testing.assert_array_equal(least_squares(columns[one], wanted[one]), together[one])


@pytest.mark.parametrize("numbers", [1, 50, 57, 1000])
def test_how_many_are_solved_at_a_time_changes_nothing(monkeypatch, numbers):
    generator = np.random.default_rng(0)
    columns, wanted = generator.normal(size=(41, 9, 7)), generator.normal(size=(41, 9))
    together = least_squares(columns, wanted)
    monkeypatch.setattr(nonnegative_qp, "_NUMBERS_AT_A_TIME", numbers)
    np.testing.assert_array_equal(least_squares(columns, wanted), together)


def test_what_is_given_is_not_changed():
    matrices, targets = np.array([[[2.0, 1.0], [1.0, 2.0]]]), np.array([[3.0, 1.0]])
    minimise_on_orthant(matrices, targets)
    minimise_on_simplex(matrices)
    assert matrices.tolist() == [[[2, 1], [1, 2]]]
    assert targets.tolist() == [[3, 1]]


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


def by_sorting(values):
    """The textbook formula (Held, Wolfe and Crowder 1974), on one group."""
    descending = np.sort(values)[::-1]
    thresholds = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    return np.maximum(values - thresholds[np.flatnonzero(descending > thresholds)[-1]], 0)


def project(values):
    return project_groups_on_simplex(np.asarray(values, dtype=float), np.array([0]))


# Values that are often equal, often of very different size, and often on the simplex.
numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, -1.0, 1e-300, 1e9, -1e9]), st.floats(-3, 3)
)
one_group = hnp.arrays(float, st.integers(1, 12), elements=numbers)
groups = st.lists(one_group, min_size=1, max_size=8)


# Against other computations ------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.1, 1, 10])
def test_the_projection_solves_the_quadratic_problem(size, scale):
    values = np.random.default_rng(size).normal(size=size) * scale
    found = minimize(
        lambda shares: np.sum((shares - values) ** 2) / scale,
        np.full(size, 1 / size),
        jac=lambda shares: 2 * (shares - values) / scale,
        method="SLSQP",
        bounds=[(0, None)] * size,
        constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert found.success
    np.testing.assert_allclose(project(values), found.x, atol=1e-7)


@given(groups)
def test_every_group_agrees_with_the_formula_that_sorts(members):
    starts = np.cumsum([0] + [len(group) for group in members[:-1]])
    found = project_groups_on_simplex(np.concatenate(members), starts)
    # Moved by its largest, which changes nothing, the formula rounds no more than ours.
    expected = [by_sorting(group - group.max()) for group in members]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-14)


def test_many_groups_of_every_size_agree_with_the_formula_that_sorts():
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 60, size=500)
    starts = np.cumsum(sizes) - sizes
    scales = 10.0 ** generator.uniform(-5, 5, size=len(sizes))
    values = generator.normal(size=sizes.sum()) * np.repeat(scales, sizes)
    expected = [by_sorting(group) for group in np.split(values, starts[1:])]
    found = project_groups_on_simplex(values, starts)
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-9)


def test_rows_are_groups():
    rows = np.random.default_rng(0).normal(size=(20, 5))
    expected = np.array([by_sorting(row) for row in rows])
    np.testing.assert_allclose(project_rows_on_simplex(rows), expected, atol=1e-14)


# What a projection is ------------------------------------------------------------------------


@given(one_group)
def test_a_projection_is_a_distribution(values):
    found = project(values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-14)


@given(one_group)
def test_the_order_of_entries_is_kept(values):
    found = project(values)
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= 0).all()


@given(one_group)
def test_a_distribution_is_its_own_projection(values):
    once = project(values)
    np.testing.assert_allclose(project(once), once, atol=1e-15)


@given(one_group.filter(lambda values: np.abs(values).max() < 10), st.integers(0, 1000))
def test_no_random_distribution_is_nearer(values, seed):
    generator = np.random.default_rng(seed)
    # Of all kinds: spread out, near a corner, and a small step away from the projection.
    found = project(values)
    others = np.concatenate(
        [
            generator.dirichlet(np.ones(len(values)), size=20),
            generator.dirichlet(np.full(len(values), 0.05), size=20),
            0.999 * found + 0.001 * generator.dirichlet(np.ones(len(values)), size=20),
        ]
    )
    distance = np.sum((found - values) ** 2)
    assert distance <= np.sum((others - values) ** 2, axis=1).min() + 1e-12


# By hand and at the edges --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([0.0, 0.0], [0.5, 0.5]),
        ([1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
        ([2.0, 0.0], [1.0, 0.0]),
        ([0.5, 0.0], [0.75, 0.25]),
        ([-5.0, -5.0, -5.0, -5.0], [0.25, 0.25, 0.25, 0.25]),
        ([-7.0], [1.0]),
    ],
)
def test_projections_by_hand(values, expected):
    np.testing.assert_allclose(project(values), expected, atol=1e-15)


def test_groups_of_one_are_certain():
    values = np.array([3.0, -1e300, 0.0, 1e-300])
    assert project_groups_on_simplex(values, np.arange(4)).tolist() == [1, 1, 1, 1]


def test_groups_of_one_between_others_are_left_alone():
    found = project_groups_on_simplex(np.array([5.0, 0.0, 0.0, -3.0]), np.array([0, 1, 3]))
    assert found.tolist() == [1, 0.5, 0.5, 1]


def test_values_1e300_apart_give_all_to_the_largest():
    assert project([1e300, -1e300, 0.0]).tolist() == [1, 0, 0]
    assert project([1e300, -1e300, 1e300]).tolist() == [0.5, 0, 0.5]


def test_values_of_1e_minus_300_are_as_good_as_equal():
    np.testing.assert_allclose(project([1e-300, 0, -1e-300]), [1 / 3] * 3, rtol=1e-15)


def test_a_large_common_offset_changes_nothing():
    values = np.random.default_rng(0).integers(-8, 8, size=30) / 16  # exact, also far from zero
    for offset in (1e9, -1e9):
        np.testing.assert_array_equal(project(values + offset), project(values))


def test_a_huge_value_in_one_group_does_not_reach_the_next():
    values = np.array([1e300, 0.0, 0.3, 0.7])
    found = project_groups_on_simplex(values, np.array([0, 2]))
    np.testing.assert_allclose(found, [1, 0, 0.3, 0.7], atol=1e-15)


def test_values_are_dropped_one_at_a_time_where_they_must_be():
    # Every round drops the last value left: as many rounds as there are values.
    values = -(2.0 ** np.arange(40))
    np.testing.assert_allclose(project(values), by_sorting(values), atol=1e-12)


def test_the_input_is_not_changed():
    values = np.array([3.0, 1.0, 2.0])
    project_groups_on_simplex(values, np.array([0]))
    assert values.tolist() == [3, 1, 2]


def test_no_groups_and_no_rows_give_nothing():
    none = np.array([], dtype=np.intp)
    assert project_groups_on_simplex(np.array([]), none).shape == (0,)
    assert project_rows_on_simplex(np.empty((0, 3))).shape == (0, 3)
