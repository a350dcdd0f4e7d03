import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler

from disambig import PLKNN, CandidateLabels
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset


def plain(**parameters):
    return PLKNN(scaling="none", unit_rows=False, **parameters)


LINE = np.array([[0.0], [1.0], [3.0], [10.0]])
SETS = CandidateLabels.from_sets([["a", "b"], ["b"], ["c"], ["a"]])


def test_votes_by_hand_with_equal_weights():
    # From 0.5 the three nearest are rows 0, 1, 2: one vote for a, two for b, one for c.
    probabilities = plain(n_neighbors=3, weights="uniform").fit(LINE, SETS).predict_proba([[0.5]])
    np.testing.assert_allclose(probabilities, [[0.25, 0.5, 0.25]])


def test_votes_by_hand_with_distance_weights():
    # Distances 0.5, 0.5, 2.5 of 3.5 in all: weights 6/7, 6/7, 2/7.
    probabilities = plain(n_neighbors=3).fit(LINE, SETS).predict_proba([[0.5]])
    np.testing.assert_allclose(probabilities, np.array([[6, 12, 2]]) / 20)


def test_a_training_row_does_not_vote_for_itself():
    # The two neighbours of row 0 are rows 1 (b, weight 3/4) and 2 (c, outside its set).
    fitted = plain(n_neighbors=2).fit(LINE, SETS)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray()[0], [0, 1, 0])
    assert fitted.disambiguate().tolist() == ["b", "b", "c", "a"]


def test_a_training_row_without_any_vote_keeps_equal_confidences():
    sets = CandidateLabels.from_sets([["a", "b"], ["c"], ["c"]])
    fitted = plain(n_neighbors=1).fit(LINE[:3], sets)
    assert fitted.candidate_confidence_.toarray()[0].tolist() == [0.5, 0.5, 0]


@given(st.integers(1, 12), st.sampled_from(["distance", "uniform"]), st.integers(0, 1000))
def test_votes_agree_with_a_loop(n_neighbors, weights, seed):
    data = make_partial_label_dataset(15, 2, 4, average_candidates=2, random_state=seed)
    query = np.random.default_rng(seed).normal(size=(4, 2))
    fitted = plain(n_neighbors=n_neighbors, weights=weights).fit(data.X, data.candidates)
    mask = data.candidates.to_mask()
    for row, found in zip(query, fitted.predict_proba(query), strict=True):
        distances = np.linalg.norm(data.X - row, axis=1)
        nearest = np.argsort(distances)[:n_neighbors]
        votes = np.zeros(4)
        for neighbor in nearest:
            share = distances[neighbor] / distances[nearest].sum()
            votes += mask[neighbor] * (1 if weights == "uniform" or n_neighbors == 1 else 1 - share)
        np.testing.assert_allclose(found, votes / votes.sum())


def test_all_rows_vote_where_there_are_fewer_than_asked_for():
    expected = SETS.to_mask().mean(axis=0) / SETS.to_mask().mean(axis=0).sum()
    fitted = plain(n_neighbors=100, weights="uniform").fit(LINE, SETS)
    np.testing.assert_allclose(fitted.predict_proba([[0.0], [99.0]]), [expected, expected])


@pytest.mark.parametrize("n_features", [3, 40])  # a tree, and the fast distance formula
def test_nearer_neighbours_count_more_however_far_the_data_is_from_zero(n_features):
    data = make_partial_label_dataset(60, n_features, 4, average_candidates=2, random_state=0)
    X = data.X + 1000
    X[-1] += 1e9  # one outlier must not blur all the others
    query = X[:20]
    near = plain(n_neighbors=8).fit(data.X[:-1], data.candidates[:-1])
    far = plain(n_neighbors=8).fit(X, data.candidates)
    np.testing.assert_allclose(far.predict_proba(query), near.predict_proba(data.X[:20]), atol=1e-6)


def test_large_single_precision_features_do_not_overflow():
    data = make_partial_label_dataset(40, 3, 3, random_state=0)
    method = plain(n_neighbors=5)
    expected = method.fit(data.X, data.candidates).predict_proba(data.X)
    X = (data.X * 1e25).astype(np.float32)
    found = method.fit(X, data.candidates).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_row_too_far_away_for_a_distance_is_predicted():
    probabilities = plain(n_neighbors=3).fit(LINE, SETS).predict_proba([[1e200]])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_many_neighbours_of_wide_rows_are_weighed_a_few_at_a_time():
    data = make_partial_label_dataset(1500, 60, 3, random_state=0)
    method = plain(n_neighbors=1000).fit(data.X, data.candidates)
    tracemalloc.start()
    method.predict_proba(data.X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300e6  # all pairs at once would take 720 MB for each of two copies


def test_unit_rows_compare_directions():
    # From (1, 1) the nearest place is (3, 0), the nearest direction that of (20, 30).
    X = [[3.0, 0.0], [20.0, 30.0]]
    sets = CandidateLabels.from_labels(["east", "north-east"])
    assert plain(n_neighbors=1).fit(X, sets).predict([[1.0, 1.0]]).tolist() == ["east"]
    by_direction = PLKNN(n_neighbors=1, scaling="none", unit_rows=True).fit(X, sets)
    assert by_direction.predict([[1.0, 1.0]]).tolist() == ["north-east"]


def test_the_only_neighbour_has_a_vote():
    assert plain(n_neighbors=1).fit(LINE, SETS).predict([[9.0]]).tolist() == ["a"]


@pytest.mark.parametrize("n_features", [2, 40])  # a tree, and the fast distance formula
def test_repeated_rows_vote_equally(n_features):
    X = np.vstack([np.full((3, n_features), 0.1), np.full((3, n_features), 9.7)])
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["b", "c"], ["c"], ["c"], ["c"]])
    fitted = plain(n_neighbors=3).fit(X, sets)
    np.testing.assert_allclose(fitted.predict_proba(X[:1]), [[0.4, 0.4, 0.2]])


