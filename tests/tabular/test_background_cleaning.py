"""A table is cleaned again beside other work, and nothing of the user's is touched."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cli.command_runs import accepted, written
from disambig import read_table
from disambig.tabular import background_cleaning
from disambig.tabular.background_cleaning import BackgroundCleaning
from disambig.tabular.clean_details import details_path, read_details
from disambig.tabular.cleaned_table import CleanedTable, read_cleaned
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import DecisionLog
from disambig.tabular.labels.decisions import Answer
from tabular.small_tables import three_clouds
from waiting import wait_until

# Longer than any test waits.
ENDLESS = ("--method", "ncpd", "--set", "epochs=10000000", "--in-sample")
QUICK = ("--method", "plknn", "--folds", "2")


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """Return the folder in which temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def cleaned_in(folder: Path, *options: str) -> Path:
    """Return a cleaned table of sixty rows, made by the command."""
    folder.mkdir(exist_ok=True)
    frame = three_clouds(60).assign(name=[f"R{row}" for row in range(60)])
    table = written(folder / "rows.csv", frame)
    words = (*QUICK, "--ignore", "truth", "--id", "name", *options)
    accepted("clean", table, *words, "--out", folder / "clean.csv")
    return folder / "clean.csv"


def read(path: Path) -> CleanedTable:
    return read_cleaned(read_table(path), read_details(details_path(path)))


def ended(run: BackgroundCleaning):
    results = []

    def is_over() -> bool:
        results.append(run.poll())
        return results[-1] is not None

    wait_until(is_over)
    return results[-1]


def with_command(rows: CleanedTable, *command: str) -> CleanedTable:
    provenance = type(rows.provenance)(command=command)
    return type(rows)(**{**vars(rows), "provenance": provenance})


def endless(path: Path) -> tuple[CleanedTable, Path]:
    """Return a table that says it was made by a command without an end, and decisions on it."""
    rows = read(path)
    command = [word for word in rows.provenance.command if word not in QUICK]
    decisions = path.with_name("d.jsonl")
    decisions.write_text('{"row": 1, "name": "R0", "label": "cat"}\n')
    return with_command(rows, *command, *ENDLESS), decisions


def wait_until_it_trains(scratch: Path) -> Path:
    """Return the folder that the process writes to, once it has work there."""
    (folder,) = scratch.iterdir()
    wait_until(lambda: any(folder.glob("clean.jsonl.partial/*")))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# Runs -------------------------------------------------------------------------------------------


def test_the_table_is_cleaned_with_the_decisions_and_no_file_of_the_user_changes(tmp_path, scratch):
    path = cleaned_in(tmp_path / "work")
    rows = read(path)
    log = DecisionLog(tmp_path / "work" / "d.jsonl", DecidedRows(rows.values, rows.id))
    one, other, third = rows.doubtful_rows(3).tolist()
    log.settle(one, "fox", before=None)
    log.settle(other, Answer.CANNOT_TELL, before=None)
    log.settle(third, Answer.BAD_ROW, before=None)
    before = contents(path.parent)
    result = ended(BackgroundCleaning(rows, log.path))
    assert result.message == ""
    assert result.decisions == 3
    assert result.rows.decision[[one, other, third]].tolist() == ["label", "cannot tell", "bad row"]
    assert list(result.rows.candidates[one]) == ["fox"]
    assert result.rows.values["name"].tolist() == rows.values["name"].tolist()
    assert result.rows.provenance.command == rows.provenance.command
    assert not result.rows.second_look[[one, other, third]].any()
    assert contents(path.parent) == before
    assert list(scratch.iterdir()) == []


def test_files_beside_the_review_are_not_imported(tmp_path, scratch, monkeypatch):
    path = cleaned_in(tmp_path / "work")
    path.with_name("pandas.py").write_text("raise SystemExit('this was imported')")
    path.with_name("d.jsonl").write_text("")
    monkeypatch.chdir(path.parent)
    rows = read(path)
    DecisionLog("d.jsonl", DecidedRows(rows.values, rows.id)).settle(1, "cat", before=None)
    assert ended(BackgroundCleaning(rows, "d.jsonl")).message == ""


def test_a_source_that_is_gone_is_told_with_what_to_do(tmp_path, scratch):
    path = cleaned_in(tmp_path / "work")
    rows = read(path)
    path.with_name("rows.csv").unlink()
    path.with_name("d.jsonl").write_text('{"row": 1, "label": "cat"}\n')
    result = ended(BackgroundCleaning(rows, path.with_name("d.jsonl")))
    assert result.rows is None
    assert "rows.csv" in result.message
    assert f"The command ran in {Path.cwd()}." in result.message
    assert "start the review in the folder where the table was cleaned" in result.message
    assert list(scratch.iterdir()) == []


def test_rows_that_have_changed_since_are_refused(tmp_path, scratch):
    path = cleaned_in(tmp_path / "work")
    rows = read(path)
    source = path.with_name("rows.csv")
    source.write_text(source.read_text().replace("R7", "R700"))
    path.with_name("d.jsonl").write_text('{"name": "R1", "row": 2, "label": "cat"}\n')
    result = ended(BackgroundCleaning(rows, path.with_name("d.jsonl")))
    assert result.rows is None
    assert "rows of the table have changed" in result.message
    assert list(scratch.iterdir()) == []


def test_a_run_has_low_priority_and_leaves_nothing_when_it_is_stopped(tmp_path, scratch):
    run = BackgroundCleaning(*endless(cleaned_in(tmp_path / "work")))
    wait_until_it_trains(scratch)
    assert run.poll() is None
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, run._process.pid) == min(19, ours + 10)
    run.stop()
    assert run._process.returncode == -signal.SIGKILL
    assert list(scratch.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
def test_it_ends_and_cleans_up_when_the_process_that_started_it_is_killed(tmp_path, scratch):
    path = cleaned_in(tmp_path / "work")
    starter = f"""
import sys, tempfile, time
tempfile.tempdir = {str(scratch)!r}
sys.path[:0] = {sys.path!r}
from pathlib import Path
from tabular.test_background_cleaning import BackgroundCleaning, endless
run = BackgroundCleaning(*endless(Path({str(path)!r})))
print(run._process.pid, flush=True)
time.sleep(1000)
"""
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        child = int(started.stdout.readline())
        folder = wait_until_it_trains(scratch)
        assert is_running(child)
        started.kill()
    wait_until(lambda: not is_running(child) and not folder.exists())


def is_running(process: int) -> bool:
    """Tell whether a process is there and no zombie that nobody has waited for."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_cannot_be_started_leaves_nothing(tmp_path, scratch, monkeypatch):
    rows = read(cleaned_in(tmp_path / "work"))

    def fail(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(background_cleaning.subprocess, "Popen", fail)
    with pytest.raises(OSError, match="no more processes"):
        BackgroundCleaning(rows, os.devnull)
    assert list(scratch.iterdir()) == []
