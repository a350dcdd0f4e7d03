import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods.classical.aggd import AGGD, first_confidences
from disambig.solvers.neighbors import index_of_rows, nearest_of_training_rows
from methods.classical.plain_aggd import (
    least_squares_on_simplices,
    literal_aggd,
    literal_confidences,
    literal_graph,
)
from methods.classical.plain_kernel import explicit_kernel, explicit_outputs, explicit_ridge


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(60, 4, 4, average_candidates=2.2, overlap=0.8, random_state=0)


# By hand -----------------------------------------------------------------------------------------

# Row 0 lies between its neighbours; those lie both on one side of theirs, and row 0 is nearer.
LINE = np.array([[0.0], [-1.0], [3.0]])
LINE_SETS = CandidateLabels.from_sets([["a", "b"], ["a"], ["b"]])
LINE_GRAPH = sparse.csr_array([[0, 3 / 4, 1 / 4], [1, 0, 0], [1, 0, 0]])


def one_round_on_the_line():
    # So large a penalty leaves nothing of the kernel: the model is the mean of the confidences.
    method = AGGD(similarity=1 / 8, penalty=1e9, max_iter=1, scaling="none", unit_rows=False)
    return method.fit(LINE, LINE_SETS)


def test_first_confidences_by_hand():
    # With p for a, row 0 misses its neighbours by 2 (p - 3/4)^2, row 1 by 2 (1 - p)^2, row 2 by
    # 2 p^2: the sum is least at p = (3/4 + 1 + 0) / 3.
    found = first_confidences(LINE_GRAPH, LINE_SETS)
    np.testing.assert_allclose(found, [7 / 12, 5 / 12, 1, 1], atol=1e-6)


def test_first_confidences_near_to_weights_by_hand():
    # (p - 9/10)^2 twice comes to the three terms: p = (3/4 + 1 + 0 + 9/10) / 4.
    weighted = CandidateLabels.from_sets([{"a": 9, "b": 1}, {"a": 1}, {"b": 1}])
    found = first_confidences(LINE_GRAPH, weighted)
    np.testing.assert_allclose(found, [2.65 / 4, 1.35 / 4, 1, 1], atol=1e-6)


def test_one_round_by_hand():
    # The first confidences of row 0 are 7/12 and 5/12, and the model says (7/12 + 1 + 0) / 3 =
    # 19/36 for a everywhere. The graph: with w for row 1, 1/8 (3 - 4w)^2 + 2 (w - 7/12)^2 is least
    # at w = 2/3; rows 1 and 2 stay with row 0. The confidences: the four squares (p - 2/3)^2,
    # (1 - p)^2, p^2 and (p - 19/36)^2 are least in sum at p = (24 + 36 + 0 + 19) / 36 / 4.
    found = one_round_on_the_line().candidate_confidence_.toarray()
    np.testing.assert_allclose(found, [[79 / 144, 65 / 144], [1, 0], [0, 1]], atol=1e-6)


def test_probabilities_by_hand():
    # The mean of 79/144, 1 and 0.
    probabilities = one_round_on_the_line().predict_proba([[0.0], [7.0]])
    np.testing.assert_allclose(probabilities, [[223 / 432, 209 / 432]] * 2, atol=1e-6)


def test_objective_by_hand():
    p, mean, w = 79 / 144, 223 / 432, 2 / 3
    missed_by_model = 2 * ((p - mean) ** 2 + (1 - mean) ** 2 + mean**2)
    features = 1 / 8 * ((3 - 4 * w) ** 2 + 1**2 + 3**2)
    neighbors = 2 * ((p - w) ** 2 + (1 - p) ** 2 + p**2)
    np.testing.assert_allclose(
        one_round_on_the_line().objective_, [missed_by_model + features + neighbors], rtol=1e-6
    )


# Against the literal implementation --------------------------------------------------------------


