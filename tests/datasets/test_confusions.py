"""What a network says of rows that it was not trained on."""

import numpy as np
import pytest

from disambig import load_dataset
from disambig._core.errors import ParameterError
from disambig.candidates import corrupt_by_instance
from disambig.datasets import held_out_probabilities, make_partial_label_dataset

DATA = make_partial_label_dataset(200, 5, 4, overlap=0.4, random_state=0)


def test_a_network_knows_most_rows_that_it_has_not_seen():
    said = held_out_probabilities(DATA.X, DATA.true_labels, random_state=0)
    assert said.shape == (200, 4)
    np.testing.assert_allclose(said.sum(axis=1), 1)
    assert (said.argmax(axis=1) == DATA.true_labels).mean() > 0.9
    again = held_out_probabilities(DATA.X, DATA.true_labels, random_state=0)
    np.testing.assert_array_equal(said, again)


def test_a_network_does_not_know_a_row_by_heart():
    # Rows whose labels say nothing of their features.
    labels = np.random.default_rng(1).integers(0, 4, 200)
    said = held_out_probabilities(DATA.X, labels, random_state=0)
    assert (said.argmax(axis=1) == labels).mean() < 0.4


def test_columns_are_those_of_the_classes_asked_for():
    # One class is that of a single row: whoever judges this row does not know it.
    labels = np.where(np.arange(200) == 7, "rare", np.where(DATA.true_labels > 1, "b", "a"))
    classes = ["nobody", "rare", "b", "a"]
    said = held_out_probabilities(DATA.X, labels, classes=classes, random_state=0)
    assert (said[:, 0] == 0).all()
    assert said[7, 1] == 0
    assert (np.array(classes)[said.argmax(axis=1)] == labels).mean() > 0.6
    alone = held_out_probabilities(DATA.X, ["b"] * 200, classes=classes, random_state=0)
    np.testing.assert_array_equal(alone, np.eye(4)[[2] * 200])


def test_more_folds_than_rows_are_refused():
    with pytest.raises(ParameterError, match="'n_folds' must be"):
        held_out_probabilities(DATA.X[:3], DATA.true_labels[:3], n_folds=4)


def test_labels_that_look_alike_come_together():
    vehicle = load_dataset("vehicle")
    said = held_out_probabilities(vehicle.X, vehicle.true_labels, random_state=0)
    made = corrupt_by_instance(vehicle.true_labels, said, random_state=0)
    # Opel and Saab are both cars; a bus is something else.
    opel = made[vehicle.true_labels == "opel"].to_mask().mean(axis=0)
    shares = dict(zip(made.classes.tolist(), opel, strict=True))
    assert shares["saab"] > 0.7 > 0.4 > shares["bus"]
