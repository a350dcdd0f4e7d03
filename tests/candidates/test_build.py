import math
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig import CandidateLabels
from disambig._core.errors import CandidateError

MISSING = [None, math.nan, np.nan, pd.NA, pd.NaT]

# Sets ---------------------------------------------------------------------------------------------


@given(st.lists(st.sets(st.integers(-5, 5), min_size=1), min_size=1))
def test_sets_of_any_collection_type_come_back(sets):
    for kind in (set, frozenset, list, tuple, np.array):
        rows = [kind(sorted(row)) if kind is np.array else kind(row) for row in sets]
        candidates = CandidateLabels.from_sets(rows)
        assert candidates.to_sets() == sets
        assert candidates.classes.tolist() == sorted(set().union(*sets))


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2],
        ["x", "y"],
        [1.5, 2.5],
        [False, True],
        [("a", 1), ("b", 2)],
        [date(2020, 1, 1), date(2021, 1, 1)],
    ],
)
def test_class_names_may_be_of_any_sortable_type(labels):
    candidates = CandidateLabels.from_sets([labels, labels[:1]])
    assert candidates.to_sets() == [set(labels), set(labels[:1])]
    assert candidates.classes.tolist() == labels


def test_a_label_named_twice_in_a_row_counts_once():
    assert CandidateLabels.from_sets([["a", "a", "b"]]).sizes.tolist() == [2]


def test_given_classes_keep_their_order_and_may_be_unused():
    candidates = CandidateLabels.from_sets([["high"]], classes=["low", "mid", "high"])
    assert candidates.classes.tolist() == ["low", "mid", "high"]
    assert candidates.to_mask().tolist() == [[False, False, True]]


def test_rows_that_map_labels_to_numbers_carry_weights():
    candidates = CandidateLabels.from_sets([{"cat": 0.7, "dog": 0.3}, {"dog": 1}])
    assert candidates.weights.toarray().tolist() == [[0.7, 0.3], [0, 1]]


def test_weights_are_for_every_row_or_for_none():
    with pytest.raises(CandidateError, match="row 1 does not. Write it as"):
        CandidateLabels.from_sets([{"cat": 1}, ["dog"]])


@pytest.mark.parametrize("weight", ["much", [1], 1j, None])
def test_a_weight_that_is_no_number_is_refused_with_its_row(weight):
    with pytest.raises(CandidateError, match="Every weight must be a number. Row 1 is {'cat': "):
        CandidateLabels.from_sets([{"cat": 1}, {"cat": weight}])


def test_an_empty_set_is_refused_with_its_row():
    with pytest.raises(CandidateError, match="Got none for 2 samples, first at row 1"):
        CandidateLabels.from_sets([["a"], [], ()])


@pytest.mark.parametrize("row", ["cat", b"cat", 3])
def test_a_row_that_is_no_collection_is_refused(row):
    with pytest.raises(CandidateError, match="Row 1 is .*from_labels for plain labels"):
        CandidateLabels.from_sets([["a"], row])


def test_a_label_that_is_not_hashable_is_refused():
    with pytest.raises(CandidateError, match=r"must be hashable.* Row 0 is \[\[1\]\]"):
        CandidateLabels.from_sets([[[1]]])


@pytest.mark.parametrize("missing", MISSING)
def test_a_missing_label_is_refused_with_its_row(missing):
    with pytest.raises(CandidateError, match="may not be missing.* in row 1"):
        CandidateLabels.from_sets([["a"], ["a", missing]])


def test_an_unknown_label_is_refused_with_its_row():
    with pytest.raises(CandidateError, match="one of the 1 classes. Got 'b' in row 1. Add it"):
        CandidateLabels.from_sets([["a"], ["a", "b"]], classes=["a"])


def test_several_unknown_labels_are_counted():
    with pytest.raises(CandidateError, match="Got 'b' in row 0, and 2 more unknown labels"):
        CandidateLabels.from_sets([["b", "c"], ["d", "b"]], classes=["a"])


