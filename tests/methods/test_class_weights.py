"""From ``class_weight`` to one weight for every class."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.methods.class_weights import check_class_weight, class_shares, weights_of_classes


def test_balanced_is_that_of_scikit_learn_where_every_row_has_one_label():
    labels = np.array(["a", "b", "a", "a", "c", "b", "a"])
    rows = np.array([1.0, 2.0, 0.5, 0.0, 3.0, 1.0, 1.0])
    plain = CandidateLabels.from_labels(labels)
    for y, sample_weight in ((plain, None), (plain.with_row_weights(rows), rows)):
        expected = compute_class_weight(
            "balanced", classes=plain.classes, y=labels, sample_weight=sample_weight
        )
        np.testing.assert_allclose(weights_of_classes("balanced", y), expected)


def test_balanced_weighs_a_class_by_the_share_that_the_sets_imply():
    y = CandidateLabels.from_sets([["a", "b"], ["a"], ["a", "b"], ["a"]])
    np.testing.assert_allclose(class_shares(y), [0.75, 0.25])
    np.testing.assert_allclose(weights_of_classes("balanced", y), [2 / 3, 2])
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1}])
    np.testing.assert_allclose(class_shares(weighted), [0.875, 0.125])
    # Twice the first row is as good as its weight of two.
    np.testing.assert_allclose(
        class_shares(y.with_row_weights([2, 1, 1, 1])), class_shares(y[[0, 0, 1, 2, 3]])
    )


def test_a_class_that_no_set_has_weighs_one_and_does_not_count():
    y = CandidateLabels.from_labels(["a", "b", "b"], classes=["a", "b", "never"])
    np.testing.assert_allclose(weights_of_classes("balanced", y), [1.5, 0.75, 1])


def test_a_mapping_names_weights_by_label_and_the_others_weigh_one():
    y = CandidateLabels.from_strings(["cat|dog", "dog|fox"])
    assert weights_of_classes({"fox": 5}, y).tolist() == [1, 1, 5]
    assert weights_of_classes(None, y) is None
    everything = {"fox": 5, "cat": 2, "dog": 3, "owl": 9}
    assert weights_of_classes(everything, y).tolist() == [2, 3, 5]
    with pytest.raises(ParameterError, match="names 'fx', which is not a class"):
        weights_of_classes({"cat": 2, "fx": 5}, y)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("balance", "'balanced', a dict from labels to weights, or None. Got 'balance'"),
        ([1, 2], r"Got \[1, 2\]"),
        ({"cat": -1}, r"class_weight\['cat'\].* must be a number >= 0. Got -1"),
        ({"cat": float("nan")}, "Got nan"),
        ({"cat": 0, "dog": 0}, "above 0 for some label"),
    ],
)
def test_other_class_weights_are_refused(class_weight, message):
    with pytest.raises(ParameterError, match=message):
        check_class_weight(class_weight)


@pytest.mark.parametrize("class_weight", [None, "balanced", {}, {"cat": 2.5}, {0: 0, 1: 1}])
def test_class_weights_are_accepted(class_weight):
    check_class_weight(class_weight)
