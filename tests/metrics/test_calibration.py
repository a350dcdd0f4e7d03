import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import CandidateError, ParameterError
from disambig.metrics import brier_score, expected_calibration_error

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
