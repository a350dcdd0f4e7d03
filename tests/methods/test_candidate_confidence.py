import numpy as np
import pytest

from disambig import CandidateLabels
from disambig.methods.base import (
    confidence_from_logits,
    confidence_from_pairs,
    confidence_from_scores,
    relative_weights,
)

SETS = CandidateLabels.from_sets([["a", "c"], ["b"], ["a", "b", "c"]])


def test_logits_become_a_softmax_over_the_candidates():
    logits = np.log([[1.0, 8.0, 3.0], [5.0, 1.0, 5.0], [1.0, 1.0, 2.0]])
    expected = [[0.25, 0, 0.75], [0, 1, 0], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(confidence_from_logits(SETS, logits).toarray(), expected)


@pytest.mark.parametrize("shift", [-1e5, 0, 1e5])
def test_logits_far_from_those_of_other_classes_keep_their_differences(shift):
    # Next to that of b, the probabilities of a and c would be zero.
    logits = np.array([[0.0, 5000.0, np.log(3)]]) + shift
    confidence = confidence_from_logits(SETS[:1], logits)
    np.testing.assert_allclose(confidence.toarray(), [[0.25, 0, 0.75]], rtol=1e-9)


def test_scores_of_a_set_that_are_all_zero_leave_the_prior():
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1, "b": 1}])
    confidence = confidence_from_scores(weighted, np.array([[0.0, 0.0], [1.0, 4.0]]))
    np.testing.assert_allclose(confidence.toarray(), [[0.75, 0.25], [0.2, 0.8]])


def test_relative_weights_are_measured_by_the_largest_of_the_row():
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"b": 5}])
    np.testing.assert_allclose(relative_weights(weighted), [1, 1 / 3, 1])
    assert (relative_weights(SETS) == 1).all()


def test_confidences_of_pairs_are_put_at_their_row_and_class():
    confidence = confidence_from_pairs(SETS, np.array([0.1, 0.9, 1.0, 0.2, 0.3, 0.5]))
    np.testing.assert_array_equal(confidence.toarray(), [[0.1, 0, 0.9], [0, 1, 0], [0.2, 0.3, 0.5]])
