"""Decisions in a file that only grows: each is on the disk, and none is lost or made up."""

import functools
import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock, Timeout

from disambig import read_table
from disambig._core.errors import TableError
from disambig.tabular.labels import decision_log
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.tabular.labels.reviewers import read_decisions
from waiting import PATIENCE

TABLE = pd.DataFrame({"photo": [f"p{number}" for number in range(1, 21)]})


def log_of(path, *, by_photo: bool = False) -> DecisionLog:
    if by_photo:
        return DecisionLog(path, DecidedRows(TABLE, "photo"))
    return DecisionLog(path, DecidedRows(TABLE))


def append(log: DecisionLog, row: int, label: str | None) -> None:
    log.settle(row, label, before=log.settled().get(row))


def entries(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "decisions.jsonl"


# What is written --------------------------------------------------------------------------------


def test_the_first_decision_makes_the_file(path):
    log = log_of(path)
    assert log.settled() == {}
    assert not path.exists()
    append(log, 2, "cat")
    (entry,) = entries(path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry.pop("decided_at"))
    assert entry == {"row": "3", "label": "cat"}


def test_a_reviewer_is_known_again_whatever_spaces_are_around_the_name(path):
    DecisionLog(path, DecidedRows(TABLE), " Ann ").settle(2, "cat", before=None)
    assert DecisionLog(path, DecidedRows(TABLE), " Ann ").settled() == {2: "cat"}
    assert DecisionLog(path, DecidedRows(TABLE), "Ann").settled() == {2: "cat"}
    assert entries(path)[0]["by"] == "Ann"


def test_every_decision_is_in_the_file_before_the_next_one(path):
    log = log_of(path)
    for number, label in enumerate(["cat", "dog", None, "cat"]):
        append(log, number, label)
        lines = entries(path)
        assert len(lines) == number + 1
        assert (lines[-1]["row"], lines[-1]["label"]) == (str(number + 1), label)


def test_every_decision_is_forced_to_the_disk(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle)))
    log = log_of(path)
    append(log, 0, "cat")
    append(log, 1, "dog")
    folder, first, second = synced  # the name of the file first, so that it does not get lost
    assert os.path.samestat(folder, path.parent.stat())
    assert 0 < first.st_size < second.st_size == path.stat().st_size


def test_rows_have_their_number_and_what_the_table_calls_them(path):
    append(log_of(path, by_photo=True), 6, "cat")
    (entry,) = entries(path)
    assert (entry["row"], entry["photo"], entry["label"]) == (7, "p7", "cat")
    assert log_of(path, by_photo=True).settled() == log_of(path).settled() == {6: "cat"}
    frame = read_table(path)
    assert read_decisions(frame, TABLE, id="photo") == read_decisions(frame, TABLE) == {6: "cat"}


@pytest.mark.parametrize("name", ["row", "decided_at"])
def test_a_column_of_names_may_be_called_like_one_of_the_log(path, name):
    table = pd.DataFrame({name: ["b2", "b1", "007"]})
    log = DecisionLog(path, DecidedRows(table, name))
    append(log, 2, "cat")
    assert entries(path)[0][name] == "007"
    again = DecisionLog(path, DecidedRows(table, name))
    assert again.settled() == read_decisions(read_table(path), table, id=name) == {2: "cat"}


@pytest.mark.parametrize(
    "label",
    [
        "a,b",
        'say "x"',
        "two\nlines",
        "two\r\nlines",
        "=1+1",
        "猫",
        "'",
        '"',
        '"\n"',
        "a|b",
        "#",
        "0",
    ],
)
def test_any_label_comes_back_as_it_was(path, label):
    log = log_of(path)
    append(log, 1, "before")
    append(log, 2, label)
    append(log, 3, "after")
    expected = {1: "before", 2: label, 3: "after"}
    assert log.settled() == log_of(path).settled() == expected
    assert read_decisions(read_table(path), TABLE) == expected


def test_blanks_around_a_label_say_nothing(path):
    log = log_of(path)
    append(log, 2, " cat")
    with path.open("a") as file:
        file.write('{"row": " 5 ", "label": " dog "}\n{"row": 3, "label": " "}\n')
    assert log.settled() == log_of(path).settled() == {4: "dog"}
    assert read_decisions(read_table(path), TABLE) == {4: "dog"}


# What stands ------------------------------------------------------------------------------------


def test_later_decisions_win_and_an_empty_one_takes_back(path):
    log = log_of(path)
    for row, label in ((0, "cat"), (1, "cat"), (2, "cat"), (0, "dog"), (1, None), (2, None)):
        append(log, row, label)
    append(log, 2, "fox")
    assert log.settled() == {0: "dog", 2: "fox"}
    assert read_decisions(read_table(path), TABLE) == log.settled()


