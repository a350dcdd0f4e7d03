"""What NCPD gains and loses if it stops once held-out rows are covered no better.

    DISAMBIG_DATA=folder python benchmarks/early_stopping.py [--folder docs/results]

On every fold NCPD is trained on all rows for all of its epochs, and once more with a tenth of them
held out and watched. Accuracy on the test rows is noted in every epoch of that, so that one
training tells what any patience would have led to. Writes early_stopping.md.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from disambig import NCPDClassifier
from disambig._core.typing import FloatArray
from disambig.bench.trial import Trial
from disambig.engine.training import Training
from fold_trials import fold_trials
from results_page import FOLDER, markdown_table, write_page

DATA = ("glass", "ecoli", "vehicle", "abalone", "lost", "msrcv2", "birdsong")
FOLDS = 2
HELD_OUT = 0.1
PATIENCE = (10, 20, 50)
EPOCHS = NCPDClassifier().epochs


class Course(NamedTuple):
    """One training with rows held out, epoch by epoch."""

    covered: FloatArray  # share of the watched rows whose prediction is in their set
    right: FloatArray  # share of the test rows that are predicted right

    def stopped(self, patience: int) -> tuple[int, float]:
        """Return the epoch at which it would have stopped, and the accuracy of the best one."""
        best = 0
        for epoch, rate in enumerate(self.covered):
            if rate > self.covered[best]:
                best = epoch
            if epoch - best >= patience:
                break
        return epoch + 1, float(self.right[best])


class TestRows:
    """Notes the accuracy on the test rows after every epoch."""

    def __init__(self, inputs: FloatArray, truth: FloatArray) -> None:
        self._inputs = torch.as_tensor(inputs, dtype=torch.float32)
        self._truth = truth
        self.right: list[float] = []

    def on_epoch_end(self, training: Training) -> None:
        """Ask the networks as they are now."""
        predicted = training.networks.mean_probabilities(self._inputs).argmax(-1).numpy()
        self.right.append(float(np.mean(predicted == self._truth)))


def compare(trial: Trial, seed: int) -> tuple[float, Course]:
    """Return the accuracy of all epochs on all rows, and the course with rows held out."""
    X, candidates = trial.train.X, trial.train.candidates
    method = NCPDClassifier(random_state=seed, device="cpu").fit(X, candidates)
    whole = float(np.mean(method.predict(trial.test.X) == trial.test.true_labels))
    order = np.random.default_rng(seed).permutation(len(X))
    watched, rows = np.split(order, [round(HELD_OUT * len(X))])
    places = {name: place for place, name in enumerate(candidates.classes.tolist())}
    truth = np.array([places.get(name, -1) for name in trial.test.true_labels.tolist()])
    views = method._fitted_views(X[rows])
    noted = TestRows(views.transform(trial.test.X), truth)
    method.set_params(validation=(X[watched], candidates[watched]), callbacks=[noted])
    history = method.fit(X[rows], candidates[rows]).history_
    return whole, Course(history["validation_covering_rate"], np.array(noted.right))


def main() -> None:
    """Train on all data, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    rows = []
    for data in DATA:
        of_data = []
        for seed, trial in enumerate(fold_trials(data, FOLDS)):
            whole, course = compare(trial, seed)
            stopped = [part for patience in PATIENCE for part in course.stopped(patience)]
            of_data.append([whole, float(course.right[-1]), *stopped])
        means = np.mean(of_data, axis=0)
        epochs, right = means[2::2], means[3::2]
        rows.append(
            [
                data,
                f"{means[0]:.3f}",
                f"{means[1]:.3f}",
                *(f"{a:.3f} ({e:.0f})" for a, e in zip(right, epochs, strict=True)),
            ]
        )
        print(*rows[-1], flush=True)
    header = ("data", "all rows", "a tenth held out", *(f"patience {p}" for p in PATIENCE))
    write_page(
        "early_stopping",
        "benchmarks/early_stopping.py",
        f"NCPD with default parameters, {EPOCHS} epochs; mean accuracy on the test rows of the "
        f"first {FOLDS} folds of ten; UCI sets are corrupted with p = 0.7 and r = 2. With a tenth "
        "of the training rows held out: after all epochs, and after the epoch in which most of "
        "these rows were covered, if training stops so many epochs after it. In brackets the "
        "epoch at which it stops.",
        markdown_table(header, rows),
        folder=options.folder,
    )


if __name__ == "__main__":
    main()
