"""Networks on rows that stay on disk: memory and time against the number of rows.

    python benchmarks/rows_on_disk.py [--rows 1e6 3e6 1e7] [--folder docs/results] [--redraw]

Every number of rows runs in a process of its own, on two cores: one epoch of PRODEN and the
confidences of the same rows, the choice among their candidates, the most probable label of every
row; on the smallest one the same in memory, side by side. And the most probable labels of a million
rows among 10,000. Writes rows_on_disk.md and .svg, and .json with what was measured; numbers of
rows that are not named keep their figures.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.figure import Figure

from disambig import PRODEN, CandidateLabels
from disambig._core.files import write_atomically
from disambig.bench.figure_style import COLORS, INK, figure_style, save_figure_as
from results_page import FOLDER, markdown_table, write_page

NAME = "rows_on_disk"
CORES = 2
N_FEATURES, N_CLASSES, LARGEST_SET = 20, 50, 4
ROWS = (1_000_000, 3_000_000, 10_000_000)
MANY_ROWS, MANY_CLASSES, TOP = 1_000_000, 10_000, 5
MOST_GIGABYTES = 3
TASKS = {
    "fit": "fit, one epoch, with in-sample confidences",
    "choose": "choose among the candidates of every row",
    "predict": "predict every row",
}
BLOCK = 100_000

Result = TypeVar("Result")
Figures = dict[str, float]


def write_table(folder: Path, n_rows: int, n_classes: int) -> None:
    """Write features around the centre of their class, and sets of 1 to 4 classes with the true."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(n_classes, N_FEATURES)).astype("float32")
    sizes = random.integers(1, LARGEST_SET + 1, n_rows)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype("int32")
    np.save(folder / "ends.npy", ends)
    new = np.lib.format.open_memmap
    features = new(folder / "features.npy", "w+", "float32", (n_rows, N_FEATURES))
    columns = new(folder / "columns.npy", "w+", "int32", (int(ends[-1]),))
    truth = new(folder / "truth.npy", "w+", "int32", (n_rows,))
    for start in range(0, n_rows, BLOCK):
        rows = slice(start, min(start + BLOCK, n_rows))
        n = rows.stop - start
        truth[rows] = random.integers(n_classes, size=n)
        noise = random.normal(size=(n, N_FEATURES)).astype("float32")
        features[rows] = centers[truth[rows]] + noise
        # Neighbours on a ring of classes, the true one at any place among them.
        first = truth[rows] - random.integers(sizes[rows])
        slots = np.arange(LARGEST_SET)
        labels = (first[:, np.newaxis] + slots) % n_classes
        labels[slots >= sizes[rows][:, np.newaxis]] = n_classes
        labels.sort(axis=1)
        columns[ends[start] : ends[rows.stop]] = labels[labels < n_classes]


def read_table(folder: Path, n_classes: int) -> tuple[Any, CandidateLabels, Any]:
    """Return what was written, all of it still on disk."""
    features, ends, columns, truth = (
        np.load(folder / f"{name}.npy", mmap_mode="r")
        for name in ("features", "ends", "columns", "truth")
    )
    return features, CandidateLabels.from_csr(ends, columns, range(n_classes)), truth


@contextmanager
def watched_memory() -> Iterator[Figures]:
    """Give the peaks in GB while the block runs: all resident memory, and that of no file."""
    peaks = {"resident": 0.0, "anonymous": 0.0}
    names = {"VmRSS": "resident", "RssAnon": "anonymous"}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in names:
                    found = int(value.split()[0]) * 1024 / 1e9
                    peaks[names[name]] = max(peaks[names[name]], found)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        done.set()
        watcher.join()


def watched(task: Callable[[], Result]) -> tuple[Result, Figures]:
    """Return what a task returns, and what it took."""
    begin, used = time.perf_counter(), time.process_time()
    with watched_memory() as peaks:
        result = task()
    taken = {"seconds": time.perf_counter() - begin, "processor": time.process_time() - used}
    return result, taken | peaks | {"peak": _peak_gigabytes()}


def measure(folder: Path, *, in_memory: bool) -> dict[str, Figures]:
    """Do every task in this process, and return what each took."""
    X, candidates, truth = read_table(folder, N_CLASSES)
    if in_memory:
        X = np.array(X)
    model = PRODEN(hidden=64, epochs=1, random_state=0, device="cpu")
    _, fit = watched(lambda: model.fit(X, candidates))
    chosen, choose = watched(model.disambiguate)
    predicted, predict = watched(lambda: model.predict(X))
    choose["right"], predict["right"] = (
        float(np.mean(labels == truth)) for labels in (chosen, predicted)
    )
    return {"fit": fit, "choose": choose, "predict": predict}


def measure_many_classes(folder: Path) -> dict[str, Figures]:
    """Return what it takes to learn from a few rows with many classes, and to ask for all rows."""
    X, candidates, truth = read_table(folder, MANY_CLASSES)
    some = slice(0, MANY_ROWS // 5)
    model = PRODEN(
        hidden=64, epochs=1, batch_size=1024, learning_rate=0.01, random_state=0, device="cpu"
    )
    model.fit(np.array(X[some]), candidates[some])
    (labels, probabilities), top = watched(lambda: model.predict_top(X, TOP))
    assert labels.shape == probabilities.shape == (MANY_ROWS, TOP)
    top["right"] = float(np.mean((labels == truth[:, np.newaxis]).any(axis=1)))
    return {"top": top}


def run_in_child(task: str, n_rows: int, n_classes: int) -> dict[str, Figures]:
    """Make a table, do a task with it in a new process on two cores, and remove it."""
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), n_rows, n_classes)
        child = subprocess.Popen(
            [sys.executable, __file__, "--measure", task, folder],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(CORES)},
        )
        os.sched_setaffinity(child.pid, sorted(os.sched_getaffinity(0))[:CORES])
        output, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{task} of {n_rows:,} rows failed.")
    result: dict[str, Figures] = json.loads(output)
    print(task, n_rows, result, flush=True)
    return result


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9  # Linux counts in KiB


