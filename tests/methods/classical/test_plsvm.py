import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import softmax

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.methods.classical.plsvm import PLSVM, _into_ball, _margins, _Pairs, _slope
from methods.classical.problems import random_problem


def losses_of(candidates, scores):
    return _margins(_Pairs.of(candidates), scores).losses


def test_a_loss_by_hand():
    # The best candidate scores 2 and the best other class 1.5: the margin is half of one.
    candidates = CandidateLabels.from_sets([["a", "b"]], classes=["a", "b", "c", "d"])
    margins = _margins(_Pairs.of(candidates), np.array([[2.0, 0.0, 1.5, -1.0]]))
    assert margins.rivals.tolist() == [2]
    assert margins.best.tolist() == [0]
    assert margins.losses.tolist() == [0.5]


def test_a_weighted_loss_by_hand():
    # Relative weights are 1, 1/4 and 0, costs 0, 3/4 and 1. The rival is b with 1 + 3/4; as a
    # candidate b has 1 - 3/4, less than a with 1/2.
    candidates = CandidateLabels.from_sets([{"a": 4, "b": 1}], classes=["a", "b", "c"])
    margins = _margins(_Pairs.of(candidates), np.array([[0.5, 1.0, 0.0]]))
    assert margins.rivals.tolist() == [1]
    assert margins.best.tolist() == [0]
    assert margins.losses.tolist() == [1.25]


@given(st.integers(0, 1000))
def test_losses_agree_with_the_hinge_of_the_paper_row_by_row(seed):
    _, candidates, generator = random_problem(seed)
    scores = generator.normal(size=candidates.shape)
    for row, loss in enumerate(losses_of(candidates, scores)):
        mask = candidates.to_mask()[row]
        margin = scores[row][mask].max() - max(scores[row][~mask], default=-np.inf)
        assert loss == pytest.approx(max(0, 1 - margin))


@given(st.integers(0, 1000))
def test_weighted_losses_agree_with_a_loop(seed):
    _, candidates, generator = random_problem(seed, weighted=True)
    scores = generator.normal(size=candidates.shape)
    for row, loss in enumerate(losses_of(candidates, scores)):
        prior = candidates.prior().toarray()[row]
        relative = prior / prior.max()
        rival = max(scores[row, q] + 1 - relative[q] for q in range(4))
        inside = candidates.to_mask()[row].nonzero()[0]
        best = max(scores[row, j] - (1 - relative[j]) for j in inside)
        assert loss == pytest.approx(rival - best)
        assert loss >= 0


@given(st.integers(0, 1000), st.booleans())
def test_the_slope_agrees_with_differences(seed, weighted):
    X, candidates, generator = random_problem(seed, weighted=weighted)
    pairs = _Pairs.of(candidates)

    def loss(flat):
        return _margins(pairs, X @ flat.reshape(3, 4)).losses.mean()

    def slope(flat):
        return _slope(X, _margins(pairs, X @ flat.reshape(3, 4)), 4).ravel()

    # A random place is next to none of the kinks.
    assert check_grad(loss, slope, generator.normal(size=12)) < 1e-5


