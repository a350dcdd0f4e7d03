"""Work that was interrupted goes on; work on other data starts anew."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.task import prepare_task
from disambig.tabular.work_folder import WorkFolder, unfinished_work, work_fingerprint
from tabular.small_tables import neighbours, quick_network, three_clouds

PART = {"probabilities": np.array([[0.25, 0.75], [0.5, 0.5]]), "per_network": np.ones((2, 3))}
PRINT = "0123456789abcdef" * 4
TASK = prepare_task(three_clouds(), ignore=["truth"])


def assert_is_the_part(kept) -> None:
    assert set(kept) == set(PART)
    for name, array in PART.items():
        np.testing.assert_array_equal(kept[name], array)


def test_what_is_kept_is_there_for_the_next_one(tmp_path):
    WorkFolder(tmp_path / "w", PRINT).keep("fold-1", PART)
    again = WorkFolder(tmp_path / "w", PRINT)
    assert_is_the_part(again.arrays("fold-1"))
    assert again.arrays("fold-2") is None


def test_work_with_another_fingerprint_is_thrown_away(tmp_path):
    WorkFolder(tmp_path / "w", PRINT).keep("fold-1", PART)
    assert WorkFolder(tmp_path / "w", "f" * 64).arrays("fold-1") is None


def test_a_folder_of_somebody_else_is_never_removed(tmp_path):
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(TableError, match="there is something else. Move it away"):
        WorkFolder(folder, PRINT)
    assert (folder / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.6, 0.99])
def test_a_part_that_was_cut_short_counts_as_not_done(tmp_path, share):
    work = WorkFolder(tmp_path / "w", PRINT)
    work.keep("fold-1", PART)
    file = work.part("fold-1")
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    assert work.arrays("fold-1") is None


def test_a_part_with_a_flipped_byte_counts_as_not_done(tmp_path):
    work = WorkFolder(tmp_path / "w", PRINT)
    work.keep("fold-1", PART)
    file = work.part("fold-1")
    content = bytearray(file.read_bytes())
    content[content.index(PART["probabilities"].tobytes()) + 5] ^= 1
    file.write_bytes(content)
    assert work.arrays("fold-1") is None


@pytest.mark.parametrize("content", [b"not an array", b"PK not a zip"])
def test_another_file_under_the_name_of_a_part_counts_as_not_done(tmp_path, content):
    work = WorkFolder(tmp_path / "w", PRINT)
    (work.part("fold-1")).write_bytes(content)
    assert work.arrays("fold-1") is None


def test_a_part_that_is_packed_or_not_a_file_counts_as_not_done(tmp_path):
    work = WorkFolder(tmp_path / "w", PRINT)
    np.savez_compressed(work.part("fold-1"), **PART)  # might unpack to anything
    os.mkfifo(work.part("fold-2"))  # and this would be waited for
    assert work.arrays("fold-1") is work.arrays("fold-2") is None


def test_a_mark_of_any_depth_is_not_ours(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "work.json").write_text("[" * 100_000)
    with pytest.raises(TableError, match="there is something else"):
        WorkFolder(tmp_path / "w", PRINT)


def test_objects_in_a_kept_file_are_not_unpickled(tmp_path):
    work = WorkFolder(tmp_path / "w", PRINT)
    np.savez(work.part("fold-1"), probabilities=np.array([[{}, {}]], dtype=object))
    assert work.arrays("fold-1") is None


def test_the_state_of_a_training_goes_when_its_part_is_done(tmp_path):
    work = WorkFolder(tmp_path / "w", PRINT)
    work.checkpoint("fold-1").write_text("state")
    work.keep("fold-1", PART)
    assert not work.checkpoint("fold-1").exists()


def test_the_folder_goes_when_the_work_is_done(tmp_path):
    with unfinished_work(tmp_path / "out", TASK, neighbours()) as work:
        assert work.path.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_stays_when_the_work_breaks_off(tmp_path):
    def break_off() -> None:
        with unfinished_work(tmp_path / "out", TASK, neighbours()) as work:
            work.keep("fold-1", PART)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    with unfinished_work(tmp_path / "out", TASK, neighbours()) as work:
        kept = work.arrays("fold-1")
    assert_is_the_part(kept)


def fail_after(tmp_path, *, keep: bool) -> None:
    with unfinished_work(tmp_path / "out", TASK, neighbours()) as work:
        if keep:
            work.keep("fold-1", PART)
        raise ParameterError("too many folds")


def test_the_folder_goes_where_something_is_wrong_from_the_start(tmp_path):
    with pytest.raises(ParameterError, match="too many"):
        fail_after(tmp_path, keep=False)
    assert list(tmp_path.iterdir()) == []


def test_what_is_done_is_kept_when_something_goes_wrong_later(tmp_path):
    with pytest.raises(ParameterError, match="too many"):
        fail_after(tmp_path, keep=True)
    assert [path.suffix for path in (tmp_path / "out.partial").glob("fold-1*")] == [".npz"]


def test_a_place_where_no_folder_can_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match=r"which cannot be made: .* Choose another name"):
        WorkFolder(tmp_path / "file" / "w", PRINT)


@pytest.mark.parametrize("out", [None, "-", Path("-")])
def test_without_a_file_or_folder_nothing_is_kept(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    with unfinished_work(out, TASK, neighbours()) as work:
        assert work is None
    assert list(tmp_path.iterdir()) == []


def fingerprint(frame, method, **settings):
    task = prepare_task(frame, ignore=["truth"])
    return work_fingerprint(task, method, **settings)


def test_the_fingerprint_follows_all_that_the_work_depends_on():
    frame = three_clouds()
    other_value, other_label = frame.copy(), frame.copy()
    other_value.loc[3, "length"] = "0.001"
    other_label.loc[0, "label"] = "cat|dog|fox"
    prints = [
        fingerprint(frame, quick_network(), seed=0),
        fingerprint(other_value, quick_network(), seed=0),
        fingerprint(other_label, quick_network(), seed=0),
        fingerprint(frame, quick_network(epochs=7), seed=0),
        fingerprint(frame, neighbours(), seed=0),
        fingerprint(frame, quick_network(), seed=1),
    ]
    assert len(set(prints)) == len(prints)
    assert fingerprint(three_clouds(), quick_network(), seed=0) == prints[0]


def test_a_folder_that_another_run_has_removed_is_made_again_and_removed(tmp_path):
    with unfinished_work(tmp_path / "out", TASK, neighbours()) as work:
        work.remove()
        work.keep("fold-1", PART)
    assert list(tmp_path.iterdir()) == []


def test_other_work_at_the_same_time_is_never_taken_for_ones_own(tmp_path):
    one = WorkFolder(tmp_path / "w", PRINT)
    two = WorkFolder(tmp_path / "w", "f" * 64)
    one.keep("fold-1", PART)
    assert two.arrays("fold-1") is None
    assert one.checkpoint("fold-1") != two.checkpoint("fold-1")


def test_what_went_wrong_is_said_even_if_another_run_has_removed_the_folder(tmp_path):
    def fail() -> None:
        with unfinished_work(tmp_path / "out", TASK, neighbours()) as work:
            shutil.rmtree(work.path)
            raise ParameterError("too many folds")

    with pytest.raises(ParameterError, match="too many"):
        fail()


@pytest.mark.parametrize("at_the_end", [True, False])
def test_what_somebody_put_into_the_folder_stays(tmp_path, at_the_end):
    work = WorkFolder(tmp_path / "w", PRINT)
    work.keep("fold-1", PART)
    (tmp_path / "w" / "notes").mkdir()
    (tmp_path / "w" / "notes.txt").write_text("mine")
    if at_the_end:
        work.remove()
        assert sorted(path.name for path in work.path.iterdir()) == ["notes", "notes.txt"]
    else:
        assert WorkFolder(tmp_path / "w", "f" * 64).arrays("fold-1") is None
    assert (tmp_path / "w" / "notes.txt").read_text() == "mine"


def test_another_run_may_end_at_the_same_moment(tmp_path, monkeypatch):
    work = WorkFolder(tmp_path / "w", PRINT)
    found = work._mark()

    def end_meanwhile() -> str | None:
        shutil.rmtree(work.path)
        return found

    monkeypatch.setattr(work, "_mark", end_meanwhile)
    work.remove()
    assert not work.path.exists()


def test_an_empty_folder_is_taken_over(tmp_path):
    (tmp_path / "w").mkdir()
    WorkFolder(tmp_path / "w", PRINT).keep("fold-1", PART)


# Any moment of death leaves something that the next run takes over.
@pytest.mark.parametrize(
    "names",
    [
        [".work-0123.json"],
        [f".work-{'0a' * 16}.json", f".work-{'1b' * 16}.json"],
        [f"fold-1-{'0' * 16}.npz", f"whole-{'0' * 16}.checkpoint.2"],
        [f".fold-12-{'0' * 16}-{'a' * 32}.npz"],
    ],
)
def test_a_folder_whose_mark_is_missing_is_begun_anew(tmp_path, names):
    (tmp_path / "w").mkdir()
    for name in names:
        (tmp_path / "w" / name).write_bytes(b"")
    work = WorkFolder(tmp_path / "w", PRINT)
    work.keep("fold-1", PART)
    assert_is_the_part(WorkFolder(tmp_path / "w", PRINT).arrays("fold-1"))
    work.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["work-0123.json", ".work-thesis.json", "fold-1.npz", "fold-1-0123.npz", "whole"]
)
def test_a_folder_with_other_names_is_refused(tmp_path, name):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / name).write_text("mine")
    with pytest.raises(TableError, match="there is something else"):
        WorkFolder(tmp_path / "w", PRINT)
    assert (tmp_path / "w" / name).read_text() == "mine"


def test_a_link_to_nowhere_is_something_else(tmp_path):
    (tmp_path / "w").symlink_to("nowhere")
    with pytest.raises(TableError, match="there is something else"):
        WorkFolder(tmp_path / "w", PRINT)
