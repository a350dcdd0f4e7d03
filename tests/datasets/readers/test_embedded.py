"""The data inside the package is what its cards say, and what its source gives."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from disambig._core.errors import HashMismatchError, ParameterError
from disambig.datasets import load_dataset
from disambig.datasets.card import all_cards, find_card
from disambig.datasets.readers import read_embedded

ROOT = Path(__file__).resolve().parents[3]
EMBEDDED = [card.name for card in all_cards().values() if card.is_embedded]

# Counted in the original files with awk, sort and uniq; rings 1 to 29, ten a line.
ABALONE_COUNTS = [
    *(1, 1, 15, 57, 115, 259, 391, 568, 689, 634),
    *(487, 267, 203, 126, 103, 67, 58, 42, 32, 26),
    *(14, 6, 9, 2, 1, 1, 2, 0, 1),
]
CLASS_COUNTS = {
    "glass": {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29},
    "ecoli": {"cp": 143, "im": 77, "imL": 2, "imS": 2, "imU": 35, "om": 20, "omL": 5, "pp": 52},
    "vehicle": {"bus": 218, "opel": 212, "saab": 217, "van": 199},
    "abalone": dict(zip(range(1, 30), ABALONE_COUNTS, strict=True)),
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_shape_is_that_of_the_card(name: str) -> None:
    dataset = load_dataset(name)
    card = find_card(name)
    assert dataset.X.shape == (card.n_samples, card.n_features)
    assert len(dataset.candidates.classes) == card.n_classes
    assert len(dataset.feature_names) == card.n_features
    assert dataset.candidates.sizes.mean() == card.average_candidates
    assert (dataset.name, dataset.card) == (name, card)


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_class_has_its_known_number_of_rows(name: str) -> None:
    dataset = load_dataset(name)
    counts = Counter(dataset.true_labels.tolist())
    assert {label: counts[label] for label in dataset.candidates.classes.tolist()} == (
        CLASS_COUNTS[name]
    )


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_candidate_set_is_the_true_label_alone(name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.candidates.to_sets() == [{label} for label in dataset.true_labels.tolist()]


@pytest.mark.parametrize(
    ("name", "features", "label"),
    [
        ("glass", [1.52101, 13.64, 4.49, 1.10, 71.78, 0.06, 8.75, 0.00, 0.0], 1),
        ("ecoli", [0.49, 0.29, 0.48, 0.50, 0.56, 0.24, 0.35], "cp"),
        ("abalone", [0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15], 15),
        (
            "vehicle",
            [95, 48, 83, 178, 72, 10, 162, 42, 20, 159, 176, 379, 184, 70, 6, 16, 187, 197],
            "van",
        ),
    ],
)
def test_the_first_row_is_that_of_the_original_file(
    name: str, features: list[float], label: int | str
) -> None:
    dataset = load_dataset(name)
    assert dataset.X[0].tolist() == features
    assert dataset.true_labels[0] == label


def test_abalone_has_29_classes_of_which_28_never_occurs() -> None:
    dataset = load_dataset("abalone")
    assert dataset.candidates.classes.tolist() == list(range(1, 30))
    assert set(range(1, 30)) - set(dataset.true_labels.tolist()) == {28}


def test_glass_comes_without_the_column_that_numbers_the_rows() -> None:
    assert load_dataset("glass").feature_names == [
        *("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
    ]


def test_glass_numbers_its_rows_on_request() -> None:
    dataset = load_dataset("glass", with_id=True)
    assert dataset.feature_names[0] == "id"
    assert dataset.X[:, 0].tolist() == list(range(1, 215))
    np.testing.assert_array_equal(dataset.X[:, 1:], load_dataset("glass").X)


def test_the_number_of_a_row_of_glass_gives_its_class_away() -> None:
    labels = load_dataset("glass", with_id=True).true_labels
    assert labels.tolist() == sorted(labels.tolist())


def test_a_dataset_without_row_numbers_cannot_give_them() -> None:
    with pytest.raises(
        ParameterError, match="Ecoli .* has no column that numbers the rows: with_id=False"
    ):
        load_dataset("ecoli", with_id=True)


def test_a_damaged_package_is_noticed() -> None:
    card = replace(find_card("glass"), hash="sha256:00")
    with pytest.raises(
        HashMismatchError,
        match=r"glass\.csv\.gz is not the known file\. .* Install the package again\.",
    ):
        read_embedded(card)


def test_the_embedded_files_are_what_the_source_gives() -> None:
    check = subprocess.run(
        [sys.executable, "tools/build_embedded.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert check.stderr == ""
    assert check.stdout.splitlines() == [
        f"{name}: sha256:{find_card(name).hash.removeprefix('sha256:')}" for name in EMBEDDED
    ]
    assert check.returncode == 0
