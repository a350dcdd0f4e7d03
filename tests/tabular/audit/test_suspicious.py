import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, audit_candidates
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.suspicious import find_suspicious


def look_at(sets, *, classes=None, features=None, first_row=0, **settings):
    candidates = CandidateLabels.from_sets(sets, classes=classes)
    labelled = LabelledRows(
        candidates,
        audit_candidates(candidates),
        np.arange(first_row, first_row + len(candidates)),
        None if features is None else pd.DataFrame({"f": features}),
        **settings,
    )
    return {finding.kind: finding for finding in find_suspicious(labelled)}


def test_nothing_is_wrong_with_plain_sets():
    assert look_at([["cat"], ["dog"], ["cat", "bird"], ["bird"]] * 10) == {}


def test_no_rows_have_nothing_wrong():
    candidates = CandidateLabels.from_labels(["a"])[[]]
    nothing = LabelledRows(candidates, audit_candidates(candidates), np.arange(0))
    assert find_suspicious(nothing) == []


def test_a_single_label_is_all_that_is_said():
    found = look_at([["cat"]] * 30)
    assert list(found) == ["one_label"]
    assert "'cat' is the only label in the whole table." in found["one_label"].message


def test_a_single_label_of_several_classes_is_named():
    found = look_at([["dog"]] * 3, classes=["cat", "dog"])
    assert list(found) == ["one_label", "never_candidates"]
    assert "'dog' is the only label" in found["one_label"].message


def test_labels_as_many_as_rows_look_like_names():
    found = look_at([[f"item {i}"] for i in range(30)])
    assert found["labels_like_names"].message == "There are 30 different labels in 30 rows."


def test_labels_joined_by_another_separator_are_found():
    sets = [["cat;dog"], ["cat"], ["bird;dog"], ["bird"]] * 3
    finding = look_at(sets, separator_unused=True)["other_separator"]
    assert finding.count == 6
    assert finding.rows == (1, 3, 5, 7, 9, 11)
    assert "use --separator ';' (in Python separator=';')" in finding.advice


def test_labels_one_below_the_other_in_a_cell_are_found():
    sets = [["cat\ndog"], ["cat"], ["bird\ndog"], ["bird"]] * 3
    finding = look_at(sets, separator_unused=True)["other_separator"]
    assert (finding.count, finding.rows[:2]) == (6, (1, 3))
    assert "(in Python separator='\\n')" in finding.advice


def test_labels_that_say_that_nobody_knew_are_found():
    finding = look_at([["cat"], ["dog"], ["?", "dog"], ["Unknown"]])["no_answers"]
    assert finding.message == (
        "'?' (1 row); 'Unknown' (1 row) may say that somebody did not know, and are read as labels."
    )
    assert (finding.rows, finding.labels) == ((3, 4), (("?",), ("Unknown",)))
    assert "no_answers" not in look_at([["?"], ["-"], ["?"]])  # signs in a text, it seems


def test_labels_that_only_look_joined_are_fine_where_the_separator_was_used():
    assert "other_separator" not in look_at([["cat;dog"], ["cat"], ["dog", "cat"]])


@pytest.mark.parametrize("odd", ["cat (70%), dog (40%)", "cat (70%), dog (30"])
def test_cells_that_keep_percentages_from_being_weights_are_named(odd):
    sets = [["cat (70%), dog (30%)"], ["cat (60%), dog (40%)"], ["cat"], [odd], ["dog"]] * 3
    found = look_at(sets, separator_unused=True)
    assert found["percentages_not_read"].rows == (4, 9, 14)
    assert found["percentages_not_read"].message.startswith("Percentages in 9 rows were read as")
    assert repr(odd) in found["percentages_not_read"].message
    assert "other_separator" not in found


def test_percentages_that_belong_to_single_labels_are_fine():
    sets = [["milk 3%"], ["milk 1%"], ["sale (5% off, now)"]] * 3
    assert "percentages_not_read" not in look_at(sets, separator_unused=True)


def test_labels_spelled_alike_are_found_with_the_rows_of_the_rarer_one():
    finding = look_at([["Oak"], ["Elm"], ["oak"], ["Oak"], ["Elm"]], first_row=100)["spelled_alike"]
    assert "'Oak' (2 rows) and 'oak' (1 row)" in finding.message
    assert finding.rows == (103,)
    assert finding.labels == (("Oak", "oak"),)


