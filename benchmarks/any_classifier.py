"""Ordinary classifiers on all candidates, on one of them, by rounds, and on true labels.

    DISAMBIG_DATA=folder python benchmarks/any_classifier.py [--folder docs/results]

LightGBM and XGBoost take part where they are installed. Writes any_classifier.md.
"""

import argparse
import importlib
import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from disambig.bench.trial import Trial
from disambig.datasets.card import dataset_title
from disambig.methods import (
    AverageClassifier,
    DisambiguatingBoosting,
    DisambiguatingClassifier,
    DisambiguatingForest,
    OracleClassifier,
    RandomCandidateClassifier,
)
from fold_trials import fold_trials
from results_page import FOLDER, markdown_table, write_page

# How many folds of ten.
DATA = {"glass": 5, "ecoli": 3, "vehicle": 3, "lost": 2, "msrcv2": 2, "abalone": 1, "birdsong": 1}
# Where classifiers that grow many trees would take too long.
LARGE = ("lost", "msrcv2", "abalone", "birdsong")
N_TREES = 50
QUICK: dict[str, Any] = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "Gaussian naive Bayes": GaussianNB(),
    "10 nearest neighbours": KNeighborsClassifier(10),
}
SLOW: dict[str, Any] = {
    "random forest": RandomForestClassifier(N_TREES, random_state=0),
    "histogram gradient boosting": HistGradientBoostingClassifier(
        max_iter=N_TREES, early_stopping=False, random_state=0
    ),
}
BOOSTERS = {"LightGBM": ("lightgbm", "LGBMClassifier"), "XGBoost": ("xgboost", "XGBClassifier")}
OURS = {"forest": DisambiguatingForest, "boosting": DisambiguatingBoosting}
RANDOM, WEIGHTED, ROUNDS, TRUTH = (
    "one random candidate",
    "weighted candidates",
    "by rounds",
    "true labels",
)
WAYS = (RANDOM, WEIGHTED, ROUNDS, TRUTH)


def slow_classifiers() -> dict[str, Any]:
    """Return classifiers that grow many trees; LightGBM and XGBoost where they are installed."""
    found = dict(SLOW)
    for name, (module, classifier) in BOOSTERS.items():
        if importlib.util.find_spec(module) is not None:
            make = getattr(importlib.import_module(module), classifier)
            silent = {"verbosity": 0} if name == "XGBoost" else {"verbosity": -1}
            found[name] = make(n_estimators=N_TREES, n_jobs=1, random_state=0, **silent)
    return found


def accuracies(trial: Trial, classifier: Any) -> list[float]:
    """Return the accuracy on held-out rows in the four ways, features scaled alike in all."""
    scaled: dict[str, Any] = {"scaling": "standard", "estimator": classifier}
    train = trial.train
    methods = {
        RANDOM: RandomCandidateClassifier(random_state=0, **scaled),
        WEIGHTED: AverageClassifier(**scaled),
        ROUNDS: DisambiguatingClassifier(random_state=0, **scaled),
        TRUTH: OracleClassifier(**scaled),
    }
    return [
        right(method.fit(train.X, train.true_labels if way == TRUTH else train.candidates), trial)
        for way, method in methods.items()
    ]


def right(method: Any, trial: Trial) -> float:
    """Return the accuracy of a fitted method on held-out rows."""
    return float(np.mean(method.predict(trial.test.X) == trial.test.true_labels))


def rows_of(name: str) -> list[list[str]]:
    """Return the lines of the table of a dataset."""
    trials = fold_trials(name, DATA[name])
    slow = slow_classifiers()
    lines = []
    for title, classifier in (QUICK | slow).items():
        if title in slow and name in LARGE:
            lines.append([title, *[""] * len(WAYS)])
            continue
        means = np.mean([accuracies(trial, classifier) for trial in trials], axis=0)
        lines.append([title, *(f"{mean:.3f}" for mean in means)])
        print(name, *lines[-1], flush=True)
    for title, method in OURS.items():
        scores = [
            right(method(random_state=0).fit(trial.train.X, trial.train.candidates), trial)
            for trial in trials
        ]
        lines.append([f"`{title}`", "", "", f"{np.mean(scores):.3f}", ""])
        print(name, *lines[-1], flush=True)
    return lines


def main() -> None:
    """Fit all classifiers to all data, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    sections = []
    for name, n_folds in DATA.items():
        folds = f"{n_folds} folds" if n_folds > 1 else "One fold"
        table = markdown_table(("classifier", *WAYS), rows_of(name))
        sections += [f"## {dataset_title(name)}", f"{folds} of ten.", table]
    write_page(
        "any_classifier",
        "benchmarks/any_classifier.py",
        "Accuracy on held-out rows. The UCI sets are corrupted with p = 0.7 and r = 2. Each "
        "classifier is trained on one random candidate of every row (`random_candidate`), on all "
        "candidates with weights that sum to one (`average`), by rounds on held-out confidences "
        "(`DisambiguatingClassifier`), and, for scale, on true labels (`oracle`). Nearest "
        "neighbours take no weights, so rows are copied for them, and the ten nearest may be "
        "copies of two or three rows. Features are standardized; "
        f"forests and boosting have {N_TREES} trees (boosting: for each class), all else is as "
        "the libraries have it. `forest` and `boosting` are the methods of this package with their "
        "defaults. Blank cells were not measured: the classifiers of others that grow trees would "
        "take long on the larger sets, and `forest` and `boosting` learn by rounds only. Few folds "
        "mean large errors: of two hundredths and more on the smaller sets.",
        *sections,
        folder=options.folder,
    )


if __name__ == "__main__":
    main()