def test_labels_that_cannot_be_sorted_are_refused():
    with pytest.raises(CandidateError, match="Got the types int, str"):
        CandidateLabels.from_sets([["a", 1]])


def test_labels_that_cannot_be_sorted_pass_with_classes_in_order():
    candidates = CandidateLabels.from_sets([["a", 1]], classes=[1, "a"])
    assert candidates.classes.tolist() == [1, "a"]


def test_no_rows_and_no_classes_are_refused():
    with pytest.raises(CandidateError, match="At least one class is needed"):
        CandidateLabels.from_sets([])


def test_classes_may_be_named_once():
    with pytest.raises(CandidateError, match="Got 'a' more than once"):
        CandidateLabels.from_sets([["a"]], classes=["a", "b", "a"])


def test_a_missing_class_name_is_refused():
    with pytest.raises(CandidateError, match="may not be missing"):
        CandidateLabels.from_sets([["a"]], classes=["a", None])


@pytest.mark.parametrize(
    "labels",
    [[-1, 2**63], [1, 2**63 + 1], ["a", "a\0"], np.array(["2020-01-01", "2021-01-01"], "M8[ns]")],
)
def test_labels_that_arrays_would_change_stay_as_they_are(labels):
    candidates = CandidateLabels.from_labels(labels)
    assert candidates.to_sets() == [{label} for label in labels]
    assert candidates.classes.tolist() == list(labels)
    assert {type(name) for name in candidates.classes} == {type(label) for label in labels}


@pytest.mark.parametrize("bad", [[["cat", "dog"], ["dog"]], [{"cat"}], np.array([[1, 2], [2, 1]])])
def test_collections_are_no_plain_labels(bad):
    with pytest.raises(CandidateError, match="Got .* at position 0. .* use from_sets"):
        CandidateLabels.from_labels(bad)


@pytest.mark.parametrize("table", [pd.DataFrame({"label": ["a", "b"]}), np.array(5)])
def test_one_column_of_labels_is_needed(table):
    with pytest.raises(CandidateError, match="One column of labels is needed. Got a "):
        CandidateLabels.from_labels(table)
    with pytest.raises(CandidateError, match="One column of labels is needed. Got a "):
        CandidateLabels.from_strings(table)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CandidateLabels.from_annotations([[1]], ["ann"], ["a"]),
        lambda: CandidateLabels.from_annotations([1], [["ann"]], ["a"]),
        lambda: CandidateLabels.from_annotations([1], ["ann"], [["a"]]),
        lambda: CandidateLabels.from_taxonomy([[["felid"]]], ANIMALS),
        lambda: CandidateLabels.from_labels(["a"], classes=[["a"]]),
        lambda: CandidateLabels.from_labels(["a"]).contains([["a"]]),
    ],
)
def test_what_cannot_be_a_label_is_refused_everywhere(make):
    with pytest.raises(CandidateError, match="A label must be a string, a number or a tuple"):
        make()


def test_whole_numbers_too_large_for_numpy_are_class_names():
    assert CandidateLabels.from_labels([2**70, 1]).to_sets() == [{2**70}, {1}]


# Strings ------------------------------------------------------------------------------------------


def test_strings_are_split_and_trimmed():
    candidates = CandidateLabels.from_strings([" cat | dog", "dog"])
    assert candidates.to_sets() == [{"cat", "dog"}, {"dog"}]


def test_blank_pieces_are_skipped():
    assert CandidateLabels.from_strings(["cat||dog|", "|dog"]).to_sets() == [
        {"cat", "dog"},
        {"dog"},
    ]


def test_a_pandas_column_is_read():
    column = pd.Series(["a;b", "b"], index=[10, 20])
    assert CandidateLabels.from_strings(column, separator=";").to_sets() == [{"a", "b"}, {"b"}]


