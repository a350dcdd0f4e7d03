"""Auto and each of its learners on the same splits: measured where there is a card and many cores.

    python benchmarks/auto_trials.py {sets,tables,corrupted} --out FILE.json [--tables FOLDER]

Learners without networks run in processes, one task each; networks run on the card, all tasks side
by side. Judged and weighed by the functions that ``AutoDisambiguator`` calls, with its defaults and
the seed of the split. docs/results/auto.json holds the three files, by the names of the parts;
``benchmarks/auto.py`` makes the page from it.
"""

import argparse
import json
import os
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from disambig._core.typing import FloatArray, IntArray
from disambig.bench.trial import ControlledCorruption
from disambig.candidates import CandidateLabels
from disambig.methods.auto.estimator import AutoDisambiguator
from disambig.methods.auto.learners import LEARNERS, Task, judge, weigh
from disambig.methods.side_by_side import fit_copies
from fold_trials import REAL, trials_of

NETWORKS = "ncpd_plus"
UCI = ("glass", "ecoli", "vehicle", "abalone")
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
FALSE_LABELS = (1, 2, 3)


class Split(NamedTuple):
    """Rows to learn from, and rows held out with their true labels."""

    name: str
    X: FloatArray
    candidates: CandidateLabels
    held_out: FloatArray
    truth: IntArray  # column of the true label; -1 where training has no such class
    scaling: str = "default"


def fold_splits(
    name: str, seed: int, n_folds: int, corruption: ControlledCorruption | None = None
) -> list[Split]:
    """Return some of ten folds."""
    suffix = "" if corruption is None else f" p={corruption.p} r={corruption.r}"
    splits = []
    for number, trial in enumerate(trials_of(name, seeds=(seed,), corruption=corruption)[:n_folds]):
        classes = trial.train.candidates.classes.tolist()
        assert trial.test.true_labels is not None
        truth = [classes.index(t) if t in classes else -1 for t in trial.test.true_labels.tolist()]
        title = f"{name}{suffix}|{seed}|{number}"
        splits.append(
            Split(title, trial.train.X, trial.train.candidates, trial.test.X, np.array(truth))
        )
    return splits


def splits_of_sets() -> list[Split]:
    """Return folds of the three real sets, and of UCI sets with many and with few false labels."""
    splits = [s for name in REAL for s in fold_splits(name, 100, 10)]
    for name in UCI[:3]:
        for corruption in (ControlledCorruption(0.7, 2), ControlledCorruption(0.3, 1)):
            for seed in (100, 101):
                splits += fold_splits(name, seed, 10, corruption)
    return splits + fold_splits("abalone", 100, 3, ControlledCorruption(0.7, 2))


def splits_of_corrupted() -> list[Split]:
    """Return the folds of the 84 settings; of abalone, which is large, two of ten."""
    return [
        split
        for name in UCI
        for r in FALSE_LABELS
        for p in SHARES
        for split in fold_splits(
            name, 0, 2 if name == "abalone" else 10, ControlledCorruption(p, r)
        )
    ]


def splits_of_tables(folder: Path) -> list[Split]:
    """Return what ``package_tables.py`` wrote: one split of each file."""
    splits = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            X, train = file["X"].astype(float), file["train"]
            sets = CandidateLabels.from_mask(file["mask"][train])
            truth = file["truth"][~train].astype(int)
        table, kind, seed = path.stem.rsplit("-", 2)
        splits.append(Split(f"{table} {kind}|{seed}|0", X[train], sets, X[~train], truth, "none"))
    return splits


# ---- learners


class Said(NamedTuple):
    """What a learner says of rows that it is judged on, and of the rows held out."""

    judged: FloatArray
    of_test: FloatArray


def task_of(split: Split, learner: str) -> Task:
    """Return the task of one learner, as ``AutoDisambiguator`` would make it."""
    seed = int(split.name.split("|")[1])
    # Columns of tables are scaled already, as in fit and clean.
    method = AutoDisambiguator(random_state=seed, scaling=split.scaling)
    method._begin_fit(split.X, split.candidates)
    learners = method._made_learners(split.X, split.candidates)
    kept = {name: made for name, made in learners.items() if name == learner}
    return Task(split.X, split.candidates, method._folds(split.candidates), kept)


