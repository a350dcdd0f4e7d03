"""The command as a whole: help, version, exit codes."""

import re
import subprocess
from collections.abc import Callable

import pytest
from click import unstyle
from click.testing import Result

import disambig
from disambig.cli.main import app

Invoke = Callable[..., Result]
RunCommand = Callable[..., subprocess.CompletedProcess[str]]
COMMANDS = [
    "audit",
    "fit",
    "clean",
    "predict",
    "report",
    "review",
    "example",
    "reproduce",
    "study",
    "datasets",
    "fetch",
    "methods",
]


def plain(text: str) -> str:
    """Return a text without colours, frames and line breaks."""
    return " ".join(re.sub(r"[─-╿]", " ", unstyle(text)).split())


def test_help_lists_every_command(run_command: RunCommand) -> None:
    result = run_command("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", plain(result.stdout))


def test_no_command_at_all_shows_the_help(invoke: Invoke) -> None:
    assert plain(invoke().output) == plain(invoke("--help").output)


def test_version_prints_the_version_and_nothing_else(invoke: Invoke) -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"{disambig.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(command: str, invoke: Invoke) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"Example: disambig {command}" in plain(result.output)


def test_an_unknown_command_is_bad_input(invoke: Invoke) -> None:
    result = invoke("fecth")
    assert result.exit_code == 2
    assert "No such command 'fecth'" in plain(result.output)


def test_there_are_no_other_commands() -> None:
    assert [command.name for command in app.registered_commands] == COMMANDS


def test_an_unknown_dataset_is_bad_input_met_with_a_suggestion(run_command: RunCommand) -> None:
    # Brackets are not taken for markup, and a message is one line however narrow the terminal.
    result = run_command("fetch", "[bold]glas", COLUMNS="30")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("disambig: There is no dataset called '[bold]glas'. Did you mean")
    assert "'glass'?" in line
    assert result.stdout == ""
