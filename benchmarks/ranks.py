"""How much faster NCPD trains in several processes, and what they send each other in a step.

    python benchmarks/ranks.py [--most 16] [--rounds 3] [--folder docs/results]

Processes with one thread each, on this machine, by gloo. All settings are timed in turn with 1, 2,
4, ... processes, several rounds of that in one run; the shortest time of each counts. What is sent
is read off the counters of the system's loopback device, so nothing else may talk there. On paper
up to 64 machines: what a process then computes is measured here, by one that exchanges nothing.
Writes ranks.md.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from disambig._core.processes import available_cores
from results_page import FOLDER, markdown_table, write_page

N_CLASSES, N_CANDIDATES, N_NETWORKS = 20, 4, 2
# A network of machines as they are rented: what a message takes at least, and what is sent.
LATENCY, BANDWIDTH = 30e-6, 25e9 / 8  # seconds, bytes a second
ON_PAPER = (1, 2, 4, 8, 16, 32, 64)
EPOCHS = 5


class Setting(NamedTuple):
    """What is trained."""

    features: int
    units: int
    batch: int
    steps: int  # in an epoch

    def title(self) -> str:
        """Return what tables call it."""
        return f"batches of {self.batch:,}, {self.features} features, {self.units:,} units"

    def parameters(self) -> int:
        """Return the number of parameters of all networks."""
        of_hidden = (self.features + 2) * self.units  # weights, biases, gammas
        return N_NETWORKS * (of_hidden + (self.units + 1) * N_CLASSES)

    def bytes_sent(self, size: int) -> float:
        """Return what each of so many processes sends in a step."""
        # Adding up goes around in a ring twice, gathering once.
        gradients = 2 * 4 * self.parameters()
        # To rank them.
        losses = 4 * self.batch * N_NETWORKS * N_CANDIDATES
        # For inputs that are normalised: those of one problem, whatever the number of networks.
        means = 2 * 4 * self.features * (1 + self.features)
        # What was seen of every row, for the history: once an epoch.
        seen = self.batch * (N_NETWORKS * (4 + 8 + 1 + 1) + 8)
        # Parameters and Adam's memory from the first process, once an epoch.
        again = 3 * 4 * self.parameters() / self.steps
        return (size - 1) / size * (gradients + losses + means + seen + again)

    def seconds_of_exchange(self, size: int) -> float:
        """Return what messages of a step take on paper, with one process on each machine."""
        if size == 1:
            return 0
        # The gradient twice around the ring; the losses once; mean and covariance for 8 steps.
        messages = (size - 1) * (2 + 1 + 4 / 8)
        return messages * LATENCY + self.bytes_sent(size) / BANDWIDTH


SETTINGS = (
    Setting(20, 1024, 128, 64),
    Setting(20, 1024, 1024, 16),
    Setting(20, 1024, 8192, 4),
    Setting(60, 2048, 4096, 4),
)


class EpochTimes:
    """Notes, at the end of every epoch, the time and what was sent on this machine."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def on_epoch_end(self, _: Any) -> None:
        """Look at clock and counter."""
        self.seen.append((time.perf_counter(), loopback_bytes()))


def loopback_bytes() -> int:
    """Return the bytes that the loopback device of Linux has sent."""
    path = Path("/proc/net/dev")
    if not path.exists():
        return 0
    (line,) = (one for one in path.read_text().splitlines() if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[8])


def train(setting: Setting, ranks: Any = None) -> dict[str, Any]:
    """Return the shortest time of a step, and the fewest bytes sent in one by all processes."""
    import numpy as np
    from scipy import sparse

    from disambig.engine.fast.stack import NetworkStack
    from disambig.engine.ranks import Ranks
    from disambig.engine.rule import TrainingData, TrainingSettings
    from disambig.engine.training import Training
    from disambig.methods.ncpd import ProgressiveCooperation

    generator = np.random.default_rng(0)
    n_rows = setting.batch * setting.steps
    order = generator.random((n_rows, N_CLASSES)).argsort(axis=1)[:, :N_CANDIDATES]
    places = (np.repeat(np.arange(n_rows), N_CANDIDATES), order.ravel())
    prior = sparse.csr_array(
        (np.full(order.size, 1 / N_CANDIDATES), places), shape=(n_rows, N_CLASSES)
    )
    features = generator.normal(size=(n_rows, setting.features)).astype(np.float32)
    networks = NetworkStack(
        setting.features,
        N_CLASSES,
        hidden=[setting.units],
        seeds=range(N_NETWORKS),
        activation="relu",
        dropout=0.5,
        batch_norm=True,
    )
    times = EpochTimes()
    training = Training(
        networks,
        [TrainingData(features, prior, 0)],
        ProgressiveCooperation(2 * EPOCHS, cooperation=True, progressive=True),
        TrainingSettings(EPOCHS, setting.batch, 1e-3),
        [times],
        ranks=ranks or Ranks.present(),
    )
    training.run()
    seconds, sent = np.diff(np.array(times.seen), axis=0).min(axis=0) / setting.steps
    return {"seconds": float(seconds), "sent": float(sent)}


