"""Every network method of the field under one protocol: which of its claims hold.

    DISAMBIG_DATA=folder python benchmarks/networks.py measure [FILE] [--data ...] [--methods ...]
        [--networks linear mlp]
    python benchmarks/networks.py page

Measuring adds to the file what is not in it yet; each line is measured in a process of its own, as
many at a time as DISAMBIG_JOBS says, on the device that DISAMBIG_DEVICE names. It is quick on a
CUDA card only. The page is made of docs/results/networks.json.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from disambig import all_methods, get_method, load_dataset
from disambig.bench.folds import Split
from disambig.bench.trial import (
    ControlledCorruption,
    Trial,
    leave_out_of_training,
    make_trial,
    thin_out_training,
)
from disambig.candidates import corrupt_by_flips, corrupt_by_instance
from disambig.candidates.groups import hold_out_groups
from disambig.datasets import PartialLabelDataset, held_out_probabilities
from disambig.methods import NetworkClassifier, fit_many
from disambig.metrics import accuracy
from fold_trials import CORRUPTION, REAL

UCI = ("glass", "ecoli", "vehicle", "abalone")
# What some methods are made for, tried on one set whose sets are made once: false labels that each
# row draws by itself, or that a network confuses with the truth; then the training rows of rare
# classes, or some of the true labels, are left out.
MADE = "digits"
CONDITIONS = ("flips", "instance", "long tail", "misses")
FLIPS, INSTANCE, IMBALANCE, MISS = 0.3, 0.5, 20.0, 0.2
BACKBONES: dict[str, dict[str, Any]] = {"linear": {"hidden": ()}, "mlp": {}}
# The one thing that is chosen, for every method and fold, by candidate sets alone.
RATES = (0.001, 0.01)
FOLDS = 10
# NCPD+ is a mix of many networks, and chooses among them by itself.
LEFT_OUT = ("ncpd_plus",)
KEPT = Path(__file__).resolve().parent.parent / "docs" / "results" / "networks.json"
Scores = dict[str, Any]


def network_methods() -> list[str]:
    """Return the names of all methods that train networks, but for a mix of them."""
    found = all_methods().items()
    networks = (name for name, cls in found if issubclass(cls, NetworkClassifier))
    return [name for name in networks if name not in LEFT_OUT]


def trials_of(data: str, protocol: str) -> list[Trial]:
    """Return ten folds, fold seed 0; UCI sets are corrupted as in the paper's hardest setting."""
    splits = [Split(seed=0, fold=fold, n_folds=FOLDS) for fold in range(FOLDS)]
    if protocol in CONDITIONS:
        return [under_condition(split, protocol) for split in splits]
    loaded = load_dataset(data, groups=protocol == "groups")
    corruption = None if data in REAL else ControlledCorruption(**CORRUPTION)
    return [make_trial(loaded, split, corruption) for split in splits]


@cache
def with_made_sets(instance: bool) -> PartialLabelDataset:
    """Return the data with sets that are made once, whatever the folds."""
    data = load_dataset(MADE)
    truth, classes = data.true_labels, data.candidates.classes
    assert truth is not None
    if instance:
        said = held_out_probabilities(data.X, truth, classes=classes, random_state=0)
        sets = corrupt_by_instance(truth, said, rate=INSTANCE, classes=classes, random_state=1)
    else:
        sets = corrupt_by_flips(truth, q=FLIPS, classes=classes, random_state=1)
    return replace(data, candidates=sets)


def under_condition(split: Split, condition: str) -> Trial:
    """Return a fold of the data as methods for some condition want it."""
    trial = make_trial(with_made_sets(condition == "instance"), split)
    if condition == "long tail":
        return thin_out_training(trial, split, IMBALANCE)
    if condition == "misses":
        return leave_out_of_training(trial, split, MISS)
    return trial


