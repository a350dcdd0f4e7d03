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
PANELS = {
    "Your own table": ["example", "audit", "fit", "clean", "ask", "predict", "serve"],
    "Annotation tools": ["import", "export"],
    "Pages in the browser": ["report", "review"],
    "Research": ["methods", "datasets", "fetch", "study", "reproduce", "new-method"],
}
COMMANDS = [command for commands in PANELS.values() for command in commands]


def plain(text: str) -> str:
    """Return a text without colours, frames and line breaks."""
    return " ".join(re.sub(r"[─-╿]", " ", unstyle(text)).split())


def test_help_lists_every_command_on_a_line_of_80_columns_in_its_panel(
    run_command: RunCommand,
) -> None:
    result = run_command("--help", COLUMNS="80")
    assert result.returncode == 0
    panels: dict[str, list[str]] = {}
    for line in result.stdout.splitlines():
        if line.startswith("╭"):
            lines = panels.setdefault(plain(line), [])
        elif line.startswith("│"):
            lines.append(plain(line))
    assert {title: [line.split()[0] for line in panels[title]] for title in PANELS} == PANELS
    assert all(line.endswith(".") for title in PANELS for line in panels[title])


def test_help_says_where_to_start_and_hides_what_is_of_typer(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Or the shell would be looked for among the processes that have started this one.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    output = invoke("--help").output
    assert "Start with: disambig example" in output
    assert "completion" not in output
    assert "completion" in invoke("--show-completion", "bash").output  # it works all the same


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_shows_words_and_no_types(command: str | None, invoke: Invoke) -> None:
    output = invoke(*([command] if command else []), "--help").output
    assert set(re.findall(r"<[a-z][^>]*>", output)) <= {
        "<refuse|all>",
        "<table|curves|ablation|groups|networks>",
        "<sets|beliefs|truth|none>",
        "<safe|weak|estimated>",
        "<cover|exclusive>",
    }


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
