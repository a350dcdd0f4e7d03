import os
import shutil
import time

import pytest

from disambig._core.cache_folder import (
    cache_folder,
    free_bytes,
    made_file,
    made_of_tables,
    mark_as_used,
    ready_folder,
)

DAY = 24 * 60 * 60


def made(number, age):
    path = made_file(f"{number:064x}", ".npy")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"numbers")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_the_folder_is_that_of_the_system(cache):
    assert cache_folder() == cache
    assert made_file("0" * 64, ".parquet") == cache / "tables" / f"{'0' * 32}.parquet"


def test_files_that_nobody_has_used_for_a_week_go_and_others_stay(cache):
    ready_folder()  # there is no folder yet
    recent, old = made(0xA << 200, 6 * DAY), made(0xB << 200, 8 * DAY)
    used = made(0xC << 200, 8 * DAY)
    mark_as_used(used)
    foreign = made_of_tables() / "notes.npy"
    foreign.write_bytes(b"of somebody else")
    os.utime(foreign, (0, 0))
    ready_folder()
    assert recent.exists()
    assert used.exists()
    assert foreign.exists()
    assert not old.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_nobody_else_reads_a_folder_that_was_made_here(cache):
    ready_folder()
    assert made_of_tables().stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_gone_cannot_be_marked(cache):
    mark_as_used(made_file("0" * 64, ".npy"))
    assert not cache.exists()


def test_free_space_is_that_of_the_nearest_folder_above(tmp_path):
    found = free_bytes(tmp_path / "not" / "there" / "yet")
    total = shutil.disk_usage(tmp_path).total
    assert 0 < found <= total
