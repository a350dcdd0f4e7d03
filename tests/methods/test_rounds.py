"""One round of learning, worked by hand."""

import numpy as np
import pytest

from disambig import CandidateLabels
from disambig.methods.rounds import (
    next_confidences,
    pair_weights,
    share_of_easy_rows,
    soft_targets,
)

SETS = CandidateLabels.from_sets([["a", "b"], ["b", "c"], ["a", "b", "c"], ["c"]])
JUDGED = np.array([[0.6, 0.2, 0.2], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.9, 0.1, 0.0]])


def test_confidences_are_sharpened_judgements_inside_the_set():
    found = next_confidences(SETS, JUDGED, share=1, power=2)
    expected = [0.36 / 0.40, 0.04 / 0.40]  # a, b
    expected += [0.25 / 0.41, 0.16 / 0.41]  # b, c
    expected += [0.09 / 0.34, 0.09 / 0.34, 0.16 / 0.34]
    expected += [1]  # a single label, whatever was judged
    np.testing.assert_allclose(found, expected)


def test_prior_weights_of_candidates_count_beside_judgements():
    weighted = CandidateLabels.from_sets([{"a": 1, "b": 3}])
    found = next_confidences(weighted, np.array([[0.6, 0.4]]), share=1, power=1)
    np.testing.assert_allclose(found, [0.6 / 1.8, 1.2 / 1.8])


def test_a_power_of_zero_gives_the_prior():
    found = next_confidences(SETS, JUDGED, share=1, power=0)
    np.testing.assert_allclose(found, SETS.prior().data)


def test_only_the_easiest_rows_take_new_confidences():
    # Best candidates: 0.6, 0.5, 0.4 and, for the single label that nobody believes, 0.0001.
    all_new = next_confidences(SETS, JUDGED, share=1, power=1)
    half = next_confidences(SETS, JUDGED, share=0.5, power=1)
    np.testing.assert_allclose(half[:4], all_new[:4])
    np.testing.assert_allclose(half[4:7], [1 / 3] * 3)
    assert (half[:4] != 0.5).all()


def test_labels_that_nobody_has_met_are_unlikely_and_not_impossible():
    y = CandidateLabels.from_sets([["a", "b"], ["a", "b"]])
    found = next_confidences(y, np.array([[0.5, 0], [0, 0]]), share=1, power=1)
    np.testing.assert_allclose(found, [0.5 / 0.5001, 0.0001 / 0.5001, 0.5, 0.5])


@pytest.mark.parametrize(
    ("number", "ramp", "share"), [(0, 4, 0.25), (2, 4, 0.75), (3, 4, 1), (9, 4, 1), (0, 1, 1)]
)
def test_the_share_of_easy_rows_rises_to_all(number, ramp, share):
    assert share_of_easy_rows(number, ramp) == share


def test_a_clear_row_counts_more_than_an_open_one():
    confidences = np.array([0.9, 0.1, 0.5, 0.5, 0.2, 0.2, 0.6, 1])
    purity = [0.82, 0.82, 0.5, 0.5, 0.44, 0.44, 0.44, 1]
    np.testing.assert_allclose(pair_weights(SETS, confidences), confidences * purity)


def test_weights_of_rows_and_classes_multiply():
    confidences = SETS.prior().data
    plain = pair_weights(SETS, confidences)
    by_class = pair_weights(SETS, confidences, np.array([1.0, 2.0, 0.0]))
    _, columns = SETS.pairs()
    np.testing.assert_allclose(by_class, plain * np.array([1, 2, 0])[columns])
    by_row = pair_weights(SETS.with_row_weights([6, 2, 0, 0]), confidences)
    np.testing.assert_allclose(by_row, plain * [3, 3, 1, 1, 0, 0, 0, 0])


def test_targets_are_shares_of_a_row_and_its_weight_is_their_sum():
    rows, columns = np.array([0, 0, 2]), np.array([0, 2, 1])
    targets, of_rows = soft_targets(rows, columns, np.array([3.0, 1.0, 0.5]), (3, 3))
    np.testing.assert_allclose(targets, [[0.75, 0, 0.25], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(of_rows, [4, 0, 0.5])