def test_a_likely_typo_is_found_with_what_was_meant():
    finding = look_at([["maple"]] * 5 + [["mapel", "ash"], ["ash"]])["misspelled"]
    assert "'mapel' (1 row) for 'maple' (5 rows)" in finding.message
    assert (finding.count, finding.rows) == (1, (6,))


def test_many_typos_are_cut_in_the_sentence_and_not_in_the_labels():
    words = ["maple", "birch", "willow", "cherry", "poplar"]
    sets = [[word] for word in words * 4] + [[word + "x"] for word in words]
    finding = look_at(sets)["misspelled"]
    assert finding.message.endswith("; and 2 more.")
    assert len(finding.labels) == 5


def test_same_features_without_a_common_label_contradict():
    found = look_at([["a"], ["b"], ["c"], ["a", "b"]], features=[1.0, 1.0, 2.0, 3.0])
    assert found["contradictions"].rows == (1, 2)
    assert "same_features_other_labels" not in found


def test_same_features_with_some_common_labels_are_told_separately():
    found = look_at([["a"], ["a", "b"], ["c"], ["b"]], features=[1.0, 1.0, 2.0, 3.0])
    assert found["same_features_other_labels"].rows == (1, 2)
    assert "contradictions" not in found


def test_every_label_in_every_row_is_told_once():
    assert list(look_at([["a", "b", "c"]] * 30)) == ["every_label_everywhere"]


def test_rows_that_could_have_any_label_are_found():
    finding = look_at([["a"], ["a", "b"], ["b"]])["full_sets"]
    assert finding.advice == "Rule out at least one label, or drop it."
    assert (finding.count, finding.rows) == (1, (2,))
    assert str(finding) == (
        "1 row could have any label, so nothing can be learned from it. See row 2. Rule out at "
        "least one label, or drop it."
    )


def test_classes_that_never_occur_do_not_hide_full_sets():
    assert "full_sets" in look_at([["a"], ["a", "b"], ["b"]], classes=["a", "b", "c"])


def test_weights_that_differ_make_full_sets_teach_something():
    assert look_at([{"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.8}] * 20) == {}


def test_weights_that_are_all_equal_teach_nothing():
    assert "every_label_everywhere" in look_at([{"a": 3, "b": 3, "c": 3}, {"a": 1, "b": 1, "c": 1}])


def test_a_label_in_nearly_all_rows_is_found():
    sets = [["other", "cat"], ["other", "dog"]] * 20 + [["cat"]]
    finding = look_at(sets)["in_nearly_all_rows"]
    assert finding.message == "'other' is among the labels of 98 % of the rows."


def test_labels_that_are_always_together_cannot_be_told_apart():
    finding = look_at([["a", "b"], ["c"], ["a", "b", "c"], ["d"], ["d", "c"]])["always_together"]
    assert finding.labels == (("a", "b"),)
    assert finding.rows == (1, 3)


def test_weights_can_tell_labels_apart_that_are_always_together():
    sets = [{"a": 2, "b": 1}, {"c": 1}, {"a": 1, "b": 2}]
    assert "always_together" not in look_at(sets)


def test_classes_that_are_never_a_candidate_are_named():
    finding = look_at([["a"], ["b"]], classes=["a", "b", "c", "d"])["never_candidates"]
    assert "No row has 'c' and 'd' among its labels." in finding.message


def test_labels_that_are_no_texts_are_looked_at_too():
    assert look_at([[1], [2], [12], [1, 2]] * 10) == {}


def test_what_a_terminal_would_obey_is_shown_instead():
    finding = look_at([["a\x1b[31m"], ["A\x1b[31m"], ["b"]])["spelled_alike"]
    assert "'A\\x1b[31m' (1 row) and 'a\\x1b[31m' (1 row)" in finding.message


def test_a_long_label_is_cut_in_the_sentence():
    assert len(look_at([["x" * 1000]])["one_label"].message) < 110


def test_a_finding_says_what_where_and_what_to_do():
    finding = Finding.about(np.arange(7), "kind", "Seven rows are odd.", "Mend them.", [["a", 1]])
    assert str(finding) == ("Seven rows are odd. See rows 1, 2, 3, 4, 5 and 2 more. Mend them.")
    assert (finding.count, finding.rows, finding.labels) == (
        7,
        (1, 2, 3, 4, 5, 6, 7),
        (("a", "1"),),
    )


def test_one_row_and_two_rows_read_well():
    assert "See row 4." in str(Finding.about(np.array([3]), "kind", "Odd.", ""))
    assert "See rows 4 and 1,001." in str(Finding.about(np.array([3, 1000]), "kind", "Odd.", ""))