def test_a_blank_text_is_an_empty_set():
    with pytest.raises(CandidateError, match="Got none for 1 sample, at row 1"):
        CandidateLabels.from_strings(["a", " | "])


@pytest.mark.parametrize("bad", [*MISSING, 3])
def test_what_is_no_text_is_refused_with_its_row(bad):
    with pytest.raises(CandidateError, match=r"a string such as 'cat\|dog'. Row 1 is"):
        CandidateLabels.from_strings(["a", bad])


def test_one_text_alone_is_refused():
    with pytest.raises(CandidateError, match=r"Got the string 'cat\|dog'"):
        CandidateLabels.from_strings("cat|dog")


@pytest.mark.parametrize("separator", ["", None])
def test_a_separator_is_needed(separator):
    with pytest.raises(CandidateError, match="separator must be a string"):
        CandidateLabels.from_strings(["a"], separator=separator)


# Plain labels -------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=3), min_size=1))
def test_plain_labels_are_sets_of_one(labels):
    candidates = CandidateLabels.from_labels(labels)
    assert candidates.to_sets() == [{label} for label in labels]
    assert candidates.classes.tolist() == sorted(set(labels))


@pytest.mark.parametrize("missing", MISSING)
def test_a_missing_plain_label_is_refused(missing):
    with pytest.raises(CandidateError, match="in row 1"):
        CandidateLabels.from_labels(["a", missing])


def test_an_unknown_plain_label_is_refused():
    with pytest.raises(CandidateError, match="Got 3 in row 1"):
        CandidateLabels.from_labels([1, 3], classes=[1, 2])


# Exclusions ---------------------------------------------------------------------------------------


def test_not_three_means_all_the_others():
    candidates = CandidateLabels.from_excluded([3, [0, 1], []], classes=range(4))
    assert candidates.to_sets() == [{0, 1, 2}, {2, 3}, {0, 1, 2, 3}]


def test_a_text_is_one_excluded_label():
    candidates = CandidateLabels.from_excluded(["cat"], classes=["cat", "dog"])
    assert candidates.to_sets() == [{"dog"}]


def test_excluding_everything_is_refused_with_its_row():
    with pytest.raises(CandidateError, match="Got none for 1 sample, at row 1"):
        CandidateLabels.from_excluded([[0], [0, 1]], classes=[0, 1])


def test_excluding_an_unknown_label_is_refused():
    with pytest.raises(CandidateError, match="Got 'cow' in row 0"):
        CandidateLabels.from_excluded(["cow"], classes=["cat", "dog"])


# Annotations --------------------------------------------------------------------------------------

ITEMS = ["b", "b", "b", "a", "a", "b"]
ANNOTATORS = ["ann", "bob", "eve", "ann", "bob", "ann"]
LABELS = ["cat", "dog", "cat", "dog", "dog", "cat"]


def test_annotations_are_joined_by_item_with_votes_as_weights():
    candidates = CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS)
    assert candidates.to_sets() == [{"cat", "dog"}, {"dog"}]
    # ann says cat twice about b: that is one vote.
    assert candidates.weights.toarray().tolist() == [[2, 1], [0, 2]]


def test_rows_follow_the_order_asked_for():
    candidates = CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS, order=["a", "b"])
    assert candidates.to_sets() == [{"dog"}, {"cat", "dog"}]


def test_a_label_needs_enough_votes():
    candidates = CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS, min_votes=2)
    assert candidates.to_sets() == [{"cat"}, {"dog"}]


def test_an_item_without_enough_votes_is_named():
    with pytest.raises(
        CandidateError, match="at least 3 votes. 2 items have none, the first is 'b'"
    ):
        CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS, min_votes=3)


def test_an_item_without_annotations_is_named():
    with pytest.raises(CandidateError, match="the first is 'c'"):
        CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS, order=["a", "b", "c"])


