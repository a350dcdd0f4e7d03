import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from disambig._core.errors import CandidateError
from disambig.candidates import storage
from disambig.candidates.storage import (
    checked_csr,
    first_largest,
    group_maxima,
    group_sums,
    values_at,
)

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


FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_a_sparse_matrix_of_any_format_becomes_a_csr_copy(name: str, kind: type) -> None:
    dense = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]])
    matrix = kind(dense).asformat(name)
    csr = checked_csr(matrix)
    assert isinstance(csr, sparse.csr_array)
    csr.data[:] = 7
    np.testing.assert_array_equal(matrix.toarray(), dense)
    np.testing.assert_array_equal(csr.toarray(), np.where(dense, 7, 0))


def hostile(name: str, attribute: str, changes: dict[int, int]) -> sparse.sparray:
    """Return a matrix of which some indices were changed after SciPy has looked at it."""
    matrix = sparse.csr_array(np.eye(4)).asformat(name)
    for position, value in changes.items():
        getattr(matrix, attribute)[position] = value
    return matrix


@pytest.mark.parametrize(
    ("name", "attribute", "changes"),
    [
        *((name, "indices", {0: value}) for name in ("csr", "csc", "bsr") for value in (4, -1)),
        *((name, "indices", {3: 10**8}) for name in ("csr", "csc", "bsr")),
        *((name, "indptr", {2: value}) for name in ("csr", "csc", "bsr") for value in (0, 10**7)),
        *((name, "indptr", {4: value}) for name in ("csr", "csc") for value in (5, -1)),
        *((name, "indptr", {0: 1}) for name in ("csr", "csc")),
        # Every difference of these overflows to one that is not negative.
        ("csr", "indptr", {1: 2**31 - 1, 2: -(2**31), 3: -1}),
        *(("coo", attribute, {0: value}) for attribute in ("row", "col") for value in (4, -1)),
    ],
)
def test_indices_outside_of_a_sparse_matrix_are_refused(
    name: str, attribute: str, changes: dict[int, int]
) -> None:
    with pytest.raises(CandidateError, match="sparse matrix"):
        checked_csr(hostile(name, attribute, changes))


@pytest.mark.parametrize("name", ["csr", "csc"])
@pytest.mark.parametrize("attribute", ["indices", "data", "indptr"])
def test_a_sparse_matrix_that_holds_too_little_is_refused(name: str, attribute: str) -> None:
    matrix = sparse.csr_array(np.eye(4)).asformat(name)
    setattr(matrix, attribute, getattr(matrix, attribute)[:-1])
    with pytest.raises(CandidateError, match="It holds 3|needs 5 pointers. Got 4"):
        checked_csr(matrix)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_values_of_no_pairs_are_an_empty_array(make):
    none = np.zeros(0, dtype=np.int64)
    values = values_at(make(np.eye(3)), none, none)
    assert isinstance(values, np.ndarray)
    assert (values.shape, values.dtype) == ((0,), float)


@pytest.mark.parametrize("at_a_time", [1, 2, 3, 5, 100])
def test_the_first_largest_value_of_a_group_is_found_however_many_at_a_time(monkeypatch, at_a_time):
    monkeypatch.setattr(storage, "_ROWS_AT_A_TIME", at_a_time)
    random = np.random.default_rng(0)
    sizes = random.integers(1, 4, 30)
    starts = np.cumsum(sizes) - sizes
    values = random.integers(3, size=sizes.sum())
    expected = [
        start + int(np.argmax(values[start : start + size]))
        for start, size in zip(starts, sizes, strict=True)
    ]
    assert first_largest(values, starts).tolist() == expected
