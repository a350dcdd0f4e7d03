"""Metrics agree with hand-worked values and with scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss, recall_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from candidates.strategies import candidate_labels
from disambig import PLKNN, CandidateLabels
from disambig._core.errors import CandidateError, ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.metrics import (
    METRICS,
    Outcome,
    accuracy,
    approximated_accuracy,
    approximated_accuracy_scorer,
    brier_score,
    covering_rate,
    covering_rate_scorer,
    expected_calibration_error,
    per_class_recall,
    set_log_likelihood,
    set_log_likelihood_scorer,
    transductive_accuracy,
)
from disambig.metrics.registry import direction, metric_title

CLASSES = ["a", "b", "c"]


@st.composite
def predictions(draw):
    n = draw(st.integers(1, 12))
    weights = [draw(st.lists(st.floats(0.01, 1), min_size=3, max_size=3)) for _ in range(n)]
    matrix = np.array(weights) / np.sum(weights, axis=1, keepdims=True)
    truth = draw(st.lists(st.sampled_from(CLASSES), min_size=n, max_size=n))
    return truth, matrix


@given(predictions())
def test_brier_score_is_the_distance_to_one_hot_rows(case):
    truth, matrix = case
    one_hot = np.array([[name == label for name in CLASSES] for label in truth], dtype=float)
    expected = ((matrix - one_hot) ** 2).sum(axis=1).mean()
    assert brier_score(truth, matrix, CLASSES) == pytest.approx(expected)


def test_brier_score_is_zero_when_sure_and_right_and_two_when_sure_and_wrong():
    assert brier_score(["a"], [[1, 0, 0]], CLASSES) == 0
    assert brier_score(["b"], [[1, 0, 0]], CLASSES) == 2


@given(predictions(), st.integers(1, 20))
def test_calibration_error_agrees_with_a_loop_over_bins(case, n_bins):
    truth, matrix = case
    confidence = matrix.max(axis=1)
    correct = np.array(CLASSES)[matrix.argmax(axis=1)] == truth
    total = 0.0
    for number in range(n_bins):
        inside = (confidence > number / n_bins) & (confidence <= (number + 1) / n_bins)
        if inside.any():
            gap = abs(correct[inside].mean() - confidence[inside].mean())
            total += inside.sum() * gap
    found = expected_calibration_error(truth, matrix, CLASSES, n_bins=n_bins)
    assert found == pytest.approx(total / len(matrix))


def test_calibration_error_by_hand():
    matrix = [[0.75, 0.25, 0], [0.7, 0.2, 0.1], [0.1, 0.0, 0.9]]
    # Two bins: all three are above 0.5; two of three are right.
    found = expected_calibration_error(["a", "b", "c"], matrix, CLASSES, n_bins=2)
    assert found == pytest.approx(abs(2 - (0.75 + 0.7 + 0.9)) / 3)


@pytest.mark.parametrize("metric", [brier_score, expected_calibration_error])
def test_calibration_refuses_what_does_not_fit(metric):
    with pytest.raises(ParameterError, match="Got 2 true labels, 1 probabilities"):
        metric(["a", "b"], [[1, 0, 0]], CLASSES)
    with pytest.raises(CandidateError, match="one of the 3 classes. Got 'z'"):
        metric(["z"], [[1, 0, 0]], CLASSES)
    with pytest.raises(ParameterError, match="sum to one"):
        metric(["a"], [[np.nan, 0, 1]], CLASSES)


def test_calibration_needs_a_bin():
    with pytest.raises(ParameterError, match="'n_bins' must be an integer >= 1"):
        expected_calibration_error(["a"], [[1, 0, 0]], CLASSES, n_bins=0)


@pytest.fixture
def pets():
    return CandidateLabels.from_strings(["cat|dog", "dog", "bird|cat"])


def test_covering_rate_counts_a_row_of_weight_two_twice(pets):
    predicted = ["dog", "cat", "cow"]
    twice = covering_rate(pets[[0, 1, 1, 2]], ["dog", "cat", "cat", "cow"])
    assert covering_rate(pets, predicted, sample_weight=[1, 2, 1]) == pytest.approx(twice)
    with pytest.raises(ParameterError, match="3 predictions, 2 weights"):
        covering_rate(pets, predicted, sample_weight=[1, 2])
    for wrong in ([1, -1, 1], [0, 0, 0], [np.nan, 1, 1], [np.inf, 1, 1]):
        with pytest.raises(ParameterError, match="'sample_weight' must hold"):
            covering_rate(pets, predicted, sample_weight=wrong)


def test_covering_rate_counts_predictions_inside_the_sets(pets):
    assert covering_rate(pets, ["dog", "cat", "cow"]) == pytest.approx(1 / 3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_covering_rate_on_plain_labels_is_accuracy(rows):
    truth, predicted = zip(*rows, strict=True)
    singletons = CandidateLabels.from_labels(truth)
    assert covering_rate(singletons, predicted) == pytest.approx(accuracy(truth, predicted))


def test_approximated_accuracy_by_hand(pets):
    probabilities = [
        [0.2, 0.6, 0.2],  # cat, inside: 0.6 / 0.8
        [0.1, 0.8, 0.1],  # cat, outside: 0
        [0.5, 0.3, 0.2],  # bird, inside: 0.5 / 0.8
    ]
    expected = (0.75 + 0 + 0.625) / 3
    assert approximated_accuracy(pets, probabilities) == pytest.approx(expected)


@given(candidate_labels(weighted=False), st.randoms(use_true_random=False))
def test_approximated_accuracy_agrees_with_a_loop(candidates, random):
    matrix = np.array(
        [[random.random() + 0.01 for _ in candidates.classes] for _ in range(len(candidates))]
    )
    matrix /= matrix.sum(axis=1, keepdims=True)
    total = 0.0
    for row, members in zip(matrix, candidates.to_mask(), strict=True):
        best = row.argmax()
        total += row[best] / row[members].sum() if members[best] else 0.0
    assert approximated_accuracy(candidates, matrix) == pytest.approx(total / len(matrix))


@given(candidate_labels(weighted=False), st.randoms(use_true_random=False))
def test_set_log_likelihood_agrees_with_a_loop(candidates, random):
    matrix = np.array(
        [[random.random() + 0.01 for _ in candidates.classes] for _ in range(len(candidates))]
    )
    matrix /= matrix.sum(axis=1, keepdims=True)
    masks = candidates.to_mask()
    expected = np.mean([np.log(row[m].sum()) for row, m in zip(matrix, masks, strict=True)])
    assert set_log_likelihood(candidates, matrix) == pytest.approx(expected)


@given(predictions())
def test_set_log_likelihood_on_plain_labels_is_minus_the_log_loss(case):
    truth, matrix = case
    expected = -log_loss(truth, matrix, labels=CLASSES)
    assert set_log_likelihood(truth, matrix, classes=CLASSES) == pytest.approx(expected)


def test_a_set_without_probability_counts_as_one_with_little(pets):
    found = set_log_likelihood(pets[:1], [[1.0, 0.0]], classes=["owl", "bird"])
    assert found == pytest.approx(np.log(np.finfo(float).eps))
    turned = set_log_likelihood(pets, np.eye(3)[:, ::-1], classes=["dog", "cat", "bird"])
    assert turned == pytest.approx(set_log_likelihood(pets, np.eye(3)))


def test_columns_may_be_in_another_order_or_for_other_classes(pets):
    matrix = np.array([[0.2, 0.6, 0.2], [0.1, 0.8, 0.1], [0.5, 0.3, 0.2]])
    expected = approximated_accuracy(pets, matrix)
    turned = approximated_accuracy(pets, matrix[:, ::-1], classes=["dog", "cat", "bird"])
    assert turned == pytest.approx(expected)
    # Nobody predicts bird: the set of row 2 holds the probability of cat alone.
    reduced = approximated_accuracy(
        pets, [[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], classes=["cat", "dog"]
    )
    assert reduced == pytest.approx((0.5 + 1 + 1) / 3)


def test_masks_and_plain_labels_are_candidate_sets_too():
    assert covering_rate(["a", "b"], ["a", "a"]) == 0.5
    assert covering_rate(np.array([[True, True], [False, True]]), [0, 0]) == 0.5
    assert approximated_accuracy(["a", "b"], [[0.9, 0.1], [0.8, 0.2]]) == 0.5


def test_the_columns_of_a_mask_can_be_named():
    mask = np.eye(2, dtype=bool)
    assert covering_rate(mask, ["a", "a"], classes=["a", "b"]) == 0.5
    assert approximated_accuracy(mask, np.eye(2), classes=["a", "b"]) == 1


def test_label_free_metrics_refuse_what_does_not_fit(pets):
    with pytest.raises(ParameterError, match="Got 3 candidate sets, 1 predictions"):
        covering_rate(pets, ["cat"])
    with pytest.raises(ParameterError, match="Got 3 candidate sets, 1 probabilities"):
        approximated_accuracy(pets, [[1, 0, 0]])
    with pytest.raises(ParameterError, match=r"each of the 3 classes. Got the shape \(3, 2\)"):
        approximated_accuracy(pets, np.full((3, 2), 0.5))
    with pytest.raises(ParameterError, match="They do not for 2 samples, first at row 0"):
        approximated_accuracy(pets, [[1, 1, 1], [1, 0, 0], [2, -1, 0]])


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(90, 3, 4, average_candidates=1.8, random_state=0)


def test_scorers_are_the_metrics_on_held_out_sets(data):
    method = PLKNN().fit(data.X[:60], data.candidates[:60])
    X, y = data.X[60:], data.candidates[60:]
    assert covering_rate_scorer(method, X, y) == covering_rate(y, method.predict(X))
    expected = approximated_accuracy(y, method.predict_proba(X))
    assert approximated_accuracy_scorer(method, X, y) == expected
    expected = set_log_likelihood(y, method.predict_proba(X))
    assert set_log_likelihood_scorer(method, X, y) == expected


def test_scorers_name_the_columns_of_a_mask_as_the_method_does(data):
    names = ["wolf", "cat", "dog", "cow"]
    sets = CandidateLabels.from_mask(data.candidates.to_mask(), names)
    method = PLKNN().fit(data.X, sets)
    for scorer in (covering_rate_scorer, approximated_accuracy_scorer):
        expected = scorer(method, data.X, sets)
        assert expected > 0.5
        assert scorer(method, data.X, sets.to_mask()) == expected
        assert scorer(method, data.X, sets.to_sparse()) == expected


def test_scorers_take_plain_labels_the_method_never_saw(data):
    method = PLKNN().fit(data.X[:60], data.candidates[:60])
    labels = data.true_labels[60:].copy()
    labels[0] = 99
    assert 0 < approximated_accuracy_scorer(method, data.X[60:], labels) < 1


@pytest.mark.parametrize("scorer", [covering_rate_scorer, approximated_accuracy_scorer])
def test_scorers_choose_in_a_grid_search_without_true_labels(data, scorer):
    search = GridSearchCV(
        PLKNN(),
        {"n_neighbors": [1, 5, 60]},
        scoring=scorer,
        cv=KFold(3, shuffle=True, random_state=0),
    )
    search.fit(data.X, data.candidates)
    scores = cross_val_score(
        PLKNN(n_neighbors=5),
        data.X,
        data.candidates,
        scoring=scorer,
        cv=KFold(3, shuffle=True, random_state=0),
    )
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(scores.mean())
    assert search.best_params_["n_neighbors"] in (1, 5)


pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1)


@given(pairs)
def test_accuracy_agrees_with_scikit_learn(rows):
    truth, predicted = zip(*rows, strict=True)
    assert accuracy(truth, predicted) == pytest.approx(accuracy_score(truth, predicted))


@given(pairs)
def test_recall_agrees_with_scikit_learn(rows):
    truth, predicted = zip(*rows, strict=True)
    labels = sorted(set(truth))
    expected = recall_score(truth, predicted, labels=labels, average=None)
    assert per_class_recall(truth, predicted) == pytest.approx(
        dict(zip(labels, expected, strict=True))
    )


def test_accuracy_works_on_text():
    assert accuracy(["cat", "dog"], np.array(["cat", "cat"])) == 0.5


def test_transductive_accuracy_looks_inside_the_sets_only():
    candidates = CandidateLabels.from_sets([["a", "b"], ["b", "c"], ["c"]])
    confidence = np.array([[0.2, 0.8, 0.0], [0.9, 0.06, 0.04], [0.9, 0.1, 0.0]])
    assert transductive_accuracy(["a", "b", "c"], candidates, confidence) == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [accuracy, per_class_recall])
def test_metrics_refuse_what_does_not_fit(metric):
    with pytest.raises(ParameterError, match="Got 2 true labels, 1 predictions"):
        metric(["a", "b"], ["a"])
    with pytest.raises(ParameterError, match="Got 0 true labels, 0 predictions"):
        metric([], [])
    with pytest.raises(ParameterError, match="may not be missing. Got None in row 1"):
        metric(["a", None], ["a", "b"])


def test_every_metric_has_a_title_a_direction_and_a_value():
    sets = CandidateLabels.from_strings(["cat|dog", "dog|bird"])
    outcome = Outcome(
        true_labels=np.array(["cat", "dog"]),
        candidates=sets,
        predicted=np.array(["cat", "bird"]),
        probabilities=np.array([[0.0, 0.75, 0.25], [0.5, 0.0, 0.5]]),
        classes=sets.classes,
        train_labels=np.array(["cat", "bird"]),
        train_candidates=sets,
        disambiguated=np.array(["cat", "bird"]),
    )
    values = {name: metric.compute(outcome) for name, metric in METRICS.items()}
    assert values == pytest.approx(
        {
            "accuracy": 0.5,
            "transductive_accuracy": 1,
            "covering_rate": 1,
            "approximated_accuracy": (0.75 + 0.5) / 2,
            "brier_score": (2 * 0.25**2 + 2 * 0.5**2) / 2,
            "expected_calibration_error": (0.25 + 0.5) / 2,
        }
    )
    assert {name for name in METRICS if direction(name) < 0} == {
        "brier_score",
        "expected_calibration_error",
    }
    assert metric_title("brier_score") == "Brier score"
