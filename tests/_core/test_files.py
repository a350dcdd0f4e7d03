import pytest

from disambig._core.files import written_atomically


def test_the_file_is_there_when_the_block_ends(tmp_path):
    with written_atomically(tmp_path / "new" / "result.csv") as temporary:
        temporary.write_text("done")
        assert temporary.suffix == ".csv"
        assert not (tmp_path / "new" / "result.csv").exists()
    assert (tmp_path / "new" / "result.csv").read_text() == "done"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["result.csv"]


def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "result.csv"
    target.write_text("old")

    def write_half():
        with written_atomically(target) as temporary:
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
    with written_atomically(path) as temporary:
        temporary.write_text("new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "new"
