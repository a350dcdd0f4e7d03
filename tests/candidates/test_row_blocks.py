import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.strategies import candidate_labels
from disambig import CandidateLabels
from disambig.candidates.audit import row_blocks


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