def draw(on_disk: dict[int, dict[str, Figures]]) -> Figure:
    """Draw time and memory against the number of rows, and what linear growth would be."""
    figure = Figure(figsize=(9.2, 3.6), layout="constrained")
    times, memory = figure.subplots(1, 2)
    counts = np.array(sorted(on_disk))
    for color, marker, (name, title) in zip(COLORS, "osD", TASKS.items(), strict=False):
        seconds = [on_disk[n][name]["processor"] for n in counts]
        times.plot(counts, seconds, color=color, marker=marker, label=title)
        times.plot(counts, seconds[0] * counts / counts[0], color=INK, linewidth=0.8, ls=":")
    times.plot([], [], color=INK, linewidth=0.8, ls=":", label="in proportion")
    times.set(xscale="log", yscale="log", xlabel="rows", ylabel="processor seconds")
    times.legend()
    for style, kind in (("-", "resident"), ("--", "anonymous")):
        peaks = [max(of[name][kind] for name in TASKS) for of in map(on_disk.get, counts) if of]
        memory.plot(counts, peaks, color=COLORS[0], ls=style, marker="o", label=kind)
    features = counts * N_FEATURES * 4 / 1e9
    memory.plot(counts, features, color=INK, linewidth=0.8, ls=":", label="the features alone")
    memory.set(xlabel="rows", ylabel="peak memory, GB", ylim=(0, None))
    memory.legend()
    return figure


def write_results(kept: dict[str, Any], folder: Path) -> None:
    """Write the page and its figure."""
    on_disk = {int(n): of for n, of in kept["on disk"].items()}
    rows = [
        [
            title,
            f"{n:,}",
            f"{of[name]['processor']:.1f}",
            f"{of[name]['seconds']:.0f}",
            f"{of[name]['resident']:.2f}",
            f"{of[name]['anonymous']:.2f}",
        ]
        for name, title in TASKS.items()
        for n, of in sorted(on_disk.items())
    ]
    fewest = min(on_disk)
    beside = [
        [
            title,
            *(
                f"{kept[where][str(fewest)][name][kind]:.{digits}f}"
                for kind, digits in (("processor", 1), ("resident", 2))
                for where in ("on disk", "in memory")
            ),
        ]
        for name, title in TASKS.items()
    ]
    top = kept["many classes"]["top"]
    write_page(
        NAME,
        f"benchmarks/{NAME}.py",
        f"{N_FEATURES} features in float32, {N_CLASSES} classes, sets of 1 to {LARGEST_SET}; "
        f"PRODEN with 64 hidden units, one epoch, on {CORES} cores that others used too, so that "
        "processor seconds tell more than seconds. Resident memory includes pages of files, which "
        "the system takes back when it needs them; anonymous memory does not. The highest "
        f"peak was {max(of[t]['peak'] for of in on_disk.values() for t in TASKS):.2f} GB.",
        markdown_table(
            ["task", "rows", "processor seconds", "seconds", "resident, GB", "anonymous, GB"], rows
        ),
        f"![Time and memory against the number of rows]({NAME}.svg)",
        f"{fewest:,} rows, on disk and in memory; the results are the same to the last bit:",
        markdown_table(
            [
                "task",
                "processor seconds, on disk",
                "in memory",
                "resident GB, on disk",
                "in memory ",
            ],
            beside,
        ),
        f"The {TOP} most probable of {MANY_CLASSES:,} labels for {MANY_ROWS:,} rows, by "
        "`predict_top`:",
        markdown_table(
            ["processor seconds", "resident, GB", "a table of all probabilities, GB"],
            [
                [
                    f"{top['processor']:.0f}",
                    f"{top['resident']:.2f}",
                    f"{MANY_ROWS * MANY_CLASSES * 8 / 1e9:.0f}",
                ]
            ],
        ),
        folder=folder,
        real_data=False,
    )
    with figure_style():
        save_figure_as(draw(on_disk), folder / f"{NAME}.svg")
    highest = max(of[task]["peak"] for of in on_disk.values() for task in TASKS)
    if highest > MOST_GIGABYTES:
        raise SystemExit(f"{highest:.2f} GB are more than {MOST_GIGABYTES}.")


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", type=float, default=ROWS, help="to measure")
    parser.add_argument("--many-classes", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--measure", nargs=2, help="print the figures of one task")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--redraw", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if arguments.measure:
        task, folder = arguments.measure[0], Path(arguments.measure[1])
        if task == "many classes":
            print(json.dumps(measure_many_classes(folder)))
        else:
            print(json.dumps(measure(folder, in_memory=task == "in memory")))
        return
    path = arguments.folder / f"{NAME}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    counts = [] if arguments.redraw else sorted(map(int, arguments.rows))
    for n_rows in counts:
        kept.setdefault("on disk", {})[str(n_rows)] = run_in_child("on disk", n_rows, N_CLASSES)
        if n_rows == min(ROWS):
            in_memory = run_in_child("in memory", n_rows, N_CLASSES)
            kept.setdefault("in memory", {})[str(n_rows)] = in_memory
    if arguments.many_classes and not arguments.redraw:
        kept["many classes"] = run_in_child("many classes", MANY_ROWS, MANY_CLASSES)
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    write_results(kept, arguments.folder)


if __name__ == "__main__":
    main()
