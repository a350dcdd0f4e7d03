"""``disambig datasets`` shows every card and where the data is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from disambig.datasets import list_datasets

Invoke = Callable[..., Result]


def lines_about(name: str, output: str) -> list[str]:
    """Return the lines of the table about a dataset: title, size, and where its data is."""
    lines = output.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"│ {name} "))
    return [line.strip("│").split("│")[-1].strip() for line in lines[first : first + 3]]


def test_every_dataset_is_listed_with_its_shape(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)
    for columns in ("80", "200"):
        output = invoke("datasets", COLUMNS=columns).output
        for card in list_datasets():
            size = f"{card.n_samples} rows, {card.n_features} features, {card.n_classes} classes"
            candidates = f"{card.average_candidates:.2f} candidates a row"
            assert lines_about(card.name, output)[:2] == [card.title, f"{size}, {candidates}"]


def test_embedded_data_is_in_the_package(invoke: Invoke) -> None:
    assert lines_about("glass", invoke("datasets").output)[2] == "data: included"


def test_missing_data_comes_with_the_command_that_gets_it(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("datasets", DISAMBIG_DATA=str(tmp_path))
    assert result.exit_code == 0
    assert lines_about("lost", result.output)[2] == "data: missing"
    assert "disambig fetch NAME" in result.output


@pytest.mark.parametrize("folder_name", ["data", "data [old]", "[", "[bold"])
def test_data_at_hand_comes_with_its_folder(
    folder_name: str, invoke: Invoke, tmp_path: Path
) -> None:
    folder = tmp_path / folder_name / "b]"
    folder.mkdir(parents=True)
    (folder / "Lost.mat").touch()
    result = invoke("datasets", DISAMBIG_DATA=str(folder))
    assert lines_about("lost", result.output)[2] == f"data: {folder}"


def test_downloads_are_found(invoke: Invoke, cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    (cache / "lost.mat").touch()
    result = invoke("datasets", DISAMBIG_DATA=str(tmp_path))
    assert lines_about("lost", result.output)[2] == f"data: {cache}"
