"""Files and folders that are written whole or not at all."""

import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path

import pytest

from disambig._core import files
from disambig._core.errors import DownloadError, ParameterError
from disambig._core.files import (
    DISK_ERRORS,
    check_replaceable,
    write_atomically,
    write_folder_atomically,
)


def test_the_file_is_there_when_the_block_ends(tmp_path):
    with write_atomically(tmp_path / "new" / "result.csv") as temporary:
        temporary.write_text("done")
        assert temporary.suffix == ".csv"
        assert not (tmp_path / "new" / "result.csv").exists()
    assert (tmp_path / "new" / "result.csv").read_text() == "done"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["result.csv"]


def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "result.csv"
    target.write_text("old")

    def write_half():
        with write_atomically(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_who_may_read_a_file_does_not_change_with_its_content(tmp_path):
    path = tmp_path / "private.txt"
    path.write_text("old")
    path.chmod(0o600)
    with write_atomically(path) as temporary:
        temporary.write_text("new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "new"


def is_ours(folder: Path) -> bool:
    return {entry.name for entry in folder.iterdir()} == {"ours"}


def write(path, content="new"):
    with write_folder_atomically(path, is_ours) as folder:
        (folder / "ours").write_text(content)


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder_appears_when_the_block_is_done_and_nothing_else_stays(tmp_path):
    target = tmp_path / "deep" / "folder"
    with write_folder_atomically(target, is_ours) as folder:
        (folder / "ours").write_text("new")
        assert not target.exists()
    assert (target / "ours").read_text() == "new"
    assert names_in(tmp_path / "deep") == ["folder"]


def test_a_folder_of_ours_is_replaced_as_a_whole(tmp_path):
    write(tmp_path / "folder", "old")
    with write_folder_atomically(tmp_path / "folder", is_ours) as folder:
        (folder / "other").write_text("new")
        assert (tmp_path / "folder" / "ours").read_text() == "old"
    assert names_in(tmp_path / "folder") == ["other"]
    assert names_in(tmp_path) == ["folder"]


def test_an_empty_folder_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder")
    assert names_in(tmp_path / "folder") == ["ours"]


def test_a_failure_leaves_what_was_there(tmp_path):
    write(tmp_path / "folder", "old")
    with (
        pytest.raises(RuntimeError, match="full"),
        write_folder_atomically(tmp_path / "folder", is_ours) as folder,
    ):
        raise RuntimeError(f"full, after {(folder / 'ours').write_text('half')} letters")
    assert (tmp_path / "folder" / "ours").read_text() == "old"
    assert names_in(tmp_path) == ["folder"]


def test_a_failure_leaves_nothing_where_nothing_was(tmp_path):
    with (
        pytest.raises(RuntimeError, match="full"),
        write_folder_atomically(tmp_path / "folder", is_ours),
    ):
        raise RuntimeError("full")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("was_there", [True, False])
def test_a_move_that_fails_leaves_what_was_there(tmp_path, was_there):
    if was_there:
        write(tmp_path / "folder", "old")
    with (
        pytest.raises(FileNotFoundError),
        write_folder_atomically(tmp_path / "folder", is_ours) as folder,
    ):
        folder.rmdir()  # so that there is nothing to move
    assert names_in(tmp_path) == (["folder"] if was_there else [])


@pytest.mark.parametrize("kind", ["file", "folder", "both"])
def test_something_else_is_refused_before_anything_is_written(tmp_path, kind):
    target = tmp_path / "taken"
    if kind == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "thesis").write_text("mine")
        if kind == "both":
            (target / "ours").write_text("mine")
    with pytest.raises(ParameterError, match=r"already something else at '.*taken'.* another name"):
        check_replaceable(target, is_ours)
    with (
        pytest.raises(ParameterError, match="already something else"),
        write_folder_atomically(target, is_ours),
    ):
        pytest.fail("the block must not be entered")
    assert names_in(tmp_path) == ["taken"]


def test_something_else_that_came_meanwhile_stays(tmp_path):
    with (
        pytest.raises(ParameterError, match="already something else"),
        write_folder_atomically(tmp_path / "folder", is_ours),
    ):
        (tmp_path / "folder").write_text("mine")
    assert (tmp_path / "folder").read_text() == "mine"
    assert names_in(tmp_path) == ["folder"]


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ParameterError, match=r"cannot be made at '.*model': '.*file' is a file"):
        check_replaceable(tmp_path / "file" / "deep" / "model", is_ours)


def test_a_free_place_and_one_of_ours_are_fine(tmp_path):
    check_replaceable(tmp_path / "deep" / "folder", is_ours)
    write(tmp_path / "folder")
    check_replaceable(tmp_path / "folder", is_ours)
    assert names_in(tmp_path) == ["folder"]


def test_a_link_is_followed(tmp_path):
    write(tmp_path / "folder", "old")
    (tmp_path / "link").symlink_to("folder")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "ours").read_text() == "new"


