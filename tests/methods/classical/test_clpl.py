import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import check_grad, minimize
from scipy.special import softmax
from sklearn.preprocessing import StandardScaler

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods.classical.clpl import CLPL, _loss


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


def random_problem(seed, *, weighted=False):
    generator = np.random.default_rng(seed)
    data = make_partial_label_dataset(12, 2, 4, average_candidates=2, random_state=seed)
    mask = data.candidates.to_mask()
    weights = mask * generator.uniform(0.1, 1, mask.shape) if weighted else None
    return data.X, CandidateLabels.from_mask(mask, weights=weights), generator


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
    assert check_grad(loss, slope, start) < 1e-5


def test_the_fit_agrees_with_a_generic_minimiser():
    X, candidates, _ = random_problem(3, weighted=True)

    def objective(flat):
        weights, intercepts = flat[:8].reshape(2, 4), flat[8:]
        return 0.1 / 2 * np.sum(weights**2) + loss_by_loop(candidates, X @ weights + intercepts)

    best = minimize(objective, np.zeros(12), options={"gtol": 1e-7}).x
    method = CLPL(penalty=0.1, scaling="none").fit(X, candidates)
    np.testing.assert_allclose(method.coef_, best[:8].reshape(2, 4).T, atol=1e-3)
    np.testing.assert_allclose(method.intercept_, best[8:], atol=1e-3)


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


def test_two_clusters_that_share_a_candidate_are_told_apart():
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(0, 0.1, (30, 2)), generator.normal(3, 0.1, (30, 2))])
    sets = CandidateLabels.from_sets([["a", "x"], ["a"]] * 15 + [["b", "x"], ["b"]] * 15)
    method = CLPL().fit(X, sets)
    assert method.disambiguate().tolist() == ["a"] * 30 + ["b"] * 30
    assert method.predict([[0.0, 0.0], [3.0, 3.0]]).tolist() == ["a", "b"]


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


def test_full_sets_prefer_no_class():
    X, candidates, _ = random_problem(0)
    everything = CandidateLabels.from_mask(np.ones(candidates.shape, dtype=bool))
    method = CLPL().fit(X, everything)
    np.testing.assert_allclose(method.predict_proba(X), 0.25)
    np.testing.assert_allclose(method.candidate_confidence_.toarray(), 0.25)


def test_a_class_that_is_nobodys_candidate_is_the_least_probable():
    X, candidates, _ = random_problem(0)
    method = CLPL().fit(X, candidates.with_classes([0, 1, 2, 3, "nobody"]))
    probabilities = method.predict_proba(X)
    assert (method.predict(X) != "nobody").all()
    assert probabilities[:, 4].mean() == probabilities.mean(axis=0).min()


def test_one_class_is_certain():
    method = CLPL().fit([[0.0], [1.0]], ["only", "only"])
    assert method.predict_proba([[5.0]]).tolist() == [[1.0]]


def test_constant_features_change_nothing():
    X, candidates, _ = random_problem(0)
    wider = np.column_stack([X, np.full(len(X), 7.0)])
    np.testing.assert_allclose(
        CLPL().fit(wider, candidates).predict_proba(wider),
        CLPL().fit(X, candidates).predict_proba(X),
        atol=1e-6,
    )


def test_a_candidate_of_more_weight_is_learned():
    X = np.repeat([[-1.0], [1.0]], 5, axis=0)
    sets = CandidateLabels.from_sets([{"a": 3, "b": 1}] * 5 + [{"a": 1, "b": 3}] * 5)
    method = CLPL().fit(X, sets)
    assert method.predict([[-1.0], [1.0]]).tolist() == ["a", "b"]


def test_equal_weights_are_as_good_as_none():
    X, candidates, _ = random_problem(0)
    mask = candidates.to_mask()
    weighted = CandidateLabels.from_mask(mask, weights=mask * 7.0)
    np.testing.assert_array_equal(
        CLPL().fit(X, weighted).predict_proba(X), CLPL().fit(X, candidates).predict_proba(X)
    )


def test_sparse_features_give_the_same_as_dense_ones():
    data = make_partial_label_dataset(60, 12, 3, random_state=0)
    X = np.where(np.abs(data.X) > 0.5, data.X, 0)
    # Sparse features keep their mean, so the scale is compared without moving the centre.
    dense = CLPL(scaling=StandardScaler(with_mean=False)).fit(X, data.candidates).predict_proba(X)
    for form in (sparse.csr_array, sparse.csc_matrix):
        found = CLPL().fit(form(X), data.candidates).predict_proba(form(X))
        np.testing.assert_allclose(found, dense, atol=1e-5)


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