def say(splits: Sequence[Split], learner: str) -> list[Said | None]:
    """Return what a learner says, side by side where it can; None where it is left out."""
    tasks = [task_of(split, learner) for split in splits]
    able = [n for n, task in enumerate(tasks) if task.learners]
    said = judge([tasks[n] for n in able], even_alone=True)
    to_fit = [n for n in able if not hasattr(tasks[n].learners[learner], "held_out_proba_")]
    fit_copies(
        [tasks[n].learners[learner] for n in to_fit],
        [(tasks[n].X, tasks[n].candidates) for n in to_fit],
    )
    found: list[Said | None] = [None] * len(splits)
    for n, by_learner in zip(able, said, strict=True):
        of_test = tasks[n].learners[learner].predict_proba(splits[n].held_out)
        found[n] = Said(by_learner[learner], of_test)
    return found


_SPLITS: list[Split] = []


def _say_one(work: tuple[int, str]) -> tuple[int, str, Said | None]:
    number, learner = work
    return number, learner, say([_SPLITS[number]], learner)[0]


def measure(splits: list[Split]) -> list[dict[str, Any]]:
    """Return the accuracy of every learner and of the mix, and the weights, for every split."""
    global _SPLITS
    _SPLITS = splits  # processes that are forked have it
    by_size = sorted(range(len(splits)), key=lambda n: -splits[n].X.shape[0])
    slow_first = ("boosting", "forest", "sure", "em")
    work = [(n, name) for n in by_size for name in slow_first]
    said: dict[tuple[int, str], Said | None] = {}
    with get_context("fork").Pool(int(os.environ.get("PROCESSES", os.cpu_count() or 1))) as pool:
        results = pool.imap_unordered(_say_one, work)
        for name in dict.fromkeys(split.name.split(" ")[0].split("|")[0] for split in splits):
            numbers = [
                n for n, s in enumerate(splits) if s.name.split(" ")[0].split("|")[0] == name
            ]
            for first in range(0, len(numbers), 70):
                some = numbers[first : first + 70]
                found = say([splits[n] for n in some], NETWORKS)
                said |= {(n, NETWORKS): of_one for n, of_one in zip(some, found, strict=True)}
            print(name, len(numbers), "networks done", flush=True)
        for done, (n, learner, of_one) in enumerate(results):
            said[n, learner] = of_one
            if done % 200 == 0:
                print(done, "of", len(work), flush=True)
    return [_scores(split, n, said) for n, split in enumerate(splits)]


def _scores(split: Split, n: int, said: dict[tuple[int, str], Said | None]) -> dict[str, Any]:
    found = {name: said[n, name] for name in LEARNERS}
    present = {name: each for name, each in found.items() if each is not None}
    task = task_of(split, NETWORKS)
    selection = weigh(task, {name: each.judged for name, each in present.items()})
    weights = selection.weights
    mixed = sum(weights[name] * present[name].of_test for name in weights)
    accuracies = {name: _accuracy(each.of_test, split.truth) for name, each in present.items()}
    return {
        "split": split.name,
        "accuracy": {**accuracies, "auto": _accuracy(mixed, split.truth)},
        "weights": {name: round(weight, 3) for name, weight in weights.items()},
    }


def _accuracy(probabilities: Any, truth: IntArray) -> float:
    return round(float((probabilities.argmax(axis=1) == truth).mean()), 5)


def main() -> None:
    """Measure one part and write its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("sets", "tables", "corrupted"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=Path, help="folder of package_tables.py")
    options = parser.parse_args()
    if options.part == "tables":
        splits = splits_of_tables(options.tables)
    else:
        splits = splits_of_sets() if options.part == "sets" else splits_of_corrupted()
    options.out.write_text(json.dumps(measure(splits), indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
