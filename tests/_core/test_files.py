"""Files and folders that are written whole or not at all."""

from pathlib import Path

import pytest

from disambig._core.errors import ParameterError
from disambig._core.files import check_replaceable, write_atomically, write_folder_atomically


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
