import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.strategies import candidate_labels
from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.metrics import accuracy, approximated_accuracy, covering_rate


@pytest.fixture
def pets():
    return CandidateLabels.from_strings(["cat|dog", "dog", "bird|cat"])


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
    with pytest.raises(ParameterError, match="Not so for 2 samples, first at row 0"):
        approximated_accuracy(pets, [[1, 1, 1], [1, 0, 0], [2, -1, 0]])
