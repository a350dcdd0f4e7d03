import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from disambig.solvers import linear_model
from disambig.solvers.linear_model import LinearModel, fit_linear_model

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 4))
TARGETS = X @ GENERATOR.normal(size=(4, 3)) + GENERATOR.normal(size=(60, 3)) + [1.0, 0.0, -2.0]


def half_squared_error(scores):
    return 0.5 * np.sum((scores - TARGETS) ** 2), scores - TARGETS


def objective(model, penalty):
    return half_squared_error(model.scores(X))[0] + penalty / 2 * np.sum(model.weights**2)


def fitted(features, *, penalty=0.0, max_iter=500, start=None):
    start = LinearModel.zeros(4, 3) if start is None else start
    return fit_linear_model(features, half_squared_error, start, penalty=penalty, max_iter=max_iter)


def test_scores_by_hand():
    model = LinearModel(np.array([[1.0, 0.0], [2.0, -1.0]]), np.array([10.0, 20.0]))
    assert model.scores(np.array([[1.0, 3.0]])).tolist() == [[17.0, 17.0]]


def test_scores_of_sparse_features_are_dense():
    model = LinearModel(np.ones((2, 2)), np.array([1.0, 0.0]))
    assert model.scores(sparse.csr_array([[0.0, 3.0]])).tolist() == [[4.0, 3.0]]


@pytest.mark.parametrize("penalty", [0.0, 5.0])
def test_squared_error_gives_ridge_regression_with_free_intercepts(penalty):
    expected = Ridge(alpha=penalty).fit(X, TARGETS)
    model = fitted(X, penalty=penalty)
    np.testing.assert_allclose(model.weights, expected.coef_.T, atol=1e-4)
    np.testing.assert_allclose(model.intercepts, expected.intercept_, atol=1e-4)


def test_logistic_loss_gives_logistic_regression():
    labels = TARGETS[:, 0] > 1

    def logistic(scores):
        wrong = 1 / (1 + np.exp(-scores)) - labels[:, np.newaxis]
        return np.logaddexp(0, np.where(labels, -1, 1) * scores[:, 0]).sum(), wrong

    model = fit_linear_model(X, logistic, LinearModel.zeros(4, 1), penalty=0.5, max_iter=500)
    expected = LogisticRegression(C=2, tol=1e-10).fit(X, labels)
    np.testing.assert_allclose(model.weights, expected.coef_.T, atol=1e-4)
    np.testing.assert_allclose(model.intercepts, expected.intercept_, atol=1e-4)


def test_sparse_features_give_the_same_model():
    dense, thin = fitted(X, penalty=1.0), fitted(sparse.csr_array(X), penalty=1.0)
    np.testing.assert_allclose(thin.weights, dense.weights, atol=1e-6)


def test_every_further_step_lowers_the_objective():
    found = [objective(fitted(X, penalty=1.0, max_iter=steps), 1.0) for steps in range(1, 8)]
    assert found[0] < objective(LinearModel.zeros(4, 3), 1.0)
    assert (np.diff(found) < 0).all()


def test_it_says_how_many_steps_it_made():
    assert LinearModel.zeros(4, 3).n_iter == 0
    assert fitted(X, max_iter=3).n_iter == 3


def test_it_begins_where_it_is_told():
    best = fitted(X, penalty=1.0)
    again = fitted(X, penalty=1.0, max_iter=1, start=best)
    np.testing.assert_allclose(again.weights, best.weights, atol=1e-4)


def test_the_start_is_left_alone():
    start = LinearModel(np.full((4, 3), 0.5), np.full(3, 0.25))
    fitted(X, start=start)
    assert (start.weights == 0.5).all()
    assert (start.intercepts == 0.25).all()


def test_a_model_without_outputs_is_its_own_fit():
    def nothing(scores):
        return 0.0, scores

    start = LinearModel.zeros(4, 0)
    model = fit_linear_model(X, nothing, start, penalty=1.0, max_iter=5)
    assert model.scores(X).shape == (60, 0)


def test_many_rows_are_fitted_in_blocks(monkeypatch):
    whole = fitted(X, penalty=0.3)
    monkeypatch.setattr(linear_model, "_ROWS_AT_A_TIME", 7)
    in_blocks = fitted(X, penalty=0.3)
    np.testing.assert_allclose(in_blocks.weights, whole.weights, atol=1e-6)
    np.testing.assert_allclose(in_blocks.scores(X), whole.scores(X), atol=1e-6)
