"""A training step of NCPD with many classes, beside nothing but its matrix products and Adam.

    python benchmarks/many_classes.py [--before SRC] [--folder docs/results]

Both take turns on one thread, and CPU time counts, so that other work on the machine disturbs
little. ``--before`` is the ``src`` of another checkout: its steps and ours then take turns, each in
a process of its own. Writes many_classes.md.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

import disambig
from disambig import NCPDClassifier
from disambig.datasets import make_partial_label_dataset
from disambig.engine.device import quiet_surroundings
from results_page import FOLDER, markdown_table, write_page

SHAPES = ((5000, 8, 1000), (5000, 512, 1000), (10000, 512, 10), (5000, 8, 300), (2000, 10, 10))
HIDDEN, BATCH, NETWORKS = 1024, 128, 2
TURNS, STEPS = 11, 8
# Steps of another checkout are compared on these, in so many processes each.
COMPARED = ((5000, 8, 1000), (5000, 8, 300), (2000, 10, 10))
PROCESSES = 4

Shape = tuple[int, int, int]


def our_steps(n_features: int, n_classes: int) -> Callable[[], None]:
    """Return an epoch of ``STEPS`` steps."""
    data = make_partial_label_dataset(STEPS * BATCH, n_features, n_classes, random_state=0)
    method = NCPDClassifier(hidden=HIDDEN, batch_size=BATCH, random_state=0, device="cpu")
    method.set_params(epochs=10**6, ramp_epochs=10**6)
    checked = method._begin_fit(data.X, data.candidates)
    return method._training([method._plan(*checked)])._run_epoch


def bare_steps(n_features: int, n_classes: int) -> Callable[[], None]:
    """Return the products of as many steps, and Adam, in memory that is used again."""
    inputs = torch.randn(NETWORKS, BATCH, n_features)
    hidden = torch.randn(NETWORKS, BATCH, HIDDEN)
    logits = torch.randn(NETWORKS, BATCH, n_classes)
    first = torch.randn(NETWORKS, n_features, HIDDEN)
    last = torch.randn(NETWORKS, HIDDEN, n_classes) / HIDDEN
    if n_classes < HIDDEN // 4:  # what is best with few classes
        logits, last = (part.mT.contiguous().mT for part in (logits, last))
    memory = [[torch.zeros_like(part) for part in (first, last)] for _ in range(3)]
    gradients = memory[0]
    count = torch.ones(())
    as_it_lies = [[part.mT if part.stride(-1) != 1 else part for part in kind] for kind in memory]
    weights = [part.mT if part.stride(-1) != 1 else part for part in (first, last)]

    def step() -> None:
        torch.bmm(inputs, first, out=hidden)
        torch.bmm(hidden, last, out=logits)
        torch.bmm(hidden.mT, logits, out=gradients[1])
        torch.bmm(logits, last.mT, out=hidden)
        torch.bmm(inputs.mT, hidden, out=gradients[0])
        torch._fused_adam_(
            weights, *as_it_lies, [], [count, count], amsgrad=False, beta1=0.9, beta2=0.999,
            lr=1e-9, weight_decay=0.0, eps=1e-8, maximize=False,
        )  # fmt: skip

    def steps() -> None:
        for _ in range(STEPS):
            step()

    return steps


def taking_turns(sides: dict[str, Callable[[], None]], turns: int) -> dict[str, float]:
    """Return the CPU milliseconds of a step of every side, median over the turns."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    with quiet_surroundings(torch.device("cpu"), 0):
        for side in sides.values():
            side()
        for _ in range(turns):
            for name, side in sides.items():
                begin = time.process_time()
                side()
                taken[name].append((time.process_time() - begin) / STEPS * 1e3)
    return {name: median(values) for name, values in taken.items()}


def step_in_another_process(source: Path, shape: Shape) -> float:
    """Return the same for a step of the code in this folder."""
    command = [sys.executable, __file__, "--step", *map(str, shape[1:])]
    surroundings = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, env=surroundings, capture_output=True, check=True, text=True)
    return float(done.stdout.split()[-1])


def compare_checkouts(before: Path) -> str:
    """Return a table of steps before and now, which take turns."""
    now = Path(disambig.__file__).parent.parent
    rows = []
    for shape in COMPARED:
        times = [
            [step_in_another_process(at, shape) for at in (before, now)] for _ in range(PROCESSES)
        ]
        ratios = [old / new for old, new in times]
        old, new = (median(side) for side in zip(*times, strict=True))
        rows.append([*named(shape), f"{old:.2f}", f"{new:.2f}", f"{median(ratios):.2f}"])
        print(*rows[-1], flush=True)
    return markdown_table(
        ("rows", "features", "classes", "before, ms", "now, ms", "times faster"), rows
    )


def named(shape: Shape) -> list[str]:
    """Return the first cells of a row."""
    return [f"{count:,}" for count in shape]


def compare_with_bound(shape: Shape) -> list[str]:
    """Return a row: what a step takes, and what its products and Adam take alone."""
    _, n_features, n_classes = shape
    sides = {
        "ours": our_steps(n_features, n_classes),
        "bare": bare_steps(n_features, n_classes),
    }
    taken = taking_turns(sides, TURNS)
    # The inputs of the first layer need no gradient.
    work = 2 * NETWORKS * BATCH * HIDDEN * (2 * n_features + 3 * n_classes) / 1e9
    ours, bare = taken["ours"], taken["bare"]
    steps = -(-shape[0] // BATCH)
    return [
        *named(shape),
        f"{work:.2f}",
        f"{bare:.2f}",
        f"{ours:.2f}",
        f"{ours / bare:.2f}",
        f"{20 * steps * ours / 1e3:.0f}",
    ]


def main() -> None:
    """Measure, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--step", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.step is not None:
        print(taking_turns({"ours": our_steps(*options.step)}, TURNS)["ours"])
        return
    rows = []
    for shape in SHAPES:
        rows.append(compare_with_bound(shape))
        print(*rows[-1], flush=True)
    header = (
        "rows", "features", "classes", "GFlop a step", "products and Adam, ms", "a step, ms",
        "ratio", "20 epochs, s",
    )  # fmt: skip
    parts = [markdown_table(header, rows)]
    if options.before is not None:
        parts += [
            "Steps before and now took turns, in processes of their own; the ratio is the median "
            "of the ratios of neighbouring processes.",
            compare_checkouts(options.before),
        ]
    write_page(
        "many_classes",
        "benchmarks/many_classes.py --before SRC",
        f"Two networks of {HIDDEN} units, {BATCH} rows a step, batch norm and dropout, one thread "
        f"with torch {torch.__version__}. Beside it, taking turns, only the five matrix products "
        "of a step and Adam, in memory that is used again: nothing that computes these products "
        "takes less. Milliseconds of CPU time, medians; losses are ranked in every step, which "
        "after half of the epochs they are not.",
        *parts,
        folder=options.folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
