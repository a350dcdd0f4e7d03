import copy
import mmap
import pickle
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from disambig import MappedRows
from disambig._core import mapped_rows
from disambig._core.errors import ParameterError
from disambig._core.mapped_rows import blocks_of, check_numbers, release, rows_in_block

ARRAY = np.random.default_rng(0).normal(size=(11, 3)).astype("float32")


def on_disk(folder, array=ARRAY):
    np.save(folder / "X.npy", array)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "key",
    [
        slice(2, 9, 3),
        slice(None, None, -1),
        [4, 4, 0],
        [-1, -11],
        np.arange(11) % 2 == 0,
        [],
        np.array([True] * 11),
        (np.array([3, 1]), ...),
    ],
    ids=str,
)
def test_rows_are_selected_as_from_an_array(tmp_path, key):
    expected = ARRAY[np.empty(0, dtype=int) if isinstance(key, list) and not key else key]
    rows = MappedRows(on_disk(tmp_path))
    chosen = rows[key]
    assert isinstance(chosen, MappedRows)
    assert chosen.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(chosen), expected)
    if not isinstance(key, tuple):
        np.testing.assert_array_equal(rows.read(key), expected)


def test_rows_are_selected_from_those_that_were_selected(tmp_path):
    rows = MappedRows(on_disk(tmp_path))
    for first in (slice(1, 10, 2), np.array([9, 1, 5, 5, 3])):
        for second in (slice(3, None), np.array([-1, 0]), slice(None, None, -1)):
            np.testing.assert_array_equal(rows[first].read(second), ARRAY[first][second])
            np.testing.assert_array_equal(np.asarray(rows[first][second]), ARRAY[first][second])


def test_what_is_read_can_be_written_to_and_leaves_the_file_alone(tmp_path):
    rows = MappedRows(on_disk(tmp_path))
    for key in (slice(0, 4), [0, 1]):
        rows.read(key)[:] = 7
    np.testing.assert_array_equal(np.asarray(rows), ARRAY)


def test_blocks_are_all_rows_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_rows, "BLOCK_BYTES", 4 * 3 * 8)
    blocks = list(blocks_of(MappedRows(on_disk(tmp_path))[::-1]))
    assert [len(block) for block in blocks] == [4, 4, 3]
    np.testing.assert_array_equal(np.concatenate(blocks), ARRAY[::-1])
    assert [block is ARRAY for block in blocks_of(ARRAY)] == [True]


def test_long_rows_make_small_blocks():
    assert rows_in_block(50) == 8192
    assert rows_in_block(100_000) == 2**26 // 800_000
    assert rows_in_block(2**40) == rows_in_block(2**24, item_bytes=64) == 1


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux says what is in memory")
def test_memory_of_pages_is_given_back_after_much_was_read(tmp_path, monkeypatch):
    array = np.ones((4096, 1024), dtype="float32")
    X = on_disk(tmp_path, array)
    rows = MappedRows(X)
    monkeypatch.setattr(mapped_rows, "_HELD_BYTES", 2**22)
    for start in range(0, 4096, 512):
        assert rows.read(slice(start, start + 512)).sum() == 512 * 1024
        assert resident_bytes(X) <= 2**22 + 2**21


def resident_bytes(array):
    address = array.__array_interface__["data"][0]
    lines = Path("/proc/self/smaps").read_text().splitlines()
    for number, line in enumerate(lines):
        found = re.match("([0-9a-f]+)-([0-9a-f]+) ", line)
        if found and int(found[1], 16) <= address < int(found[2], 16):
            resident = next(one for one in lines[number:] if one.startswith("Rss:"))
            return int(resident.split()[1]) * 1024
    raise AssertionError("the array is nowhere in memory")


def test_changes_that_are_in_memory_alone_are_not_given_back(tmp_path):
    on_disk(tmp_path)
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[:] = 5
    release(changed)
    release(ARRAY)  # nothing to give back
    assert (changed == 5).all()


def test_the_folder_of_a_file_is_known_unless_it_has_no_name(tmp_path):
    assert MappedRows(on_disk(tmp_path)).folder == tmp_path
    with tempfile.TemporaryFile() as file:
        file.truncate(24)
        nameless = np.memmap(file, dtype="float32", mode="r", shape=(2, 3))
    assert MappedRows(nameless).folder is None


def test_rows_say_what_they_are(tmp_path):
    rows = MappedRows(on_disk(tmp_path))
    assert (rows.ndim, rows.shape, len(rows), rows.dtype) == (2, (11, 3), 11, np.float32)
    assert repr(rows[:4]) == "MappedRows(4 rows, 3 features, float32)"
    assert np.asarray(rows, dtype=float).dtype == float
    assert MappedRows.of(rows) is rows
    assert MappedRows.of(ARRAY) is None
    with pytest.raises(ValueError, match="by copying"):
        np.asarray(rows, copy=False)


@pytest.mark.parametrize("array", [ARRAY, ARRAY[0], "X.npy", None], ids=str)
def test_arrays_in_memory_are_refused(array):
    with pytest.raises(ParameterError, match=r"needs a numpy.memmap"):
        MappedRows(array)


def test_images_and_integers_in_a_file_are_left_to_others(tmp_path):
    for other in (np.ones((2, 3, 4)), np.ones((2, 3), dtype=int)):
        assert MappedRows.of(on_disk(tmp_path, other)) is None


@pytest.mark.parametrize("key", [[11], [-12], ["a"], [[0, 1]], np.ones(3, bool), 2.5], ids=str)
def test_rows_that_are_not_there_are_refused(tmp_path, key):
    with pytest.raises(IndexError, match="11"):
        MappedRows(on_disk(tmp_path))[key]


def test_numbers_that_are_not_finite_are_refused_with_their_row(tmp_path):
    check_numbers(MappedRows(on_disk(tmp_path)))
    bad = ARRAY.copy()
    bad[4, 1], bad[9, 0] = np.nan, np.inf
    rows = MappedRows(on_disk(tmp_path, bad))
    with pytest.raises(ParameterError, match=r"2 samples, first at row 4"):
        check_numbers(rows)
    none = rows[:0]
    with pytest.raises(ParameterError, match=r"at least one row"):
        check_numbers(none)


def test_pages_are_as_large_as_the_system_has_them():
    assert mapped_rows._PAGE_BYTES == mmap.PAGESIZE


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [slice(None), slice(2, 9, 3), [7, 1, 7]], ids=str)
def test_copies_and_pickles_read_the_same_file(tmp_path, rows, order):
    chosen = MappedRows(on_disk(tmp_path, np.asarray(ARRAY, order=order)))[rows]
    pickled = pickle.dumps(chosen)
    assert ARRAY.tobytes(order) not in pickled
    for other in (pickle.loads(pickled), copy.deepcopy(chosen), copy.copy(chosen)):
        assert MappedRows.of(other[:2]) is not None
        assert other.folder == tmp_path
        np.testing.assert_array_equal(other.read(slice(None)), ARRAY[rows])


def test_part_of_a_map_is_not_pickled(tmp_path):
    with pytest.raises(ParameterError, match="Map the whole file"):
        pickle.dumps(MappedRows(on_disk(tmp_path)[2:]))
