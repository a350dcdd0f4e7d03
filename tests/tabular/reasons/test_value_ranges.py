"""Where values lie among those of each label, and which tell labels apart."""

import math

import numpy as np
import pytest

from disambig.tabular.reasons.reasons import Reasons
from tabular.reasons.hand_made_tables import table_of

CAT, DOG = {"cat": 1.0}, {"dog": 1.0}
EITHER = {"cat": 0.6, "dog": 0.4}


def test_a_value_and_the_ranges_of_labels_are_places_among_all_rows():
    generator = np.random.default_rng(0)
    sizes = np.exp(3 * generator.normal(size=101))  # a tail that a linear axis would not bear
    shares = [EITHER, *[CAT] * 60, *[DOG] * 40]
    (found,) = Reasons(table_of(shares, {"size": sizes})).ranges(0)
    assert found.at == pytest.approx(((sizes < sizes[0]).sum() + 0.5) / 101, abs=1e-6)
    for label, (one, rows) in zip(
        found.labels, ((0, slice(1, 61)), (1, slice(61, 101))), strict=True
    ):
        places = [((sizes < size).sum() + 0.5) / 101 for size in sizes[rows]]
        expected = np.quantile(places, [0.05, 0.25, 0.5, 0.75, 0.95])
        ends = (label.low, label.quarter, label.middle, label.three_quarters, label.high)
        assert label.label == one
        assert ends == pytest.approx(expected, abs=1e-6)
        assert label.rows == len(places)


def test_gaps_are_left_out_of_ranges_and_have_no_place():
    sizes = [None, 1, 2, None, 7, 8]
    (found,) = Reasons(table_of([EITHER, CAT, CAT, CAT, DOG, DOG], {"size": sizes})).ranges(0)
    assert found.at is None
    assert [label.rows for label in found.labels] == [2, 2]
    assert all(math.isfinite(label.middle) for label in found.labels)


def test_a_label_without_any_value_has_no_range():
    sizes = [3, 1, 2, None, None]
    (found,) = Reasons(table_of([EITHER, CAT, CAT, DOG, DOG], {"size": sizes})).ranges(0)
    assert [label.label for label in found.labels] == [0]


def test_the_row_itself_is_no_evidence_about_itself():
    shares = [{"cat": 1.0, "dog": 0.0}, *[CAT] * 3, *[DOG] * 3]
    values = {"size": range(7), "colour": ["red", "red", "blue", "blue", "red", "blue", "blue"]}
    reasons = Reasons(table_of(shares, values, marked=[False] * 7))
    assert [label.rows for label in reasons.ranges(0)[0].labels] == [3, 3]
    assert [label.share for label in reasons.shares(0)[0].labels] == pytest.approx([1 / 3, 1 / 3])


def test_values_where_labels_differ_are_the_most_telling():
    generator = np.random.default_rng(0)
    kinds = np.arange(200) % 2
    values = {
        "noise": generator.normal(size=200),
        "some": kinds + generator.normal(size=200),
        "clear": 9 * kinds + generator.normal(size=200),
    }
    shares = [[CAT, DOG][kind] for kind in kinds]
    shares[0] = EITHER
    found = Reasons(table_of(shares, values)).ranges(0)
    telling = {one.column: one.telling for one in found}
    assert found[0].column == "clear"
    assert telling["clear"] > 0.6
    assert telling["noise"] < 0.1
    assert [one.telling for one in found] == sorted(telling.values(), reverse=True)


def test_telling_is_the_entropy_that_a_value_takes_away():
    # 40 of 40 cats and 10 of 40 dogs are red; the row is.
    colours = ["red", *["red"] * 40, *["red"] * 10, *["blue"] * 30]
    shares = [EITHER, *[CAT] * 40, *[DOG] * 40]
    (found,) = Reasons(table_of(shares, {"colour": colours})).shares(0)
    pooled = (1 + 0.25) / 2
    cat, dog = ((share * 40 + pooled * 10) / 50 for share in (1, 0.25))
    one, other = cat / (cat + dog), dog / (cat + dog)
    entropy = -(one * math.log2(one) + other * math.log2(other))
    assert found.telling == pytest.approx(1 - entropy)
    assert [(label.share, label.rows) for label in found.labels] == [(1, 40), (0.25, 40)]


def test_few_rows_tell_little():
    one = Reasons(table_of([EITHER, CAT, DOG], {"colour": ["red", "red", "blue"]}))
    colours = ["red", *["red"] * 40, *["blue"] * 40]
    forty = Reasons(table_of([EITHER, *[CAT] * 40, *[DOG] * 40], {"colour": colours}))
    assert 0 < one.shares(0)[0].telling < forty.shares(0)[0].telling / 5


def test_a_gap_among_categories_is_a_value():
    colours = ["", "", "", "blue", "blue"]
    (found,) = Reasons(table_of([EITHER, CAT, CAT, DOG, DOG], {"colour": colours})).shares(0)
    assert [label.share for label in found.labels] == [1, 0]


def test_with_one_candidate_nothing_is_told_apart():
    found = Reasons(table_of([CAT, CAT, DOG], {"size": [1, 2, 3]})).ranges(0)
    assert [one.telling for one in found] == [0]


def test_the_candidates_of_a_row_whose_truth_is_known_come_as_the_model_saw_them():
    shares = [{"cat": 0.0, "dog": 1.0, "fox": 0.0}, CAT, DOG, {"fox": 1.0}]
    table = table_of(
        shares,
        {"size": [1, 2, 3, 4]},
        marked=[False] * 4,
        unaided_confidences={0: {"cat": 0.2, "dog": 0.3, "fox": 0.5}},
    )
    names = table.candidates.classes[Reasons(table).labels(0)].tolist()
    assert names == ["fox", "dog", "cat"]


def test_the_order_of_labels_does_not_say_which_is_likeliest():
    values = {"size": [2, 1, 3, 7, 9], "colour": ["red", "red", "blue", "blue", "red"]}
    reasons = Reasons(table_of([{"cat": 0.1, "dog": 0.9}, CAT, CAT, DOG, DOG], values))
    assert [label.label for label in reasons.ranges(0)[0].labels] == [0, 1]
    assert [label.label for label in reasons.shares(0)[0].labels] == [0, 1]
