"""How long ten folds of every network method take on a CUDA card, beside PRODEN.

    DISAMBIG_DATA=folder python benchmarks/network_steps.py [--folder docs/results]

Ten folds of Lost as one stack, timed from rows in memory to fitted classifiers: the median of three
fits after one that compiles and warms up. Beside it the time of a step of the stack, from epochs
alone. Writes network_steps.md.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from card_seconds import card_seconds
from disambig import get_method
from disambig.engine.batches import steps_per_epoch
from disambig.engine.training import Training
from disambig.methods import fit_many
from fold_trials import fold_trials
from networks import network_methods
from results_page import FOLDER, markdown_table, write_page

REPEATS = 3
EPOCHS = 50  # of the timing of steps


class EpochTimes:
    """Notes when epochs end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_epoch_end(self, _: Training) -> None:
        """Note the time, once the card is done."""
        torch.cuda.synchronize()
        self.ends.append(time.perf_counter())


def step_microseconds(name: str) -> float:
    """Return the time of a step of one network, or of those of one fit."""
    trial = fold_trials("lost", 1)[0]
    times = EpochTimes()
    method = get_method(name)(epochs=EPOCHS, callbacks=[times])
    X, y, _ = trial.task(method)
    method.fit(X, y)
    steps = steps_per_epoch(len(X), method.batch_size)
    return float(np.median(np.diff(times.ends[EPOCHS // 2 :]))) / steps * 1e6


def fold_seconds(name: str) -> float:
    """Return the median time of ten folds as one stack."""
    method = get_method(name)()
    tasks = [trial.task(method) for trial in fold_trials("lost")]
    list(fit_many(get_method(name)(epochs=2), tasks))
    return float(np.median([card_seconds(method, tasks) for _ in range(REPEATS)]))


def main() -> None:
    """Measure, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    proden = fold_seconds("proden")
    rows = []
    for name in sorted(network_methods()):
        seconds = proden if name == "proden" else fold_seconds(name)
        step = step_microseconds(name)
        rows.append((name, f"{seconds:.2f}", f"{seconds / proden:.2f}", f"{step:.0f}"))
        print(*rows[-1], flush=True)
    card = torch.cuda.get_device_name()
    write_page(
        "network_steps",
        "benchmarks/network_steps.py",
        f"On one {card}, with default parameters: 200 epochs of mini-batches of 128, ten folds of "
        f"Lost as one stack, median of {REPEATS}. *A step* is that of a single fold, with whatever "
        "the method asks of its networks in it.",
        markdown_table(
            ("method", "ten folds, seconds", "times PRODEN", "a step of one fold, microseconds"),
            rows,
        ),
        folder=folder,
    )


if __name__ == "__main__":
    main()
