"""Which label-free criterion chooses best among the configurations of NCPD+, and at what cost.

    DISAMBIG_DATA=folder python benchmarks/ncpd_plus_selection.py [--folder docs/results]

Ten folds, fold seed 0. On every fold each configuration is judged without true labels on rows held
out inside the training rows, then trained on all training rows and judged with them on the test
rows. Writes ncpd_plus_selection.md. Quick on a CUDA card only.
"""

import argparse
from pathlib import Path

import numpy as np

from disambig import NCPDClassifier, NCPDPlusClassifier, load_dataset
from disambig._core.typing import FloatArray
from disambig.bench.trial import Trial
from disambig.methods import PartialLabelClassifier, fit_many
from disambig.methods.ncpd_plus.members import compare_scouts
from disambig.methods.ncpd_plus.selection import CONFIGURATIONS, Selection
from disambig.metrics import accuracy
from fold_trials import REAL, fold_trials
from results_page import FOLDER, markdown_table, write_page

DATA = (*REAL, "glass", "ecoli", "vehicle")
# As in a mix of three.
SCOUTING, EPOCHS = 30, 85
PACE = {"epochs": EPOCHS, "decay": 1 - SCOUTING / EPOCHS}
CRITERIA = ("covering_rate", "approximated_accuracy", "log_mass", "weight")


def probabilities(method: PartialLabelClassifier, trials: list[Trial]) -> list[FloatArray]:
    """Return what a method says of the test rows of every trial."""
    fitted = fit_many(method, [trial.task(method) for trial in trials])
    return [one.predict_proba(trial.test.X) for one, trial in zip(fitted, trials, strict=True)]


def selections(trials: list[Trial]) -> list[Selection]:
    """Return how the configurations compare inside the training rows of every trial."""
    methods = [NCPDPlusClassifier(random_state=trial.method_seed) for trial in trials]
    return compare_scouts(methods, [(trial.train.X, trial.train.candidates) for trial in trials])


def judged(name: str) -> dict[str, FloatArray]:
    """Return the accuracy on every fold, by way of choosing."""
    trials, classes = fold_trials(name), load_dataset(name).candidates.classes
    said = {
        own: probabilities(
            NCPDPlusClassifier(select="none", **PACE, **parts.parameters(SCOUTING)), trials
        )
        for own, parts in CONFIGURATIONS.items()
    }

    def right(fold: int, of_rows: FloatArray) -> float:
        return accuracy(trials[fold].test.true_labels, classes[of_rows.argmax(axis=1)])

    chosen = selections(trials)
    by_name = {own: np.array([right(n, p) for n, p in enumerate(ps)]) for own, ps in said.items()}
    results = {
        "NCPD": np.array(
            [right(n, p) for n, p in enumerate(probabilities(NCPDClassifier(), trials))]
        )
    }
    results |= by_name
    for criterion in CRITERIA:
        picks = [max(s, key=lambda own: getattr(s[own], criterion)) for s in chosen]
        results[criterion] = np.array([by_name[own][n] for n, own in enumerate(picks)])
    results["best (true labels)"] = np.max(list(by_name.values()), axis=0)
    results["mean of all"] = np.array(
        [right(n, np.mean([ps[n] for ps in said.values()], axis=0)) for n in range(10)]
    )
    results["mix by weight"] = np.array(
        [
            right(n, sum(w * said[own][n] for own, w in selection.weights.items()))
            for n, selection in enumerate(chosen)
        ]
    )
    print(
        name, {way: round(float(values.mean()), 3) for way, values in results.items()}, flush=True
    )
    return results


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    results = {name: judged(name) for name in DATA}
    ways = list(next(iter(results.values())))
    rows = [[way, *(f"{results[name][way].mean():.3f}" for name in DATA)] for way in ways]
    picks = []
    for criterion in CRITERIA:
        cells = []
        for name in DATA:
            cost = results[name]["best (true labels)"] - results[name][criterion]
            cells.append(f"{(cost == 0).sum()}/10, {cost.mean():.3f}")
        picks.append([criterion, *cells])
    write_page(
        "ncpd_plus_selection",
        "benchmarks/ncpd_plus_selection.py",
        "Ten folds, fold seed 0; the UCI sets are corrupted with p = 0.7 and r = 2. Criteria are "
        f"measured on a fifth of the training rows, held out, after {SCOUTING} of {EPOCHS} "
        "epochs; `weight` "
        "is the weight in the mix that gives the held-out candidate sets the most probability.",
        "## Accuracy on the test rows, by way of choosing",
        markdown_table(["", *DATA], rows),
        "## How often the pick was the best of the three, and what it lost on average",
        markdown_table(["criterion", *DATA], picks),
        folder=folder,
    )


if __name__ == "__main__":
    main()
