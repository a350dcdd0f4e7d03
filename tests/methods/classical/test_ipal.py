import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.candidates.generate import corrupt_to_average
from disambig.datasets import make_partial_label_dataset
from disambig.methods.classical.ipal import IPAL, explained_parts
from methods.classical.plain_ipal import (
    literal_confidences,
    literal_residuals,
    nearest,
    shares_explained,
)
from methods.classical.problems import equal_shares


def plain(**parameters):
    return IPAL(scaling="none", unit_rows=False, **parameters)


# By hand -----------------------------------------------------------------------------------------

# Row 0 is 2 times row 1 plus 1 times row 2. The others are nearest to a multiple of row 0 alone.
CORNER = np.array([[2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
CORNER_SETS = CandidateLabels.from_sets([["a", "b"], ["a"], ["c"]])


def test_one_round_of_spreading_by_hand():
    # The edges of row 0 are 2/3 and 1/3. Its confidences become 1/2 (2/3, 0) + 1/2 (1/2, 1/2): what
    # comes from row 2 is for c, no candidate. That is (7/12, 3/12), divided by the sum (.7, .3).
    # Class a has the mass 1.7 now and had 1.5, b has .3 and had .5: .7 * 1.5 / 1.7 = 21/34 against
    # .3 * .5 / .3 = 17/34.
    fitted = plain(n_neighbors=2, alpha=0.5, max_iter=1).fit(CORNER, CORNER_SETS)
    np.testing.assert_allclose(
        fitted.candidate_confidence_.toarray(),
        [[21 / 38, 17 / 38, 0], [1, 0, 0], [0, 0, 1]],
        atol=1e-12,
    )


def test_probabilities_of_a_new_row_by_hand():
    # (1, 2) is 1/2 (2, 1), of class a, plus 3/2 (0, 1), of class c. From a alone, (1, 1/2), it is
    # 9/4 away, from c alone, (0, 3/2), it is 5/4 away, squared; its own squared length is 5.
    fitted = plain(n_neighbors=2, alpha=0.5).fit(CORNER, CORNER_SETS)
    assert fitted.disambiguate().tolist() == ["a", "a", "c"]
    np.testing.assert_allclose(
        fitted.predict_proba([[1.0, 2.0]]), [[2.75 / 6.5, 0, 3.75 / 6.5]], atol=1e-12
    )
    assert fitted.predict([[1.0, 2.0]]).tolist() == ["c"]


def test_spreading_ends_when_confidences_stand_still():
    # The neighbours of row 0 are certain, so the second round changes nothing.
    assert plain(n_neighbors=2, alpha=0.5).fit(CORNER, CORNER_SETS).n_iter_ == 2


def test_every_class_keeps_its_mass():
    # Row 0 hears a, a and b: one round makes its confidences 1/2 (2/3, 1/3) + 1/2 (1/2, 1/2), that
    # is 7/12 and 5/12. The masses were 2.5 and 1.5, and are 31/12 and 17/12: 7/12 * 30/31 = 35/62
    # against 5/12 * 18/17 = 15/34, in the proportion 595 to 465.
    X = np.vstack([[1.0, 1.0, 1.0], np.eye(3)])
    sets = CandidateLabels.from_sets([["a", "b"], ["a"], ["a"], ["b"]])
    fitted = plain(n_neighbors=3, alpha=0.5, max_iter=1).fit(X, sets)
    found = fitted.candidate_confidence_.toarray()[0]
    np.testing.assert_allclose(found, [595 / 1060, 465 / 1060], atol=1e-12)


# Against the literal implementation --------------------------------------------------------------


@given(
    st.integers(1, 11),
    st.sampled_from([0.0, 0.3, 0.95]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_confidences_and_probabilities_agree_with_a_loop(n_neighbors, alpha, unit_rows, seed):
    data = make_partial_label_dataset(26, 12, 4, average_candidates=2, random_state=seed)
    train, test = slice(20), slice(20, None)
    method = IPAL(n_neighbors=n_neighbors, alpha=alpha, unit_rows=unit_rows)
    fitted = method.fit(data.X[train], data.candidates[train])
    X = StandardScaler().fit(data.X[train]).transform(data.X)
    X = normalize(X) if unit_rows else X
    confidences, rounds = literal_confidences(
        X[train], equal_shares(data.candidates[train]), n_neighbors=n_neighbors, alpha=alpha
    )
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), confidences, atol=1e-8)
    assert fitted.n_iter_ == rounds
    labels = fitted.disambiguate()
    assert (confidences[np.arange(20), labels] > confidences.max(axis=1) - 1e-8).all()
    residuals = literal_residuals(X[train], labels, X[test], 4, n_neighbors)
    # Where no class explains anything, neighbours vote: tests of that are below.
    explained = residuals.min(axis=1) < np.linalg.norm(X[test], axis=1) - 1e-9
    found = fitted.predict_proba(data.X[test])[explained]
    expected = shares_explained(X[test][explained], residuals[explained])
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_class_of_the_smallest_residual_is_predicted():
    data = make_partial_label_dataset(120, 15, 5, average_candidates=2, random_state=0)
    train, test = slice(80), slice(80, None)
    fitted = plain().fit(data.X[train], data.candidates[train])
    labels = fitted.disambiguate()
    residuals = literal_residuals(data.X[train], labels, data.X[test], 5)
    predicted = fitted.predict(data.X[test])
    assert (predicted == residuals.argmin(axis=1)).all()
    # Not the same as the class with the most neighbours, or the question would be idle.
    votes = [np.bincount(labels[nearest(data.X[train], x, 10)]).argmax() for x in data.X[test]]
    assert (predicted != votes).any()


@pytest.mark.parametrize("n_neighbors", [1, 4, 9])
def test_explained_parts_of_a_class_sum_to_what_a_loop_finds(n_neighbors):
    generator = np.random.default_rng(n_neighbors)
    rows, query = generator.normal(size=(30, 10)), generator.normal(size=(7, 10))
    labels = generator.integers(3, size=30)
    neighbors = np.array([nearest(rows, row, n_neighbors) for row in query])
    parts = explained_parts(query, rows, neighbors, labels)
    residuals = literal_residuals(rows, labels, query, 3, n_neighbors)
    for i in range(len(query)):
        for j in range(3):
            summed = parts[i, labels[neighbors[i]] == j].sum()
            length = query[i] @ query[i]
            np.testing.assert_allclose(summed, length - residuals[i, j] ** 2, atol=1e-9)


def test_many_rows_are_worked_on_a_few_at_a_time_with_the_same_result():
    # 3,000 rows with 10 neighbours of 40 features each are more than a million numbers.
    data = make_partial_label_dataset(3000, 40, 3, average_candidates=1.5, random_state=0)
    fitted = IPAL(max_iter=3).fit(data.X, data.candidates)
    rows = normalize(StandardScaler().fit_transform(data.X))
    expected, _ = literal_confidences(rows, equal_shares(data.candidates), max_iter=3)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), expected, atol=1e-8)
    # New rows, because a training row is its own nearest neighbour and explains itself.
    query = data.X[::-1] + data.X
    in_pieces = [fitted.predict_proba(query[start : start + 300]) for start in range(0, 3000, 300)]
    np.testing.assert_allclose(fitted.predict_proba(query), np.vstack(in_pieces), atol=1e-9)


# Where no class explains anything ----------------------------------------------------------------


@pytest.mark.parametrize("query", [[0.0, 0.0], [-1.0, -1.0]])
def test_neighbours_vote_where_all_weights_are_zero(query):
    # Two neighbours point away from the query, or the query points nowhere.
    X = [[1.0, 0.0], [1.5, 0.0], [0.0, 1.0], [9.0, 9.0]]
    sets = CandidateLabels.from_sets([["a"], ["a"], ["b"], ["c"]])
    fitted = plain(n_neighbors=3).fit(X, sets)
    np.testing.assert_allclose(fitted.predict_proba([query]), [[2 / 3, 1 / 3, 0]])


def test_neighbours_vote_where_they_explain_a_row_only_together():
    # (0, 0.2) is the sum of both neighbours, and each alone leads further away than nothing does.
    X = [[1.0, 0.1], [-1.0, 0.1]]
    sets = CandidateLabels.from_labels(["a", "b"], classes=["a", "b", "c"])
    fitted = plain(n_neighbors=2).fit(X, sets)
    np.testing.assert_allclose(fitted.predict_proba([[0.0, 0.2]]), [[0.5, 0.5, 0]])


def test_a_class_that_leads_away_has_no_probability():
    # (1, 0.2) = 1.5 (1, 0.1) + 0.5 (-1, 0.1): the second neighbour alone makes it worse.
    X = [[1.0, 0.1], [-1.0, 0.1]]
    fitted = plain(n_neighbors=2).fit(X, CandidateLabels.from_labels(["a", "b"]))
    assert fitted.predict_proba([[1.0, 0.2]]).tolist() == [[1, 0]]


# Parameters --------------------------------------------------------------------------------------


def test_nothing_is_spread_with_alpha_zero():
    data = make_partial_label_dataset(40, 5, 4, average_candidates=2, random_state=0)
    fitted = IPAL(alpha=0).fit(data.X, data.candidates)
    found = fitted.candidate_confidence_.toarray()
    np.testing.assert_allclose(found, equal_shares(data.candidates), atol=1e-12)
    assert fitted.n_iter_ == 1


def test_rounds_are_limited_and_smaller_tolerances_need_more():
    data = make_partial_label_dataset(80, 8, 4, average_candidates=2, random_state=0)
    rounds = [IPAL(tol=tol).fit(data.X, data.candidates).n_iter_ for tol in (1e-1, 1e-3, 1e-5)]
    assert 1 < rounds[0] < rounds[1] < rounds[2] < 100
    assert IPAL(tol=0, max_iter=7).fit(data.X, data.candidates).n_iter_ == 7


def test_unit_rows_make_the_length_of_a_row_meaningless():
    data = make_partial_label_dataset(80, 6, 3, average_candidates=2, random_state=0)
    X, sets, query = data.X[:60], data.candidates[:60], data.X[60:]
    lengths = np.random.default_rng(0).uniform(0.1, 10, (80, 1))
    method = IPAL(scaling="none")
    expected = method.fit(X, sets).predict_proba(query)
    found = method.fit(X * lengths[:60], sets).predict_proba(query * lengths[60:])
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_first_confidences_are_in_proportion_to_the_weights_of_a_set():
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"b": 1}, {"a": 1, "b": 1}])
    fitted = plain(n_neighbors=2, alpha=0.5).fit(CORNER, weighted)
    first = np.array([[0.75, 0.25], [0, 1], [0.5, 0.5]])
    expected, _ = literal_confidences(CORNER, first, n_neighbors=2, alpha=0.5)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), expected, atol=1e-9)


