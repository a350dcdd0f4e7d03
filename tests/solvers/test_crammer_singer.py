import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from disambig.datasets import make_partial_label_dataset
from disambig.solvers import crammer_singer
from disambig.solvers.crammer_singer import MarginMachine, fit_margin_machine


def problem(n_classes=4, n_rows=60):
    data = make_partial_label_dataset(n_rows, 3, n_classes, overlap=0.8, random_state=0)
    return data.X, data.true_labels


def by_scikit_learn(X, labels, C):
    machine = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-10, max_iter=1_000_000)
    return machine.fit(X, labels)


def minimum_by_slsqp(X, labels, n_classes, C):
    """Minimise the objective with one slack for the loss of every row; weights, then intercepts."""
    n_rows = len(X)
    wide = np.column_stack([X, np.ones(n_rows)])
    size = wide.shape[1] * n_classes
    ahead = []  # one line for every row and other class: margin plus slack must reach one
    for row, label in enumerate(labels):
        for other in set(range(n_classes)) - {label}:
            weights = np.outer(wide[row], np.eye(n_classes)[label] - np.eye(n_classes)[other])
            ahead.append(np.concatenate([weights.ravel(), np.eye(n_rows)[row]]))
    found = minimize(
        lambda flat: flat[:size] @ flat[:size] / 2 + C * flat[size:].sum(),
        np.concatenate([np.zeros(size), np.ones(n_rows)]),
        jac=lambda flat: np.concatenate([flat[:size], np.full(n_rows, C)]),
        bounds=[(None, None)] * size + [(0, None)] * n_rows,
        constraints={
            "type": "ineq",
            "fun": lambda flat: np.array(ahead) @ flat - 1,
            "jac": lambda _: np.array(ahead),
        },
        method="SLSQP",
        options={"ftol": 1e-9, "maxiter": 1000},
    )
    assert found.success
    return found.x[:size].reshape(-1, n_classes), found.fun


def test_a_machine_by_hand():
    # Margins of one at -1 and 1 with the smallest weights: f = -x/2 and x/2.
    machine = fit_margin_machine(np.array([[-1.0], [1.0]]), np.array([0, 1]), 2, C=10, tol=1e-6)
    np.testing.assert_allclose(machine.weights, [[-0.5, 0.5]], atol=1e-5)
    np.testing.assert_allclose(machine.intercepts, 0, atol=1e-5)
    assert machine.penalty == pytest.approx(0.25, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_a_generic_minimiser_finds_the_same_machine(n_classes, C):
    X, labels = problem(n_classes, n_rows=15)
    machine = fit_margin_machine(X, labels, n_classes, C=C, tol=1e-8)
    weights, smallest = minimum_by_slsqp(X, labels, n_classes, C)
    np.testing.assert_allclose(machine.weights, weights[:-1], atol=1e-4)
    np.testing.assert_allclose(machine.intercepts, weights[-1], atol=1e-4)
    scores = machine.scores(X)
    rivals = np.where(labels[:, np.newaxis] == np.arange(n_classes), -np.inf, scores).max(axis=1)
    losses = np.maximum(0, 1 - scores[np.arange(len(X)), labels] + rivals)
    assert machine.penalty + C * losses.sum() == pytest.approx(smallest, rel=1e-6)


@pytest.mark.parametrize("C", [1e-5, 1e-2, 1.0])
def test_weights_are_as_good_at_a_tiny_c_as_at_any(C):
    X, labels = problem()
    expected = by_scikit_learn(X, labels, C)
    machine = fit_margin_machine(X, labels, 4, C=C, tol=1e-3)
    size = np.abs(expected.coef_).max()
    np.testing.assert_allclose(machine.weights, expected.coef_.T, atol=2e-3 * size)
    np.testing.assert_allclose(machine.intercepts, expected.intercept_, atol=2e-3 * size)


def test_two_classes_have_opposite_halves_of_one_difference():
    X, labels = problem(2)
    expected = by_scikit_learn(X, labels, 0.5)
    machine = fit_margin_machine(X, labels, 2, C=0.5, tol=1e-8)
    np.testing.assert_array_equal(machine.weights[:, 0], -machine.weights[:, 1])
    np.testing.assert_allclose(np.diff(machine.weights)[:, 0], expected.coef_[0], atol=1e-5)
    np.testing.assert_allclose(np.diff(machine.intercepts), expected.intercept_, atol=1e-5)


def test_classes_without_rows_take_no_part_in_the_fit():
    X, labels = problem(3)
    among_three = fit_margin_machine(X, labels, 3, C=1.0, tol=1e-4)
    among_five = fit_margin_machine(X, 2 * labels, 5, C=1.0, tol=1e-4)
    assert among_five.present.tolist() == [0, 2, 4]
    np.testing.assert_array_equal(among_five.weights, among_three.weights)


def test_scores_of_classes_without_rows_are_as_low_as_any():
    machine = MarginMachine(np.array([[-1.0, 2.0]]), np.array([0.0, 1.0]), np.array([0, 2]), 4)
    assert machine.scores(np.array([[1.0], [-1.0]])).tolist() == [[-1, -1, 3, -1], [1, -1, -1, -1]]
    assert machine.penalty == (1 + 4 + 1) / 2


def test_logits_of_classes_without_rows_are_below_all_others_everywhere():
    machine = fit_margin_machine(np.array([[-1.0], [1.0]]), np.array([0, 2]), 3, C=10, tol=1e-4)
    logits = machine.logits(np.array([[-1e6], [0.0], [1e6]]))
    assert np.isfinite(logits).all()
    assert (logits[:, 1] < logits[:, [0, 2]].min(axis=1)).all()
    np.testing.assert_allclose(logits[:, 2], [-5e5, 0, 5e5], rtol=1e-3, atol=1e-3)


def test_one_class_alone_needs_no_weights():
    machine = fit_margin_machine(np.eye(3), np.full(3, 1), 3, C=1.0, tol=1e-4)
    assert machine.penalty == 0
    assert machine.present.tolist() == [1]
    assert machine.logits(np.ones((1, 3))).argmax() == 1


def test_sparse_features_give_the_same_machine():
    X, labels = problem()
    X = np.where(np.abs(X) > 0.5, X, 0)
    dense, found = (
        fit_margin_machine(form(X), labels, 4, C=1.0, tol=1e-6)
        for form in (np.array, sparse.csr_array)
    )
    np.testing.assert_allclose(found.weights, dense.weights, atol=1e-4)
    np.testing.assert_allclose(found.scores(sparse.csr_array(X)), dense.scores(X), atol=1e-4)


def test_machines_fitted_in_several_threads_are_those_fitted_alone():
    X, labels = problem(n_rows=300)
    values = [0.1, 1.0, 10.0, 100.0] * 3

    def weights(C):
        return fit_margin_machine(X, labels, 4, C=C, tol=1e-2).weights

    expected = [weights(C) for C in values]
    with ThreadPoolExecutor(4) as threads:
        np.testing.assert_array_equal(list(threads.map(weights, values)), expected)


def test_a_machine_that_has_not_converged_is_used_without_a_warning(monkeypatch):
    X, labels = problem()
    monkeypatch.setattr(crammer_singer, "_MOST_PASSES", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        machine = fit_margin_machine(X, labels, 4, C=100.0, tol=1e-10)
    assert np.isfinite(machine.weights).all()
