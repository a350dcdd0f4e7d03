"""Commands that torchrun has started in several processes."""

import os
import socket
import sys

import numpy as np
import pytest

from disambig.cli.together import launched_rank_and_size, takes_no_part
from disambig.datasets import example_tables
from disambig.tabular import load_model
from processes import PROCESSES
from waiting import PATIENCE

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def _command(rank, environment, folder, words):
    """Run a command as one of several processes; what it prints is in the folder."""
    os.environ |= environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    os.chdir(folder)
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}-{rank}", os.O_CREAT | os.O_WRONLY), stream)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["disambig", *words]
    from disambig.cli.main import main

    main()


def run_as_torchrun_does(folder, *words, size=2):
    """Return the exit code, the output and the messages of every process."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    environment = dict(
        zip(VARIABLES[1:], (str(size), "127.0.0.1", str(port)), strict=True), COLUMNS="200"
    )
    started = [
        PROCESSES.Process(target=_command, args=(rank, environment, folder, words))
        for rank in range(size)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(PATIENCE)
        process.kill()
    return [
        (process.exitcode, *((folder / f"{name}-{rank}").read_text() for name in ("out", "err")))
        for rank, process in enumerate(started)
    ]


@pytest.fixture
def folder(tmp_path):
    frame = example_tables()["vehicles.csv"].head(90)
    frame.to_csv(tmp_path / "vehicles.csv", index=False)
    return tmp_path


def test_processes_fit_one_model_that_the_first_one_saves_and_speaks_of(folder):
    words = ["fit", "vehicles.csv", "--labels", "label", "--method", "proden", "--folds", "0"]
    words += ["--set", "epochs=3", "--set", "hidden=16"]
    first, second = run_as_torchrun_does(folder, *words, "--out", "together")
    assert (first[0], second) == (0, (0, "", "")), first
    assert "The model:\ntogether\n" in first[2]
    (alone,) = run_as_torchrun_does(folder, *words, "--out", "alone", size=1)
    assert alone[0] == 0
    new = example_tables()["new-vehicles.csv"]
    by_two, by_one = (
        load_model(folder / name).predict_proba(new) for name in ("together", "alone")
    )
    np.testing.assert_allclose(by_two, by_one, atol=1e-5)
    assert not list(folder.glob("*.partial"))


def test_bad_input_is_said_by_the_first_process_and_where_others_meet_it(folder):
    words = ["fit", "vehicles.csv", "--labels", "wrong", "--out", "model"]
    first, second = run_as_torchrun_does(folder, *words)
    assert (first[0], second[0]) == (2, 2)
    assert "disambig: " in first[2]
    assert "'wrong'" in first[2]
    assert second[2].startswith("disambig (process 1 of 2, counted from 0): ")


def test_what_is_the_work_of_one_process_is_done_by_the_first(folder):
    first, second = run_as_torchrun_does(folder, "methods")
    assert "ncpd" in first[1] + first[2]
    assert second == (0, "", "")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1", "4", "localhost", "29500"), (1, 4)),
        (("0", "1", "localhost", "29500"), (0, 1)),
        (("1", "4", "", "29500"), (0, 1)),  # a cluster that says how many, but not where
        (("first", "4", "localhost", "29500"), (0, 1)),
    ],
)
def test_processes_are_counted_as_the_environment_says(monkeypatch, values, expected):
    for name, value in zip(VARIABLES, values, strict=True):
        monkeypatch.setenv(name, value)
    assert launched_rank_and_size() == expected
    assert takes_no_part(["audit", "table.csv"]) == (expected[0] > 0)
    assert not takes_no_part(["fit", "table.csv"])
