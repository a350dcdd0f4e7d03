"""What is said about a model without true labels, and with a few."""

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import recall_score
from statsmodels.stats.proportion import proportion_confint

from disambig import CandidateLabels
from disambig.tabular.accuracy import (
    Accuracy,
    class_recalls,
    known_accuracy,
    recall_lines,
    share_interval,
)
from disambig.tabular.estimate import Estimate, NeverPredicted, estimate_quality

SETS = CandidateLabels.from_sets([["a", "b"], ["b"], ["a", "c"], ["c"]])
PROBABILITIES = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])


def test_the_estimate_worked_out_by_hand():
    estimate = estimate_quality(SETS, PROBABILITIES, n_folds=2)
    assert estimate.covering_rate == 0.75  # the third row's b is outside its set
    assert estimate.blind_covering_rate == pytest.approx((2 + 1 + 2 + 1) / 4 / 3)
    # Of the candidates' probability: .5 of .75, all of .8, nothing, all of .4.
    assert estimate.approximated_accuracy == pytest.approx((0.5 / 0.75 + 1 + 0 + 1) / 4)
    assert (estimate.n_rows, estimate.n_folds, estimate.accuracy) == (4, 2, None)


def test_the_accuracy_counts_only_rows_whose_true_label_is_known():
    truth = np.array(["a", None, "c", None], dtype=object)
    accuracy = estimate_quality(SETS, PROBABILITIES, n_folds=2, truth=truth).accuracy
    assert (accuracy.share, accuracy.n_rows) == (0.5, 2)


@pytest.mark.parametrize(("right", "n_rows"), [(0, 5), (5, 5), (37, 50), (1, 1)])
def test_the_interval_is_the_one_of_another_library(right, n_rows):
    truth = np.array(["a"] * n_rows, dtype=object)
    predicted = np.array(["a"] * right + ["b"] * (n_rows - right), dtype=object)
    accuracy = known_accuracy(truth, predicted)
    assert (accuracy.low, accuracy.high) == pytest.approx(
        proportion_confint(right, n_rows, method="wilson"), abs=1e-12
    )
    assert 0 <= accuracy.low <= accuracy.share <= accuracy.high <= 1


def test_the_interval_holds_for_groups_whose_rows_are_right_together():
    rng = np.random.default_rng(0)
    held, n_trials = {"rows": 0, "groups": 0}, 300
    groups = np.repeat(np.arange(40), rng.integers(2, 12, size=40))
    for _ in range(n_trials):
        # Right in 60 % of the rows, and in a group nearly always or seldom.
        skill = rng.choice([0.95, 0.25], size=40, p=[0.5, 0.5])
        right = rng.random(len(groups)) < skill[groups]
        for name, known in (("rows", None), ("groups", groups)):
            low, high = share_interval(right, known)
            held[name] += low <= 0.6 <= high
    assert held["rows"] < 0.8 * n_trials
    assert 0.9 * n_trials < held["groups"] < 0.99 * n_trials


def test_the_interval_of_groups_of_one_row_is_nearly_that_of_rows():
    right = np.arange(50) < 37
    single = share_interval(right, np.arange(50))
    np.testing.assert_allclose(single, share_interval(right), atol=0.01)


@pytest.mark.parametrize("right", [True, False])
def test_rows_that_are_all_alike_count_as_their_groups(right):
    groups = np.repeat([0, 1, 2], 20)
    expected = proportion_confint(3 * right, 3, method="wilson")
    assert share_interval(np.full(60, right), groups) == pytest.approx(expected, abs=1e-12)
    # Nothing tells how different groups would be if there is one.
    one = share_interval(np.arange(60) < 30, np.zeros(60, dtype=int))
    assert one == pytest.approx(proportion_confint(0.5, 1, method="wilson"), abs=1e-12)


def test_without_any_known_label_there_is_no_accuracy():
    assert known_accuracy(np.array([None, None], dtype=object), np.array(["a", "b"])) is None