def work_of_one(setting: Setting, size: int) -> float:
    """Return the seconds of a step for one of so many processes, if exchanges took no time."""
    from disambig.engine.ranks import Ranks

    class Silent(Ranks):
        """One of several processes that hears nothing of the others."""

        def sum(self, *tensors: Any) -> None: ...

        def gather(self, shares: Any, axis: int) -> Any:
            repeats = [1] * shares.ndim
            repeats[axis] = size
            return shares.repeat(repeats)

        def follow_first(self, *tensors: Any) -> None: ...

        def check_alike(self, fingerprint: str, device: Any) -> None: ...

    return train(setting, Silent(0, size))["seconds"]


def be_one_of(size: int) -> None:
    """Time all settings as one of several processes; the first one prints what it found."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    if size > 1:
        distributed.init_process_group("gloo")
    found = [train(setting) for setting in SETTINGS]
    if size > 1:
        first = distributed.get_rank() == 0
        distributed.destroy_process_group()
        if not first:
            return
    else:
        for setting, one in zip(SETTINGS, found, strict=True):
            one["works"] = [work_of_one(setting, n) for n in ON_PAPER]
    print(json.dumps(found))


def measure(size: int) -> list[dict[str, Any]]:
    """Start so many processes, and return what the first one says."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    started = [
        subprocess.Popen(
            [sys.executable, __file__, "--one-of", str(size)],
            env=os.environ | shared | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
        )
        for rank in range(size)
    ]
    said = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"One of {size} processes has failed.")
    found: list[dict[str, Any]] = json.loads(said[0])
    return found


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=available_cores())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--one-of", type=int)
    arguments = parser.parse_args()
    if arguments.one_of:
        be_one_of(arguments.one_of)
        return
    sizes = [size for size in (1, 2, 4, 8, 16, 32) if size <= arguments.most]
    rounds = [{size: measure(size) for size in sizes} for _ in range(arguments.rounds)]
    speeds, sent, on_paper = [], [], []
    for number, setting in enumerate(SETTINGS):
        best = {n: min(one[n][number]["seconds"] for one in rounds) for n in sizes}
        speeds.append([setting.title(), *(f"{best[1] / best[n]:.2f}" for n in sizes)])
        for n in sizes[1:]:
            seen = min(one[n][number]["sent"] for one in rounds) / n
            computed = setting.bytes_sent(n)
            sent.append([setting.title(), f"{n}", f"{computed / 1e6:.3f}", f"{seen / 1e6:.3f}"])
        works = [min(one[1][number]["works"][k] for one in rounds) for k in range(len(ON_PAPER))]
        steps = [
            work + setting.seconds_of_exchange(n) for n, work in zip(ON_PAPER, works, strict=True)
        ]
        on_paper.append([setting.title(), *(f"{steps[0] / step:.1f}" for step in steps)])
        on_paper.append(["... without exchanges", *(f"{works[0] / work:.1f}" for work in works)])
    write_page(
        "ranks",
        "benchmarks/ranks.py",
        f"NCPD: two networks with one hidden layer, batch norm, dropout 0.5, {N_CLASSES} classes, "
        f"{N_CANDIDATES} candidates a row, float32. Processes have one thread each and talk by "
        f"gloo over the loopback device of a machine with {available_cores()} cores. The shortest "
        f"of {arguments.rounds * (EPOCHS - 1)} epochs counts.",
        "## Times faster than one process\n\nIdeal is the number of processes.",
        markdown_table(["training", *(plural_processes(n) for n in sizes)], speeds),
        "## What each process sends in a step\n\nComputed from shapes: gradients go around a ring "
        "twice, losses once; once an epoch all hear what was seen of rows, and the first process "
        "repeats what it has learned. Measured by "
        "the counters of the system, headers and acknowledgements included.",
        markdown_table(["training", "processes", "computed, MB", "measured, MB"], sent),
        "## On paper: one process on each machine\n\nTimes faster than one process. What a process "
        "computes is measured, in one that exchanges nothing; what messages take is "
        f"{LATENCY * 1e6:.0f} microseconds each and {BANDWIDTH * 8 / 1e9:.0f} Gbit/s. A step with "
        "n processes has 3.5 (n - 1) messages behind each other: 2 (n - 1) for the gradient, n - 1 "
        "for the losses, and what normalises inputs, for eight steps at once.",
        markdown_table(["training", *(plural_processes(n) for n in ON_PAPER)], on_paper),
        folder=arguments.folder,
        real_data=False,
    )


def plural_processes(count: int) -> str:
    """Return the head of a column."""
    return f"{count} process" if count == 1 else f"{count} processes"


if __name__ == "__main__":
    main()
