"""NCPD on one CPU thread: against the paper taken literally, and against its matrix products.

    DISAMBIG_DATA=folder python benchmarks/ncpd_cpu.py

All sides of a comparison take turns, epoch by epoch, in one process; what is written down are
ratios of medians. Writes docs/results/ncpd_cpu.md.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from disambig import FeatureScaler, load_dataset
from disambig.candidates import CandidateLabels
from disambig.datasets import PartialLabelDataset, make_partial_label_dataset
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import NetworkStack
from disambig.engine.rule import TrainingData, TrainingSettings
from disambig.engine.training import Training
from disambig.methods.ncpd import ProgressiveCooperation
from results_page import markdown_table, write_page

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
from ncpd_in_one_file import LiteralNCPD, MultiBirthGroups, make_perceptron

HIDDEN, BATCH, DROPOUT, RAMP = 1024, 128, 0.5, 100
AIM = 2.2
# How many times faster than the literal one.
GOALS = {"lost": 1.7, "msrcv2": 2.2, "birdsong": 1.5, "vehicle's shape": 1.5}
SET_SIZES = (1, 2, 8, 32)
EPOCHS = {"lost": 60, "msrcv2": 40, "birdsong": 20, "vehicle's shape": 80}
NOISE = 0.2


class TakingTurns:
    """After every epoch of ours, run and time an epoch of each of the others."""

    def __init__(self, others: dict[str, Callable[[int], None]]) -> None:
        self._others = others
        self.seconds: dict[str, list[float]] = {"ours": [], **{name: [] for name in others}}

    def on_fit_start(self, training: Training) -> None:  # noqa: ARG002
        """Start the clock."""
        self._begin = time.perf_counter()

    def on_epoch_end(self, training: Training) -> None:
        """Stop the clock for ours, and let the others run."""
        self.seconds["ours"].append(time.perf_counter() - self._begin)
        for name, run_epoch in self._others.items():
            begin = time.perf_counter()
            with torch.enable_grad():
                run_epoch(training.epoch)
            self.seconds[name].append(time.perf_counter() - begin)
        self._begin = time.perf_counter()

    def median(self, name: str) -> float:
        """Return the median time of an epoch, without the first, which sets things up."""
        return median(self.seconds[name][1:])


def our_training(
    X: Tensor,
    candidates: CandidateLabels,
    epochs: int,
    listener: object | None = None,
    noise: float = 0,
) -> Training:
    """Return NCPD as ``NCPDClassifier`` trains it by default; with noise as in NCPD+."""
    networks = NetworkStack(
        X.shape[1],
        len(candidates.classes),
        hidden=(HIDDEN,),
        seeds=(0, 1),
        activation="relu",
        dropout=DROPOUT,
        batch_norm=True,
    )
    return Training(
        networks,
        [TrainingData(X.numpy(), candidates.prior(), 0)],
        ProgressiveCooperation(RAMP, cooperation=True, progressive=True),
        TrainingSettings(epochs, BATCH, 1e-3),
        [listener] if listener else [],
        noise=SwapNoise(noise, (0, 1)) if noise else None,
    )


def noisy_training(X: Tensor, candidates: CandidateLabels) -> Callable[[int], None]:
    """Return an epoch with noise, in which every step has a second forward pass."""
    training = our_training(X, candidates, 1000, noise=NOISE)

    def run_epoch(epoch: int) -> None:  # noqa: ARG001
        with torch.no_grad():
            training._run_epoch()

    return run_epoch


def literal_training(X: Tensor, candidates: CandidateLabels) -> Callable[[int], None]:
    """Return an epoch of the paper taken literally, with the same networks."""
    sizes = (X.shape[1], (HIDDEN,), len(candidates.classes))
    networks = [make_perceptron(*sizes, batch_norm=True, dropout=DROPOUT) for _ in range(2)]
    columns = [row.nonzero()[0].tolist() for row in candidates.to_mask()]
    literal = LiteralNCPD(networks, MultiBirthGroups(X, columns), ramp_epochs=RAMP)

    def run_epoch(epoch: int) -> None:
        literal.run_epoch(epoch, torch.randperm(len(X)).split(BATCH))

    return run_epoch


def matrix_products(n_rows: int, n_features: int, n_classes: int) -> Callable[[int], None]:
    """Return the five matrix products of every step of an epoch, and nothing else.

    Plainly arranged: ours have the classes first in memory, which is faster where they are few.
    """
    inputs, weight = torch.randn(2, BATCH, n_features), torch.randn(2, n_features, HIDDEN)
    active, output = torch.randn(2, BATCH, HIDDEN), torch.randn(2, HIDDEN, n_classes)
    gradient = torch.randn(2, BATCH, n_classes)
    memory = [torch.empty(2, BATCH, HIDDEN), torch.empty(2, BATCH, n_classes)]
    memory += [torch.empty_like(output), torch.empty_like(active), torch.empty_like(weight)]

    def run_epoch(epoch: int) -> None:  # noqa: ARG001
        for _ in range(-(-n_rows // BATCH)):
            torch.bmm(inputs, weight, out=memory[0])
            torch.bmm(active, output, out=memory[1])
            torch.bmm(active.mT, gradient, out=memory[2])
            torch.bmm(gradient, output.mT, out=memory[3])
            torch.bmm(inputs.mT, active, out=memory[4])

    return run_epoch


def scaled(data: PartialLabelDataset) -> Tensor:
    """Return the features as NCPD sees them."""
    return torch.as_tensor(FeatureScaler("half").fit_transform(data.X), dtype=torch.float32)


def comparison(name: str) -> list[str]:
    """Return the ratios on one dataset."""
    if name in ("lost", "msrcv2", "birdsong"):
        data = load_dataset(name)
    else:
        data = make_partial_label_dataset(846, 18, 4, average_candidates=2, random_state=0)
    X = scaled(data)
    turns = TakingTurns(
        {
            "noisy": noisy_training(X, data.candidates),
            "literal": literal_training(X, data.candidates),
            "products": matrix_products(*X.shape, len(data.candidates.classes)),
        }
    )
    our_training(X, data.candidates, EPOCHS[name], turns).run()
    against_literal = turns.median("literal") / turns.median("ours")
    products = turns.median("products")
    multiples = [f"{turns.median(one) / products:.2f}" for one in ("ours", "noisy")]
    return [name, f"{against_literal:.2f}", f"{GOALS[name]:.1f}", *multiples]


def growth() -> list[list[str]]:
    """Return epoch times of made-up data, as multiples of the first one's."""
    shapes = {"2000 rows, 20 classes, 2 candidates a row": (2000, 20, 2)}
    shapes |= {f"{n} rows": (n, 20, 2) for n in (4000, 8000, 16000)}
    shapes |= {f"{c} classes": (2000, c, 2) for c in (50, 100, 200)}
    shapes |= {f"{size} candidates a row": (2000, 20, size) for size in (4, 8, 16)}
    trainings = {}
    for name, (n, c, size) in shapes.items():
        data = make_partial_label_dataset(n, 50, c, average_candidates=size, random_state=0)
        trainings[name] = timed_epoch(our_training(scaled(data), data.candidates, 1000))
    seconds: dict[str, list[float]] = {name: [] for name in trainings}
    for _ in range(7):
        for name, run in trainings.items():
            seconds[name].append(run())
    first = median(next(iter(seconds.values())))
    return [[name, f"{median(times) / first:.2f}"] for name, times in seconds.items()]


