"""Facts about groups, against counting and enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.strategies import masks
from disambig import CandidateLabels, audit_candidates
from disambig.candidates.group_audit import audit_groups, impossible_groups
from disambig.candidates.storage import row_numbers

PHOTOS = ["ann|bob|eve", "ann|bob|eve", "bob|joe", "joe", "ann", "bob|eve", "bob|eve", "bob|eve"]
NAMES = ["x", "x", "y", "y", "z", "w", "w", "w"]


def photos(**settings):
    return CandidateLabels.from_strings(PHOTOS).with_groups(NAMES, **settings)


def test_groups_and_their_rows_are_counted():
    found = audit_groups(photos())
    assert (found.n_groups, found.median_rows, found.most_rows, found.n_single) == (4, 2.0, 3, 1)
    # In "y" one of two rows has another set than the other.
    assert (found.n_differing, found.n_other_rows) == (1, 1)


def test_impossible_promises_come_with_the_first_group_and_all_rows():
    found = audit_groups(photos())
    cover, exclusive = found.cover, found.exclusive
    assert (cover.n_groups, cover.n_rows, cover.n_by_sets) == (1, 2, 0)
    assert (cover.first.first_row, cover.first.n_rows, cover.first.n_labels) == (0, 2, 3)
    assert (exclusive.n_groups, exclusive.n_rows, exclusive.n_by_sets) == (1, 3, 0)
    assert (exclusive.first.first_row, exclusive.first.n_labels) == (5, 2)
    which = {kind: found.tolist() for kind, found in impossible_groups(photos()).items()}
    assert which["cover"] == [True, False, False, False]  # x, y, z, w
    assert which["exclusive"] == [False, False, False, True]


def test_rows_whose_sets_differ_need_a_matching():
    # Three rows and three labels, but two rows can only be "a".
    y = CandidateLabels.from_strings(["a", "a", "a|b|c", "b", "c"])
    found = audit_groups(y.with_groups([0, 0, 0, 1, 2]))
    assert (found.cover.n_groups, found.cover.n_by_sets) == (1, 1)
    assert (found.exclusive.n_groups, found.exclusive.n_by_sets) == (1, 1)
    assert "because the candidates of their rows differ" in found.lines()[-1]


@given(masks(max_rows=5), st.data())
def test_a_promise_is_possible_if_one_of_all_assignments_keeps_it(mask, data):
    y = CandidateLabels.from_mask(mask)
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(y), max_size=len(y)))
    cannot = {"cover": [], "exclusive": []}
    for group in dict.fromkeys(groups):
        sets = [labels for labels, one in zip(y, groups, strict=True) if one == group]
        assignments = list(product(*sets))
        labels = set().union(*sets)
        if not any(set(chosen) == labels for chosen in assignments):
            cannot["cover"].append(len(sets))
        if not any(len(set(chosen)) == len(chosen) for chosen in assignments):
            cannot["exclusive"].append(len(sets))
    found = audit_groups(y.with_groups(groups))
    for limits in (found.cover, found.exclusive):
        assert (limits.n_groups, limits.n_rows) == (
            len(cannot[limits.kind]),
            sum(cannot[limits.kind]),
        )
        assert (limits.first is None) == (limits.n_groups == 0)


def test_only_what_was_promised_is_said_and_both_if_nothing_was():
    both = "\n".join(audit_groups(photos()).lines())
    assert "4 groups, 1 of a single row. The median group has 2 rows, the largest 3." in both
    assert "1 group the rows do not all have the same candidates: 1 row has others" in both
    assert "Cover is impossible in 1 of 4 groups (2 rows), which have more labels" in both
    assert "The first begins at sample 0, with 2 rows and 3 labels." in both
    assert "Exclusive is impossible in 1 of 4 groups (3 rows), which have more rows" in both
    only = "\n".join(audit_groups(photos(promise="exclusive")).lines())
    assert "Exclusive" in only
    assert "Cover" not in only


def test_counts_and_sets_can_both_make_a_promise_impossible():
    y = CandidateLabels.from_strings(["a|b", "c", "c", "a|b|c"]).with_groups([0, 1, 1, 1])
    lines = audit_groups(y).lines()
    assert any("more labels than rows or, in 1 of them, because the candidates" in x for x in lines)


def test_a_possible_promise_is_said_to_be_so():
    y = CandidateLabels.from_strings(["a|b", "a|b", "a|b", "a|b"])
    assert audit_groups(y.with_groups([0, 0, 1, 1])).lines()[1] == (
        "Cover is possible in all 2 groups."
    )
    assert (
        audit_groups(y[:2].with_groups([0, 0])).lines()[1] == "Cover is possible in the only group."
    )


def test_rows_can_be_those_of_a_larger_table():
    found = audit_groups(photos()).at_rows(np.arange(8) * 10 + 3)
    assert (found.cover.first.first_row, found.exclusive.first.first_row) == (3, 53)
    possible = audit_groups(CandidateLabels.from_strings(["a"]).with_groups([0]))
    assert possible.at_rows(np.array([7])) == possible


def test_the_audit_of_sets_has_the_groups_and_says_them():
    audit = audit_candidates(photos(promise="cover"))
    assert audit.groups == audit_groups(photos(promise="cover"))
    assert "Cover is impossible in 1 of 4 groups" in str(audit)
    alone = audit_candidates(CandidateLabels.from_strings(PHOTOS))
    assert alone.groups is None
    assert "group" not in str(alone)
    assert audit_candidates(photos()[:0]).groups is None


@pytest.mark.parametrize("n_classes", [3, 200])
def test_equal_rows_have_equal_numbers_and_others_others(n_classes):
    mask = np.random.default_rng(0).random((300, n_classes)) < 0.4
    mask[:, 0] = True
    mask = mask[np.random.default_rng(1).integers(0, 300, size=500)]
    numbers = row_numbers(CandidateLabels.from_mask(mask).to_sparse())
    same = numbers[:, None] == numbers
    np.testing.assert_array_equal(same, (mask[:, None] == mask).all(axis=2))