@settings(max_examples=30)
@given(
    st.integers(1, 6),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from([0.2, 1.0, 3.0]),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_confidences_and_predictions_agree_with_a_loop(
    n_neighbors, similarity, smoothness, unit_rows, rounds, seed
):
    # Candidates carry weights, because without them the first confidences are not unique.
    data = make_partial_label_dataset(18, 6, 3, average_candidates=1.7, random_state=seed)
    train, test = slice(14), slice(14, None)
    mask = data.candidates.to_mask()[train]
    weights = mask * np.random.default_rng(seed).uniform(0.1, 3, mask.shape)
    method = AGGD(
        n_neighbors=n_neighbors,
        similarity=similarity,
        smoothness=smoothness,
        penalty=0.2,
        max_iter=rounds,
        unit_rows=unit_rows,
    )
    fitted = method.fit(data.X[train], CandidateLabels.from_mask(mask, weights=weights))
    X = StandardScaler().fit(data.X[train]).transform(data.X)
    rows = normalize(X) if unit_rows else X
    confidences, objectives = literal_aggd(
        X[train],
        rows[train],
        mask,
        n_neighbors=n_neighbors,
        similarity=similarity,
        smoothness=smoothness,
        penalty=0.2,
        rounds=rounds,
        anchor=weights / weights.sum(axis=1, keepdims=True),
    )
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), confidences, atol=1e-5)
    np.testing.assert_allclose(fitted.objective_, objectives, rtol=1e-6)
    outputs = explicit_outputs(confidences, X[train], X[test], 0.2)
    probabilities = fitted.predict_proba(data.X[test])
    everything = np.ones((1, 3), dtype=bool)
    expected = [least_squares_on_simplices(np.eye(3), row, everything) for row in outputs]
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)


@pytest.mark.parametrize("n_neighbors", [1, 3, 8])
def test_first_confidences_agree_with_the_graph_as_well_as_any_can(data, n_neighbors):
    # Several may agree as well; what they miss each other by is the least there is.
    X, sets = data.X[:20], data.candidates[:20]
    neighbors = nearest_of_training_rows(index_of_rows(X), n_neighbors)
    graph = literal_graph(X, np.zeros((20, 4)), neighbors, 1, 0)
    found = np.zeros((20, 4))
    found[sets.to_mask()] = first_confidences(sparse.csr_array(graph), sets)
    expected = literal_confidences(graph, sets.to_mask(), 1)
    np.testing.assert_allclose(
        ((found - graph @ found) ** 2).sum(), ((expected - graph @ expected) ** 2).sum(), atol=1e-6
    )


def test_rounds_without_weights_and_with_default_parameters_agree_with_a_loop(data):
    # On these rows the first confidences are unique.
    mask = data.candidates.to_mask()[:16]
    X = StandardScaler().fit_transform(data.X[:16])
    fitted = AGGD(max_iter=3).fit(data.X[:16], data.candidates[:16])
    expected, objectives = literal_aggd(
        X, normalize(X), mask, n_neighbors=10, similarity=1, smoothness=1, penalty=0.05, rounds=3
    )
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), expected, atol=1e-5)
    np.testing.assert_allclose(fitted.objective_, objectives, rtol=1e-6)


def test_probabilities_are_the_distribution_nearest_to_the_outputs(data):
    fitted = AGGD(scaling="none").fit(data.X[:40], data.candidates[:40])
    outputs = explicit_outputs(
        fitted.candidate_confidence_.toarray(), data.X[:40], data.X[40:], 0.05
    )
    everything = np.ones((1, 4), dtype=bool)
    expected = [least_squares_on_simplices(np.eye(4), row, everything) for row in outputs]
    assert (outputs < 0).any()
    np.testing.assert_allclose(fitted.predict_proba(data.X[40:]), expected, atol=1e-6)
    assert (fitted.predict(data.X[40:]) == outputs.argmax(axis=1)).all()