def test_an_annotated_item_outside_the_order_is_named():
    with pytest.raises(CandidateError, match="Item 'b' is not"):
        CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS, order=["a"])


def test_an_order_that_repeats_an_item_is_refused():
    with pytest.raises(CandidateError, match="'order' names every item once. Got 'a' more"):
        CandidateLabels.from_annotations(ITEMS, ANNOTATORS, LABELS, order=["a", "b", "a"])


def test_the_three_columns_need_one_length():
    with pytest.raises(CandidateError, match="Got lengths 2, 1 and 2"):
        CandidateLabels.from_annotations([1, 2], ["ann"], ["a", "b"])


def test_annotations_refuse_missing_labels_and_bad_thresholds():
    with pytest.raises(CandidateError, match="in row 1"):
        CandidateLabels.from_annotations([1, 2], ["ann", "ann"], ["a", None])
    with pytest.raises(ValueError, match="'min_votes' must be an integer >= 1"):
        CandidateLabels.from_annotations([1], ["ann"], ["a"], min_votes=0)


@pytest.mark.parametrize("missing", MISSING)
def test_annotations_need_items_and_annotators(missing):
    with pytest.raises(CandidateError, match="Row 1 has no item"):
        CandidateLabels.from_annotations([1, missing], ["ann", "bob"], ["a", "b"])
    with pytest.raises(CandidateError, match="Row 0 has no annotator"):
        CandidateLabels.from_annotations([1, 2], [missing, "bob"], ["a", "b"])


def test_annotations_may_name_all_classes():
    candidates = CandidateLabels.from_annotations([1], ["ann"], ["b"], classes=["a", "b"])
    assert candidates.classes.tolist() == ["a", "b"]
    with pytest.raises(CandidateError, match="Got 'z' in row 0"):
        CandidateLabels.from_annotations([1], ["ann"], ["z"], classes=["a", "b"])


# Taxonomies ---------------------------------------------------------------------------------------

ANIMALS = {"animal": ["felid", "canid"], "felid": ["cat", "lion"], "canid": ["dog", "wolf"]}


def test_an_inner_node_means_its_leaves():
    candidates = CandidateLabels.from_taxonomy(["felid", "dog", "animal"], ANIMALS)
    assert candidates.to_sets() == [{"cat", "lion"}, {"dog"}, {"cat", "dog", "lion", "wolf"}]
    assert candidates.classes.tolist() == ["cat", "dog", "lion", "wolf"]


def test_several_nodes_are_joined():
    candidates = CandidateLabels.from_taxonomy([["felid", "dog"]], ANIMALS)
    assert candidates.to_sets() == [{"cat", "dog", "lion"}]


def test_a_leaf_may_have_two_parents():
    shared = {"pet": ["cat", "dog"], "felid": ["cat", "lion"]}
    candidates = CandidateLabels.from_taxonomy([["pet", "felid"], "felid"], shared)
    assert candidates.to_sets() == [{"cat", "dog", "lion"}, {"cat", "lion"}]


def test_classes_of_a_taxonomy_may_be_ordered():
    order = ["wolf", "dog", "lion", "cat"]
    assert CandidateLabels.from_taxonomy(["dog"], ANIMALS, classes=order).classes.tolist() == order


def test_a_node_outside_the_taxonomy_is_named():
    with pytest.raises(CandidateError, match="Row 1 names 'cow'"):
        CandidateLabels.from_taxonomy(["cat", "cow"], ANIMALS)


def test_a_circle_in_the_taxonomy_is_shown():
    with pytest.raises(CandidateError, match="Got a > b > a"):
        CandidateLabels.from_taxonomy(["a"], {"a": ["b"], "b": ["a"]})


def test_a_row_without_nodes_is_an_empty_set():
    with pytest.raises(CandidateError, match="Got none for 1 sample, at row 1"):
        CandidateLabels.from_taxonomy(["cat", []], ANIMALS)