def chosen_rates(method: str, parameters: dict[str, Any], trials: Sequence[Trial]) -> list[float]:
    """Return the learning rate of every fold: the one whose predictions meet most held-out sets.

    A tenth of the training rows is held out for it, in whole groups where there are any.
    """
    covered = []
    for rate in RATES:
        classifier = get_method(method)(learning_rate=rate, **parameters)
        tasks, watched = [], []
        for number, trial in enumerate(trials):
            X, y, seed = trial.task(classifier)
            if y.groups is None:
                held_out = np.zeros(len(X), dtype=bool)
                order = np.random.default_rng(number).permutation(len(X))
                held_out[order[: len(X) // 10]] = True
            else:
                held_out = hold_out_groups(y.groups, 0.1, number)
            tasks.append((X[~held_out], y[~held_out], seed))
            watched.append((X[held_out], y[held_out]))
        fitted = fit_many(classifier, tasks)
        covered.append([one.score(*rows) for one, rows in zip(fitted, watched, strict=True)])
    return [RATES[best] for best in np.argmax(covered, axis=0).tolist()]


def scores_of(method: str, backbone: str, data: str, protocol: str) -> Scores:
    """Return the accuracy on held-out and on training rows of every fold, and what was chosen."""
    torch.set_num_threads(1)
    parameters = BACKBONES[backbone] | {"device": os.environ.get("DISAMBIG_DEVICE", "auto")}
    trials = trials_of(data, protocol)
    rates = chosen_rates(method, parameters, trials)
    test, train = np.zeros(FOLDS), np.zeros(FOLDS)
    begin = time.perf_counter()
    for rate in sorted(set(rates)):
        folds = [fold for fold, chosen in enumerate(rates) if chosen == rate]
        classifier = get_method(method)(learning_rate=rate, **parameters)
        tasks = [trials[fold].task(classifier) for fold in folds]
        for fold, fitted in zip(folds, fit_many(classifier, tasks), strict=True):
            rows, held_out = trials[fold].train, trials[fold].test
            test[fold] = accuracy(held_out.true_labels, fitted.predict(held_out.X))
            train[fold] = accuracy(rows.true_labels, fitted.disambiguate())
    seconds = (time.perf_counter() - begin) / FOLDS
    return {
        "test": test.round(5).tolist(),
        "train": train.round(5).tolist(),
        "rates": rates,
        "seconds": round(seconds, 3),
    }


def protocols_of(data: str) -> Sequence[str]:
    """Return how a dataset is used."""
    if data == MADE:
        return CONDITIONS
    return ("rows", "groups") if data in REAL else ("rows",)


def jobs_of(
    datasets: Sequence[str], methods: Sequence[str], backbones: Sequence[str]
) -> dict[str, Any]:
    """Return what is to be measured, by name, the longest first."""
    return {
        f"{protocol}/{data}/{method}/{backbone}": partial(
            scores_of, method, backbone, data, protocol
        )
        for data in datasets
        for protocol in protocols_of(data)
        for method in methods
        for backbone in backbones
    }


def measure(file: Path, wanted: dict[str, Any]) -> None:
    """Measure what is not in the file yet, and add it as results come."""
    found: dict[str, Scores] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    jobs = {key: job for key, job in wanted.items() if key not in found}
    workers = int(os.environ.get("DISAMBIG_JOBS", "1"))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(job): key for key, job in jobs.items()}
        for done in as_completed(running):
            key = running[done]
            try:
                found[key] = done.result()
            except Exception as error:  # noqa: BLE001  # the others are worth having
                print(key, repr(error), flush=True)
                continue
            print(
                key, round(float(np.mean(found[key]["test"])), 4), found[key]["seconds"], flush=True
            )
            lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found)]
            file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Measure, or write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("file", nargs="?", type=Path, default=KEPT)
    parser.add_argument("--data", nargs="*", default=[*REAL, *UCI, MADE])
    parser.add_argument("--methods", nargs="*", default=network_methods())
    parser.add_argument("--networks", nargs="*", default=list(BACKBONES), choices=list(BACKBONES))
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure(arguments.file, jobs_of(arguments.data, arguments.methods, arguments.networks))
    else:
        from networks_page import write

        write(json.loads(arguments.file.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
