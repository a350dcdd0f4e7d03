"""Run the command, inside this process or in one of its own, away from the real cache."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result
from typer.testing import CliRunner

from disambig.cli.main import app, main

# Lines wide enough not to be broken, and no colours, wherever the tests run.
WIDE_AND_PLAIN = {"COLUMNS": "300", "FORCE_COLOR": None}


@pytest.fixture(scope="session")
def invoke() -> Callable[..., Result]:
    """Return what runs the command in this process; errors of ours come back as exceptions."""

    def run(*arguments: str, **environment: str) -> Result:
        return CliRunner().invoke(app, arguments, env=WIDE_AND_PLAIN | environment)

    return run


@pytest.fixture
def run_command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs the command as a user does, for its exit code and messages."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        wanted = os.environ | WIDE_AND_PLAIN | {"PYTHONIOENCODING": "utf-8"} | environment
        return subprocess.run(
            [sys.executable, "-m", "disambig", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={name: value for name, value in wanted.items() if value is not None},
        )

    return run


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_main(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """Return what runs the command as a user does, errors and exit code and all, but quickly."""
    for name, value in WIDE_AND_PLAIN.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["disambig", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Ended(int(end.value.code or 0), captured.out, captured.err)

    return run


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def send_header(self, keyword: str, value: str) -> None:
        """Say nothing about the length of a file whose name asks for that."""
        if keyword != "Content-Length" or "unsized" not in self.path:
            super().send_header(keyword, value)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture
def address(served_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a folder on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = functools.partial(_QuietHandler, directory=str(served_folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
