import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods.classical.sure import SURE, favoured_confidences
from methods.classical.plain_kernel import explicit_kernel, explicit_outputs, explicit_ridge
from methods.classical.problems import equal_shares

# A literal implementation ------------------------------------------------------------------------


def nearest_distribution(values):
    """Return max(values - t, 0) with the t that makes the sum one."""
    excess = lambda threshold: np.maximum(values - threshold, 0).sum() - 1  # noqa: E731
    threshold = brentq(excess, values.min() - 1, values.max(), xtol=1e-15, rtol=1e-15)
    return np.maximum(values - threshold, 0)


def best_of_all_favourites(outputs, reward):
    """Minimise |p - q|^2 - reward p_j for every j, and return the best of them all."""
    found = []
    for favourite in range(len(outputs)):
        wanted = outputs.copy()
        wanted[favourite] += reward / 2
        p = nearest_distribution(wanted)
        found.append((((p - outputs) ** 2).sum() - reward * p.max(), favourite, p))
    return min(found, key=lambda entry: entry[:2])[2]


def literal_sure(X, mask, targets, *, rounds, reward=0.3, penalty=0.03):
    """Return confidences and the objective after every round; the first model fits ``targets``."""
    kernel = explicit_kernel(X, X)
    coefficients, intercepts = explicit_ridge(kernel, targets, penalty)
    objectives = []
    for _ in range(rounds):
        outputs = kernel @ coefficients + intercepts
        confidences = np.zeros(mask.shape)
        for i, row in enumerate(mask):
            confidences[i, row] = best_of_all_favourites(outputs[i, row], reward)
        coefficients, intercepts = explicit_ridge(kernel, confidences, penalty)
        objectives.append(objective(kernel, coefficients, intercepts, confidences, reward, penalty))
    return confidences, np.array(objectives)


def objective(kernel, coefficients, intercepts, confidences, reward, penalty):
    missed = kernel @ coefficients + intercepts - confidences
    size = np.trace(coefficients.T @ kernel @ coefficients)
    return (missed**2).sum() + penalty * size - reward * confidences.max(axis=1).sum()


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(80, 4, 4, average_candidates=2.2, overlap=0.8, random_state=0)


# By hand -----------------------------------------------------------------------------------------

# Two rows at any distance have the kernel exp(-1/2) between them. With 1 - exp(-1/2) as penalty
# the model goes half-way from the mean of the targets to the target of a row.
PAIR = np.array([[0.0], [2.0]])
PAIR_SETS = CandidateLabels.from_sets([["a", "b"], ["a"]])
HALF_WAY = 1 - np.exp(-0.5)


def test_one_round_by_hand():
    # Targets (1/2, 1/2) and (1, 0), mean (3/4, 1/4): the outputs for row 0 are (.625, .375). Half
    # the reward more is (.725, .375), a sum of 1.1: both lose .05.
    method = SURE(reward=0.2, penalty=HALF_WAY, max_iter=1).fit(PAIR, PAIR_SETS)
    np.testing.assert_allclose(method.candidate_confidence_.toarray(), [[0.675, 0.325], [1, 0]])


def test_probabilities_by_hand():
    # Targets (.675, .325) and (1, 0), mean (.8375, .1625). In the middle both rows count the same.
    method = SURE(reward=0.2, penalty=HALF_WAY, max_iter=1).fit(PAIR, PAIR_SETS)
    expected = [[0.75625, 0.24375], [0.8375, 0.1625], [0.91875, 0.08125]]
    np.testing.assert_allclose(method.predict_proba([[0.0], [1.0], [2.0]]), expected)


def test_objective_by_hand():
    # Four entries are missed by half of .1625. A is (P - mean) / (2 HALF_WAY), and K A is HALF_WAY
    # times that, so the penalty adds the same once more. The reward is for .675 and 1.
    method = SURE(reward=0.2, penalty=HALF_WAY, max_iter=1).fit(PAIR, PAIR_SETS)
    np.testing.assert_allclose(method.objective_, [2 * 4 * 0.08125**2 - 0.2 * 1.675])


# The step of the confidences ---------------------------------------------------------------------