def test_whoever_does_not_know_what_stands_is_told_and_nothing_is_written(path):
    log = log_of(path)
    assert log.settle(0, "cat", before=None) == {0: "cat"}
    assert log.settle(1, "dog", before=None) == {0: "cat", 1: "dog"}
    written = path.read_bytes()
    for believed in (None, "dog"):
        with pytest.raises(Conflict):
            log.settle(0, "dog", before=believed)
    with pytest.raises(Conflict):
        log.settle(2, None, before="cat")
    assert path.read_bytes() == written
    assert log.settle(0, "dog", before="cat") == {0: "dog", 1: "dog"}
    assert log.settle(0, None, before="dog") == log.settled() == {1: "dog"}


def test_lines_written_by_hand_count(path):
    path.write_bytes(
        b'{"label": "dog", "row": 2, "who": "ann"}\r\n\r\n{"row": "3", "label": "cat"}\n'
        b'{"row": 2.0, "label": ""}'
    )
    log = log_of(path)
    assert log.settled() == {2: "cat"}
    append(log, 3, "fox")
    assert log_of(path).settled() == log.settled() == {2: "cat", 3: "fox"}


# Half a line ------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["caravan", 'ein süßes "猫", {c}\nx', None])
def test_half_a_line_is_no_decision_wherever_it_ends(path, label):
    log = log_of(path)
    append(log, 0, "cat")
    append(log, 11, "dog")
    before = path.read_bytes()
    append(log, 0, label)
    after, with_it = path.read_bytes(), log.settled()
    for length in range(len(before), len(after) + 1):
        path.write_bytes(after[:length])
        log = log_of(path)
        settled = log.settled()
        # All of it but the break is as good as the whole.
        assert settled == (with_it if length >= len(after) - 1 else {0: "cat", 11: "dog"})
        assert settled == read_decisions(read_table(path), TABLE)
        append(log, 4, "fox")
        expected = settled | {4: "fox"}
        assert log.settled() == log_of(path).settled() == expected
        assert read_decisions(read_table(path), TABLE) == expected


def test_half_of_the_first_line_is_no_decision(path):
    append(log_of(path), 0, "cat")
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        log = log_of(path)
        assert log.settled() == {}
        append(log, 3, "dog")
        assert read_decisions(read_table(path), TABLE) == {3: "dog"}


def test_half_a_line_of_another_process_is_cut_off_before_the_next_one(path):
    mine = log_of(path)
    append(mine, 0, "cat")
    with path.open("ab") as another:
        another.write(b'{"decided_at": "2026-01-01", "row": 2, "label": "do')
    assert mine.settled() == {0: "cat"}
    append(mine, 2, "fox")
    assert read_decisions(read_table(path), TABLE) == mine.settled() == {0: "cat", 2: "fox"}


# Several at a time ------------------------------------------------------------------------------


def test_two_logs_on_one_file_see_each_other(path):
    one, other = log_of(path), log_of(path)
    append(one, 0, "cat")
    assert other.settled() == {0: "cat"}
    append(other, 1, "dog")
    with pytest.raises(Conflict):
        one.settle(1, "fox", before=None)
    append(one, 2, "fox")
    assert one.settled() == other.settled() == {0: "cat", 1: "dog", 2: "fox"}


WRITER = """
import sys
import pandas as pd
from disambig.tabular.labels.decision_log import DecisionLog
from disambig.tabular.labels.decided_rows import DecidedRows
path, name = sys.argv[1:]
frame = pd.DataFrame({"x": range(40)})
log = DecisionLog(path, DecidedRows(frame))
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    log.settle(number + 20 * int(name == "b"), f"{name}{number}", before=None)
"""


def test_two_processes_write_to_one_file_and_nothing_is_lost(path):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=PATIENCE)
        assert writer.returncode == 0
    lines = [(line["row"], line["label"]) for line in entries(path)]
    for name in ("a", "b"):
        written = [line for line in lines if line[1].startswith(name)]
        first = 1 if name == "a" else 21
        assert written == [(str(first + number), f"{name}{number}") for number in range(20)]
    assert len(lines) == 40


def test_whoever_writes_waits_for_another_process_to_end(path):
    fcntl = pytest.importorskip("fcntl")
    log = log_of(path)
    append(log, 0, "cat")
    with path.open("rb") as another:
        fcntl.flock(another, fcntl.LOCK_EX)
        writer = threading.Thread(target=append, args=(log, 1, "dog"))
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
        assert b"dog" not in path.read_bytes()
    writer.join(PATIENCE)
    assert log.settled() == {0: "cat", 1: "dog"}


def test_without_flock_a_lock_file_keeps_others_away(path, monkeypatch):
    # As on Windows.
    monkeypatch.setattr(decision_log, "fcntl", None)
    log = log_of(path)
    monkeypatch.setattr("filelock.FileLock", functools.partial(FileLock, timeout=0))
    with FileLock(f"{path}.lock"), pytest.raises(Timeout):
        log.settle(0, "cat", before=None)
    assert log.settle(0, "cat", before=None) == {0: "cat"}


