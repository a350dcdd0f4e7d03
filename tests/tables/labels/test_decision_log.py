"""Decisions in a file that only grows: each is on the disk, and none is lost or made up."""

import csv
import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from disambig import read_table
from disambig._core.errors import TableError
from disambig.tables.labels import decision_log
from disambig.tables.labels.decision_log import Conflict, Decision, DecisionLog
from disambig.tables.labels.decisions import DecidedRows, read_decisions

TABLE = pd.DataFrame({"photo": [f"p{number}" for number in range(1, 21)]})
EVERYTHING_IS_KNOWN = 10**6


def log_of(path, *, by_photo: bool = False) -> DecisionLog:
    if by_photo:
        return DecisionLog(path, DecidedRows(TABLE, "photo"), TABLE["photo"].tolist())
    return DecisionLog(path, DecidedRows(TABLE), [str(row + 1) for row in range(len(TABLE))])


def append(log: DecisionLog, row: int, label: str | None) -> None:
    log.append(Decision(row, label), seen=EVERYTHING_IS_KNOWN)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "decisions.csv"


# What is written --------------------------------------------------------------------------------


def test_the_first_decision_makes_the_file_with_its_header(path):
    log = log_of(path)
    assert log.since(0) == []
    assert not path.exists()
    append(log, 2, "cat")
    header, line = path.read_text().splitlines()
    assert header == "row,label,decided_at"
    assert re.fullmatch(r"3,cat,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", line)


def test_every_decision_is_in_the_file_before_the_next_one(path):
    log = log_of(path)
    for number, label in enumerate(["cat", "dog", None, "cat"]):
        append(log, number, label)
        with path.open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == number + 1
        assert (lines[-1]["row"], lines[-1]["label"]) == (str(number + 1), label or "")


def test_every_decision_is_forced_to_the_disk(path, monkeypatch):
    sizes = []
    monkeypatch.setattr(os, "fsync", lambda handle: sizes.append(os.fstat(handle).st_size))
    log = log_of(path)
    append(log, 0, "cat")
    append(log, 1, "dog")
    assert len(sizes) == 2
    assert sizes[-1] == path.stat().st_size


def test_rows_are_called_what_the_table_calls_them(path):
    append(log_of(path, by_photo=True), 6, "cat")
    assert path.read_text().startswith("photo,label,decided_at\np7,cat,")
    assert log_of(path, by_photo=True).settled() == {6: "cat"}


def test_a_file_with_columns_of_its_own_keeps_them(path):
    path.write_text("who,label,row\nann,dog,4\n")
    append(log_of(path), 5, "cat")
    assert path.read_text() == 'who,label,row\nann,dog,4\n"","cat","6"\n'


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
    path.write_text(path.read_text() + " 5 , dog ,\n 3, ,\n")
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


def test_decisions_come_in_order_from_any_number_on(path):
    log = log_of(path)
    made = [Decision(0, "cat"), Decision(5, "dog"), Decision(0, None)]
    for number, decision in enumerate(made):
        log.append(decision, seen=number)
    assert log.since(0) == made
    assert log.since(2) == made[2:]
    assert log.since(3) == log.since(99) == []
    assert log.since(-4) == made


def test_whoever_does_not_know_the_last_decision_on_a_row_is_told(path):
    log = log_of(path)
    log.append(Decision(0, "cat"), seen=0)
    log.append(Decision(1, "dog"), seen=0)  # another row
    before = path.read_bytes()
    with pytest.raises(Conflict):
        log.append(Decision(0, "dog"), seen=0)
    assert path.read_bytes() == before
    log.append(Decision(0, "dog"), seen=1)
    assert log.settled() == {0: "dog", 1: "dog"}


def test_a_file_made_by_hand_counts(path):
    path.write_bytes(b"\xef\xbb\xbflabel;x,label,row\r\n,dog,2\r\n\r\n,cat,3\r\n,,2\r\n")
    log = log_of(path)
    assert log.since(0) == [Decision(1, "dog"), Decision(2, "cat"), Decision(1, None)]
    append(log, 3, "fox")
    assert read_decisions(read_table(path), TABLE) == log.settled() == {2: "cat", 3: "fox"}


# Half a line ------------------------------------------------------------------------------------


def whole_file(path: Path, header: str, label: str) -> tuple[bytes, bytes]:
    """Return a file of two decisions, and the same with a third one."""
    path.write_text(header)
    log = log_of(path)
    append(log, 0, "cat")
    append(log, 11, "dog")
    before = path.read_bytes()
    append(log, 0, label)
    return before, path.read_bytes()


@pytest.mark.parametrize(
    ("header", "label"),
    [
        ("", "caravan"),
        ("", "ein süßes 猫"),
        ("", 'a "b", c'),
        ("row,label\n", "caravan"),
        ("row,label\n", "süß, 猫"),
        ("label,row\n", 'a "b", c'),
        ("label,row,note\n", "caravan"),
    ],
)
def test_half_a_line_is_no_decision_wherever_it_ends(path, header, label):
    before, after = whole_file(path, header, label)
    for length in range(len(before), len(after) + 1):
        path.write_bytes(after[:length])
        log = log_of(path)
        settled = log.settled()
        # All of it but the break, or the time, is as good as the whole.
        assert settled in ({0: "cat", 11: "dog"}, {0: label, 11: "dog"})
        assert settled == read_decisions(read_table(path), TABLE)
        assert path.read_bytes().startswith(before)
        if length == len(after):
            assert settled[0] == label
        append(log, 4, "fox")
        expected = settled | {4: "fox"}
        assert log.settled() == log_of(path).settled() == expected
        assert read_decisions(read_table(path), TABLE) == expected