def test_half_the_reward_goes_to_the_largest_candidate_by_hand():
    # Row 0: c is no candidate, so b is the largest: (.2, .4 + .3) lacks .1, .05 for each. Row 1:
    # (1.1 + .3, .1) is so far apart that b is left with nothing. Row 2: nothing to choose.
    sets = CandidateLabels.from_sets([["a", "b"], ["a", "b"], ["c"]])
    outputs = np.array([[0.2, 0.4, 0.9], [1.1, 0.1, 0.0], [0.5, 0.5, -3.0]])
    found = favoured_confidences(sets, outputs, 0.6)
    np.testing.assert_allclose(found, [0.25, 0.75, 1, 0, 1], atol=1e-12)


def test_of_equal_candidates_the_first_is_favoured():
    sets = CandidateLabels.from_sets([["a", "b", "c"]])
    found = favoured_confidences(sets, np.full((1, 3), 1 / 3), 0.3)
    np.testing.assert_allclose(found, [1 / 3 + 0.1, 1 / 3 - 0.05, 1 / 3 - 0.05])


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("reward", [0.0, 0.3, 1.5])
def test_no_other_favourite_does_better(size, reward):
    # The problem of the original for every favourite j: minimise |p - q|^2 - reward p_j where no
    # p_k is above p_j; SciPy solves each, and the best of all is what one projection gives.
    generator = np.random.default_rng(size)
    sets = CandidateLabels.from_sets([range(size)])
    for _ in range(6):
        outputs = generator.normal(1 / size, 0.5, size)
        p = favoured_confidences(sets, outputs[np.newaxis], reward)
        ours = ((p - outputs) ** 2).sum() - reward * p.max()
        values = []
        for j in range(size):
            found = minimize(
                lambda p, j=j, q=outputs: ((p - q) ** 2).sum() - reward * p[j],
                np.full(size, 1 / size),
                jac=lambda p, j=j, q=outputs: 2 * (p - q) - reward * np.eye(size)[j],
                bounds=[(0, 1)] * size,
                constraints=[
                    {"type": "eq", "fun": lambda p: p.sum() - 1},
                    {"type": "ineq", "fun": lambda p, j=j: p[j] - p},
                ],
                method="SLSQP",
                options={"ftol": 1e-13, "maxiter": 200},
            )
            values.append(found.fun)
        assert abs(ours - min(values)) < 1e-7
        assert np.argmin(values) == outputs.argmax()


def test_outputs_are_left_as_they_were():
    outputs = np.array([[0.2, 0.4], [0.7, 0.3]])
    favoured_confidences(CandidateLabels.from_mask(np.ones((2, 2), dtype=bool)), outputs, 1.0)
    assert outputs.tolist() == [[0.2, 0.4], [0.7, 0.3]]


# Against the literal implementation --------------------------------------------------------------


@given(
    st.sampled_from(["uniform", "binary"]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.001, 0.03, 2.0]),
    st.integers(1, 6),
    st.integers(0, 1000),
)
def test_confidences_and_predictions_agree_with_a_loop(start, reward, penalty, rounds, seed):
    data = make_partial_label_dataset(24, 3, 4, average_candidates=2.2, random_state=seed)
    train, test = slice(18), slice(18, None)
    mask = data.candidates.to_mask()[train]
    method = SURE(reward=reward, penalty=penalty, start=start, max_iter=rounds, tol=0)
    fitted = method.fit(data.X[train], data.candidates[train])
    X = StandardScaler().fit(data.X[train]).transform(data.X)
    targets = mask.astype(float) if start == "binary" else equal_shares(data.candidates[train])
    confidences, objectives = literal_sure(
        X[train], mask, targets, rounds=rounds, reward=reward, penalty=penalty
    )
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), confidences, atol=1e-8)
    np.testing.assert_allclose(fitted.objective_, objectives, atol=1e-8)
    outputs = explicit_outputs(confidences, X[train], X[test], penalty)
    expected = [nearest_distribution(row) for row in outputs]
    np.testing.assert_allclose(fitted.predict_proba(data.X[test]), expected, atol=1e-7)


def test_the_label_of_the_largest_output_is_predicted(data):
    fitted = SURE(scaling="none").fit(data.X[:60], data.candidates[:60])
    outputs = explicit_outputs(
        fitted.candidate_confidence_.toarray(), data.X[:60], data.X[60:], 0.03
    )
    assert (fitted.predict(data.X[60:]) == outputs.argmax(axis=1)).all()
    np.testing.assert_allclose(outputs.sum(axis=1), 1, atol=1e-9)


