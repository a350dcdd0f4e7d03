"""How many labels change with the order of rows, with the seed, and with one row fewer.

    python benchmarks/row_order.py [--folder docs/results]

Every method is fitted to nine tenths of the rows, then again to the same rows in another order, by
another seed, and without one of them. Writes row_order.md.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from disambig._core.typing import AnyArray
from disambig.bench.trial import Trial
from disambig.methods import PartialLabelClassifier, all_methods
from fold_trials import fold_trials
from results_page import FOLDER, markdown_table, write_page

DATA = ("glass", "ecoli", "vehicle")
REPEATS = 5
ORDER, SEED, FEWER = "another order", "another seed", "one row fewer"
CHANGES = (ORDER, SEED, FEWER)


class Labels(NamedTuple):
    """What a fit says of training rows and of new rows, and how much of that is right."""

    trained: AnyArray
    new: AnyArray
    right: float

    def changed(self, other: "Labels", rows: AnyArray) -> tuple[float, float]:
        """Return the share of labels of these training rows, and of new rows, that differ."""
        trained = self.trained[rows] != other.trained[rows]
        return float(trained.mean()), float(np.mean(self.new != other.new))


def labels_of(method: PartialLabelClassifier, trial: Trial, rows: AnyArray, seed: int) -> Labels:
    """Fit a method to rows of a trial in this order; its labels are in the order of the trial."""
    method = clone(method)
    if "random_state" in method.get_params():
        method.set_params(random_state=seed)
    method.fit(trial.train.X[rows], trial.train.candidates[rows])
    trained = np.empty(len(trial.train.X), dtype=method.classes_.dtype)
    trained[rows] = method.disambiguate()
    new = method.predict(trial.test.X)
    return Labels(trained, new, float(np.mean(new == trial.test.true_labels)))


def compare(name: str, data: str) -> dict[str, list[tuple[float, float, float]]]:
    """Return, for every kind of change, what of it changed in every repeat, and the accuracies."""
    method = all_methods()[name]()
    found = defaultdict(list)
    for repeat, trial in enumerate(fold_trials(data, REPEATS)):
        draw = np.random.default_rng(repeat)
        rows = np.arange(len(trial.train.X))
        before = labels_of(method, trial, rows, repeat)
        found["as it is"].append((0.0, 0.0, before.right))
        variants = {
            ORDER: (draw.permutation(rows), repeat),
            SEED: (rows, REPEATS + repeat),
            FEWER: (np.delete(rows, draw.integers(len(rows))), repeat),
        }
        if "random_state" not in method.get_params():
            del variants[SEED]
        for change, (order, seed) in variants.items():
            after = labels_of(method, trial, order, seed)
            found[change].append((*before.changed(after, order), after.right))
    return found


def summary(found: dict[str, list[tuple[float, float, float]]]) -> list[str]:
    """Return the means over the repeats: changed shares by kind of change, then accuracies."""
    means = {change: np.mean(values, axis=0) for change, values in found.items()}
    trained, new = (
        [f"{means[change][part]:.1%}" if change in means else "" for change in CHANGES]
        for part in (0, 1)
    )
    right = [
        f"{means[change][2]:.3f}" if change in means else "" for change in ("as it is", *CHANGES)
    ]
    return [*trained, *new, *right]


def main() -> None:
    """Fit all methods to all data, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    names = [name for name, method in all_methods().items() if not method.card.reads_true_labels]
    found = {}
    for data in DATA:
        for name in names:
            found[data, name] = compare(name, data)
            print(data, name, *summary(found[data, name]), flush=True)
    sections = []
    for data in DATA:
        of_data = [[name, *summary(found[data, name])] for name in names]
        shares = markdown_table(
            ("method", *(f"{change}, {of}" for of in ("trained", "new") for change in CHANGES)),
            [row[:7] for row in of_data],
        )
        right = markdown_table(
            ("method", "as it is", *CHANGES), [[row[0], *row[7:]] for row in of_data]
        )
        sections += [f"## {data}", shares, "Accuracy on new rows:", right]
    write_page(
        "row_order",
        "benchmarks/row_order.py",
        f"Default parameters, mean over {REPEATS} folds of ten; the sets are corrupted with "
        "p = 0.7 and r = 2. Share of labels that change, of the rows that were trained on (the "
        "most confident candidate) and of new rows (the prediction), when the same rows come in "
        "another order, when the seed is another, and when one training row is left out. Methods "
        "without a seed have no share for it.",
        *sections,
        folder=options.folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
