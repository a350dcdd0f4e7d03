import numpy as np
import pytest

from disambig import CandidateLabels
from disambig._core.errors import CandidateError
from disambig.candidates import storage

ENDS, COLUMNS, CLASSES = [0, 2, 3, 6], [0, 2, 1, 0, 1, 3], ["a", "b", "c", "d"]


def arrays(*lists):
    return [np.array(one, dtype=np.int32) for one in lists]


def test_sets_are_those_of_the_arrays_which_are_not_copied():
    ends, columns = arrays(ENDS, COLUMNS)
    sets = CandidateLabels.from_csr(ends, columns, CLASSES)
    assert sets == CandidateLabels.from_sets([{"a", "c"}, {"b"}, {"a", "b", "d"}], classes=CLASSES)
    prior = sets.prior(copy=False)
    assert np.shares_memory(prior.indices, columns)
    assert np.shares_memory(prior.indptr, ends)
    assert not np.shares_memory(sets.prior().indices, columns)
    np.testing.assert_array_equal(prior.data, [0.5, 0.5, 1, *[1 / 3] * 3])


def test_weights_belong_to_candidates_one_by_one(tmp_path):
    weights = [0.25, 0.75, 3, 1, 0, 1]
    for name, array in (("ends", ENDS), ("columns", COLUMNS), ("weights", weights)):
        np.save(tmp_path / f"{name}.npy", np.array(array))
    ends, columns, mapped = (
        np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("ends", "columns", "weights")
    )
    sets = CandidateLabels.from_csr(ends, columns, CLASSES, weights=mapped)
    dense = [[0.25, 0, 0.75, 0], [0, 3, 0, 0], [1, 0, 0, 1]]
    np.testing.assert_array_equal(sets.weights.toarray(), dense)
    np.testing.assert_array_equal(sets.prior().data, [0.25, 0.75, 1, 0.5, 0, 0.5])
    np.testing.assert_array_equal(sets[1:].weights.toarray(), dense[1:])


@pytest.mark.parametrize(
    ("ends", "columns", "weights", "message"),
    [
        (ENDS, [0, 2, 1, 0, 1], None, "claims 6 values. It holds 5"),
        ([0, 2, 3, 5], COLUMNS, None, "end at 6, the number of indices. Got 5"),
        ([], COLUMNS, None, "6 values, 6 indices and 0 pointers"),
        (ENDS, [0, 2, 1, 0, 1, 4], None, "indices from 0 to 3. Got 0 to 4"),
        (ENDS, [2, 0, 1, 0, 1, 3], None, "ascend, none twice. Got 2 before 0 in row 0"),
        (ENDS, [0, 2, 1, 0, 3, 3], None, "ascend, none twice. Got 3 before 3 in row 2"),
        ([0, 2, 2, 6], [0, 2, 0, 1, 2, 3], None, "none for 1 sample, at row 1"),
        (ENDS, COLUMNS, [1, 1, 1, 1, 1], "5 values, 6 indices and 4 pointers"),
        (ENDS, COLUMNS, [1, 1, 0, 1, 1, 1], "a weight above 0.*at row 1"),
        (ENDS, COLUMNS, [1, 1, 1, 1, -1, np.nan], "finite and not negative.*at row 2"),
    ],
)
def test_arrays_that_describe_no_sets_are_refused(ends, columns, weights, message, monkeypatch):
    monkeypatch.setattr(storage, "_ROWS_AT_A_TIME", 1)
    given = None if weights is None else np.array(weights, dtype=float)
    with pytest.raises(CandidateError, match=message):
        CandidateLabels.from_csr(*arrays(ends, columns), CLASSES, weights=given)


def test_order_is_looked_at_within_rows_only_however_many_at_a_time(monkeypatch):
    for at_a_time in (1, 2, 3, 4):
        monkeypatch.setattr(storage, "_ROWS_AT_A_TIME", at_a_time)
        sets = CandidateLabels.from_csr(*arrays(ENDS, COLUMNS), CLASSES)
        assert sets.sizes.tolist() == [2, 1, 3]


def test_values_of_a_matrix_with_the_same_entries_are_its_own_data():
    sets = CandidateLabels.from_csr(*arrays(ENDS, COLUMNS), CLASSES)
    matrix = sets.prior(copy=False)
    for same in (matrix, matrix.copy()):
        values = sets.values_of(same)
        np.testing.assert_array_equal(values, matrix.data)
        values[:] = 0
        assert matrix.data.all()
    moved = matrix.copy()
    moved.indices = np.array([1, 2, 1, 0, 1, 3], dtype=np.int32)
    np.testing.assert_array_equal(sets.values_of(moved), [0, 0.5, 1, 1 / 3, 1 / 3, 1 / 3])
