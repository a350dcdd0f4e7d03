"""The studies of the NCPD paper, and the numbers that it prints."""

from importlib.resources import files
from typing import Any

from disambig._core.errors import DatasetNotFoundError, StudyError
from disambig._core.parameters import check_choice
from disambig._core.parsing import parse_toml
from disambig.bench.settings import Study
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.download import find_file

PAPER_STUDIES = ("table", "curves", "ablation", "groups", "networks")


def paper_study(name: str, *, quick: bool = False) -> Study:
    """Return a study of the paper, that of rows and whole groups, or that of network methods.

    Parameters
    ----------
    name : {"table", "curves", "ablation", "groups", "networks"}
        Table 2, Figures 2 to 4, Figure 5, all methods with rows and with groups held out, or all
        network methods on linear and on deeper networks.
    quick : bool, default=False
        Whether to take the version that ends within minutes; its ``about`` says what is cut.
    """
    check_choice("name", name, PAPER_STUDIES)
    return Study(**_read(f"{name}-quick.toml" if quick else f"{name}.toml"))


def published_accuracies() -> dict[str, dict[str, tuple[float, float]]]:
    """Return Table 2 of the paper: mean and standard deviation, by dataset and method."""
    return {
        dataset: {method: (mean, std) for method, (mean, std) in methods.items()}
        for dataset, methods in _read("published.toml").items()
    }


def without_missing_data(study: Study) -> tuple[Study | None, list[DatasetCard]]:
    """Return the study on the named data that is there, if any is, and what is missing."""
    cards = {entry.name: find_card(entry.name) for entry in study.datasets if entry.name}
    missing = {name: card for name, card in cards.items() if not _is_there(card)}
    present = [entry for entry in study.datasets if entry.name not in missing]
    rest = study.model_copy(update={"datasets": present}) if present else None
    return rest, list(missing.values())


def _is_there(card: DatasetCard) -> bool:
    if card.is_embedded:
        return True
    try:
        find_file(card)
    except DatasetNotFoundError:
        return False
    return True


def _read(name: str) -> dict[str, Any]:
    file = files("disambig.bench") / "paper_studies" / name
    return parse_toml(file.read_bytes(), StudyError)
