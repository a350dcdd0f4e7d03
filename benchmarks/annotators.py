"""Rows with the right label: annotators weighed, against majority, Dawid-Skene and MACE.

    python benchmarks/annotators.py [--seeds 3] [--folder docs/results]

Annotators are simulated: some are often right and some seldom, one takes labels for others, and one
always says the same. Rivals are those of crowd-kit, which must be installed
(pip install crowd-kit). Writes annotators.md.
"""

import argparse
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from disambig import PLKNN, SURE, CandidateLabels, EMClassifier, load_dataset, weigh_annotators
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.methods import fit_many
from results_page import FOLDER, markdown_table, write_page

SKILLS = (0.97, 0.77, 0.71, 0.58, 0.33)
PER_ITEM = (1, 2, 3, 5, 10)
N_FOLDS = 5
DIGITS = 600
CHOSEN = (
    "Defaults of the model (shrinkage, rounds, which labels are trained on) were chosen with such "
    "annotators on vehicle, and without features on simulated answers, so that the lines of "
    "vehicle flatter it somewhat."
)
MACE_STARTS = 2  # of ten by default, each of which takes seconds
METHODS: dict[str, Callable[[], Any]] = {"EM": EMClassifier, "SURE": SURE, "PLKNN": PLKNN}
RIVALS = {"majority": "MajorityVote", "Dawid-Skene": "DawidSkene", "MACE": "MACE"}
COUNTED, ALONE = "votes counted, EM", "weighed, no features"
NAMES = (*RIVALS, COUNTED, ALONE, *(f"weighed, {name}" for name in METHODS))


def data_of(name: str) -> tuple[FloatArray, IntArray]:
    """Return features and true labels, as numbers."""
    if name == "vehicle":
        data = load_dataset(name)
        features, labels = np.asarray(data.X), np.asarray(data.true_labels)
    else:
        features, labels = {"digits": load_digits, "wine": load_wine}[name](return_X_y=True)
        features, labels = features[:DIGITS], labels[:DIGITS]
    scaled: FloatArray = StandardScaler().fit_transform(features)
    return scaled, np.unique(labels, return_inverse=True)[1]


def confusions(n_classes: int, *, only_skills: bool) -> FloatArray:
    """Return a confusion matrix for every annotator."""
    made = []
    for skill in SKILLS:
        matrix = np.full((n_classes, n_classes), (1 - skill) / (n_classes - 1))
        np.fill_diagonal(matrix, skill)
        made.append(matrix)
    if not only_skills:
        following = np.roll(np.eye(n_classes), 1, axis=1)
        biased = 0.85 * np.eye(n_classes) + 0.15 * following
        biased[0] = following[0]  # always takes the first label for the second
        always = np.zeros((n_classes, n_classes))
        always[:, -1] = 1
        made += [biased, always]
    return np.array(made)


def answers_to(
    truth: IntArray, of_annotators: FloatArray, per_item: int, seed: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return items, annotators and labels: everybody is asked as often, in random turns."""
    random = np.random.default_rng(seed)
    if per_item > len(of_annotators):
        of_annotators = np.concatenate([of_annotators, of_annotators])
    n_classes = of_annotators.shape[1]
    rows = [
        (item, annotator, random.choice(n_classes, p=of_annotators[annotator, label]))
        for item, label in enumerate(truth)
        for annotator in random.permutation(len(of_annotators))[:per_item]
    ]
    items, annotators, labels = np.array(rows).T
    return items, annotators, labels


def chosen_by_rival(name: str, columns: tuple[IntArray, IntArray, IntArray]) -> AnyArray:
    """Return the labels that an aggregator of crowd-kit chooses, in the order of items."""
    aggregation = importlib.import_module("crowdkit.aggregation")
    table = pd.DataFrame(dict(zip(("task", "worker", "label"), columns, strict=True)))
    maker = getattr(aggregation, name)
    made = maker(n_restarts=MACE_STARTS, random_state=0) if name == "MACE" else maker()
    chosen: AnyArray = made.fit_predict(table).sort_index().to_numpy()
    return chosen


def chosen_by_votes(X: FloatArray, columns: tuple[IntArray, IntArray, IntArray]) -> AnyArray:
    """Return what counted votes and a model without the row say together."""
    y = CandidateLabels.from_annotations(*columns, order=range(len(X)))
    folds = np.random.default_rng(0).permutation(len(X)) % N_FOLDS
    tasks = ((X[folds != fold], y[folds != fold], None) for fold in range(N_FOLDS))
    said = np.empty(y.shape)
    for fold, model in enumerate(fit_many(EMClassifier(), tasks)):
        said[folds == fold] = model.predict_proba(X[folds == fold])
    return y.choose(y.prior().multiply(said).tocsr())


def measure(name: str, per_item: int, seed: int, *, only_skills: bool = False) -> dict[str, float]:
    """Return the share of rows that each way of choosing labels sets right."""
    X, truth = data_of(name)
    matrices = confusions(int(truth.max()) + 1, only_skills=only_skills)
    columns = answers_to(truth, matrices, per_item, seed)
    chosen = {title: chosen_by_rival(rival, columns) for title, rival in RIVALS.items()}
    chosen[COUNTED] = chosen_by_votes(X, columns)
    order = range(len(X))
    chosen[ALONE] = weigh_annotators(*columns, order=order).choose()
    for title, method in METHODS.items():
        model = weigh_annotators(
            *columns, order=order, X=X, method=method(), n_folds=N_FOLDS, random_state=seed
        )
        chosen[f"weighed, {title}"] = model.choose()
    return {title: float((labels == truth).mean()) for title, labels in chosen.items()}


def row_of(title: list[str], found: list[dict[str, float]]) -> list[str]:
    """Return a line of a table: means and standard errors, the best in bold."""
    means = {name: float(np.mean([one[name] for one in found])) for name in NAMES}
    best = max(round(mean, 3) for mean in means.values())
    cells = []
    for name, mean in means.items():
        error = sem([one[name] for one in found])
        text = f"{mean:.3f} ± {error:.3f}"
        cells.append(f"**{text}**" if round(mean, 3) == best else text)
    return [*title, *cells]


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)  # of crowd-kit, about pandas
    rows = []
    for name in ("wine", "vehicle", "digits"):
        for per_item in PER_ITEM:
            found = [measure(name, per_item, seed) for seed in range(arguments.seeds)]
            rows.append(row_of([name, str(per_item)], found))
            print(*rows[-1], flush=True)
    five = [measure("wine", 5, seed, only_skills=True) for seed in range(arguments.seeds)]
    header = ("data", "answers a row", *NAMES)
    skills = ", ".join(f"{skill:.2f}" for skill in SKILLS)
    write_page(
        "annotators",
        "benchmarks/annotators.py",
        f"Share of rows that get the right label, over {arguments.seeds} draws of the answers, "
        f"with its standard error. Five annotators are right in {skills} of the rows, and else "
        "give any other label; one is right in 0.85, else gives the label that follows, and always "
        "takes the first label for the second; one always says the last label. With 10 answers "
        "there are two of each. Rivals are those of crowd-kit with its defaults, but for "
        f"{MACE_STARTS} starts of MACE instead of ten. *Votes counted* multiplies votes with "
        "probabilities of EM that was not trained on the row. *Weighed* is `weigh_annotators`, "
        f"with features by a method in {N_FOLDS} folds. Features are scaled; of the digits, the "
        f"first {DIGITS} are used. {CHOSEN}",
        markdown_table(header, rows),
        "The first five alone, who all answer every row:",
        markdown_table(header, [row_of(["wine", "5"], five)]),
        folder=arguments.folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
