import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.methods.classical.em import EMClassifier, _cross_entropy, _posterior_and_losses
from methods.classical.problems import random_problem


def loss_by_loop(candidates, scores):
    prior = candidates.prior().toarray()
    return -sum(np.log(prior[row] @ softmax(scores[row])) for row in range(len(scores)))


def test_the_posterior_by_hand():
    # Odds 1 : 2 between a and b from the scores; the weights 3 : 1 turn them into 3 : 2.
    scores = np.log([[1.0, 2.0, 7.0]])
    equal = CandidateLabels.from_sets([["a", "b"]], classes=["a", "b", "c"])
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}], classes=["a", "b", "c"])
    posterior, losses = _posterior_and_losses(equal, scores)
    np.testing.assert_allclose(posterior, [1 / 3, 2 / 3])
    assert losses == pytest.approx(-np.log((0.1 + 0.2) / 2))
    posterior, losses = _posterior_and_losses(weighted, scores)
    np.testing.assert_allclose(posterior, [3 / 5, 2 / 5])
    assert losses == pytest.approx(-np.log((3 * 0.1 + 0.2) / 4))


def test_the_posterior_stands_scores_of_any_size():
    candidates = CandidateLabels.from_sets([["a", "b"], ["b"]], classes=["a", "b", "c"])
    scores = np.array([[-2000.0, -2001.0, 2000.0], [0.0, -3000.0, 3000.0]])
    posterior, losses = _posterior_and_losses(candidates, scores)
    np.testing.assert_allclose(posterior, [*softmax([0, -1]), 1])
    assert losses.sum() == pytest.approx(10000 - np.log(1 + np.exp(-1)) + np.log(2))


def test_the_loss_of_a_step_by_hand():
    candidates = CandidateLabels.from_sets([["a", "b"]], classes=["a", "b", "c"])
    loss, slope = _cross_entropy(candidates, np.array([0.75, 0.25]))(np.log([[1.0, 2.0, 1.0]]))
    assert loss == pytest.approx(-0.75 * np.log(0.25) - 0.25 * np.log(0.5))
    np.testing.assert_allclose(slope, [[0.25 - 0.75, 0.5 - 0.25, 0.25]])


def test_the_loss_of_a_weighted_step_by_hand():
    candidates = CandidateLabels.from_sets([["a", "b"]], classes=["a", "b", "c"])
    # The row counts twice, and its second candidate three times.
    targets, totals = np.array([2 * 0.75, 2 * 3 * 0.25]), np.array([3.0])
    loss, slope = _cross_entropy(candidates, targets, totals)(np.log([[1.0, 2.0, 1.0]]))
    assert loss == pytest.approx(-1.5 * np.log(0.25) - 1.5 * np.log(0.5))
    np.testing.assert_allclose(slope, [[3 * 0.25 - 1.5, 3 * 0.5 - 1.5, 3 * 0.25]])


@given(st.integers(0, 1000), st.booleans(), st.booleans())
def test_the_gradient_of_a_step_agrees_with_differences(seed, weighted, weighted_rows):
    _, candidates, generator = random_problem(seed, weighted=weighted)
    targets, totals = candidates.prior().data, None
    if weighted_rows:
        rows, _ = candidates.pairs()
        targets = targets * generator.random(len(targets))
        totals = np.bincount(rows, targets)
    loss_of_scores = _cross_entropy(candidates, targets, totals)

    def loss(flat):
        return loss_of_scores(flat.reshape(candidates.shape))[0]

    def slope(flat):
        return loss_of_scores(flat.reshape(candidates.shape))[1].ravel()

    assert check_grad(loss, slope, generator.normal(size=candidates.shape).ravel()) < 1e-5


@given(st.integers(0, 1000), st.booleans())
def test_the_objective_agrees_with_a_loop(seed, weighted):
    X, candidates, _ = random_problem(seed, weighted=weighted)
    method = EMClassifier(penalty=0.7, max_iter=3, scaling="none").fit(X, candidates)
    loss = loss_by_loop(candidates, X @ method.coef_.T + method.intercept_)
    expected = loss + 0.7 / 2 * np.sum(method.coef_**2)
    assert method.objective_[-1] == pytest.approx(expected)


@given(st.integers(0, 1000), st.integers(1, 5), st.sampled_from([0.0, 0.1, 10.0]))
def test_no_round_raises_the_objective(seed, steps_per_round, penalty):
    X, candidates, _ = random_problem(seed, weighted=True)
    method = EMClassifier(penalty=penalty, max_iter=10, steps_per_round=steps_per_round, tol=0).fit(
        X, candidates
    )
    assert (np.diff(method.objective_) <= 1e-12 * method.objective_[:-1]).all()


def test_it_ends_where_a_generic_minimiser_finds_nothing_better():
    X, candidates, _ = random_problem(1, weighted=True)

    def objective(flat):
        weights, intercepts = flat[:12].reshape(3, 4), flat[12:]
        return np.sum(weights**2) / 2 + loss_by_loop(candidates, X @ weights + intercepts)

    method = EMClassifier(penalty=1, max_iter=300, tol=0, scaling="none").fit(X, candidates)
    found = np.concatenate([method.coef_.T.ravel(), method.intercept_])
    best = minimize(objective, found, options={"gtol": 1e-6})
    assert method.objective_[-1] == pytest.approx(best.fun, abs=1e-3)
    np.testing.assert_allclose(method.coef_, best.x[:12].reshape(3, 4).T, atol=0.05)


def test_sets_of_one_give_logistic_regression():
    X, _, generator = random_problem(0)
    labels = generator.integers(0, 4, len(X))
    found = EMClassifier(penalty=0.5, scaling="none", tol=0).fit(X, labels)
    expected = LogisticRegression(C=2, tol=1e-10).fit(X, labels)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_probabilities_are_the_softmax_and_confidences_the_posterior():
    X, candidates, _ = random_problem(0, weighted=True)
    method = EMClassifier(scaling="none").fit(X, candidates)
    probabilities = softmax(X @ method.coef_.T + method.intercept_, axis=1)
    np.testing.assert_allclose(method.predict_proba(X), probabilities)
    joint = candidates.prior().toarray() * probabilities
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(method.candidate_confidence_.toarray(), expected)


def test_a_first_round_that_gains_nothing_is_the_last():
    X, candidates, _ = random_problem(0)
    everything = CandidateLabels.from_mask(np.ones(candidates.shape, dtype=bool))
    assert EMClassifier(tol=0).fit(X, everything).n_iter_ == 1


def test_a_class_that_is_nobodys_candidate_becomes_improbable():
    X, candidates, _ = random_problem(0)
    method = EMClassifier().fit(X, candidates.with_classes([0, 1, 2, 3, "nobody"]))
    assert method.predict_proba(X)[:, 4].max() < 0.01


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": -1}, "'penalty' must be a number >= 0. Got -1"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"steps_per_round": 0}, "'steps_per_round' must be an integer >= 1. Got 0"),
        ({"tol": -1}, "'tol' must be a number >= 0. Got -1"),
        ({"scaling": "max"}, "'scaling' must be one of"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    with pytest.raises(ParameterError, match=message):
        EMClassifier(**parameters).fit([[0.0], [1.0]], ["a", "b"])
