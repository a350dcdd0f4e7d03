import numpy as np
import pytest

from disambig.tabular.audit.spelling import (
    JoinedLabels,
    Slip,
    find_joined_labels,
    find_slips,
    find_spelling_variants,
)


@pytest.mark.parametrize(
    "other",
    ["oak tree", "OAK TREE", "Oak  Tree", "OakTree", "Oak\u00a0Tree", "Oak\u200b Tree"],
)
def test_labels_that_differ_in_case_and_spaces_are_spelled_alike(other):
    assert find_spelling_variants(["elm", "Oak Tree", other]) == [("Oak Tree", other)]


def test_composed_and_decomposed_letters_are_spelled_alike():
    assert find_spelling_variants(["caf\u00e9", "cafe\u0301"]) == [("caf\u00e9", "cafe\u0301")]


def test_spaces_between_digits_tell_labels_apart():
    assert find_spelling_variants(["1 1", "11", "1  1"]) == [("1 1", "1  1")]


@pytest.mark.parametrize(
    "slip",
    ["oak rtee", "oak tre", "oak treee", "oak trea", "oak-tree", "oak_tree.", "Oak Tres", "oaktre"],
)
def test_one_slip_away_from_a_frequent_label_is_likely_a_slip(slip):
    assert find_slips({"oak tree": 40, slip: 1, "elm": 30}) == [Slip(slip, "oak tree")]


@pytest.mark.parametrize(
    ("rare", "frequent"),
    [
        ("class 1", "class 2"),
        ("class1", "class2"),
        ("12", "13"),
        ("1.5", "15"),
        ("-1", "1"),
        ("v1.5", "v15"),
        ("type A", "type B"),
        ("A+", "A-"),
        ("<50K", ">50K"),
        ("C++", "C"),
        ("cat", "car"),
        ("AB1204", "AC1204"),
        ("atypical", "typical"),
        ("\u4ea7\u54c1\u540d\u79f0\u7532", "\u4ea7\u54c1\u540d\u79f0\u4e59"),
        ("x" * 90, "x" * 91),
    ],
)
def test_what_means_something_else_is_no_slip(rare, frequent):
    assert find_slips({rare: 1, frequent: 1000}) == []


@pytest.mark.parametrize(
    ("rare", "frequent", "is_rare"),
    [(1, 3, True), (1, 2, False), (2, 99, False), (2, 100, True), (5, 5, False)],
)
def test_a_slip_is_rare_beside_what_was_meant(rare, frequent, is_rare):
    assert bool(find_slips({"maple": frequent, "mapel": rare})) is is_rare


def test_the_most_frequent_of_several_was_likely_meant():
    slips = find_slips({"maple": 10, "mapler": 50, "maples": 20, "maplet": 1})
    assert slips == [Slip("maplet", "mapler")]


def test_what_is_spelled_alike_is_not_reported_as_a_slip_too():
    assert find_slips({"Maple": 1, "maple": 50}) == []


def test_labels_in_no_row_are_neither_slips_nor_meant():
    assert find_slips({"maple": 0, "mapel": 0, "oak": 9}) == []


def test_ten_thousand_labels_are_searched():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcdefgh"), size=(10_000, 12))
    counts = {"".join(word): 1 + 999 * (i % 2) for i, word in enumerate(letters)}
    counts |= {"chrysanthemum": 1000, "crysanthemum": 1}
    assert Slip("crysanthemum", "chrysanthemum") in find_slips(counts)


def test_far_too_many_labels_are_not_searched():
    counts = {f"name {'x' * (i % 7)}{i}": 1 for i in range(60_000)}
    assert find_slips(counts | {"maple": 50, "mapel": 1}) == []


@pytest.mark.parametrize("separator", [";", ",", "/", "&", "+", " or ", "\t"])
def test_labels_of_pieces_that_recur_look_joined(separator):
    joined = [f"cat{separator}dog", f"bird{separator}cat"]
    assert find_joined_labels(dict.fromkeys([*joined, "dog"], 5)) == JoinedLabels(separator, joined)


@pytest.mark.parametrize(
    "labels",
    [
        ["C", "C++", "Java"],
        ["N/A", "yes", "no"],
        ["Paris, France", "Lyon, France", "Rome, Italy"],
        ["a;", "b;"],
        ["cat", "dog"],
    ],
)
def test_labels_of_pieces_found_nowhere_else_do_not_look_joined(labels):
    assert find_joined_labels(dict.fromkeys(labels, 5)) is None


def test_the_separator_of_most_rows_is_found():
    counts = {"a;b": 90, "b;c": 90, "a": 9, "b": 9, "c": 9, "a/b": 1}
    assert find_joined_labels(counts).separator == ";"


def test_the_most_frequent_of_very_many_was_likely_meant():
    counts = {f"maple{letter}": 50 + number for number, letter in enumerate("abcdefghijklmn")}
    assert find_slips(counts | {"maplex": 1}) == [Slip("maplex", "maplen")]
