"""Temporaries of dead writers are swept; those of living ones, and files of others, never."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from disambig._core import temporaries
from disambig._core.temporaries import find_moved_aside, moved_aside, sweep, temporary_beside

fcntl = pytest.importorskip("fcntl")
DIGITS = temporaries._MACHINE + "0123456789abcdef01234567"
OF_ANOTHER_MACHINE = "f" * 32
DAY = 24 * 60 * 60


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def sweep_target(path, *, folders=False):
    sweep(path.parent, path.name.__eq__, folders=folders)


def test_a_temporary_is_there_inside_the_block_and_gone_after_it(tmp_path):
    with temporary_beside(tmp_path / "table.csv") as path:
        assert path.read_bytes() == b""
        assert path.suffix == ".csv"
        assert path.parent == tmp_path
    assert names_in(tmp_path) == []
    with temporary_beside(tmp_path / "my.model", is_folder=True) as path:
        (path / "file").write_text("x")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["table.csv", "table.csv.details.json", "plain", "a-b.tar.gz"])
def test_what_a_killed_writer_left_of_a_file_is_swept_by_the_next(tmp_path, name):
    code = (
        "import os, sys; from pathlib import Path\n"
        "from disambig._core.temporaries import temporary_beside\n"
        "with temporary_beside(Path(sys.argv[1])) as path: os._exit(9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, tmp_path / name], check=False)
    assert killed.returncode == 9
    assert len(names_in(tmp_path)) == 1
    with temporary_beside(tmp_path / name) as path:
        assert names_in(tmp_path) == [path.name]
    assert names_in(tmp_path) == []


def test_a_folder_that_a_killed_writer_left_is_swept(tmp_path):
    left = tmp_path / f".my.model-{DIGITS}"
    left.mkdir()
    (left / "half").write_text("x")
    sweep_target(tmp_path / "my.model")
    assert names_in(tmp_path) == [left.name]  # no file
    sweep_target(tmp_path / "my.model", folders=True)
    assert names_in(tmp_path) == []


def test_what_a_living_writer_holds_is_left_alone(tmp_path):
    target = tmp_path / "table.csv"
    with temporary_beside(target) as first, temporary_beside(target) as second:
        assert first.exists()
        assert first != second
        sweep_target(target)
        assert names_in(tmp_path) == sorted([first.name, second.name])


@pytest.mark.parametrize(
    "name",
    [
        f".other-{DIGITS}.csv",
        f".table-{DIGITS}.tsv",
        f".table-{DIGITS}",
        f".table-{DIGITS[:-1]}.csv",
        f".table-{DIGITS}0.csv",
        f".table-{DIGITS.upper()}.csv",
        f"table-{DIGITS}.csv",
        f".table{DIGITS}.csv",
        f".table-{DIGITS}.csv-old",
        ".table.csv",
    ],
)
def test_only_the_exact_pattern_of_the_same_target_is_swept(tmp_path, name):
    (tmp_path / name).write_text("mine")
    sweep_target(tmp_path / "table.csv")
    sweep_target(tmp_path / "table.csv", folders=True)
    assert names_in(tmp_path) == [name]


def test_a_file_is_not_taken_for_an_old_folder_nor_a_folder_for_a_file(tmp_path):
    (tmp_path / f".model-{DIGITS}-old").mkdir()
    sweep_target(tmp_path / "model")
    (tmp_path / f".my-{DIGITS}.model").mkdir()
    sweep_target(tmp_path / "my.model", folders=True)
    assert len(names_in(tmp_path)) == 2


def test_many_files_in_one_folder_need_not_be_looked_for_one_by_one(tmp_path):
    (tmp_path / f".table-{DIGITS}.csv").write_text("x")
    with temporary_beside(tmp_path / "table.csv", sweep_first=False):
        assert len(names_in(tmp_path)) == 2


def test_links_pipes_and_folders_under_such_a_name_are_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f".a-{DIGITS}.csv").symlink_to("mine")
    os.mkfifo(tmp_path / f".b-{DIGITS}.csv")
    (tmp_path / f".c-{DIGITS}.csv").mkdir()
    before = names_in(tmp_path)
    sweep(tmp_path, lambda _: True)
    assert names_in(tmp_path) == before


def test_what_another_machine_left_is_swept_when_it_is_old(tmp_path):
    # It may be writing at this moment, and its lock may not reach here.
    left = tmp_path / f".table-{OF_ANOTHER_MACHINE}.csv"
    left.write_text("x")
    sweep_target(tmp_path / "table.csv")
    assert left.exists()
    os.utime(left, (time.time() - 2 * DAY,) * 2)
    sweep_target(tmp_path / "table.csv")
    assert not left.exists()


def refuse_locks(*_arguments):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_without_locks_everything_works_and_nothing_is_swept(tmp_path, monkeypatch):
    left = tmp_path / f".table-{DIGITS}.csv"
    left.write_text("x")
    monkeypatch.setattr(fcntl, "flock", refuse_locks)
    with temporary_beside(tmp_path / "table.csv") as path:
        path.write_text("new")
    assert names_in(tmp_path) == [left.name]
    monkeypatch.setattr(temporaries, "fcntl", None)  # as on Windows
    with temporary_beside(tmp_path / "table.csv") as path:
        path.write_text("new")
    assert names_in(tmp_path) == [left.name]


@pytest.mark.parametrize("has_lock", [True, False])
def test_a_writer_whose_temporary_is_swept_before_it_is_locked_takes_another(
    tmp_path, monkeypatch, has_lock
):
    lock = fcntl.flock
    swept = []

    def sweep_once(descriptor, operation):
        if not swept:
            swept.append(names_in(tmp_path)[0])
            (tmp_path / swept[0]).unlink()
            if has_lock:  # the sweeper still has
                raise BlockingIOError
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", sweep_once)
    with temporary_beside(tmp_path / "table.csv") as path:
        assert names_in(tmp_path) == [path.name]
        assert path.name not in swept


def test_a_temporary_that_is_swept_before_it_is_opened_is_made_again(tmp_path, monkeypatch):
    opened = os.open
    swept = []

    def sweep_once(path, flags, *mode):
        if flags == os.O_RDWR and not swept:
            swept.append(path)
            Path(path).unlink()
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", sweep_once)
    with temporary_beside(tmp_path / "table.csv") as path:
        assert names_in(tmp_path) == [path.name]
    assert len(swept) == 1


def test_a_place_where_nothing_can_be_made_is_named_by_the_target(tmp_path):
    target = tmp_path / "missing" / "table.csv"
    with pytest.raises(FileNotFoundError) as caught, temporary_beside(target):
        pytest.fail("the block must not be entered")
    assert caught.value.filename == str(target)


# ---- old folders, where names cannot be exchanged


def put_aside(target):
    """Leave what a writer leaves that was killed between its two renames."""
    new = target.with_name(f".{target.name}-{DIGITS}")
    old = moved_aside(new)
    for folder in (new, old):
        folder.mkdir()
        (folder / "which").write_text("old" if folder == old else "new")
    return new, old


def test_an_old_folder_that_is_missing_is_found_and_moved_back(tmp_path):
    target = tmp_path / "model"
    assert find_moved_aside(target) is None
    _, old = put_aside(target)
    assert find_moved_aside(target) == old
    sweep_target(target, folders=True)
    assert (target / "which").read_text() == "old"
    assert names_in(tmp_path) == ["model"]
    assert find_moved_aside(target) is None


def test_an_old_folder_goes_when_the_new_one_is_there(tmp_path):
    target = tmp_path / "model"
    new, _ = put_aside(target)
    new.rename(target)
    sweep_target(target, folders=True)
    assert (target / "which").read_text() == "new"
    assert names_in(tmp_path) == ["model"]


def test_an_old_folder_is_left_alone_while_its_writer_lives(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    with temporary_beside(target, is_folder=True) as new:
        target.rename(moved_aside(new))
        sweep_target(target, folders=True)
        assert names_in(tmp_path) == [new.name, moved_aside(new).name]


def test_somebody_else_may_move_an_old_folder_back_first(tmp_path, monkeypatch):
    target = tmp_path / "model"
    put_aside(target)

    def fail(*_arguments):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "rename", fail)
    sweep_target(target, folders=True)
    assert find_moved_aside(target) is not None