# The objective and the rounds --------------------------------------------------------------------


@pytest.mark.parametrize("reward", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("start", ["uniform", "binary"])
def test_the_objective_never_rises(data, reward, start):
    method = SURE(reward=reward, start=start, max_iter=40, tol=0).fit(data.X, data.candidates)
    assert method.objective_.shape == (40,)
    assert (np.diff(method.objective_) <= 1e-9).all()
    assert method.objective_[-1] < method.objective_[0] - 1e-3


def test_the_objective_is_the_documented_one_with_the_explicit_kernel(data):
    fitted = SURE(reward=0.7, penalty=0.2).fit(data.X, data.candidates)
    confidences = fitted.candidate_confidence_.toarray()
    X = StandardScaler().fit_transform(data.X)
    kernel = explicit_kernel(X, X)
    model = explicit_ridge(kernel, confidences, 0.2)
    expected = objective(kernel, *model, confidences, 0.7, 0.2)
    np.testing.assert_allclose(fitted.objective_[-1], expected, rtol=1e-9)
    # Any other model is worse: it is the minimum given the confidences.
    generator = np.random.default_rng(0)
    for _ in range(5):
        moved = model[0] + generator.normal(0, 0.01, model[0].shape)
        assert objective(kernel, moved, model[1], confidences, 0.7, 0.2) > expected
        assert objective(kernel, model[0], model[1] + 0.01, confidences, 0.7, 0.2) > expected


def test_starts_differ_in_the_first_regression_only(data):
    # The outputs for equal shares and for ones are fed to the same step, by hand.
    X = StandardScaler().fit_transform(data.X)
    mask = data.candidates.to_mask()
    found = {}
    for start, targets in (("uniform", equal_shares(data.candidates)), ("binary", mask * 1.0)):
        outputs = explicit_outputs(targets, X, X, 0.03)
        expected = favoured_confidences(data.candidates, outputs, 0.3)
        fitted = SURE(start=start, max_iter=1).fit(data.X, data.candidates)
        found[start] = fitted.candidate_confidence_.toarray()
        np.testing.assert_allclose(found[start][mask], expected, atol=1e-8)
    assert np.abs(found["uniform"] - found["binary"]).max() > 0.01


def test_one_round_is_enough_where_all_sets_are_of_one_whatever_the_start(data):
    uniform, binary = (
        SURE(start=start).fit(data.X, data.true_labels) for start in ("uniform", "binary")
    )
    assert uniform.n_iter_ == binary.n_iter_ == 1
    np.testing.assert_array_equal(uniform.predict_proba(data.X), binary.predict_proba(data.X))


def test_rounds_end_when_confidences_change_by_less_than_the_tolerance(data):
    fitted = SURE(tol=0.05).fit(data.X, data.candidates)
    assert 1 < fitted.n_iter_ < 50
    assert len(fitted.objective_) == fitted.n_iter_

    def confidences_after(rounds):
        longer = SURE(tol=0, max_iter=rounds).fit(data.X, data.candidates)
        return longer.candidate_confidence_.toarray()

    after = [confidences_after(fitted.n_iter_ + more) for more in (-2, -1, 0)]
    np.testing.assert_array_equal(fitted.candidate_confidence_.toarray(), after[2])
    assert np.linalg.norm(after[1] - after[0]) >= 0.05
    assert np.linalg.norm(after[2] - after[1]) < 0.05


def test_rounds_are_limited(data):
    fitted = SURE(tol=0, max_iter=7).fit(data.X, data.candidates)
    assert fitted.n_iter_ == 7
    assert fitted.objective_.shape == (7,)


def test_a_large_reward_makes_up_its_mind_at_once(data):
    fitted = SURE(reward=100, max_iter=1).fit(data.X, data.candidates)
    confidences = fitted.candidate_confidence_.toarray()
    assert set(np.unique(confidences)) == {0, 1}
    X = StandardScaler().fit_transform(data.X)
    outputs = explicit_outputs(equal_shares(data.candidates), X, X, 0.03)
    inside = np.where(data.candidates.to_mask(), outputs, -np.inf)
    assert (fitted.disambiguate() == inside.argmax(axis=1)).all()


# Weights of candidates, scaling ------------------------------------------------------------------


def test_the_start_is_in_proportion_to_the_weights_of_a_set():
    # Targets (3/4, 1/4) and (1, 0), mean (7/8, 1/8): outputs (13/16, 3/16) for row 0.
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 5}])
    method = SURE(reward=0.2, penalty=HALF_WAY, max_iter=1).fit(PAIR, weighted)
    np.testing.assert_allclose(
        method.candidate_confidence_.toarray(), [[13 / 16 + 0.05, 3 / 16 - 0.05], [1, 0]]
    )