def test_half_a_line_that_takes_back_takes_nothing_back(path):
    before, after = whole_file(path, "row,label\n", "")
    assert log_of(path).settled() == {11: "dog"}
    for length in range(len(before), len(after) - 1):
        path.write_bytes(after[:length])
        assert log_of(path).settled() in ({0: "cat", 11: "dog"}, {11: "dog"})
    path.write_bytes(after[: len(before) + len('"1",')])
    assert log_of(path).settled() == {0: "cat", 11: "dog"}


def test_half_a_label_of_two_lines_is_no_decision_and_nothing_is_thrown_away(path):
    before, after = whole_file(path, "", "two\nlines")
    inside = range(after.index(b"\nlines") + 1, after.index(b"lines") + len(b"lines") + 1)
    for length in range(len(before), len(after)):
        path.write_bytes(after[:length])
        if length in inside:
            with pytest.raises(TableError, match=r"ends inside quotes.*Close them, or remove"):
                log_of(path)
            assert path.read_bytes() == after[:length]
        else:
            settled = log_of(path).settled()
            assert settled in ({0: "cat", 11: "dog"}, {0: "two\nlines", 11: "dog"})


def test_half_a_header_is_no_header(path):
    append(log_of(path), 0, "cat")
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    for length in range(header):
        path.write_bytes(whole[:length])
        log = log_of(path)
        assert log.settled() == {}
        append(log, 3, "dog")
        assert read_decisions(read_table(path), TABLE) == {3: "dog"}


def test_a_last_line_without_a_break_is_kept(path):
    path.write_text("row,label\n3,cat\n4,dog")
    log = log_of(path)
    assert log.settled() == {2: "cat", 3: "dog"}
    append(log, 4, "fox")
    assert read_decisions(read_table(path), TABLE) == {2: "cat", 3: "dog", 4: "fox"}


def test_half_a_line_of_another_process_is_cut_off_before_the_next_one(path):
    mine = log_of(path)
    append(mine, 0, "cat")
    with path.open("ab") as another:
        another.write(b"2,do")
    assert mine.since(1) == []
    append(mine, 2, "fox")
    assert read_decisions(read_table(path), TABLE) == mine.settled() == {0: "cat", 2: "fox"}


def test_a_quote_too_many_does_not_cost_the_lines_after_it(path):
    content = 'row,label\n1,"cat\n2,dog\n3,fox\n'
    path.write_text(content)
    with pytest.raises(TableError, match=r"ends inside quotes that begin in '1,\"cat"):
        log_of(path)
    assert path.read_text() == content


# Several at a time ------------------------------------------------------------------------------


def test_two_logs_on_one_file_see_each_other(path):
    one, other = log_of(path), log_of(path)
    append(one, 0, "cat")
    assert other.since(0) == [Decision(0, "cat")]
    append(other, 1, "dog")
    with pytest.raises(Conflict):
        one.append(Decision(1, "fox"), seen=1)
    append(one, 2, "fox")
    assert one.settled() == other.settled() == {0: "cat", 1: "dog", 2: "fox"}
    assert path.read_text().count("decided_at") == 1


WRITER = """
import sys
import pandas as pd
from disambig.tables.labels.decision_log import Decision, DecisionLog
from disambig.tables.labels.decisions import DecidedRows
path, name = sys.argv[1:]
frame = pd.DataFrame({"x": range(40)})
log = DecisionLog(path, DecidedRows(frame), [str(row + 1) for row in range(40)])
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    log.append(Decision(number, f"{name}{number}"), seen=10**6)
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
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    with path.open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["row", "label", "decided_at"]
    for name in ("a", "b"):
        own = [line[:2] for line in lines if line[1].startswith(name)]
        assert own == [[str(number + 1), f"{name}{number}"] for number in range(40)]
    assert len(lines) == 80


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
    writer.join(10)
    assert log.settled() == {0: "cat", 1: "dog"}


def test_a_file_that_is_taken_away_is_begun_anew(path):
    log = log_of(path)
    append(log, 0, "cat")
    path.rename(path.with_name("older.csv"))
    append(log, 1, "dog")
    assert read_decisions(read_table(path), TABLE) == log.settled() == {1: "dog"}


# What cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"photo,said\np1,cat\n", "needs the columns 'row' and 'label'.*It has 'photo', 'said'"),
        (b"row;label\n1;cat\n", "It has 'row;label'.*--decisions"),
        (b"all my notes", "It has 'all my notes'"),
        (b"all my notes\nand more, of them", "It has 'all my notes'"),
        (b"row,label\n1,\xff\xfe\n", "needs to be text in UTF-8"),
        (b"row,label\n1,\xff\xfe\n2,cat\n", "needs to be text in UTF-8"),
        (b"PK\x03\x04\xff\xd8\n\x00\xff", "needs to be text in UTF-8"),
        (b"row,label\n1,cat\nninth,dog\n", "Got 'ninth' in its row 2"),
        (b"row,label\n21,cat\n", "rows 1 to 20 .* Got 21 in row 1 of the decisions"),
        (b"row,label\n,cat\n", "holds row numbers"),
        (b"row,label\n1," + b"x" * 200_000 + b"\n", "cannot be read: field larger"),
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
    path.write_text(good + "2,dog,\n99,cat,\n4,fox,\n")
    for _ in range(2):
        with pytest.raises(TableError, match="Got 99 in row 3 of the decisions"):
            log.since(0)
    path.write_text(good + "2,dog,\n3,cat,\n4,fox,\n")
    assert log.settled() == {0: "cat", 1: "dog", 2: "cat", 3: "fox"}


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    log = log_of(tmp_path / "file" / "decisions.csv")
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
