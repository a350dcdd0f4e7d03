"""What the tests of NCPD share: a quick classifier, small data, and files with another content."""

import json
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.torch import save_file

from disambig import NCPDClassifier
from disambig.datasets import make_partial_label_dataset

DATA = make_partial_label_dataset(60, 4, 3, average_candidates=1.7, overlap=0.3, random_state=0)
X, Y = DATA.X, DATA.candidates
EASY = make_partial_label_dataset(120, 4, 3, average_candidates=1.5, overlap=0.1, random_state=0)
NEW_X = np.random.default_rng(1).normal(size=(25, 4))


def quick(**parameters):
    """Return a classifier that is fitted in a tenth of a second."""
    small = {"hidden": 16, "epochs": 6, "ramp_epochs": 3, "batch_size": 30}
    return NCPDClassifier(**{**small, "random_state": 0, "device": "cpu", **parameters})


def load(path, **options):
    """Return the classifier in a file, on the CPU."""
    return NCPDClassifier.load(path, device="cpu", **options)


def assert_same_bits(found, expected, rows=NEW_X):
    """Compare everything that a fit gave."""
    np.testing.assert_array_equal(
        found.predict_proba_per_network(rows), expected.predict_proba_per_network(rows)
    )
    np.testing.assert_array_equal(
        found.candidate_confidence_.toarray(), expected.candidate_confidence_.toarray()
    )
    # What was not measured is not a number, and the same as what was not measured.
    np.testing.assert_equal(found.history_.to_dict(), expected.history_.to_dict())
    assert found.classes_.tolist() == expected.classes_.tolist()


class Diary:
    """A callback that writes down every epoch."""

    def __init__(self):
        self.epochs = []

    def on_epoch_end(self, training):
        self.epochs.append(training.epoch)


class EpochCounter:
    """A callback that counts what it is told of."""

    def __init__(self):
        self.epochs = 0

    def on_epoch_end(self, training):
        self.epochs += 1


class Interruption:
    """A callback that ends a training in the middle."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, training):
        if training.epoch == self.epoch:
            raise KeyboardInterrupt


def description_in(path):
    """Return the JSON in the header of a file."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["disambig"])


def rewrite(path, change):
    """Write a file again after ``change(tensors, description)`` has had its way with both."""
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["disambig"])
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    change(tensors, description)
    Path(path).unlink()
    save_file(tensors, path, metadata={"disambig": json.dumps(description)})
