"""Every command ends with the next one, which can be copied as it is."""

import io
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from bench.in_process import InThisProcess
from bench.small_studies import write_table
from cli.command_runs import Run, accepted, run_command_here
from disambig.bench.backends import BACKENDS
from disambig.cli import console as door
from disambig.cli.console import path_word, say, say_path
from tabular.small_tables import three_clouds

QUICK = ("--method", "plknn", "--folds", "2")


def next_commands(run: Run) -> list[list[str]]:
    """Return the words of every command that a run ends with."""
    lines = [line for line in run.err.splitlines() if line.startswith("  disambig ")]
    assert lines, run.err
    return [shlex.split(line)[1:] for line in lines]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_the_example_every_step_leads_to_the_next() -> None:
    (audit,) = next_commands(accepted("example"))
    assert audit == ["audit", "vehicles.csv", "--labels", "label", "--truth", "checked"]
    fit, clean = next_commands(accepted(*audit))
    (predict,) = next_commands(accepted(*fit, *QUICK))
    assert predict == ["predict", "model", "new-vehicles.csv", "--out", "predictions.csv"]
    (report_of_model,) = next_commands(accepted(*predict))
    accepted(*report_of_model)
    report, review = next_commands(accepted(*clean, *QUICK))
    assert next_commands(accepted(*report)) == [review]
    assert review == ["review", "vehicles-clean.csv"]
    assert Path("vehicles-clean.html").exists()
    assert Path("model.html").exists()


def test_a_column_that_holds_no_true_label_is_not_named_again() -> None:
    accepted("example")
    found = accepted("audit", "vehicles.csv", "--labels", "label", "--truth", "vehicle")
    fit, _ = next_commands(found)
    assert fit == ["fit", "vehicles.csv", "--labels", "label", "--out", "model"]


def test_names_and_options_of_the_user_are_in_the_next_command() -> None:
    Path("my data").mkdir()
    table = Path("my data") / "-it's.csv"
    three_clouds().rename(columns={"label": "what; it is"}).to_csv(table, index=False, sep=";")
    given = ["--labels", "what; it is", "--truth", "truth", "--ignore", "width", "--delimiter", ";"]
    fit, clean = next_commands(accepted("audit", table, *given))
    assert fit == ["fit", str(table), *given, "--out", "model"]
    assert clean == ["clean", str(table), *given, "--out", "./-it's-clean.csv"]
    report, review = next_commands(accepted(*clean, *QUICK))
    assert review == ["review", "./-it's-clean.csv", "--delimiter", ";"]
    accepted(*report)
    (predict,) = next_commands(accepted(*fit, *QUICK))
    assert predict == ["predict", "model", "NEW.csv", "--out", "predictions.csv"]


@pytest.mark.parametrize("flags", [["--votes"], ["--empty", "all"], ["--literal-labels"]])
def test_options_without_a_column_are_passed_on(flags: list[str]) -> None:
    three_clouds().to_csv("table.csv", index=False)
    fit, _ = next_commands(accepted("audit", "table.csv", *flags))
    assert fit == ["fit", "table.csv", *flags, "--out", "model"]


def test_a_table_from_elsewhere_is_cleaned_into_a_format_that_can_be_written() -> None:
    import numpy as np
    from scipy.io import savemat

    data = np.random.default_rng(0).normal(size=(12, 3))
    savemat(
        "set.mat",
        {"data": data, "partial_target": np.ones((2, 12)), "target": np.eye(2)[:, [0, 1] * 6]},
    )
    _, clean = next_commands(accepted("audit", "set.mat"))
    assert clean == ["clean", "set.mat", "--out", "set-clean.csv"]


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "table.csv", "--json"),
        ("fit", "table.csv", *QUICK, "--out", "model", "--json"),
        ("clean", "table.csv", *QUICK, "--out", "clean.csv", "--json"),
        ("clean", "table.csv", *QUICK, "--out", "-"),
        ("methods", "--json"),
        ("datasets", "--json"),
    ],
)
def test_a_result_for_another_program_has_no_next_step(words: tuple[str, ...]) -> None:
    three_clouds().drop(columns="truth").to_csv("table.csv", index=False)
    run = accepted(*words)
    assert "Next" not in run.out + run.err


def test_next_steps_are_on_standard_error() -> None:
    for words in (("example",), ("audit", "vehicles.csv"), ("methods",), ("datasets",)):
        run = accepted(*words)
        assert next_commands(run)
        assert "Next" not in run.out


def test_standard_input_cannot_be_read_again() -> None:
    content = three_clouds().to_csv(index=False).encode()
    run = run_command_here("audit", "-", standard_input=content)
    assert run.code == 0
    assert "Next" not in run.err


def test_what_a_spreadsheet_reads_is_not_handed_to_another_command() -> None:
    three_clouds().to_csv("table.csv", index=False)
    run = accepted("clean", "table.csv", *QUICK, "--out", "clean.csv", "--excel-safe")
    assert run.err.endswith("The cleaned table:\nclean.csv\n")


def test_a_study_ends_with_its_page_and_the_command_that_makes_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from contextlib import nullcontext

    monkeypatch.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(InThisProcess()))
    monkeypatch.setattr("disambig.bench.report.can_draw_figures", lambda: False)  # seconds
    write_table(Path("small.csv"))
    Path("tiny.toml").write_text(
        'name = "tiny"\nmethods = ["plknn"]\ndatasets = [{path = "small.csv", truth = "truth"}]\n'
        "protocol = {folds = 2}\n"
    )
    run = accepted("study", "tiny.toml", "--store", "my records")
    assert run.out.splitlines()[-2:] == [
        "Open this page in a browser:",
        str(Path("out/tiny/report.html")),
    ]
    (report,) = next_commands(run)
    assert report == ["report", "out/tiny", "--store", "my records", "--out", "tiny.html"]
    accepted(*report)


# Paths -------------------------------------------------------------------------------------------


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Speak to a terminal of 20 columns; return what lines it got."""
    file = io.StringIO()
    console = Console(file=file, width=20, force_terminal=True, color_system=None)
    monkeypatch.setattr(door, "people_console", lambda: console)
    return lambda: file.getvalue().splitlines()


def test_a_path_is_a_line_of_its_own_and_is_never_broken(narrow: Callable[[], list[str]]) -> None:
    path = "folder with spaces/and a name that is longer than the terminal.csv"
    say_path("The cleaned table is here:", path)
    assert narrow() == ["The cleaned table is", "here:", path]


def test_lines_end_without_blanks(narrow: Callable[[], list[str]]) -> None:
    say("one two three four five six seven\n\n  eight nine ten eleven")
    assert narrow() == ["one two three four", "five six seven", "", "  eight nine ten", "eleven"]


def test_a_name_with_a_dash_is_not_taken_for_an_option() -> None:
    assert path_word("-x.csv") == "./-x.csv"
    assert path_word(Path("a/-x.csv")) == str(Path("a/-x.csv"))
