"""The parts of a dataset fit together, or it is not made."""

import tracemalloc
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from disambig._core.errors import DatasetFormatError, TableError
from disambig.candidates.labels import CandidateLabels
from disambig.datasets import PartialLabelDataset

SETS = CandidateLabels.from_strings(["a|b", "b"])


def test_parts_that_fit_make_a_dataset() -> None:
    dataset = PartialLabelDataset("toys", np.zeros((2, 3)), SETS, np.array(["a", "b"]), [*"xyz"])
    assert dataset.X.shape == (2, 3)
    assert dataset.card is None


def test_true_labels_may_be_unknown() -> None:
    assert PartialLabelDataset("toys", np.zeros((2, 1)), SETS, None, ["x"]).true_labels is None


def test_features_and_sets_of_different_lengths_are_refused() -> None:
    with pytest.raises(
        DatasetFormatError, match=r"parts of toys do not fit: rows \{'X': 3, 'candidates': 2\}"
    ):
        PartialLabelDataset("toys", np.zeros((3, 1)), SETS, None, ["x"])


def test_too_few_true_labels_are_refused() -> None:
    with pytest.raises(DatasetFormatError, match=r"'candidates': 2, 'true_labels': 1\}"):
        PartialLabelDataset("toys", np.zeros((2, 1)), SETS, np.array(["a"]), ["x"])


def test_a_column_without_a_name_is_refused() -> None:
    with pytest.raises(DatasetFormatError, match="2 columns of features and 1 names"):
        PartialLabelDataset("toys", np.zeros((2, 2)), SETS, None, ["x"])


def test_the_parts_cannot_be_exchanged() -> None:
    dataset = PartialLabelDataset("toys", np.zeros((2, 1)), SETS, None, ["x"])
    with pytest.raises(FrozenInstanceError, match="name"):
        dataset.name = "games"  # type: ignore[misc]


def test_printing_shows_the_name_and_the_sets_but_no_data() -> None:
    dataset = PartialLabelDataset("toys", np.zeros((2, 1)), SETS, np.array(["a", "b"]), ["x"])
    assert repr(dataset) == f"PartialLabelDataset(name='toys', candidates={SETS!r})"


@pytest.mark.parametrize("truth", [["a", "zebra"], ["a", None], [0, 1]])
def test_a_true_label_that_is_no_class_is_refused(truth: list[Any]) -> None:
    sets = CandidateLabels.from_sets([["a", "b"], ["b"]])
    with pytest.raises(DatasetFormatError, match="must be one of its classes. This is not so for"):
        PartialLabelDataset("toys", np.zeros((2, 1)), sets, np.array(truth, dtype=object), ["x"])


def test_datasets_compare_by_identity() -> None:
    sets = CandidateLabels.from_labels(["a"])
    made = [PartialLabelDataset("toys", np.zeros((1, 1)), sets, None, ["x"]) for _ in range(2)]
    assert made[0] == made[0]
    assert made[0] != made[1]


def test_a_frame_has_the_features_the_candidates_and_if_asked_for_the_truth() -> None:
    dataset = PartialLabelDataset("toys", np.eye(2), SETS, np.array(["a", "b"]), [*"xy"])
    frame = dataset.to_frame()
    assert frame.to_dict("list") == {
        "x": [1.0, 0.0],
        "y": [0.0, 1.0],
        "label": [["a", "b"], ["b"]],
    }
    assert dataset.to_frame(with_truth=True)["truth"].tolist() == ["a", "b"]
    unknown = PartialLabelDataset("toys", np.eye(2), SETS, None, [*"xy"])
    assert list(unknown.to_frame(with_truth=True)) == ["x", "y", "label"]


def test_groups_become_a_column_where_that_is_asked_for() -> None:
    dataset = PartialLabelDataset("toys", np.eye(2), SETS, None, [*"xy"])
    together = replace(dataset, candidates=dataset.candidates.with_groups(["p", "p"]))
    assert list(together.to_frame()) == ["x", "y", "label"]
    assert together.to_frame(with_groups=True)["groups"].tolist() == [0, 0]
    assert list(dataset.to_frame(with_groups=True)) == ["x", "y", "label"]


def test_a_frame_has_weights_as_mappings() -> None:
    weighted = CandidateLabels.from_sets([{"a": 0.25, "b": 0.75}, {"b": 1.0}])
    frame = PartialLabelDataset("toys", np.eye(2), weighted, None, [*"xy"]).to_frame()
    assert frame["label"].tolist() == [{"a": 0.25, "b": 0.75}, {"b": 1.0}]


def test_a_frame_cannot_have_two_columns_of_one_name() -> None:
    dataset = PartialLabelDataset("toys", np.eye(2), SETS, None, ["x", "label"])
    with pytest.raises(TableError, match="'label' is there twice. Rename it in the file"):
        dataset.to_frame()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_frame_takes_no_more_memory_than_was_said(weighted: bool) -> None:
    mask = np.ones((2000, 300), dtype=bool)
    sets = CandidateLabels.from_mask(mask, weights=mask * 0.5 if weighted else None)
    dataset = PartialLabelDataset("toys", np.zeros((2000, 1)), sets, None, ["x"])
    dataset.to_frame()  # imports what it needs
    tracemalloc.start()
    dataset.to_frame()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert dataset.frame_nbytes / 4 < peak < dataset.frame_nbytes