def test_a_row_that_just_reaches_its_margin_does_not_count():
    candidates = CandidateLabels.from_labels(["b"], classes=["a", "b"])
    margins = _margins(_Pairs.of(candidates), np.array([[0.0, 1.0]]))
    assert margins.rivals.tolist() == [0]
    assert margins.losses.tolist() == [0]
    assert (_slope(np.array([[5.0]]), margins, 2) == 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_first_step_by_hand_whatever_the_start(seed):
    # In a ball of radius one no margin between positive weights reaches one, so both rows count,
    # and a step of length 1 / penalty = 1 forgets the start: +x / 2 for the candidate, -x / 2 for
    # the other class.
    X, labels = np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    method = PLSVM(penalty=1.0, max_iter=1, scaling="none", random_state=seed).fit(X, labels)
    np.testing.assert_allclose(method.coef_, [[0.5, -0.5], [-0.5, 0.5]])


def test_steps_agree_with_a_loop_over_rows():
    X, candidates, _ = random_problem(4)
    penalty, n_steps = 0.1, 15
    mask = candidates.to_mask()
    weights = np.random.default_rng(5).random((3, 4))
    weights /= max(1, np.linalg.norm(weights) * np.sqrt(penalty))
    for step in range(1, n_steps + 1):
        slope = np.zeros((3, 4))
        for row, scores in zip(range(len(X)), X @ weights, strict=True):
            best = max(mask[row].nonzero()[0], key=scores.__getitem__)
            others = (~mask[row]).nonzero()[0]
            if len(others) and scores[best] < 1 + scores[others].max():
                slope[:, max(others, key=scores.__getitem__)] += X[row] / len(X)
                slope[:, best] -= X[row] / len(X)
        weights = weights - (penalty * weights + slope) / (penalty * step)
        weights /= max(1, np.linalg.norm(weights) * np.sqrt(penalty))
    method = PLSVM(penalty=penalty, max_iter=n_steps, tol=0, scaling="none", random_state=5)
    np.testing.assert_allclose(method.fit(X, candidates).coef_, weights.T)


def test_weights_outside_the_ball_are_put_on_it():
    np.testing.assert_allclose(_into_ball(np.array([[3.0, 4.0]]), 0.25), [[1.2, 1.6]])
    np.testing.assert_array_equal(_into_ball(np.array([[0.3, 0.4]]), 0.25), [[0.3, 0.4]])


def test_the_objective_is_that_of_the_last_weights():
    X, candidates, _ = random_problem(0)
    method = PLSVM(penalty=0.1, scaling="none", random_state=0).fit(X, candidates)
    loss = losses_of(candidates, X @ method.coef_.T).mean()
    assert method.objective_[-1] == pytest.approx(0.05 * np.sum(method.coef_**2) + loss)
    assert method.objective_.shape == (method.n_iter_,)


def test_steps_lower_the_objective_in_the_end():
    X, candidates, _ = random_problem(0)
    method = PLSVM(penalty=0.1, tol=0, max_iter=500, random_state=0).fit(X, candidates)
    assert method.objective_[-1] < method.objective_[20] < method.objective_[0]


def test_it_stops_after_ten_steps_at_the_earliest():
    X, candidates, _ = random_problem(0)
    assert PLSVM(tol=1e9, random_state=0).fit(X, candidates).n_iter_ == 10
    assert PLSVM(tol=1e9, max_iter=4, random_state=0).fit(X, candidates).n_iter_ == 4


def test_probabilities_and_confidences_are_the_softmax_of_the_scores():
    X, candidates, _ = random_problem(0)
    method = PLSVM(scaling="none", random_state=0).fit(X, candidates)
    scores = X @ method.coef_.T
    np.testing.assert_allclose(method.predict_proba(X), softmax(scores, axis=1))
    inside = softmax(np.where(candidates.to_mask(), scores, -np.inf), axis=1)
    np.testing.assert_allclose(method.candidate_confidence_.toarray(), inside)


def test_full_sets_teach_nothing():
    X, candidates, _ = random_problem(0)
    everything = CandidateLabels.from_mask(np.ones(candidates.shape, dtype=bool))
    method = PLSVM(random_state=0).fit(X, everything)
    assert (method.coef_ == 0).all()
    np.testing.assert_allclose(method.predict_proba(X), 0.25)


def test_full_sets_among_others_leave_them_alone():
    _, candidates, _ = random_problem(0)
    mask = candidates.to_mask()
    mask[:10] = True
    rest = CandidateLabels.from_mask(mask[10:])
    # Ten of the twenty rows have no loss: the mean is half of that over the others.
    scores = np.random.default_rng(0).normal(size=candidates.shape)
    losses = losses_of(CandidateLabels.from_mask(mask), scores)
    assert losses.mean() == pytest.approx(losses_of(rest, scores[10:]).mean() / 2)


def test_constant_features_have_no_weight():
    X, candidates, _ = random_problem(0)
    wider = np.column_stack([X, np.full(len(X), 7.0)])
    method = PLSVM(random_state=0).fit(wider, candidates)
    np.testing.assert_allclose(method.coef_[:, 3], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": 0}, "'penalty' must be a number >= 1e-06. Got 0"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"tol": -1}, "'tol' must be a number >= 0. Got -1"),
        ({"scaling": "max"}, "'scaling' must be one of"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    with pytest.raises(ParameterError, match=message):
        PLSVM(**parameters).fit([[0.0], [1.0]], ["a", "b"])
