"""What candidate sets can teach."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.strategies import candidate_labels
from disambig import CandidateLabels, audit_candidates
from disambig._core.errors import CandidateError
from disambig.candidates import audit as audit_module
from disambig.candidates.audit import row_blocks


@pytest.fixture
def audit():
    sets = [["a", "b"], ["a", "b", "c"], ["c"], ["d", "e"], ["d", "e", "c"]]
    return audit_candidates(CandidateLabels.from_sets(sets, classes=list("abcdef")))


def test_sizes_are_counted(audit):
    assert (audit.n_samples, audit.n_classes) == (5, 6)
    assert audit.size_histogram == {1: 1, 2: 2, 3: 2}
    assert audit.average_candidates == pytest.approx(2.2)
    assert audit.singleton_share == pytest.approx(0.2)


def test_cooccurrence_counts_pairs_and_the_diagonal_counts_labels(audit):
    expected = [
        [2, 2, 1, 0, 0, 0],
        [2, 2, 1, 0, 0, 0],
        [1, 1, 3, 1, 1, 0],
        [0, 0, 1, 2, 2, 0],
        [0, 0, 1, 2, 2, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    assert audit.cooccurrence.toarray().tolist() == expected


def test_it_is_counted_how_often_a_label_is_a_candidate_and_how_often_alone(audit):
    assert audit.candidate_counts.tolist() == [2, 2, 3, 2, 2, 0]
    assert audit.alone_counts.tolist() == [0, 0, 1, 0, 0, 0]


def test_sets_too_large_for_one_block_are_counted_in_several():
    mask = np.random.default_rng(0).random((60_000, 80)) < 0.9
    mask[:, 0] = True
    audit = audit_candidates(CandidateLabels.from_mask(mask))
    counts = mask.astype(float)
    np.testing.assert_array_equal(audit.cooccurrence.toarray(), counts.T @ counts)


def test_more_pairs_than_memory_holds_are_refused():
    mask = np.ones((1, 8_000), dtype=bool)
    with pytest.raises(CandidateError, match=r"64,000,000 pairs.*set has 8,000 of 8,000 labels"):
        audit_candidates(CandidateLabels.from_mask(mask))


def test_pairs_of_many_rows_count_once(monkeypatch):
    monkeypatch.setattr(audit_module, "_MOST_PAIRS", 30)
    monkeypatch.setattr(audit_module, "row_blocks", partial(row_blocks, pairs=4))
    mask = np.tile(np.eye(6, dtype=bool) | np.eye(6, k=1, dtype=bool), (10, 1))
    audit = audit_candidates(CandidateLabels.from_mask(mask))
    assert audit.cooccurrence.nnz == 16


def test_labels_that_are_always_together_cannot_be_told_apart(audit):
    assert audit.inseparable == [("a", "b"), ("d", "e")]


def test_labels_that_are_sometimes_apart_can_be_told_apart():
    audit = audit_candidates(CandidateLabels.from_sets([["a", "b"], ["b"]]))
    assert audit.inseparable == []


def test_labels_never_alone_and_never_there_are_listed(audit):
    assert audit.never_alone == ["a", "b", "d", "e"]
    assert audit.never_candidates == ["f"]


def test_the_most_common_pairs_come_first(audit):
    assert audit.most_common_pairs(3) == [("a", "b", 2), ("d", "e", 2), ("a", "c", 1)]


def test_the_text_says_it_all(audit):
    assert str(audit) == (
        "5 samples, 6 classes, 2.20 candidates on average\n"
        "20.0% of the samples have a single candidate\n"
        "Set sizes:\n"
        "     1         1  ####################\n"
        "     2         2  ########################################\n"
        "     3         2  ########################################\n"
        "Most often together:\n"
        "         2  a and b\n"
        "         2  d and e\n"
        "         1  a and c\n"
        "         1  b and c\n"
        "         1  c and d\n"
        "Cannot be told apart, always together: a, b\n"
        "Cannot be told apart, always together: d, e\n"
        "Never the only candidate: a, b, d, e\n"
        "Never a candidate: f"
    )


def test_long_lists_are_cut_in_the_text():
    classes = [f"c{number:02}" for number in range(15)]
    text = str(audit_candidates(CandidateLabels.from_labels(["c00"], classes=classes)))
    assert "c10 and 4 more" in text
    assert "c11" not in text


def test_nothing_is_said_of_pairs_where_there_are_none():
    text = str(audit_candidates(CandidateLabels.from_labels(["a", "b"])))
    assert "together" not in text


def test_no_samples_can_be_audited():
    audit = audit_candidates(CandidateLabels.from_labels(["a"])[[]])
    assert audit.average_candidates == 0
    assert audit.size_histogram == {}
    assert "0 samples" in str(audit)


@given(candidate_labels(weighted=False))
def test_the_counts_agree_with_the_mask(candidates):
    audit = audit_candidates(candidates)
    mask = candidates.to_mask().astype(int)
    np.testing.assert_array_equal(audit.cooccurrence.toarray(), mask.T @ mask)
    np.testing.assert_array_equal(audit.candidate_counts, mask.sum(axis=0))
    np.testing.assert_array_equal(audit.alone_counts, mask[mask.sum(axis=1) == 1].sum(axis=0))
    assert sum(audit.size_histogram.values()) == len(candidates)
    groups = {}
    for name, column in zip(candidates.classes.tolist(), mask.T.tolist(), strict=True):
        groups.setdefault(tuple(column), []).append(name)
    expected = [tuple(g) for column, g in groups.items() if any(column) and len(g) > 1]
    assert audit.inseparable == expected


@given(candidate_labels(), st.integers(1, 20))
def test_blocks_together_are_all_rows_in_order(candidates, pairs):
    rows = [row for block in row_blocks(candidates, pairs=pairs) for row in block]
    assert rows == list(candidates)


def test_a_block_has_about_as_many_pairs_as_asked_for():
    candidates = CandidateLabels.from_sets([["a", "b"]] * 10)
    assert [len(block) for block in row_blocks(candidates, pairs=8)] == [4, 4, 2]


@pytest.mark.parametrize("pairs", [1, 5])
def test_a_block_has_at_least_one_row(pairs):
    candidates = CandidateLabels.from_sets([range(9), range(9)])
    assert [len(block) for block in row_blocks(candidates, pairs=pairs)] == [1, 1]


def test_no_rows_are_no_blocks():
    assert list(row_blocks(CandidateLabels.from_labels(["a"])[[]])) == []