# The objective and the rounds --------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"smoothness": 0},
        {"similarity": 0},
        {"smoothness": 30},
        {"smoothness": 1e5},  # more than the steps of a round can do: the next one goes on
        {"penalty": 1e-3},
        {"penalty": 10},
        {"n_neighbors": 30},
        {"unit_rows": False},
    ],
)
def test_the_objective_never_rises(data, parameters):
    fitted = AGGD(max_iter=12, **parameters).fit(data.X, data.candidates)
    assert fitted.objective_.shape == (12,)
    assert fitted.n_iter_ == 12
    assert (np.diff(fitted.objective_) <= 1e-7).all()
    assert fitted.objective_[-1] < fitted.objective_[0]


def test_without_smoothness_confidences_are_the_distributions_nearest_to_the_outputs(data):
    X = StandardScaler().fit_transform(data.X)
    mask = data.candidates.to_mask()
    before, after = (
        AGGD(smoothness=0, max_iter=rounds).fit(data.X, data.candidates) for rounds in (2, 3)
    )
    outputs = explicit_outputs(before.candidate_confidence_.toarray(), X, X, 0.05)
    expected = np.zeros(mask.shape)
    for i, row in enumerate(mask):
        everything = np.ones((1, row.sum()), dtype=bool)
        expected[i, row] = least_squares_on_simplices(
            np.eye(row.sum()), outputs[i, row], everything
        )
    np.testing.assert_allclose(after.candidate_confidence_.toarray(), expected, atol=1e-6)


def test_without_similarity_the_graph_follows_confidences_alone_by_hand():
    # As in one round by hand, but 2 (w - 7/12)^2 alone is least at w = 7/12, and the four squares
    # at p = (21 + 36 + 0 + 19) / 36 / 4 = 19/36, which the model said, too.
    method = AGGD(similarity=0, penalty=1e9, max_iter=1, scaling="none", unit_rows=False)
    fitted = method.fit(LINE, LINE_SETS)
    p, mean = 19 / 36, (19 / 36 + 1) / 3
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray()[0], [p, 1 - p], atol=1e-6)
    missed_by_model = 2 * ((p - mean) ** 2 + (1 - mean) ** 2 + mean**2)
    neighbors = 2 * ((p - 7 / 12) ** 2 + (1 - p) ** 2 + p**2)
    np.testing.assert_allclose(fitted.objective_, [missed_by_model + neighbors], rtol=1e-6)


def test_nothing_but_the_model_is_left_without_similarity_and_smoothness(data):
    # The graph has no say after the first confidences: the objective is that of the model.
    fitted = AGGD(similarity=0, smoothness=0, max_iter=4).fit(data.X, data.candidates)
    X = StandardScaler().fit_transform(data.X)
    kernel = explicit_kernel(X, X)
    confidences = fitted.candidate_confidence_.toarray()
    coefficients, intercepts = explicit_ridge(kernel, confidences, 0.05)
    missed = kernel @ coefficients + intercepts - confidences
    expected = (missed**2).sum() + 0.05 * np.trace(coefficients.T @ kernel @ coefficients)
    np.testing.assert_allclose(fitted.objective_[-1], expected, rtol=1e-9)


def test_rows_of_length_one_are_for_the_graph_and_not_for_the_kernel():
    # Rows of the same direction and different length: only the kernel can tell them apart.
    X = np.array([[1.0, 1.0], [2.0, 2.0], [10.0, 10.0], [11.0, 11.0]])
    sets = CandidateLabels.from_labels(["a", "a", "b", "b"])
    fitted = AGGD(scaling="none", n_neighbors=2).fit(X, sets)
    assert fitted.predict(X).tolist() == ["a", "a", "b", "b"]
    # Every row is rebuilt without rest, where in their full length they are not.
    in_full_length = AGGD(scaling="none", n_neighbors=2, smoothness=0, unit_rows=False).fit(X, sets)
    without_graph = AGGD(scaling="none", n_neighbors=2, smoothness=0).fit(X, sets).objective_[-1]
    # (1, 1) and (11, 11) lie at the ends, and their nearest neighbours are sqrt(2) away.
    np.testing.assert_allclose(in_full_length.objective_[-1], without_graph + 2 + 2, rtol=1e-9)


# Weights of candidates ---------------------------------------------------------------------------


