import numpy as np
import pytest
from hypothesis import given
from scipy.stats import entropy

from candidates.strategies import candidate_labels
from disambig import CandidateLabels
from disambig.candidates.audit import label_information, may_have_any_label


def test_sets_of_one_label_tell_all():
    information = label_information(CandidateLabels.from_labels(["a", "b", "b", "c"]))
    assert information.known_share == 1
    assert information.equivalent_rows == 4
    assert information.blind_guess_share == 1


def test_sets_of_all_labels_tell_nothing():
    information = label_information(CandidateLabels.from_sets([["a", "b", "c"]] * 5))
    assert information.known_share == pytest.approx(0)
    assert information.known_share >= 0
    assert information.blind_guess_share == pytest.approx(1 / 3)


def test_where_there_is_one_label_nothing_is_left_to_tell():
    assert label_information(CandidateLabels.from_labels(["a", "a"])).known_share == 1


def test_no_rows_leave_nothing_open():
    information = label_information(CandidateLabels.from_labels(["a", "b"])[[]])
    assert (information.known_share, information.equivalent_rows) == (1, 0)


def test_two_of_four_labels_are_half_of_what_there_is_to_tell():
    information = label_information(CandidateLabels.from_sets([["a", "b"], ["c", "d"]]))
    assert information.known_share == pytest.approx(0.5)


def test_weights_tell_more_than_equal_shares():
    sets = [{"a": 9, "b": 1}, {"a": 1, "b": 9}]
    weighted = label_information(CandidateLabels.from_sets(sets))
    assert weighted.known_share == pytest.approx(1 - entropy([0.9, 0.1]) / np.log(2))
    assert weighted.blind_guess_share == pytest.approx(0.9)
    assert weighted.weighted


@given(candidate_labels())
def test_it_agrees_with_the_formula_row_by_row(candidates):
    prior = candidates.prior().toarray()
    possible = entropy(prior.mean(axis=0))
    expected = 1 - np.mean([entropy(row) for row in prior]) / possible if possible > 0 else 1
    information = label_information(candidates)
    assert information.known_share == pytest.approx(expected, abs=1e-9)
    assert information.blind_guess_share == pytest.approx(prior.max(axis=1).mean())


def test_many_rows_are_summed_block_by_block():
    rng = np.random.default_rng(0)
    mask = rng.random((100_000, 50)) < 0.8
    mask[:, 7] = True
    information = label_information(CandidateLabels.from_mask(mask))
    prior = mask / mask.sum(axis=1, keepdims=True)
    expected = 1 - np.log(mask.sum(axis=1)).mean() / entropy(prior.mean(axis=0))
    assert information.known_share == pytest.approx(expected)


def test_the_text_says_it_in_rows():
    sets = [["a"], ["b"], ["a", "b"], ["a", "b"]]
    assert str(label_information(CandidateLabels.from_sets(sets))) == (
        "These labels are worth about as much as 2 rows (50 %) with one certain label each.\n"
        "A blind guess inside the sets would be right for 75 % of the rows."
    )


def test_the_text_does_not_vouch_for_weights():
    text = str(label_information(CandidateLabels.from_sets([{"a": 3, "b": 1}, {"b": 1}])))
    assert "The label of highest weight would be right for 88 % of the rows, if" in text


def test_the_text_does_not_round_to_all_or_nothing():
    sets = [["a"], ["b"]] * 2000 + [["a", "b"]]
    assert "(over 99 %)" in str(label_information(CandidateLabels.from_sets(sets)))
    sets = [["a"], ["b"]] + [["a", "b"]] * 2000
    assert "(under 1 %)" in str(label_information(CandidateLabels.from_sets(sets)))


def test_rows_that_may_have_any_label_are_marked():
    sets = CandidateLabels.from_sets([["a", "b", "c"], ["a", "b"], ["c"]])
    assert may_have_any_label(sets, 3).tolist() == [True, False, False]
    weights = sets.to_mask() * [[1.0, 1, 1], [1, 1, 1], [1, 1, 1]]
    weights[0, 0] = 2
    weighted = CandidateLabels.from_mask(sets.to_mask(), sets.classes, weights=weights)
    assert may_have_any_label(weighted, 3).tolist() == [False, False, False]
