"""``disambig datasets`` shows every card and where the data is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from disambig.datasets import list_datasets

Invoke = Callable[..., Result]


def row_of(name: str, output: str) -> list[str]:
    """Return the cells of the row of a dataset."""
    line = next(line for line in output.splitlines() if line.startswith(f"│ {name} "))
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_every_dataset_is_listed_with_its_shape(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)
    output = invoke("datasets").output
    for card in list_datasets():
        shape = f"{card.n_samples} x {card.n_features}"
        counts = [str(card.n_classes), f"{card.average_candidates:.2f}"]
        assert row_of(card.name, output)[:-1] == [card.name, card.title, shape, *counts]


def test_embedded_data_is_in_the_package(invoke: Invoke) -> None:
    assert row_of("glass", invoke("datasets").output)[-1] == "inside"


def test_missing_data_comes_with_the_command_that_gets_it(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("datasets", DISAMBIG_DATA=str(tmp_path))
    assert result.exit_code == 0
    assert row_of("lost", result.output)[-1] == "missing"
    assert "disambig fetch NAME" in result.output


@pytest.mark.parametrize("folder_name", ["data", "data [old]", "[", "[bold"])
def test_data_at_hand_comes_with_its_folder(
    folder_name: str, invoke: Invoke, tmp_path: Path
) -> None:
    folder = tmp_path / folder_name / "b]"
    folder.mkdir(parents=True)
    (folder / "Lost.mat").touch()
    result = invoke("datasets", DISAMBIG_DATA=str(folder))
    assert row_of("lost", result.output)[-1] == str(folder)


def test_downloads_are_found(invoke: Invoke, cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    (cache / "lost.mat").touch()
    result = invoke("datasets", DISAMBIG_DATA=str(tmp_path))
    assert row_of("lost", result.output)[-1] == str(cache)


def test_names_are_whole_in_a_terminal_of_80_columns(invoke: Invoke) -> None:
    output = invoke("datasets", COLUMNS="80").output
    for card in list_datasets():
        assert row_of(card.name, output)[0] == card.name
