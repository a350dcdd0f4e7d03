"""``disambig demo`` compares floors, methods and ceiling, the same way for the same seed."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click import unstyle
from click.testing import Result

from disambig._core.errors import ParameterError
from disambig.methods.catalogue import all_methods

Invoke = Callable[..., Result]
RunCommand = Callable[..., subprocess.CompletedProcess[str]]
QUICK = ("demo", "--folds", "3")


def rows(output: str) -> dict[str, list[str]]:
    """Return role, accuracy and share of training rows set right, by method."""
    lines = [line.strip("│").split("│") for line in output.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line] for line in lines]
    return {name: [role, *scores] for role, name, *scores in cells}


@pytest.fixture(scope="module")
def quick_output(invoke: Invoke) -> str:
    return invoke(*QUICK).output


def test_the_demo_says_what_it_does(quick_output: str) -> None:
    assert quick_output.splitlines()[0] == (
        "glass: 214 rows, 9 features, 6 classes. 70% of the training rows get 2 false labels each. "
        "3 folds, seed 0."
    )


def test_every_method_is_between_the_floors_and_the_ceiling(quick_output: str) -> None:
    table = rows(quick_output)
    assert set(table) == set(all_methods())
    roles = [role for role, *_ in table.values()]
    order = ["floor", "", "ceiling"]
    assert roles == sorted(roles, key=order.index)
    assert set(roles) == set(order)


def test_scores_come_with_mean_and_standard_deviation(quick_output: str) -> None:
    for _, *scores in rows(quick_output).values():
        assert len(scores) == 2
        for score in scores:
            assert re.fullmatch(r"[01]\.\d{3} ± [01]\.\d{3}", score)


def test_the_ceiling_sets_every_training_row_right(quick_output: str) -> None:
    assert rows(quick_output)["oracle"][-1] == "1.000 ± 0.000"


def test_the_same_seed_gives_the_same_table(invoke: Invoke, quick_output: str) -> None:
    assert invoke(*QUICK, "--seed", "0").output == quick_output


def test_another_seed_gives_another_table(invoke: Invoke, quick_output: str) -> None:
    assert rows(invoke(*QUICK, "--seed", "1").output) != rows(quick_output)


def test_dataset_and_corruption_can_be_chosen(invoke: Invoke) -> None:
    options = ("--dataset", "ecoli", "--p", "0", "--r", "3", "--folds", "2")
    output = invoke("demo", *options).output
    assert output.startswith(
        "ecoli: 336 rows, 7 features, 8 classes. 0% of the training rows get 3 false labels each."
    )
    # Without false labels everything starts from the truth.
    assert {scores[-1] for scores in rows(output).values()} == {"1.000 ± 0.000"}


def test_the_demo_runs_as_a_command_with_nothing_on_stderr(run_command: RunCommand) -> None:
    result = run_command("demo", "--folds", "2")
    assert result.returncode == 0
    assert result.stderr == ""
    assert {"floor", "", "ceiling"} == {role for role, *_ in rows(result.stdout).values()}


def test_a_file_without_true_labels_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "toys [b].csv"
    path.write_text("a,label\n1,cat|dog\n2,dog\n")
    result = invoke("demo", "--dataset", str(path))
    assert isinstance(result.exception, ParameterError)
    assert "Evaluation needs true labels, and toys [b] has none." in str(result.exception)
    assert result.output == ""


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--p", "1.5", r"'p' must be a number from 0 to 1\. Got 1\.5"),
        ("--r", "6", r"'r' must be an integer from 1 to 5\. Got 6"),
        ("--folds", "1", r"'n_folds' must be an integer from 2 to 214\. Got 1"),
    ],
)
def test_a_number_out_of_range_is_refused(
    option: str, value: str, message: str, invoke: Invoke
) -> None:
    result = invoke("demo", option, value)
    assert isinstance(result.exception, ParameterError)
    assert re.match(message, str(result.exception))


@pytest.mark.parametrize("seed", ["-1", "4294967296", "x"])
def test_a_seed_out_of_range_is_bad_input(seed: str, invoke: Invoke) -> None:
    result = invoke("demo", "--seed", seed)
    assert result.exit_code == 2
    assert "Invalid value for '--seed'" in unstyle(result.output)