def test_one_preferred_candidate_tips_the_balance():
    # Without weights, rows of equal sets agree with each other on equal shares.
    X = np.random.default_rng(0).normal(size=(12, 3))
    everything = np.ones((12, 2), dtype=bool)
    weights = np.ones((12, 2))
    weights[5] = [1, 4]
    unweighted = AGGD().fit(X, CandidateLabels.from_mask(everything))
    np.testing.assert_allclose(unweighted.candidate_confidence_.toarray(), 0.5)
    weighted = AGGD().fit(X, CandidateLabels.from_mask(everything, weights=weights))
    assert (weighted.candidate_confidence_.toarray()[:, 1] > 0.5).all()


# Edge cases --------------------------------------------------------------------------------------


def test_more_neighbours_than_rows_are_all_other_rows(data):
    few, all_others = (
        AGGD(n_neighbors=count).fit(data.X[:9], data.candidates[:9]) for count in (8, 500)
    )
    np.testing.assert_array_equal(few.predict_proba(data.X), all_others.predict_proba(data.X))


def test_a_single_row_has_no_neighbours_and_keeps_equal_shares():
    sets = CandidateLabels.from_sets([["b", "c"]], classes=list("abc"))
    fitted = AGGD().fit([[1.0, 2.0]], sets)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), [[0, 0.5, 0.5]])
    np.testing.assert_allclose(fitted.predict_proba([[9.0, 9.0]]), [[0, 0.5, 0.5]], atol=1e-9)
    assert fitted.n_iter_ == 10


def test_the_weights_of_a_single_row_are_kept():
    weighted = CandidateLabels.from_sets([{"a": 9, "b": 1}])
    fitted = AGGD().fit([[1.0, 2.0]], weighted)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), [[0.9, 0.1]])


def test_a_row_in_the_middle_of_all_is_rebuilt_from_its_neighbours_too():
    # Centred it is zero and has no length; whole numbers have a mean without rounding.
    half = np.random.default_rng(0).integers(-9, 10, (10, 4)).astype(float)
    X = np.vstack([half, -half, np.zeros((1, 4))])
    sets = CandidateLabels.from_sets([["a"]] * 20 + [["a", "b"]])
    fitted = AGGD().fit(X, sets)
    assert fitted.candidate_confidence_.toarray()[-1].tolist() == [1, 0]
    assert fitted.predict(X[-1:]).tolist() == ["a"]


# Size --------------------------------------------------------------------------------------------


def test_many_rows_with_few_classes_are_set_right():
    # 3,300 rows with 10 neighbours of 40 features each are more than a million numbers, and their
    # pairs more than ten million: all is done a few rows at a time.
    data = make_partial_label_dataset(
        3300, 40, 2, average_candidates=1.5, overlap=0.6, random_state=0
    )
    fitted = AGGD(max_iter=2).fit(data.X, data.candidates)
    assert np.mean(fitted.disambiguate() == data.true_labels) > 0.93
    assert fitted.objective_[1] < fitted.objective_[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "'n_neighbors' must be an integer >= 1. Got 0"),
        ({"similarity": -1}, "'similarity' must be a number >= 0. Got -1"),
        ({"smoothness": -0.5}, "'smoothness' must be a number >= 0. Got -0.5"),
        ({"smoothness": "1"}, "'smoothness' must be a number >= 0. Got '1'"),
        ({"penalty": 0}, "'penalty' must be a number >= 1e-06. Got 0"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        (
            {"precision": "half"},
            "'precision' must be one of 'auto', 'single', 'double'. Got 'half'",
        ),
        ({"scaling": "max"}, "'scaling' must be one of 'half', 'standard'"),
        ({"scaling": MinMaxScaler}, r"Got the class MinMaxScaler: write MinMaxScaler\(\)"),
        ({"unit_rows": "auto"}, "'unit_rows' must be True or False. Got 'auto'"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    method = AGGD(**parameters)
    with pytest.raises(ParameterError, match=message):
        method.fit(LINE, LINE_SETS)