def test_a_file_that_somebody_edits_in_the_meantime_counts_as_it_is(path):
    log = log_of(path)
    append(log, 0, "cat")
    append(log, 1, "dog")
    before = path.read_text()
    path.write_text(before.replace('"cat"', '"a much longer label"'))
    append(log, 2, "fox")
    expected = {0: "a much longer label", 1: "dog", 2: "fox"}
    assert log.settled() == read_decisions(read_table(path), TABLE) == expected


def test_half_a_character_comes_back(path):
    append(log_of(path), 0, "\ud83d")
    assert log_of(path).settled() == {0: "\ud83d"}


def test_a_file_that_is_taken_away_is_begun_anew(path):
    log = log_of(path)
    append(log, 0, "cat")
    path.rename(path.with_name("older.jsonl"))
    append(log, 1, "dog")
    assert read_decisions(read_table(path), TABLE) == log.settled() == {1: "dog"}


# What cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"photo": "p1", "said": "cat"}\n',
            "needs lines such as .*Got .*said.*Name another file",
        ),
        (b"row,label\n1,cat\n", "Got 'row,label'"),
        (b"all my notes", "Got 'all my notes'"),
        (b"[1, 2]\n", r"Got '\[1, 2\]'"),
        (b'{"name": "other", "of": [', "Got .*other"),
        (b'{"name": "other"}', "Got .*other"),
        (b'{"name": "other"}\n{"na', "Got .*other"),
        (b'{"name": "other"}\n{"decided_at": "2026', "Got .*other"),
        (b'"row label"\n', "Got .*row label"),
        (b'{"row": 1, "label": "\xff\xfe"}\n', "needs lines such as"),
        (b"PK\x03\x04\xff\xd8\n\x00\xff", "needs lines such as"),
        (b"[" * 100_000 + b"\n", "needs lines such as"),
        (
            b'{"row": 1, "label": "cat"}\n{"row": "ninth", "label": "dog"}\n',
            "Got 'ninth' in its row 2",
        ),
        (b'{"row": 21, "label": "cat"}\n', "rows 1 to 20 .* Got 21 in row 1 of the decisions"),
        (b'{"row": null, "label": "cat"}\n', "must hold row numbers"),
    ],
)
def test_another_file_is_refused_and_left_alone(path, content, message):
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        log_of(path)
    assert path.read_bytes() == content


def test_a_line_that_cannot_be_used_does_not_hide_those_after_it(path):
    log = log_of(path)
    append(log, 0, "cat")
    good = path.read_text()
    others = [{"row": 2, "label": "dog"}, {"row": 99, "label": "cat"}, {"row": 4, "label": "fox"}]
    path.write_text(good + "".join(f"{json.dumps(entry)}\n" for entry in others))
    for _ in range(2):
        with pytest.raises(TableError, match="Got 99 in row 3 of the decisions"):
            log.settled()
    others[1]["row"] = 3
    path.write_text(good + "".join(f"{json.dumps(entry)}\n" for entry in others))
    assert log.settled() == {0: "cat", 1: "dog", 2: "cat", 3: "fox"}


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    log = log_of(tmp_path / "file" / "decisions.jsonl")
    with pytest.raises(TableError, match=r"which cannot be written: .* Name another file"):
        append(log, 0, "cat")
    with pytest.raises(TableError, match="which cannot be written"):
        log_of(tmp_path)


class FullDisk(io.FileIO):
    """Takes a few bytes, and then no more."""

    def write(self, content: bytes) -> int:  # type: ignore[override]
        return super().write(content[:5])


def test_a_disk_that_fills_up_leaves_the_file_as_it_was(path, monkeypatch):
    log = log_of(path)
    append(log, 0, "cat")
    before = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(decision_log.io, "FileIO", FullDisk)
        with pytest.raises(OSError, match="No space left"):
            append(log, 1, "dog")
    assert path.read_bytes() == before
    assert log.settled() == {0: "cat"}
    append(log, 1, "dog")
    assert read_decisions(read_table(path), TABLE) == {0: "cat", 1: "dog"}


def test_what_cannot_be_forced_to_the_disk_is_taken_out_again(path, monkeypatch):
    log = log_of(path)
    append(log, 0, "cat")
    before = path.read_bytes()

    def break_down(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", break_down)
        with pytest.raises(OSError, match="Input/output"):
            append(log, 1, "dog")
    assert path.read_bytes() == before
    assert log.settled() == {0: "cat"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_a_log(path):
    os.mkfifo(path)
    with pytest.raises(TableError, match="it is a folder, a pipe or a device"):
        log_of(path)
