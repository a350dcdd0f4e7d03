import errno
import os
from pathlib import Path

import numpy as np
import pytest

from disambig._core.errors import ParameterError
from disambig._core.scratch import scratch_array


def test_an_array_begins_with_zeros_and_keeps_what_is_written(tmp_path):
    array = scratch_array((3, 5), np.int32, tmp_path)
    assert array.shape == (3, 5)
    assert array.dtype == np.int32
    assert not array.any()
    array[1] = 7
    np.testing.assert_array_equal(array.sum(axis=1), [0, 35, 0])


def test_nothing_is_left_in_the_folder_even_while_the_array_is_used(tmp_path):
    array = scratch_array((1000,), float, tmp_path)
    array[:] = 1
    assert list(tmp_path.iterdir()) == []
    assert array.sum() == 1000


def test_an_array_may_be_empty(tmp_path):
    assert scratch_array((0, 4), float, tmp_path).shape == (0, 4)


@pytest.mark.parametrize("folder", [None, Path("/nowhere")])
def test_other_temporary_files_are_beside_it_where_a_folder_cannot_be_written_to(folder):
    assert scratch_array((2,), bool, folder).tolist() == [False, False]


def test_a_full_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ParameterError, match=r"8 MB more in .*No space left.*Make room there"):
        scratch_array((2**20,), float, tmp_path)


def test_systems_that_cannot_reserve_room_make_the_file_as_long(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    assert scratch_array((4,), float, tmp_path).tolist() == [0, 0, 0, 0]