def test_a_relative_path_is_seen_from_where_one_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("folder")
    assert names_in(tmp_path) == ["folder"]


def test_a_name_too_long_for_its_temporary_is_refused_before_any_work(tmp_path):
    write(tmp_path / ("x" * 200))
    with pytest.raises(ParameterError, match="may have 200 bytes"):
        check_replaceable(tmp_path / ("x" * 201), is_ours)


def test_a_folder_is_there_at_every_moment_of_its_replacement(tmp_path, monkeypatch):
    target = tmp_path / "folder"
    write(target, "old")
    seen = []
    rmtree = shutil.rmtree

    def look(*arguments, **options):
        seen.append((target / "ours").read_text())
        rmtree(*arguments, **options)

    # The only call that takes the old one away: by then the new one is in place.
    monkeypatch.setattr(shutil, "rmtree", look)
    monkeypatch.setattr(Path, "replace", None)
    write(target, "new")
    assert seen == ["new"]
    assert names_in(tmp_path) == ["folder"]


@pytest.mark.parametrize("library", [None, "old"])
def test_where_names_cannot_be_exchanged_folders_are_moved_twice(tmp_path, monkeypatch, library):
    if library == "old":
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    else:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    write(tmp_path / "folder", "old")
    write(tmp_path / "folder", "new")
    assert (tmp_path / "folder" / "ours").read_text() == "new"
    assert names_in(tmp_path) == ["folder"]


def test_a_second_move_that_fails_is_taken_back(tmp_path, monkeypatch):
    write(tmp_path / "folder", "old")
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    rename = Path.rename

    def fail_for_the_new(path, target):
        if not path.name.endswith("-old") and path.name.startswith("."):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(OSError, match=r"error.*folder'"):
        write(tmp_path / "folder", "new")
    assert (tmp_path / "folder" / "ours").read_text() == "old"
    assert names_in(tmp_path) == ["folder"]


def test_a_first_move_that_fails_is_not_tried_otherwise(tmp_path, monkeypatch):
    def fail(path, _target):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match=r"error.*folder'"):
        write(tmp_path / "folder")
    assert names_in(tmp_path) == []


def test_names_are_exchanged_on_macos_by_its_own_call(tmp_path, monkeypatch):
    called = []

    class Library:
        def renamex_np(self, *arguments):
            called.append(arguments)
            return 0

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library())
    assert files._exchange(tmp_path / "a", tmp_path / "b")
    assert called == [(os.fsencode(tmp_path / "a"), os.fsencode(tmp_path / "b"), 2)]


@pytest.fixture
def synced(monkeypatch):
    """Names of what is forced to the disk, each with the files that its folder has then."""
    found = []
    fsync = os.fsync

    def note(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        found.append((path, names_in(path if path.is_dir() else path.parent)))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")


@needs_proc
def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, synced):
    with write_atomically(tmp_path / "deep" / "result.csv") as temporary:
        temporary.write_text("done")
    assert synced == [
        (tmp_path, ["deep"]),
        (temporary, [temporary.name]),
        (tmp_path / "deep", ["result.csv"]),
    ]


@needs_proc
def test_all_of_a_folder_is_on_the_disk_before_it_is_in_place(tmp_path, synced):
    write(tmp_path / "folder")
    *before, (last, names) = synced
    assert [path.name for path, _ in before] == ["ours", before[-1][0].name]
    assert before[-1][0].parent == tmp_path
    assert (last, names) == (tmp_path, ["folder"])


def test_a_system_that_cannot_force_folders_to_the_disk_is_put_up_with(tmp_path, monkeypatch):
    def refuse(_descriptor):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", refuse)
    with write_atomically(tmp_path / "result.csv") as temporary:
        temporary.write_text("done")
    assert (tmp_path / "result.csv").read_text() == "done"


@pytest.mark.parametrize("code", DISK_ERRORS)
def test_an_error_of_the_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch, code):
    target = tmp_path / "result.csv"
    target.write_text("old")

    def refuse(_descriptor):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=os.strerror(code)) as caught, write_atomically(target) as new:
        new.write_text("new")
    assert caught.value.filename == str(target)
    assert target.read_text() == "old"
    assert names_in(tmp_path) == ["result.csv"]


def test_an_error_in_a_folder_names_the_file_in_it(tmp_path):
    with (
        pytest.raises(OSError, match="No space") as caught,
        write_folder_atomically(tmp_path / "model", is_ours) as folder,
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / "part"))
    assert caught.value.filename == str(tmp_path / "model" / "part")


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "missing", "elsewhere"),
        OSError("an encoder failed"),
        DownloadError("said already"),
    ],
)
def test_other_errors_stay_as_they_are(tmp_path, error):
    with pytest.raises(type(error)) as caught, write_atomically(tmp_path / "result.csv"):
        raise error
    assert caught.value is error