# Edge cases --------------------------------------------------------------------------------------


def test_sets_of_one_leave_the_plain_residual_rule():
    data = make_partial_label_dataset(90, 12, 4, overlap=1.2, random_state=0)
    train, test = slice(60), slice(60, None)
    fitted = plain().fit(data.X[train], data.true_labels[train])
    one_hot = np.eye(4)[data.true_labels[train]]
    assert fitted.candidate_confidence_.toarray().tolist() == one_hot.tolist()
    residuals = literal_residuals(data.X[train], data.true_labels[train], data.X[test], 4)
    assert (fitted.predict(data.X[test]) == residuals.argmin(axis=1)).all()


def test_sets_of_everything_keep_equal_confidences():
    data = make_partial_label_dataset(30, 4, 3, random_state=0)
    everything = CandidateLabels.from_mask(np.ones((30, 3), dtype=bool))
    fitted = IPAL().fit(data.X, everything)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), 1 / 3)


def test_rows_of_all_candidates_follow_their_neighbours():
    generator = np.random.default_rng(0)
    centres = np.repeat([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]], 20, axis=0)
    X = centres + generator.normal(0, 0.1, (40, 3))
    sets = CandidateLabels.from_sets([["a"], ["a", "b"]] * 10 + [["b"], ["a", "b"]] * 10)
    fitted = IPAL().fit(X, sets)
    assert fitted.disambiguate().tolist() == ["a"] * 20 + ["b"] * 20


