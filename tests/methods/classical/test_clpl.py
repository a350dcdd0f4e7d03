import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.special import softmax

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.methods.classical.clpl import CLPL, _loss
from methods.classical.problems import random_problem


def squared_hinge(margin):
    return max(0.0, 1 - margin) ** 2


def loss_by_loop(candidates, scores):
    """The loss of all rows, written row by row and class by class."""
    mask, prior = candidates.to_mask(), candidates.prior().toarray()
    total = 0.0
    for row in range(len(candidates)):
        total += squared_hinge(prior[row] @ scores[row])
        for column, score in enumerate(scores[row]):
            outside = 1 - prior[row, column] / prior[row].max() if mask[row, column] else 1
            total += outside * squared_hinge(-score)
    return total


def test_loss_and_gradient_by_hand():
    # Row 0: the mean of the candidates is 1/4, psi = 9/16; the other class adds psi(1/2) = 1/4.
    # Row 1: the candidate adds psi(2) = 0, the others psi(0) = 1 and psi(-1) = 4.
    candidates = CandidateLabels.from_sets([["a", "b"], ["a"]], classes=["a", "b", "c"])
    loss, slope = _loss(candidates)(np.array([[1.0, -0.5, -0.5], [2.0, 0.0, 1.0]]))
    assert loss == 9 / 16 + 1 / 4 + 0 + 1 + 4
    assert slope.tolist() == [[-0.75, -0.75, 1], [0, 2, 4]]


@given(st.integers(0, 1000), st.booleans())
def test_the_loss_agrees_with_a_loop(seed, weighted):
    _, candidates, generator = random_problem(seed, weighted=weighted)
    scores = generator.normal(size=candidates.shape)
    loss, _ = _loss(candidates)(scores)
    assert loss == pytest.approx(loss_by_loop(candidates, scores))


@given(st.integers(0, 1000), st.booleans())
def test_the_gradient_agrees_with_differences(seed, weighted):
    _, candidates, generator = random_problem(seed, weighted=weighted)
    loss_of_scores = _loss(candidates)

    def loss(flat):
        return loss_of_scores(flat.reshape(candidates.shape))[0]

    def slope(flat):
        return loss_of_scores(flat.reshape(candidates.shape))[1].ravel()

    start = generator.normal(size=candidates.shape).ravel()
    assert check_grad(loss, slope, start) < 1e-4


def test_the_fit_agrees_with_a_generic_minimiser():
    X, candidates, _ = random_problem(3, weighted=True)

    def objective(flat):
        weights, intercepts = flat[:12].reshape(3, 4), flat[12:]
        return 0.1 / 2 * np.sum(weights**2) + loss_by_loop(candidates, X @ weights + intercepts)

    best = minimize(objective, np.zeros(16), options={"gtol": 1e-7}).x
    method = CLPL(penalty=0.1, scaling="none").fit(X, candidates)
    np.testing.assert_allclose(method.coef_, best[:12].reshape(3, 4).T, atol=1e-3)
    np.testing.assert_allclose(method.intercept_, best[12:], atol=1e-3)


def test_probabilities_and_confidences_are_the_softmax_of_the_scores():
    X, candidates, _ = random_problem(0)
    method = CLPL(scaling="none").fit(X, candidates)
    scores = X @ method.coef_.T + method.intercept_
    np.testing.assert_allclose(method.predict_proba(X), softmax(scores, axis=1))
    inside = softmax(np.where(candidates.to_mask(), scores, -np.inf), axis=1)
    np.testing.assert_allclose(method.candidate_confidence_.toarray(), inside)


def test_weights_in_the_loss_by_hand():
    # The weighted mean is (3 * 1 + 1 * 0) / 4; b, of a third of the weight, is outside by 2/3.
    candidates = CandidateLabels.from_sets([{"a": 3, "b": 1}], classes=["a", "b"])
    loss, slope = _loss(candidates)(np.array([[1.0, 0.0]]))
    assert loss == pytest.approx((1 / 4) ** 2 + 2 / 3)
    np.testing.assert_allclose(slope, [[-2 * 3 / 4 / 4, -2 / 4 / 4 + 4 / 3]])


def test_a_larger_penalty_gives_smaller_weights():
    X, candidates, _ = random_problem(0)
    sizes = [np.linalg.norm(CLPL(penalty=p).fit(X, candidates).coef_) for p in (0, 1, 10, 100)]
    assert sizes == sorted(sizes, reverse=True)


def test_all_rows_twice_are_as_good_as_half_the_penalty():
    X, candidates, _ = random_problem(0)
    twice = CandidateLabels.from_mask(np.vstack([candidates.to_mask()] * 2))
    np.testing.assert_allclose(
        CLPL(penalty=2).fit(np.vstack([X, X]), twice).predict_proba(X),
        CLPL(penalty=1).fit(X, candidates).predict_proba(X),
        atol=1e-4,
    )


def test_sets_of_one_give_a_squared_hinge_for_every_class():
    X, _, generator = random_problem(0)
    labels = generator.integers(0, 4, len(X))
    scores = generator.normal(size=(len(X), 4))
    signs = np.where(np.arange(4) == labels[:, np.newaxis], 1, -1)
    expected = np.sum(np.maximum(0, 1 - signs * scores) ** 2)
    loss, _ = _loss(CandidateLabels.from_labels(labels, classes=range(4)))(scores)
    assert loss == pytest.approx(expected)


def test_a_class_that_is_nobodys_candidate_is_the_least_probable():
    X, candidates, _ = random_problem(0)
    method = CLPL().fit(X, candidates.with_classes([0, 1, 2, 3, "nobody"]))
    probabilities = method.predict_proba(X)
    assert (method.predict(X) != "nobody").all()
    assert probabilities.mean(axis=0).argmin() == 4


def test_a_candidate_of_more_weight_is_learned():
    X = np.repeat([[-1.0], [1.0]], 5, axis=0)
    sets = CandidateLabels.from_sets([{"a": 3, "b": 1}] * 5 + [{"a": 1, "b": 3}] * 5)
    method = CLPL().fit(X, sets)
    assert method.predict([[-1.0], [1.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": -1}, "'penalty' must be a number >= 0. Got -1"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"scaling": "max"}, "'scaling' must be one of"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    with pytest.raises(ParameterError, match=message):
        CLPL(**parameters).fit([[0.0], [1.0]], ["a", "b"])
