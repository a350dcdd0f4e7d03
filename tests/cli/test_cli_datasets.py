"""``disambig datasets``: a line for each card, and with an option where its data is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from disambig.datasets import list_datasets

Invoke = Callable[..., Result]


def cells_of(name: str, output: str) -> list[str]:
    """Return the cells beside the name of a dataset."""
    (line,) = (line for line in output.splitlines() if line.startswith(f"{name} "))
    return line.split()[1:]


def details_of(name: str, output: str) -> list[str]:
    """Return the title of a dataset, and where its data is."""
    lines = output.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{name}: "))
    return [lines[first].removeprefix(f"{name}: "), lines[first + 1].strip()]


def test_every_dataset_has_a_line_with_its_shape(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("datasets", COLUMNS="80", DISAMBIG_DATA=str(tmp_path))
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    for card in list_datasets():
        shape = [f"{count:,}" for count in (card.n_samples, card.n_features, card.n_classes)]
        assert cells_of(card.name, result.stdout)[:3] == shape


def test_a_fully_labelled_dataset_has_no_number_of_labels(invoke: Invoke) -> None:
    output = invoke("datasets").stdout
    assert cells_of("glass", output)[3:] == ["-", "included"]
    assert cells_of("lost", output)[3] == "2.23"


def test_missing_data_comes_with_the_command_that_gets_it(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("datasets", DISAMBIG_DATA=str(tmp_path))
    assert cells_of("birdsong", result.stdout)[4] == "missing"
    assert "  disambig fetch birdsong" in result.stderr.splitlines()


def test_details_have_every_title(invoke: Invoke) -> None:
    output = invoke("datasets", "--details", COLUMNS="80").stdout
    assert details_of("glass", output) == ["Glass identification", "included"]
    for card in list_datasets():
        assert details_of(card.name, output)[0] == card.title


def test_details_say_how_rows_come_together_where_that_is_known(invoke: Invoke) -> None:
    lines = invoke("datasets", "--details", COLUMNS="80").stdout.splitlines()
    titles = [line for line in lines if not line.startswith(" ")]
    in_runs = "  rows come in groups: neighbours with equal sets"
    known = [
        titles[sum(not one.startswith(" ") for one in lines[:i]) - 1]
        for i, line in enumerate(lines)
        if line == in_runs
    ]
    assert [title.partition(":")[0] for title in known] == ["birdsong", "lost", "msrcv2"]


@pytest.mark.parametrize("folder_name", ["data", "data [old]", "[", "[bold"])
def test_data_that_was_found_comes_with_its_folder_in_one_piece(
    folder_name: str, invoke: Invoke, tmp_path: Path
) -> None:
    folder = tmp_path / folder_name / "b]"
    folder.mkdir(parents=True)
    (folder / "Lost.mat").touch()
    assert cells_of("lost", invoke("datasets", DISAMBIG_DATA=str(folder)).stdout)[4] == "found"
    result = invoke("datasets", "--details", COLUMNS="30", DISAMBIG_DATA=str(folder))
    assert details_of("lost", result.stdout)[1] == str(folder)


def test_downloads_are_found(invoke: Invoke, cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    (cache / "lost.mat").touch()
    result = invoke("datasets", "--details", DISAMBIG_DATA=str(tmp_path))
    assert details_of("lost", result.stdout)[1] == str(cache)