def test_the_binary_start_is_in_proportion_to_the_weights_of_a_set():
    # Two candidates have two votes: targets (3/2, 1/2) and (1, 0), mean (5/4, 1/4), outputs
    # (11/8, 3/8) for row 0, with half the reward (1.475, .375), above a sum of one by .85.
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 5}])
    method = SURE(reward=0.2, penalty=HALF_WAY, max_iter=1, start="binary").fit(PAIR, weighted)
    np.testing.assert_allclose(method.candidate_confidence_.toarray(), [[1, 0], [1, 0]])


def test_the_unit_of_all_features_is_of_no_importance(data):
    # The kernel is as wide as rows are apart.
    method = SURE(scaling="none", max_iter=5)
    expected = method.fit(data.X, data.candidates).predict_proba(data.X)
    found = method.fit(1000 * data.X, data.candidates).predict_proba(1000 * data.X)
    np.testing.assert_allclose(found, expected, atol=1e-8)


# Edge cases --------------------------------------------------------------------------------------


def test_sets_of_everything_all_favour_the_first_class_and_stay_finite():
    # All outputs are equal, so ties decide, and the reward does the rest.
    X = np.random.default_rng(0).normal(size=(12, 3))
    everything = CandidateLabels.from_mask(np.ones((12, 3), dtype=bool))
    fitted = SURE().fit(X, everything)
    assert fitted.predict_proba(X).tolist() == [[1, 0, 0]] * 12
    without_reward = SURE(reward=0).fit(X, everything)
    np.testing.assert_allclose(without_reward.predict_proba(X), 1 / 3)


def test_a_single_row_earns_the_reward_with_its_first_candidate():
    sets = CandidateLabels.from_sets([["b", "c"]], classes=list("abc"))
    fitted = SURE().fit([[1.0, 2.0]], sets)
    # (1/2, 1/2), then .075 a round from c to b, until after seven rounds nothing is left.
    assert fitted.candidate_confidence_.toarray().tolist() == [[0, 1, 0]]
    assert fitted.n_iter_ == 8
    after_two = SURE(max_iter=2).fit([[1.0, 2.0]], sets)
    np.testing.assert_allclose(after_two.predict_proba([[9.0, 9.0]]), [[0, 0.65, 0.35]])


def test_a_row_of_zeros_is_a_row_like_any_other(data):
    X = data.X.copy()
    X[3] = 0
    moved = SURE(scaling="none").fit(X + 1.0, data.candidates).predict_proba(X[:5] + 1.0)
    found = SURE(scaling="none").fit(X, data.candidates).predict_proba(X[:5])
    np.testing.assert_allclose(found, moved, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reward": -0.1}, "'reward' must be a number >= 0. Got -0.1"),
        ({"penalty": 0}, "'penalty' must be a number >= 1e-06. Got 0"),
        ({"penalty": np.inf}, "'penalty' must be a number >= 1e-06. Got inf"),
        ({"start": "ones"}, "'start' must be one of 'uniform', 'binary'. Got 'ones'"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"tol": -1}, "'tol' must be a number >= 0. Got -1"),
        (
            {"precision": "half"},
            "'precision' must be one of 'auto', 'single', 'double'. Got 'half'",
        ),
        ({"scaling": "max"}, "'scaling' must be one of 'half', 'standard'"),
        ({"scaling": MinMaxScaler}, r"Got the class MinMaxScaler: write MinMaxScaler\(\)"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    method = SURE(**parameters)
    with pytest.raises(ParameterError, match=message):
        method.fit(PAIR, PAIR_SETS)