def timed_epoch(training: Training) -> Callable[[], float]:
    """Return a function that trains one more epoch and says how long it took."""

    def run() -> float:
        training.stopped = False
        training.run()
        return seconds.pop()

    class StopAfterOne:
        def on_fit_start(self, training: Training) -> None:  # noqa: ARG002
            self._begin = time.perf_counter()

        def on_epoch_end(self, training: Training) -> None:
            seconds.append(time.perf_counter() - self._begin)
            training.stop()

    seconds: list[float] = []
    training.listeners.append(StopAfterOne())
    return run


def peak_memory(size: int, literal: bool) -> float:
    """Return how much memory, in MB, two epochs take beyond what was held before them."""
    torch.set_num_threads(1)
    data = make_partial_label_dataset(2000, 50, 64, average_candidates=size, random_state=0)
    X = scaled(data)
    # Linux forgets the peak so far when it is told to.
    Path("/proc/self/clear_refs").write_text("5")
    before = held_memory("VmRSS")
    if literal:
        run_epoch = literal_training(X, data.candidates)
        run_epoch(1)
        run_epoch(2)
    else:
        our_training(X, data.candidates, 2).run()
    return held_memory("VmHWM") - before


def held_memory(entry: str) -> float:
    """Return what Linux says of the memory of this process, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(entry):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"This system does not say {entry}; Linux does.")


def memory() -> list[list[str]]:
    """Return the memory that both take for growing candidate sets."""
    peaks = {}
    for size in SET_SIZES:
        for literal in (False, True):
            # A process of its own, because a peak never goes down again.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                peaks[size, literal] = pool.submit(peak_memory, size, literal).result()
    return [[str(n), f"{peaks[n, False]:.0f}", f"{peaks[n, True]:.0f}"] for n in SET_SIZES]


def main() -> None:
    """Measure and write the page."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = [comparison(name) for name in GOALS]
    print(rows, flush=True)
    write_page(
        "ncpd_cpu",
        "benchmarks/ncpd_cpu.py",
        f"Two networks of {HIDDEN} units, batch norm, dropout {DROPOUT}, mini-batches of {BATCH}, "
        "float32, one thread. *Literal*: rows duplicated, plain torch with autograd "
        "(`examples/ncpd_in_one_file.py`). *Matrix products*: the five of a step, nothing else, as "
        "`torch.bmm` of tensors as they come.",
        markdown_table(
            [
                "data",
                "times faster than literal",
                "goal",
                "multiple of the matrix products",
                "with noise",
                "aim",
            ],
            [[*row, f"{AIM}"] for row in rows],
        ),
        "What a step does beside its products: dropout, batch norm and activation, each a pass or "
        "two over the hidden layer, Adam, the confidences, and the start of some hundred small "
        f"operations. With noise, as in NCPD+, {NOISE:.0%} of the inputs are swapped and every "
        "step has a second forward pass. Our own products have the classes first in memory: with "
        "few classes they take a fraction of the plain ones, and a whole step can take little more "
        "than these.",
        "## How the time of an epoch grows",
        "50 features; as a multiple of the first row.",
        markdown_table(["data", "time"], growth()),
        "## How memory grows with the candidate sets",
        "2000 rows, 50 features, 64 classes; peak in MB that two epochs add to a process.",
        markdown_table(["candidates a row", "ours", "literal"], memory()),
    )
    missed = [row[0] for row in rows if float(row[1]) < float(row[2])]
    if missed:
        raise SystemExit(f"Not as much faster as it should be on {', '.join(missed)}.")


if __name__ == "__main__":
    main()
