"""Tables that stay on disk: time and memory of every command, by the number of rows.

    python benchmarks/tables_on_disk.py [--rows 250000 1000000] [--keep FOLDER]

Parquet of 20 numbers and 50 labels, two candidates a row, in files of a million rows. Every command
runs in a process of its own, and is told to use 50 MB, so that no table is read whole. What was
measured is kept in FOLDER, and not measured again. Writes docs/results/tables_on_disk.md and its
figure; fails where a command takes more than 3 GB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from disambig.bench.figure_style import COLORS, figure_style, save_figure_as
from results_page import FOLDER, markdown_table, write_page

N_FEATURES, N_LABELS, ROWS_OF_FILE = 20, 50, 1_000_000
ON_DISK = ["--memory", "50MB"]
# Small networks: how tables are read is measured, and networks take as long as ever.
NETWORKS = {"epochs": 1, "ramp_epochs": 1, "hidden": 64, "batch_size": 1024}
TRAINING = [word for name, value in NETWORKS.items() for word in ("--set", f"{name}={value}")]
COMMANDS = {
    "audit": ["audit", "table", *ON_DISK],
    "fit, 1 epoch": ["fit", "table", "--folds", "0", "--out", "model", *TRAINING, *ON_DISK],
    "predict": ["predict", "model", "table", "--out", "predicted.parquet", *ON_DISK],
    "clean --in-sample, 1 epoch": [
        "clean", "table", "--in-sample", "--out", "clean.parquet", *TRAINING, *ON_DISK
    ],
}  # fmt: skip
OUTPUTS = ("predicted.parquet", "clean.parquet")
MOST_GIGABYTES = 3
SECONDS = (10, 30, 100, 300, 1_000, 3_000)


def write_big_table(folder: Path, n_rows: int) -> None:
    """Write made-up rows around the centre of their label, in files of a million rows."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(0)
    centres = 1.2 * generator.normal(size=(N_LABELS, N_FEATURES))
    for number, start in enumerate(range(0, n_rows, ROWS_OF_FILE)):
        count = min(ROWS_OF_FILE, n_rows - start)
        truth, other = generator.integers(N_LABELS, size=(2, count))
        features = centres[truth] + 1.5 * generator.normal(size=(count, N_FEATURES))
        pairs = zip(
            np.minimum(truth, other).tolist(), np.maximum(truth, other).tolist(), strict=True
        )
        labels = [f"c{one}|c{two}" if one < two else f"c{one}" for one, two in pairs]
        columns = {f"x{place}": features[:, place].round(6) for place in range(N_FEATURES)}
        table = pa.table({**columns, "label": labels})
        pq.write_table(table, folder / f"part-{number:04}.parquet")


def run(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds and its peak memory in gigabytes."""
    begin = time.perf_counter()
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    child = subprocess.Popen(
        [sys.executable, "-m", "disambig", *words], cwd=folder, env=environment
    )
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"disambig {' '.join(words)} failed.")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024 / 1e9  # Linux counts in KiB


def measure(n_rows: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Run every command on so many rows."""
    write_big_table(folder / "table", n_rows)
    taken = {}
    for title, words in COMMANDS.items():
        taken[title] = run(words, folder)
        print(f"{n_rows:,}", title, *(f"{number:.1f}" for number in taken[title]), flush=True)
    for output in OUTPUTS:
        found = pq.ParquetFile(folder / output).metadata.num_rows
        if found != n_rows:
            raise SystemExit(f"{output} has {found:,} rows.")
    return taken


def draw(results: dict[int, dict[str, tuple[float, float]]]) -> Figure:
    """Draw seconds and gigabytes against rows."""
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    seconds, memory = figure.subplots(1, 2, sharex=True)
    sizes = sorted(results)
    for color, title in zip(COLORS, COMMANDS, strict=False):
        for place, axes in enumerate((seconds, memory)):
            found = [results[size][title][place] for size in sizes]
            axes.plot(sizes, found, "o-", color=color, label=title)
    ends = np.array([sizes[0], sizes[-1]])
    slowest = max(results[sizes[0]][title][0] for title in COMMANDS)
    seconds.plot(ends, slowest * ends / ends[0], ":", color="0.5", label="in proportion to rows")
    seconds.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    ticks = [tick for tick in SECONDS if tick < max(seconds.get_ylim())]
    seconds.set_yticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    for axis in (seconds.xaxis, seconds.yaxis, memory.xaxis):
        axis.set_minor_locator(NullLocator())
    for axes in (seconds, memory):
        axes.set_xticks(sizes, labels=[f"{size:,}" for size in sizes])
    memory.axhline(MOST_GIGABYTES, color="0.5", linestyle=":")
    memory.set(xlabel="rows", ylabel="peak memory, GB", ylim=(0, None))
    figure.legend(*seconds.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def main() -> None:
    """Run every command on every size and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    keep = given.keep or Path(tempfile.mkdtemp())
    keep.mkdir(parents=True, exist_ok=True)
    results = {}
    for n_rows in sorted(given.rows):
        file = keep / f"{n_rows}.json"
        if not file.exists():
            with tempfile.TemporaryDirectory(dir=keep) as name:
                file.write_text(json.dumps(measure(n_rows, Path(name))))
        results[n_rows] = json.loads(file.read_text())
    with figure_style():
        save_figure_as(draw(results), FOLDER / "tables_on_disk.svg")
    settings = ", ".join(f"{name}={value}" for name, value in NETWORKS.items())
    write_page(
        "tables_on_disk",
        "benchmarks/tables_on_disk.py",
        f"{N_FEATURES} numbers and {N_LABELS} labels in Parquet, two candidates a row; NCPD with "
        f"{settings}. Every command is told to use 50 MB, so that it reads the table from disk. "
        "Two cores shared with other work: compare the seconds with each other only.",
        markdown_table(
            ["rows", "command", "seconds", "seconds for a million rows", "peak memory, GB"],
            [
                [
                    f"{size:,}",
                    title,
                    f"{taken[0]:.0f}",
                    f"{1e6 * taken[0] / size:.0f}",
                    f"{taken[1]:.2f}",
                ]
                for size, commands in results.items()
                for title, taken in commands.items()
            ],
        ),
        "![Seconds and peak memory by the number of rows](tables_on_disk.svg)",
        real_data=False,
    )
    most = max(taken[1] for commands in results.values() for taken in commands.values())
    if most > MOST_GIGABYTES:
        raise SystemExit(f"A command takes {most:.1f} GB.")


if __name__ == "__main__":
    main()