def test_true_labels_change_accuracy_and_recall_and_nothing_else():
    truth = np.array(["b", "b", "b", "b"], dtype=object)
    with_truth = estimate_quality(SETS, PROBABILITIES, n_folds=2, truth=truth)
    without = estimate_quality(SETS, PROBABILITIES, n_folds=2)
    judged = {"accuracy", "recalls"}
    assert with_truth.model_dump(exclude=judged) == without.model_dump(exclude=judged)


def test_the_text_names_every_number():
    truth = np.array(["a", None, None, None], dtype=object)
    text = str(estimate_quality(SETS, PROBABILITIES, n_folds=3, truth=truth))
    for part in ("4 rows, 3 folds", "0.750", "guessing    0.500", "0.667", "1.000", "1 true"):
        assert part in text


@pytest.mark.parametrize(
    "damage", [{"covering_rate": 1.5}, {"n_rows": 0}, {"covering_rate": "0.5"}, {"other": 1}]
)
def test_an_estimate_from_a_damaged_file_is_refused(damage):
    good = estimate_quality(SETS, PROBABILITIES, n_folds=2).model_dump()
    assert Estimate.model_validate(good)
    with pytest.raises(ValidationError):
        Estimate.model_validate(good | damage)


def test_an_accuracy_outside_its_interval_is_refused():
    with pytest.raises(ValidationError, match="inside its interval"):
        Accuracy(share=0.9, low=0.1, high=0.5, n_rows=3)


def test_the_recall_of_every_label_is_that_of_scikit_learn_the_worst_first():
    rng = np.random.default_rng(0)
    truth = rng.choice(["ant", "bee", "cat", "dog"], p=[0.5, 0.3, 0.15, 0.05], size=200)
    predicted = np.where(rng.random(200) < 0.6, truth, rng.choice(["ant", "bee", "cat"], size=200))
    known = truth.astype(object)
    known[::3] = None
    recalls = class_recalls(known, predicted)
    there = known != None  # noqa: E711  # of every element
    labels = [each.label for each in recalls]
    expected = recall_score(truth[there], predicted[there], labels=labels, average=None)
    assert [each.recall for each in recalls] == pytest.approx(expected)
    assert [each.n_rows for each in recalls] == [(truth[there] == label).sum() for label in labels]
    assert sorted(labels) == ["ant", "bee", "cat", "dog"]
    assert list(expected) == sorted(expected)


def test_labels_that_are_never_predicted_are_named_with_or_without_truth():
    # c is one of six candidates; d is a class, and nobody's candidate.
    sets = CandidateLabels.from_sets([["a", "b"], ["b"], ["a", "c"], ["a"]], classes=list("abcd"))
    probabilities = np.array([[0.6, 0.4, 0, 0], [0, 1, 0, 0], [0.7, 0, 0.3, 0], [1, 0, 0, 0]])
    estimate = estimate_quality(sets, probabilities, n_folds=2)
    assert estimate.never_predicted == NeverPredicted(labels=("c",), share=1 / 6)
    assert estimate.recalls == ()
    assert str(estimate).endswith("Never predicted: c. It makes up 17 % of the candidate labels.")
    truth = np.array(["b", "b", "c", None], dtype=object)
    text = str(estimate_quality(sets, probabilities, n_folds=2, truth=truth))
    assert "  recall of each label   0.000  c, 1 true label\n" in text
    assert "                         0.500  b, 2 true labels\n" in text
    everything = estimate_quality(SETS, PROBABILITIES, n_folds=2)
    assert everything.never_predicted is None
    assert "Never" not in str(everything)


def test_of_many_labels_the_worst_are_shown():
    truth = np.repeat([f"label {number:02}" for number in range(12)], 20).astype(object)
    predicted = truth.copy()
    for number in range(12):
        predicted[20 * number : 21 * number] = "something else"
    lines = recall_lines(class_recalls(truth, predicted), indent=25)
    assert len(lines) == 5
    assert lines[0] == "  recall, the worst      0.450  label 11, 20 true labels"
    assert lines[-1].split() == ["0.650", "label", "07,", "20", "true", "labels"]
    rare = NeverPredicted(labels=tuple("abcdefgh"), share=0.004)
    assert str(rare).endswith("They make up less than 1 % of the candidate labels.")
