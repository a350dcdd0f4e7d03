"""Run the command in this process as often as wanted, and look at what it left behind."""

import contextlib
import io
import os
import sys
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pandas as pd
from typer.main import get_command

from disambig.cli.main import app, main

SCREEN_WIDTH, SCREEN_HEIGHT = 80, 24
# Made once: typer would make all commands again whenever one is run.
COMMAND = get_command(app)


class Run(NamedTuple):
    """How a command ended, what it wrote to its streams, and what Python warned of."""

    code: int
    out: str
    err: str
    warned: list[str]


def run_command_here(*words: object, standard_input: bytes = b"", encoding: str = "utf-8") -> Run:
    """Run ``disambig`` with these words, as wide as needed and without colours."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    out, err = streams
    arguments = ["disambig", *map(str, words)]
    environment = {"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    code: object = None
    with (
        mock.patch.object(sys, "argv", arguments),
        mock.patch("disambig.cli.main.app", COMMAND),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(standard_input))),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # as Python itself does
        try:
            main()
        except SystemExit as end:
            code = end.code
    for stream in streams:
        stream.flush()
    texts = [stream.buffer.getvalue().decode() for stream in streams]  # type: ignore[attr-defined]
    return Run(int(str(code or 0)), *texts, [str(warning.message) for warning in warned])


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder, None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def check_manners(run: Run, codes: tuple[int, ...] = (0, 2)) -> None:
    """Whatever was given: one of these exit codes, no traceback, and a message to read."""
    told = f"{run.code}\n{run.out}\n{run.err}\n{run.warned}"
    assert run.code in codes, told
    assert "Traceback" not in run.err, told
    assert "mistake in disambig" not in run.err, told
    assert not run.warned, told
    if run.code:
        assert run.err.strip(), told
        assert screen_lines(run.err) <= SCREEN_HEIGHT, told


def accepted(*words: object) -> Run:
    """Run a command that must succeed."""
    run = run_command_here(*words)
    check_manners(run, codes=(0,))
    return run


def written(path: Path, frame: pd.DataFrame) -> Path:
    """Write a table as CSV, and return where it is."""
    frame.to_csv(path, index=False)
    return path


def screen_lines(text: str) -> int:
    """Return how many lines of a terminal a text takes."""
    return sum(max(1, -(-len(line) // SCREEN_WIDTH)) for line in text.splitlines())
