"""Tables of free text: the default beside logistic regression on the same words, and skrub.

    python benchmarks/text_tables.py [--seeds 2 3 4] [--folder docs/results]

The texts are the one-line descriptions of Debian's packages, as ``apt-cache dumpavail`` prints them
on a machine with Debian (run ``apt-get update`` first), and the labels are their sections. They are
not part of this repository. Encoders of skrub are compared if it is installed (pip install skrub).
Writes text_tables.md.
"""

import argparse
import importlib.util
import subprocess
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from disambig import CandidateLabels, fit_table, get_method
from disambig._core.messages import join_names
from disambig._core.typing import AnyArray
from results_page import FOLDER, markdown_table, write_page

# What a program is for; sections of libraries are told by their names.
SECTIONS = (
    *("admin", "fonts", "games", "gnome", "graphics", "mail", "math", "misc"),
    *("net", "science", "sound", "text", "utils", "video", "web", "x11"),
)
N_WEAK, N_TRAIN, N_TEST = 1_000, 4_000, 4_000
N_FALSE = 2
DEFAULT = "auto"
METHODS = (DEFAULT, "clpl", "plsvm", "em", "sure", "plknn")
WEIGHTED, RANDOM, TRUE = "candidates, weighted", "a random candidate", "true labels"
ENCODERS: dict[str, dict[str, Any]] = {
    "StringEncoder": {"n_components": 200, "random_state": 0},
    "MinHashEncoder": {"n_components": 200},
}
HOW = (
    f"The 16 sections {', '.join(SECTIONS)}; descriptions that differ. In random order (by the "
    f"seed) the first {N_WEAK:,} packages train a weak classifier, logistic regression on words "
    f"and true labels; the next {N_TRAIN:,} are trained on, each with its section and {N_FALSE} "
    "others drawn by the weak classifier's probabilities, without replacement; accuracy is that "
    f"on {N_TEST:,} more. Means over seeds, with one standard error."
)
CHOSEN = (
    "How words and pieces are weighed, and which learners the default mixes, was chosen with seeds "
    "0 and 1 of this task; other seeds draw from the same packages."
)


def packages() -> pd.DataFrame:
    """Return the descriptions of packages, each once, and their sections."""
    command = ["apt-cache", "dumpavail"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True)
    rows = []
    for record in printed.stdout.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in record.splitlines() if ": " in line)
        if fields.get("Section") in SECTIONS and "Description" in fields:
            rows.append((fields["Package"], fields["Description"], fields["Section"]))
    found = pd.DataFrame(rows, columns=["package", "description", "section"])
    return found.drop_duplicates("description").sort_values("package", ignore_index=True)


def task(found: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to train on, with candidate labels, and those to test on."""
    random = np.random.default_rng(seed)
    shuffled = found.iloc[random.permutation(len(found))].reset_index(drop=True)
    cuts = np.cumsum([N_WEAK, N_TRAIN, N_TEST])
    weak, train, test = (
        shuffled[start:end].reset_index(drop=True)
        for start, end in zip([0, *cuts[:-1]], cuts, strict=True)
    )
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    guesser = LogisticRegression(max_iter=200)
    guesser.fit(words.fit_transform(weak["description"]), weak["section"])
    classes = guesser.classes_.tolist()
    sets = []
    for guesses, truth in zip(
        guesser.predict_proba(words.transform(train["description"])), train["section"], strict=True
    ):
        guesses[classes.index(truth)] = 0
        false = random.choice(len(classes), N_FALSE, replace=False, p=guesses / guesses.sum())
        sets.append("|".join(sorted([truth, *(classes[place] for place in false)])))
    return train.assign(label=sets), test


def baselines(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, AnyArray]:
    """Return what logistic regression on TF-IDF of words predicts, trained in three ways."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X, new = words.fit_transform(train["description"]), words.transform(test["description"])
    sets = CandidateLabels.from_strings(train["label"].tolist())
    rows, columns = sets.pairs()
    random = np.random.default_rng(0)
    drawn = [random.choice(cell.split("|")) for cell in train["label"]]
    model = LogisticRegression(max_iter=1000)
    shares = 1 / sets.sizes[rows]
    return {
        RANDOM: model.fit(X, drawn).predict(new),
        WEIGHTED: model.fit(X[rows], sets.classes[columns], sample_weight=shares).predict(new),
        TRUE: model.fit(X, train["section"]).predict(new),
    }


def ours(method: str, train: pd.DataFrame, test: pd.DataFrame) -> AnyArray:
    """Return what a model predicts that was fitted to the table."""
    columns = train[["description", "label"]]
    predicted: AnyArray = (
        fit_table(columns, method=method, n_folds=0).predict(test)["predicted_label"].to_numpy()
    )
    return predicted


def encoded(name: str, train: pd.DataFrame, test: pd.DataFrame) -> AnyArray:
    """Return what SURE predicts of the numbers that an encoder of skrub makes."""
    import skrub

    encoder = getattr(skrub, name)(**ENCODERS[name])
    X = np.asarray(encoder.fit_transform(train["description"]), dtype=float)
    new = np.asarray(encoder.transform(test["description"]), dtype=float)
    sets = CandidateLabels.from_strings(train["label"].tolist())
    predicted: AnyArray = get_method("sure")().fit(X, sets).predict(new)
    return predicted


def measure(found: pd.DataFrame, seed: int) -> dict[str, float]:
    """Return the accuracy of everything on one draw of the task."""
    train, test = task(found, seed)
    said = {f"logistic regression, {name}": got for name, got in baselines(train, test).items()}
    ways: dict[str, Callable[[], AnyArray]] = {
        name: partial(ours, name, train, test) for name in METHODS
    }
    if importlib.util.find_spec("skrub") is not None:
        ways |= {f"skrub's {name}, SURE": partial(encoded, name, train, test) for name in ENCODERS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said |= {name: way() for name, way in ways.items()}
    truth = test["section"].to_numpy()
    scores = {name: float((predicted == truth).mean()) for name, predicted in said.items()}
    print(seed, {name: round(score, 3) for name, score in scores.items()}, flush=True)
    return scores


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args()
    found = packages()
    runs = [measure(found, seed) for seed in given.seeds]
    rows = []
    for name in runs[0]:
        scores = np.array([run[name] for run in runs])
        error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
        rows.append([name, f"{scores.mean():.3f}", f"{error:.3f}"])
    table = markdown_table(["trained", "accuracy", "standard error"], rows)
    counts = f"{len(found):,} packages, seeds {join_names(map(str, given.seeds))}."
    write_page(
        "text_tables",
        "benchmarks/text_tables.py",
        HOW,
        table,
        f"{counts} {CHOSEN}",
        folder=given.folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
