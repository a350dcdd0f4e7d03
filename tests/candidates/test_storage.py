import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig.candidates.storage import first_largest, group_maxima, group_sums

# Few different values, so that many are equal.
members = st.one_of(st.integers(-2, 2), st.sampled_from([-np.inf, np.inf, 0.5]))
groups = st.lists(st.lists(members, min_size=1, max_size=6), min_size=1, max_size=8)


def flat(lists):
    sizes = np.array([len(group) for group in lists])
    return np.concatenate(lists).astype(float), np.cumsum(sizes) - sizes


@given(st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=6), min_size=1, max_size=8))
def test_the_sum_of_every_group_agrees_with_a_loop(lists):
    values, starts = flat(lists)
    assert group_sums(values, starts).tolist() == [sum(group) for group in lists]


@given(groups)
def test_the_largest_of_every_group_agrees_with_a_loop(lists):
    values, starts = flat(lists)
    assert group_maxima(values, starts).tolist() == [max(group) for group in lists]


@given(groups)
def test_where_the_largest_is_agrees_with_a_loop(lists):
    values, starts = flat(lists)
    expected = [start + np.argmax(group) for start, group in zip(starts, lists, strict=True)]
    assert first_largest(values, starts).tolist() == expected


def test_ties_go_to_the_first():
    values = np.array([1, 3, 3, 3, 2, 2])
    assert first_largest(values, np.array([0, 2, 4])).tolist() == [1, 2, 4]


def test_a_value_as_large_in_the_group_before_is_not_taken_for_it():
    assert first_largest(np.array([5, 5, 1, 5]), np.array([0, 2])).tolist() == [0, 3]


def test_the_only_one_of_a_group_is_its_sum_and_its_largest():
    values = np.array([-np.inf, 0.0, np.inf])
    assert group_sums(values, np.arange(3)).tolist() == [-np.inf, 0, np.inf]
    assert group_maxima(values, np.arange(3)).tolist() == [-np.inf, 0, np.inf]
    assert first_largest(values, np.arange(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [float, int, np.float32])
def test_sums_and_maxima_have_the_type_of_the_values(kind):
    values, starts = np.array([1, 2, 3], dtype=kind), np.array([0, 1])
    assert group_sums(values, starts).dtype == kind
    assert group_maxima(values, starts).dtype == kind


def test_no_groups_have_neither_sums_nor_largest():
    none = np.array([], dtype=np.intp)
    assert group_sums(np.array([]), none).shape == (0,)
    assert group_maxima(np.array([]), none).shape == (0,)
    assert first_largest(np.array([]), none).shape == (0,)
    assert first_largest(np.array([]), none).dtype.kind == "i"
