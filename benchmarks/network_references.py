"""Network methods beside the accuracies that others have measured with networks of the same shape.

    DISAMBIG_DATA=folder python benchmarks/network_references.py measure [--networks ...]
    python benchmarks/network_references.py page

Ten folds, fold seed 0, on the CPU. Measuring adds to docs/results/network_references.json what is
not in it yet; DISAMBIG_JOBS says how many lines at a time. The page is made of that file.
"""

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import MinMaxScaler

from disambig import get_method
from disambig.methods import fit_many
from disambig.metrics import accuracy
from fold_trials import fold_trials
from networks import Scores, measure
from plain_linear import METHODS, accuracies
from results_page import FOLDER

KEPT = FOLDER / "network_references.json"
# The shape of the reference's networks; all else is as it is by default.
NETWORKS: dict[str, dict[str, Any]] = {
    "linear": {"hidden": ()},
    "linear, z-scores": {"hidden": (), "scaling": "standard"},
    "500": {"hidden": 500, "dropout": 0.0, "batch_norm": False},
    "500, z-scores": {"hidden": 500, "dropout": 0.0, "batch_norm": False, "scaling": "standard"},
    "3 x 300": {"hidden": (300, 300, 300), "dropout": 0.0},
    # All of their settings but for mini-batches of 16 and weight decay.
    "3 x 300, their rate": {
        "hidden": (300, 300, 300), "dropout": 0.0, "learning_rate": 0.01, "decay": 1.0,
        "scaling": MinMaxScaler(),
    },
    "default": {},
}  # fmt: skip
# A method under another name: its own name and parameters.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "avg_ce": ("abs_gce", {"power": 1e-3}),
    "dirk_paper": ("dirk", {"average": 0.99}),
}
# Learning rate and weight decay of the reference, for linear models by torch alone.
PLAIN = {
    "plain": {"lost": (0.01, 0.01), "msrcv2": (0.1, 0.001)},
    "plain, no decay": {"lost": (0.01, 0.0)},
}
# What is measured with each network, the quickest first.
MEASURED = {
    "linear": {
        "lost": (
            "proden", "cc", "avg_ce", "abs_mae", "rc", "cavl", "lws", "dirk", "dirk_paper", "valen"
        ),
        "msrcv2": (
            "proden", "cc", "avg_ce", "abs_mae", "rc", "cavl", "lws", "dirk", "dirk_paper", "valen"
        ),
        "birdsong": ("proden", "cc", "avg_ce", "rc", "valen"),
    },
    "linear, z-scores": {"lost": ("proden", "cc")},
    "500": {"lost": ("proden", "cc"), "msrcv2": ("proden", "cc")},
    "500, z-scores": {"lost": ("proden", "cc")},
    "3 x 300": {
        "lost": ("proden", "cc", "cavl", "pop", "conformal_cleaning", "pico", "crosel", "valen"),
        "msrcv2": ("proden", "cc", "cavl", "pop", "pico", "crosel", "valen"),
        "birdsong": ("proden", "cc", "cavl", "pop", "pico", "crosel", "valen"),
    },
    "3 x 300, their rate": {"lost": ("proden",)},
    "default": {"lost": ("dirk", "dirk_paper")},
    "plain": {"lost": tuple(METHODS), "msrcv2": tuple(METHODS)},
    "plain, no decay": {"lost": ("proden", "cc")},
}  # fmt: skip


def scores_of(network: str, data: str, method: str) -> Scores:
    """Return the accuracy on the held-out rows of every fold, after the last epoch."""
    torch.set_num_threads(1)
    trials = fold_trials(data)
    begin = time.perf_counter()
    if network in PLAIN:
        test = accuracies(method, trials, *PLAIN[network][data]).tolist()
    else:
        name, parameters = VARIANTS.get(method, (method, {}))
        classifier = get_method(name)(**NETWORKS[network], **parameters, device="cpu")
        fitted = fit_many(classifier, [trial.task(classifier) for trial in trials])
        test = [
            accuracy(trial.test.true_labels, one.predict(trial.test.X))
            for trial, one in zip(trials, fitted, strict=True)
        ]
    seconds = (time.perf_counter() - begin) / len(trials)
    return {"test": np.round(test, 5).tolist(), "seconds": round(seconds, 3)}


def jobs_of(
    networks: Sequence[str], datasets: Sequence[str], methods: Sequence[str]
) -> dict[str, Any]:
    """Return what is to be measured, by name."""
    return {
        f"{network}/{data}/{method}": partial(scores_of, network, data, method)
        for data in datasets
        for network in networks
        for method in MEASURED[network].get(data, ())
        if not methods or method in methods
    }


def main() -> None:
    """Measure, or write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("file", nargs="?", type=Path, default=KEPT)
    parser.add_argument("--networks", nargs="*", default=list(MEASURED))
    parser.add_argument("--data", nargs="*", default=["lost", "msrcv2", "birdsong"])
    parser.add_argument("--methods", nargs="*", default=[])
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure(arguments.file, jobs_of(arguments.networks, arguments.data, arguments.methods))
    else:
        from network_references_page import write

        write(json.loads(arguments.file.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
