"""Inputs are not replaced unasked, and Ctrl-C says what is kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from disambig.tabular.work_folder import kept_work
from tabular.small_tables import three_clouds
from waiting import PATIENCE, wait_until

METHOD = ("--method", "plknn", "--folds", "2", "--jobs", "1")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    three_clouds().to_csv("table.csv", index=False)
    return Path("table.csv")


@pytest.mark.parametrize("out", ["table.csv", "./table.csv", "link.csv", "inner/../table.csv"])
def test_the_input_is_not_replaced_unasked_by_any_name(table, out, run_main):
    Path("inner").mkdir()
    Path("link.csv").symlink_to(table)
    before = table.read_bytes()
    end = run_main("clean", table, "--truth", "truth", "--out", out, *METHOD)
    assert end.code == 2
    assert f"{out} is the input file" in end.err
    assert "add --overwrite" in end.err
    assert table.read_bytes() == before
    assert not list(Path().glob("*.partial"))


def test_overwrite_replaces_the_input(table, run_main):
    given = ("clean", table, "--truth", "truth", "--out", table, "--overwrite", *METHOD)
    assert run_main(*given).code == 0
    assert "chosen_label" in pd.read_csv(table).columns


def test_predictions_and_decisions_are_not_replaced_either(table, run_main):
    assert run_main("fit", table, "--out", "model", "--ignore", "truth", *METHOD).code == 0
    end = run_main("predict", "model", table, "--out", table)
    assert (end.code, "is the input file" in end.err) == (2, True)
    pd.DataFrame({"row": [1], "label": ["cat"]}).to_csv("decisions.csv", index=False)
    given = ("clean", table, "--decisions", "decisions.csv", "--out", "decisions.csv", *METHOD)
    end = run_main(*given)
    assert (end.code, "is a file that is read" in end.err) == (2, True)


def test_another_output_is_replaced_as_before(table, run_main):
    given = ("clean", table, "--truth", "truth", "--out", "clean.csv", *METHOD)
    assert run_main(*given).code == run_main(*given).code == 0


def test_label_where_labels_is_meant_is_explained(table, run_main):
    end = run_main("fit", table, "--label", "my label", "--out", "model")
    assert end.code == 2
    assert "use --labels 'my label'" in end.err


def test_any_command_says_that_it_was_interrupted(table, run_main, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("disambig.cli.table_files.read_table", interrupted)
    for words in (["audit", table], ["predict", "model", table, "--out", "new.csv"]):
        monkeypatch.setattr("disambig.tabular.table_model.load_model", interrupted)
        end = run_main(*words)
        assert end.code == 130
        assert end.err.startswith("Interrupted. No file was left half written.")


def test_an_interrupted_fit_says_where_its_work_is_and_goes_on_from_there(table):
    words = ["fit", str(table), "--truth", "truth", "--method", "ncpd", "--jobs", "2"]
    words += ["--set", "epochs=1000000", "--folds", "2", "--out", "model"]
    with subprocess.Popen(
        [sys.executable, "-m", "disambig", *words],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: process.poll() is not None or kept_work("model") is not None)
            os.killpg(process.pid, signal.SIGINT)  # workers too, as a terminal does
            out, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert out == ""
    lines = error.splitlines()
    said = lines.index("Interrupted. The same command goes on with what is kept in")
    assert Path(lines[said + 1]) == Path("model.partial").resolve()
    assert "Traceback" not in error
    # Workers have ended with it: a group without processes cannot be asked anything.
    wait_until(lambda: not is_alive(process.pid))
    assert not Path("model").exists()


def is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
