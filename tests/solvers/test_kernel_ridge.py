"""Kernel ridge regression agrees with NumPy, and its factor is built in blocks."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.spatial.distance import cdist, pdist

from disambig._core.errors import TrainingError
from disambig.datasets import make_partial_label_dataset
from disambig.solvers import kernel_ridge
from disambig.solvers.kernel_ridge import KernelModel, KernelRidge, cholesky_in_place


def definite(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + np.eye(size)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 23])
def test_blocks_make_the_factor_of_numpy(size, monkeypatch):
    monkeypatch.setattr(kernel_ridge, "_ROWS_IN_A_BLOCK", 4)
    matrix = definite(size)
    expected = np.linalg.cholesky(matrix)
    cholesky_in_place(matrix)
    np.testing.assert_allclose(np.tril(matrix), expected, rtol=1e-10, atol=1e-10)


def test_several_blocks_of_the_usual_size():
    size = 2 * kernel_ridge._ROWS_IN_A_BLOCK + 100
    half = np.full((size, size), 0.5)
    half.flat[:: size + 1] = 2
    factor = half.copy()
    cholesky_in_place(factor)
    lower = np.tril(factor)
    np.testing.assert_allclose(lower @ lower.T, half, atol=1e-11)


def test_single_precision_stays_single():
    matrix = definite(30).astype(np.float32)
    expected = np.linalg.cholesky(matrix)
    cholesky_in_place(matrix)
    assert matrix.dtype == np.float32
    np.testing.assert_allclose(np.tril(matrix), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wrong", [0, 3, 9])  # in the first block, and in later ones
def test_an_indefinite_array_is_refused(wrong, monkeypatch):
    monkeypatch.setattr(kernel_ridge, "_ROWS_IN_A_BLOCK", 4)
    matrix = np.eye(10)
    matrix[wrong, wrong] = -1
    with pytest.raises(LinAlgError):
        cholesky_in_place(matrix)


def kernel_of(left, right, width):
    return np.exp(-(cdist(left, right) ** 2) / (2 * width**2))


def by_numpy(X, targets, penalty):
    """Solve for coefficients and intercepts at once: slopes in both are zero."""
    count = len(X)
    width = pdist(X).mean() if count > 1 and pdist(X).any() else 1.0
    kernel = kernel_of(X, X, width)
    # d/dA / 2 = K (K A + 1 b' - T + penalty A) is zero with (K + penalty I) A + 1 b' = T;
    # then d/db / 2 = 1' (K A + 1 b' - T) = -penalty 1' A is zero where 1' A is.
    system = np.zeros((count + 1, count + 1))
    system[:count, :count] = kernel + penalty * np.eye(count)
    system[:count, count] = system[count, :count] = 1
    solved = np.linalg.solve(system, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return solved[:count], solved[count], kernel


def problem(kind, count=60):
    generator = np.random.default_rng(0)
    X, targets = generator.normal(size=(count, 5)), generator.random((count, 3))
    if kind == "repeated rows":
        X[count // 2 :] = X[: count // 2]
    elif kind == "rows of zeros":
        X[::3] = 0
    elif kind == "constant features":
        X[:, 1:] = 7.3
    elif kind == "one outlier":
        X[0] += 1000
    elif kind == "wide":
        X = generator.normal(size=(count, 200))
    elif kind == "full sets":
        targets[:] = 1
    elif kind == "two rows":
        X, targets = X[:2], targets[:2]
    elif kind == "one row":
        X, targets = X[:1], targets[:1]
    return X, targets


KINDS = [
    "random",
    "repeated rows",
    "rows of zeros",
    "constant features",
    "one outlier",
    "wide",
    "full sets",
    "two rows",
    "one row",
]
# The formula for distances loses half of the digits of those that are zero, so two rows that are
# the same come out 1e-8 apart, and the width 1e-11 too large.
TOLERANCES = {"repeated rows": 1e-8, "constant features": 1e-8}
kinds = pytest.mark.parametrize("kind", KINDS)
penalties = pytest.mark.parametrize("penalty", [0.003, 0.05, 10])


# Against NumPy -------------------------------------------------------------------------------


@kinds
@penalties
def test_coefficients_and_intercepts_solve_the_full_system(kind, penalty):
    X, targets = problem(kind)
    model, _ = KernelRidge(X, penalty=penalty).fit(targets)
    coefficients, intercepts, _ = by_numpy(X, targets, penalty)
    tolerance = TOLERANCES.get(kind, 1e-10)
    np.testing.assert_allclose(model.coefficients, coefficients, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.intercepts, intercepts, rtol=tolerance, atol=tolerance)


@kinds
@penalties
def test_the_slope_of_the_objective_is_zero(kind, penalty):
    X, targets = problem(kind)
    model, _ = KernelRidge(X, penalty=penalty).fit(targets)
    *_, kernel = by_numpy(X, targets, penalty)
    missed = kernel @ model.coefficients + model.intercepts - targets
    in_coefficients = kernel @ (missed + penalty * model.coefficients)
    np.testing.assert_allclose(in_coefficients, 0, atol=TOLERANCES.get(kind, 1e-10))
    np.testing.assert_allclose(missed.sum(axis=0), 0, atol=TOLERANCES.get(kind, 1e-10))


def test_no_step_away_lowers_the_objective():
    X, targets = problem("random")
    generator = np.random.default_rng(1)
    model, _ = KernelRidge(X, penalty=0.05).fit(targets)
    kernel = kernel_of(X, X, model.width)

    def value(coefficients, intercepts):
        missed = kernel @ coefficients + intercepts - targets
        return np.sum(missed**2) + 0.05 * np.trace(coefficients.T @ kernel @ coefficients)

    smallest = value(model.coefficients, model.intercepts)
    for size in (1e-3, 1e-1, 10):
        for _ in range(10):
            step = generator.normal(size=(60, 3)), generator.normal(size=3)
            elsewhere = model.coefficients + size * step[0], model.intercepts + size * step[1]
            assert value(*elsewhere) > smallest


@pytest.mark.parametrize(
    "kind", ["random", "repeated rows", "rows of zeros", "one outlier", "wide"]
)
def test_the_width_is_the_mean_distance_between_rows(kind):
    X, targets = problem(kind)
    model, _ = KernelRidge(X, penalty=0.05).fit(targets)
    assert model.width == pytest.approx(pdist(X).mean(), rel=1e-10)


@kinds
@penalties
def test_outputs_at_training_rows_are_the_targets_less_the_penalty(kind, penalty):
    X, targets = problem(kind)
    model, outputs = KernelRidge(X, penalty=penalty).fit(targets)
    np.testing.assert_allclose(outputs, targets - penalty * model.coefficients, atol=1e-12)
    np.testing.assert_allclose(outputs, model.outputs(X), atol=1e-10)


def test_outputs_at_new_rows_are_sums_over_training_rows():
    X, targets = problem("random")
    queries = np.random.default_rng(1).normal(size=(25, 5))
    model, _ = KernelRidge(X, penalty=0.05).fit(targets)
    expected = [
        sum(
            np.exp(-np.sum((query - row) ** 2) / (2 * model.width**2)) * coefficients
            for row, coefficients in zip(X, model.coefficients, strict=True)
        )
        + model.intercepts
        for query in queries
    ]
    np.testing.assert_allclose(model.outputs(queries), expected, rtol=1e-10, atol=1e-10)


@kinds
@penalties
def test_the_objective_is_its_definition_with_the_kernel_written_out(kind, penalty):
    X, targets = problem(kind)
    ridge = KernelRidge(X, penalty=penalty)
    model, outputs = ridge.fit(targets)
    *_, kernel = by_numpy(X, targets, penalty)
    missed = kernel @ model.coefficients + model.intercepts - targets
    size = np.trace(model.coefficients.T @ kernel @ model.coefficients)
    expected = np.sum(missed**2) + penalty * size
    assert ridge.objective(model, outputs, targets) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    # Also for targets other than those it was fitted to.
    others = targets[::-1] * 2
    missed = kernel @ model.coefficients + model.intercepts - others
    expected = np.sum(missed**2) + penalty * size
    assert ridge.objective(model, outputs, others) == pytest.approx(expected, rel=1e-10, abs=1e-12)


# Edges -----------------------------------------------------------------------------------------


def test_one_row_is_all_intercept():
    model, outputs = KernelRidge(np.array([[3.0, 4.0]]), penalty=0.05).fit(np.array([[0.2, 0.8]]))
    np.testing.assert_allclose(model.coefficients, 0, atol=1e-15)
    np.testing.assert_allclose(model.intercepts, [0.2, 0.8])
    np.testing.assert_allclose(outputs, [[0.2, 0.8]])
    np.testing.assert_allclose(model.outputs(np.array([[-100.0, 0.0]])), [[0.2, 0.8]])


EQUAL_ROWS = [
    [0.0, 0.0, 0.0],
    [1.0, 2.0, 3.0],
    np.random.default_rng(0).normal(size=3),
]


@pytest.mark.parametrize("row", EQUAL_ROWS)
def test_where_all_rows_are_equal_outputs_are_the_mean_target(row):
    targets = np.random.default_rng(0).random((30, 3))
    _, outputs = KernelRidge(np.tile(row, (30, 1)), penalty=0.05).fit(targets)
    np.testing.assert_allclose(outputs, np.tile(targets.mean(axis=0), (30, 1)), atol=1e-10)


@pytest.mark.parametrize("offset", [1e3, 1e7])
def test_how_far_the_data_is_from_zero_does_not_matter(offset):
    X, targets = problem("random")
    _, expected = KernelRidge(X, penalty=0.05).fit(targets)
    model, outputs = KernelRidge(X + offset, penalty=0.05).fit(targets)
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    np.testing.assert_allclose(model.outputs(X + offset), expected, atol=1e-6)


def test_rows_nearer_than_a_width_can_be_count_as_equal():
    X = np.zeros((1000, 1))
    X[0] = 1e-161
    _, outputs = KernelRidge(X, penalty=0.1).fit(np.eye(1000)[:, :2])
    np.testing.assert_allclose(outputs, 0.001, rtol=1e-2)


def test_equal_targets_are_met_by_the_intercept_alone():
    X, _ = problem("random")
    model, outputs = KernelRidge(X, penalty=0.05).fit(np.full((60, 2), 0.7))
    np.testing.assert_allclose(model.coefficients, 0, atol=1e-12)
    np.testing.assert_allclose(outputs, 0.7, atol=1e-12)


def test_repeated_rows_have_one_output():
    X, targets = problem("repeated rows")
    _, outputs = KernelRidge(X, penalty=0.05).fit(targets)
    np.testing.assert_allclose(outputs[30:], outputs[:30], atol=1e-10)


def test_one_factor_serves_many_targets():
    X, targets = problem("random")
    ridge = KernelRidge(X, penalty=0.05)
    ridge.fit(targets[::-1])
    again, fresh = ridge.fit(targets), KernelRidge(X, penalty=0.05).fit(targets)
    np.testing.assert_array_equal(again[1], fresh[1])
    np.testing.assert_array_equal(again[0].coefficients, fresh[0].coefficients)


def test_rows_and_targets_are_not_changed():
    X, targets = problem("random")
    before = X.copy(), targets.copy()
    model, _ = KernelRidge(X, penalty=0.05).fit(targets)
    model.outputs(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(targets, before[1])


# Batches and memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [1, 59, 60, 61, 120, 179, 3599, 3600, 3601])
def test_how_many_rows_are_taken_at_a_time_changes_nothing(monkeypatch, numbers):
    X, targets = problem("random")
    queries = np.random.default_rng(1).normal(size=(17, 5))
    expected, outputs = KernelRidge(X, penalty=0.05).fit(targets)
    monkeypatch.setattr(kernel_ridge, "_NUMBERS_AT_A_TIME", numbers)
    found, found_outputs = KernelRidge(X, penalty=0.05).fit(targets)
    assert found.width == pytest.approx(expected.width, rel=1e-12)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-10)
    np.testing.assert_allclose(found_outputs, outputs, atol=1e-10)
    np.testing.assert_allclose(found.outputs(queries), expected.outputs(queries), atol=1e-10)


@pytest.mark.parametrize(("precision", "item"), [("double", 8), ("single", 4)])
def test_there_is_one_array_of_all_pairs_of_rows_and_no_second(monkeypatch, precision, item):
    monkeypatch.setattr(kernel_ridge, "_NUMBERS_AT_A_TIME", 60_000)
    monkeypatch.setattr(kernel_ridge, "_ROWS_IN_A_BLOCK", 64)
    count = 1500
    generator = np.random.default_rng(0)
    X, targets = generator.normal(size=(count, 4)), generator.random((count, 3))
    tracemalloc.start()
    model, _ = KernelRidge(X, penalty=0.05, precision=precision).fit(targets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    held, _ = tracemalloc.get_traced_memory()
    model.outputs(X)
    _, later = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count**2 * item < peak < 1.6 * count**2 * item
    assert later - held < 0.5 * count**2 * item  # new rows are taken some at a time


def test_a_model_does_not_hold_on_to_the_kernel():
    generator = np.random.default_rng(0)
    X, targets = generator.normal(size=(1000, 4)), generator.random((1000, 3))
    tracemalloc.start()
    model, _ = KernelRidge(X, penalty=0.05).fit(targets)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(model, KernelModel)
    assert held < 1e6  # all pairs take 8 MB


# Precision -------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.03, 0.05])
@pytest.mark.parametrize("n_features", [2, 30])
def test_single_precision_agrees_with_double_to_three_digits(penalty, n_features):
    data = make_partial_label_dataset(800, n_features, 6, average_candidates=3, random_state=0)
    targets = data.candidates.prior().toarray()
    queries = np.random.default_rng(1).normal(size=(200, n_features)) * data.X.std(axis=0)
    exact = KernelRidge(data.X, penalty=penalty, precision="double")
    rough = KernelRidge(data.X, penalty=penalty, precision="single")
    (model, outputs), (other, other_outputs) = exact.fit(targets), rough.fit(targets)
    assert model.coefficients.dtype == np.float64
    assert other.coefficients.dtype == np.float32
    np.testing.assert_allclose(other_outputs, outputs, atol=5e-4)
    np.testing.assert_allclose(other.outputs(queries), model.outputs(queries), atol=5e-4)
    np.testing.assert_allclose(other.intercepts, model.intercepts, atol=5e-4)
    np.testing.assert_allclose(
        rough.objective(other, other_outputs, targets),
        exact.objective(model, outputs, targets),
        rtol=1e-3,
    )


def test_precision_follows_the_number_of_rows_where_it_is_not_said(monkeypatch):
    X, targets = problem("random")
    assert KernelRidge(X, penalty=0.05).fit(targets)[0].coefficients.dtype == np.float64
    monkeypatch.setattr(kernel_ridge, "_MOST_ROWS_IN_DOUBLE", 59)
    assert KernelRidge(X, penalty=0.05).fit(targets)[0].coefficients.dtype == np.float32
    monkeypatch.setattr(kernel_ridge, "_MOST_ROWS_IN_DOUBLE", 60)
    assert KernelRidge(X, penalty=0.05).fit(targets)[0].coefficients.dtype == np.float64


def test_a_kernel_that_rounding_makes_indefinite_is_refused_with_advice():
    X = np.random.default_rng(0).normal(size=(1000, 1))
    with pytest.raises(TrainingError, match="precision='double', or a larger penalty"):
        KernelRidge(X, penalty=1e-6, precision="single")


def test_small_penalties_stay_in_double_precision(monkeypatch):
    monkeypatch.setattr(kernel_ridge, "_MOST_ROWS_IN_DOUBLE", 20)
    X, targets = problem("random")
    for penalty, precision in ((0.05, "single"), (0.001, "double")):
        model, _ = KernelRidge(X, penalty=penalty).fit(targets)
        assert model.coefficients.dtype == np.dtype(precision)


@pytest.mark.parametrize(("precision", "size"), [("double", 1e160), ("single", 1e20)])
def test_features_too_large_for_distances_are_refused_with_advice(precision, size):
    X, _ = problem("random")
    with pytest.raises(TrainingError, match="features so large that they overflow. Scale"):
        KernelRidge(X * size, penalty=0.05, precision=precision)
