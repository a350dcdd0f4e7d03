import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from disambig.solvers.simplex import project_groups_on_simplex, project_rows_on_simplex


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
