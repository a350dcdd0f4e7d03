"""How long ten-fold NCPD takes on a CUDA card: 10 folds x 2 networks x 200 epochs as one stack.

    DISAMBIG_DATA=folder python benchmarks/ncpd_gpu.py [--folder docs/results]

Needs a CUDA card with Triton, whose kernels it asks for (DISAMBIG_KERNELS=1). Soccer Player and
Yahoo!News are made-up data of their shape. Everything is timed from the rows of the folds in memory
to fitted classifiers: scaling, training, graph capture, and the confidences of the training rows.
So is the same without kernels of our own. Beside both stands the floor of a step: its five matrix
products alone, and Adam alone. Kernels are compiled before, which Triton does once on a machine.
Writes ncpd_gpu.md.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import torch

from card_seconds import card_seconds
from disambig import NCPDClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.datasets import PartialLabelDataset, make_partial_label_dataset
from disambig.engine import training as engine_training
from disambig.engine.batches import steps_per_epoch
from disambig.engine.fast.adam import Adam
from disambig.methods import ncpd
from results_page import FOLDER, markdown_table, write_page

# On cards where our kernels are not the default, too.
os.environ["DISAMBIG_KERNELS"] = "1"
LIMIT = 18
HIDDEN = 512
FOLDS = 10
NETWORKS = 2 * FOLDS
BATCH = 128
EPOCHS = 200


class Timing(NamedTuple):
    """What was measured on one dataset."""

    seconds: float
    seconds_by_torch: float
    step: float  # microseconds, as are the rest
    step_by_torch: float
    products: float
    products_in_tf32: float
    adam: float


class EpochTimes:
    """Notes when epochs end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_epoch_end(self, training: engine_training.Training) -> None:  # noqa: ARG002
        """Wait for the card and look at the clock."""
        torch.cuda.synchronize()
        self.ends.append(time.perf_counter())


def datasets() -> dict[str, PartialLabelDataset]:
    """Return the five datasets of the paper, two of them by shape only."""
    return {
        "lost": load_dataset("lost"),
        "msrcv2": load_dataset("msrcv2"),
        "birdsong": load_dataset("birdsong"),
        "soccer_player (shape)": make_partial_label_dataset(
            17472, 279, 171, average_candidates=2.09, random_state=0
        ),
        "yahoo_news (shape)": make_partial_label_dataset(
            22991, 163, 219, average_candidates=1.91, random_state=0
        ),
    }


def seconds(data: PartialLabelDataset, epochs: int = EPOCHS) -> float:
    """Return how long it takes to train all ten folds."""
    method = NCPDClassifier(hidden=HIDDEN, epochs=epochs, ramp_epochs=epochs // 2, device="cuda")
    folds = shuffled_folds(len(data.X), FOLDS, 0)
    tasks = [(data.X[train], data.candidates[train], fold) for fold, (train, _) in enumerate(folds)]
    return card_seconds(method, tasks)


def step_microseconds(data: PartialLabelDataset) -> float:
    """Return how long a step takes, half of them with losses ranked, as in a whole training."""
    times = EpochTimes()
    run = engine_training.Training.run

    def watched(training: engine_training.Training) -> None:
        training.listeners.append(times)
        run(training)

    with patch.object(engine_training.Training, "run", watched):
        seconds(data, epochs=12)
    lasted = np.diff(times.ends)
    # The first epoch of either kind records its steps.
    ranked, unranked = np.median(lasted[:4]), np.median(lasted[6:])
    n_rows = len(data.X) * (FOLDS - 1) // FOLDS
    return float(ranked + unranked) / 2 * 1e6 / steps_per_epoch(n_rows, BATCH)


def by_torch(measure: Callable[[PartialLabelDataset], float], data: PartialLabelDataset) -> float:
    """Return a measure of the same training without kernels of our own."""
    with (
        patch.object(engine_training, "runs_kernels", lambda _: False),
        patch.object(ncpd, "runs_kernels", lambda _: False),
    ):
        return measure(data)


def replay_microseconds(work: Callable[[], object], count: int = 10) -> float:
    """Return how long some work takes in a recorded graph, without the time to start it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        work()
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        for _ in range(count):
            work()
    found = []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) * 1e3 / count)
    return float(np.median(found))


def floor_microseconds(n_features: int, n_classes: int) -> tuple[float, float, float]:
    """Return how long the products take in float32 and in TF32, and Adam."""

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(NETWORKS, *shape, device="cuda")

    inputs, of_hidden = normal(BATCH, n_features), normal(BATCH, HIDDEN)
    hidden, of_logits = normal(BATCH, HIDDEN), normal(BATCH, n_classes)
    weights = [
        torch.nn.Parameter(normal(*shape)) for shape in ((n_features, HIDDEN), (HIDDEN, n_classes))
    ]

    def products() -> None:
        torch.bmm(inputs, weights[0])
        torch.bmm(hidden, weights[1])
        torch.bmm(of_logits, weights[1].mT)
        torch.bmm(hidden.mT, of_logits)
        torch.bmm(inputs.mT, of_hidden)

    in_float32 = replay_microseconds(products)
    torch.backends.cuda.matmul.allow_tf32 = True
    in_tf32 = replay_microseconds(products)
    torch.backends.cuda.matmul.allow_tf32 = False
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    return in_float32, in_tf32, replay_microseconds(Adam(weights, 1e-3).update)


def timed(data: PartialLabelDataset) -> Timing:
    """Return all measures of a dataset; the old way and the new one after each other."""
    # Compiles, and lets libraries choose their algorithms.
    step, step_by_torch = step_microseconds(data), by_torch(step_microseconds, data)
    floor = floor_microseconds(data.X.shape[1], len(data.candidates.classes))
    return Timing(seconds(data), by_torch(seconds, data), step, step_by_torch, *floor)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    rows, timings = [], []
    for name, data in datasets().items():
        timing = timed(data)
        timings.append(timing)
        shape = f"{data.X.shape[0]} x {data.X.shape[1]}, {len(data.candidates.classes)} classes"
        times = (f"{value:.0f}" for value in timing[2:])
        rows.append([name, shape, f"{timing[0]:.1f}", f"{timing[1]:.1f}", *times])
        print(rows[-1], flush=True)
    total, total_by_torch = (sum(timing[n] for timing in timings) for n in range(2))
    write_page(
        "ncpd_gpu",
        "benchmarks/ncpd_gpu.py",
        f"{FOLDS} folds x 2 networks x {EPOCHS} epochs of {HIDDEN} units, trained as one stack by "
        f"`fit_many`, on one {torch.cuda.get_device_name()} with torch {torch.__version__}; with "
        "kernels of our own and, in brackets, with operations of torch alone. The floor of a step, "
        "in microseconds: its five matrix products as torch takes them in float32 and in TF32, and "
        "Adam's pass over weights, gradients and memory. Kernels of our own have float32's "
        "precision, from three products in TF32.",
        markdown_table(
            [
                "data",
                "size",
                "seconds",
                "(torch)",
                "step",
                "(torch)",
                "products, float32",
                "products, TF32",
                "Adam",
            ],
            [*rows, ["all", "", f"{total:.1f}", f"{total_by_torch:.1f}", *[""] * 5]],
        ),
        folder=folder,
    )
    if total > LIMIT:
        raise SystemExit(f"All together took {total:.1f} s, the limit is {LIMIT} s.")


if __name__ == "__main__":
    main()