def test_votes_are_in_proportion_to_the_weights_of_a_set():
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"b": 1}])
    fitted = plain(n_neighbors=2, weights="uniform").fit([[0.0], [1.0]], weighted)
    # A set of two has two votes in all: 1.5 for a and 0.5 for b; the set of one has one.
    np.testing.assert_allclose(fitted.predict_proba([[0.0]]), [[0.5, 0.5]])


def test_features_are_divided_by_the_root_of_their_deviation_by_default():
    data = make_partial_label_dataset(60, 5, 3, random_state=0)
    X = data.X * [1, 4, 16, 64, 256]
    # What all features have in common, a place and a unit, changes no order of distances.
    expected = plain().fit(X / np.sqrt(X.std(axis=0)), data.candidates)
    found = PLKNN().fit(X, data.candidates).predict_proba(X)
    np.testing.assert_allclose(found, expected.predict_proba(X / np.sqrt(X.std(axis=0))), atol=1e-9)


@pytest.mark.parametrize(("n_features", "unit_rows"), [(2, False), (9, False), (10, True)])
def test_rows_have_length_one_from_ten_features_on(n_features, unit_rows):
    data = make_partial_label_dataset(60, n_features, 3, random_state=0)
    automatic, same, other = (
        PLKNN(unit_rows=choice).fit(data.X, data.candidates)
        for choice in ("auto", unit_rows, not unit_rows)
    )
    found = PLKNN().fit(data.X, data.candidates).predict_proba(data.X)
    np.testing.assert_array_equal(automatic.predict_proba(data.X), found)
    np.testing.assert_array_equal(same.predict_proba(data.X), found)
    assert np.abs(other.predict_proba(data.X) - found).max() > 0.01
    # The neighbours of training rows are found in the same way.
    confidences = [method.candidate_confidence_.toarray() for method in (automatic, same, other)]
    np.testing.assert_array_equal(confidences[0], confidences[1])
    assert np.abs(confidences[0] - confidences[2]).max() > 0.01


def test_directions_are_compared_by_hand_where_there_are_ten_features():
    # From (1, 1, 0, ...) the nearest place is (3, 0, 0, ...), the nearest direction (20, 30, ...).
    X, query = np.zeros((2, 10)), np.zeros((1, 10))
    X[0, 0], X[1, :2], query[0, :2] = 3, [20, 30], 1
    sets = CandidateLabels.from_labels(["east", "north-east"])
    method = PLKNN(n_neighbors=1, scaling="none")
    assert method.fit(X, sets).predict(query).tolist() == ["north-east"]
    assert method.fit(X[:, :9], sets).predict(query[:, :9]).tolist() == ["east"]


def test_a_row_without_direction_is_equally_far_from_all():
    # Zero stays zero, at distance one from every unit row, and votes count the same.
    X = np.vstack([np.eye(10)[:3], np.zeros((1, 10))])
    sets = CandidateLabels.from_sets([["a"], ["b"], ["b"], ["a", "b"]])
    fitted = PLKNN(n_neighbors=3, scaling="none").fit(X, sets)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray()[-1], [1 / 3, 2 / 3])


def test_a_transformer_given_as_scaling_is_copied():
    scaler = MinMaxScaler()
    PLKNN(scaling=scaler).fit(LINE, SETS)
    assert not hasattr(scaler, "scale_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "'n_neighbors' must be an integer >= 1. Got 0"),
        ({"n_neighbors": 2.5}, "'n_neighbors' must be an integer >= 1. Got 2.5"),
        ({"weights": "near"}, "'weights' must be one of 'distance', 'uniform'. Got 'near'"),
        (
            {"scaling": "max"},
            "'scaling' must be one of 'half', 'standard', 'global', 'quantile', 'none'. Got 'max'",
        ),
        ({"scaling": None}, "'scaling' must be one of"),
        ({"scaling": MinMaxScaler}, r"Got the class MinMaxScaler: write MinMaxScaler\(\)"),
        ({"unit_rows": "no"}, "'unit_rows' must be True, False or 'auto'. Got 'no'"),
        ({"unit_rows": 1}, "'unit_rows' must be True, False or 'auto'. Got 1 "),
        ({"unit_rows": None}, "'unit_rows' must be True, False or 'auto'. Got None"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    method = PLKNN(**parameters)
    with pytest.raises(ParameterError, match=message):
        method.fit(LINE, SETS)