def test_a_repeated_row_takes_the_label_of_its_twin():
    X = np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    sets = CandidateLabels.from_sets([["a", "b"], ["a"], ["a", "b"], ["b"]])
    fitted = plain(n_neighbors=1).fit(X, sets)
    # 95 % from the twin and 5 % from equal shares; both classes keep the mass they had.
    expected = [[0.975, 0.025], [1, 0], [0.025, 0.975], [0, 1]]
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), expected, atol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(X), [[1, 0], [1, 0], [0, 1], [0, 1]])


def test_many_repeated_rows_explain_each_other_in_full():
    X = np.repeat([[3.0, 0.0], [0.0, 2.0]], 15, axis=0)
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["a", "c"]] * 5 + [["b"], ["b", "c"]] * 7)
    sets = CandidateLabels.from_sets([*sets.to_sets(), ["b"]])
    fitted = plain().fit(X, sets)
    np.testing.assert_allclose(fitted.predict_proba(X[[0, 20]]), [[1, 0, 0], [0, 1, 0]], atol=1e-9)


def test_features_that_are_all_the_same_leave_shares_and_votes():
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["b", "c"], ["a"]])
    fitted = IPAL().fit(np.full((4, 3), 0.1), sets)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), equal_shares(sets))
    # Labels a, a, b, a: of equally confident candidates the first.
    np.testing.assert_allclose(fitted.predict_proba([[0.1, 0.1, 0.1]]), [[0.75, 0.25, 0]])


def test_more_neighbours_than_rows_are_all_rows():
    data = make_partial_label_dataset(20, 12, 3, average_candidates=2, random_state=0)
    X, sets, query = data.X[:8], data.candidates[:8], data.X[8:]
    fitted, all_rows = (plain(n_neighbors=count).fit(X, sets) for count in (500, 8))
    np.testing.assert_array_equal(fitted.predict_proba(query), all_rows.predict_proba(query))
    literal, _ = literal_confidences(X, equal_shares(sets), n_neighbors=7)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), literal, atol=1e-9)


def test_a_single_row_keeps_its_shares_and_predicts_its_first_candidate():
    fitted = IPAL().fit([[1.0, 2.0]], CandidateLabels.from_sets([["b", "c"]], classes=list("abc")))
    assert fitted.candidate_confidence_.toarray().tolist() == [[0, 0.5, 0.5]]
    assert fitted.predict([[1.0, 2.0], [5.0, 5.0]]).tolist() == ["b", "b"]


def test_a_training_row_in_the_middle_of_all_keeps_its_shares():
    # Centred it is zero, so no neighbour explains it. Whole numbers have a mean without rounding.
    half = np.random.default_rng(0).integers(-9, 10, (10, 4)).astype(float)
    X = np.vstack([half, -half, np.zeros((1, 4))])
    sets = CandidateLabels.from_sets([["a"]] * 10 + [["b"]] * 10 + [{"a", "b"}])
    fitted = IPAL().fit(X, sets)
    assert fitted.candidate_confidence_.toarray()[-1].tolist() == [0.5, 0.5]


def test_a_row_in_the_middle_of_all_explains_nothing_as_a_neighbour():
    # The nearest neighbours of (1, 1) are zero, of class b, and (1, 2), of class a.
    X = [[0.0, 0.0], [1.0, 2.0], [9.0, -9.0]]
    fitted = plain(n_neighbors=2).fit(X, CandidateLabels.from_labels(["b", "a", "c"]))
    assert fitted.predict_proba([[1.0, 1.0]]).tolist() == [[1, 0, 0]]


def test_a_row_that_is_zero_but_for_rounding_has_no_direction():
    halves = np.random.default_rng(0).normal(size=(10, 4))
    X = np.vstack([halves, -halves, np.zeros((1, 4))])  # centred, but for the last digit
    sets = CandidateLabels.from_sets([["a"], ["b"]] * 10 + [["a", "b"]])
    for order in (np.arange(21), np.r_[1:20, 0, 20]):
        fitted = IPAL().fit(X[order], sets[order])
        balanced = fitted.candidate_confidence_.toarray()[-1]
        np.testing.assert_allclose(balanced, [0.5, 0.5])
        votes = fitted.predict_proba(np.zeros((1, 4)))[0] * 10
        np.testing.assert_allclose(votes, np.round(votes))


def test_one_feature_on_unit_rows_is_a_sign():
    X = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["a"], ["b"], ["a", "b"], ["b"]])
    fitted = IPAL(n_neighbors=2).fit(X, sets)
    assert fitted.disambiguate().tolist() == ["a", "a", "a", "b", "b", "b"]
    assert fitted.predict_proba([[-9.0], [0.1]]).tolist() == [[1, 0], [0, 1]]


def test_two_features_have_more_neighbours_than_a_row_needs():
    # Weights are not unique then. Three classes lie in three directions from the middle.
    generator = np.random.default_rng(0)
    labels = np.arange(150) % 3
    angles = 2 * np.pi * labels / 3 + generator.normal(0, 0.2, 150)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * generator.uniform(1, 3, (150, 1))
    sets = corrupt_to_average(labels, average_candidates=1.5, classes=range(3), random_state=0)
    fitted = IPAL().fit(X[:100], sets[:100])
    assert np.mean(fitted.disambiguate() == labels[:100]) > 0.95
    probabilities = fitted.predict_proba(X[100:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.mean(probabilities.argmax(axis=1) == labels[100:]) > 0.95


def test_memory_grows_with_the_rows_and_not_with_their_square():
    data = make_partial_label_dataset(4000, 20, 40, average_candidates=3, random_state=0)
    tracemalloc.start()
    fitted = IPAL(max_iter=5).fit(data.X, data.candidates)
    fitted.predict_proba(data.X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6  # an array of all pairs of rows would take 128 MB


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "'n_neighbors' must be an integer >= 1. Got 0"),
        ({"n_neighbors": 2.5}, "'n_neighbors' must be an integer >= 1. Got 2.5"),
        ({"alpha": -0.1}, "'alpha' must be a number from 0 to 0.999999. Got -0.1"),
        ({"alpha": 1}, "'alpha' must be a number from 0 to 0.999999. Got 1 "),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"tol": -1e-9}, "'tol' must be a number >= 0. Got -1e-09"),
        ({"tol": np.nan}, "'tol' must be a number >= 0. Got nan"),
        ({"scaling": "max"}, "'scaling' must be one of 'half', 'standard'"),
        ({"scaling": MinMaxScaler}, r"Got the class MinMaxScaler: write MinMaxScaler\(\)"),
        ({"unit_rows": "auto"}, "'unit_rows' must be True or False. Got 'auto'"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    method = IPAL(**parameters)
    with pytest.raises(ParameterError, match=message):
        method.fit(CORNER, CORNER_SETS)
