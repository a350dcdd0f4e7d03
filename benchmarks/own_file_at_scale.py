"""A table of a million rows through every command: time and memory.

    python benchmarks/own_file_at_scale.py [--rows 1000000]

1,000,000 rows x 20 features, 50 labels, two candidates a row. Every command runs in a process of
its own. Writes docs/results/own_file_at_scale.md; fails where a command takes too much.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from disambig.datasets import make_partial_label_dataset
from disambig.tabular.files.formats import write_table
from results_page import markdown_table, write_page

N_FEATURES, N_LABELS = 20, 50
TRAINING = ["--set", "epochs=3", "--set", "ramp_epochs=2"]
COMMANDS = {
    "audit": ["audit", "table.csv"],
    "fit, 3 epochs": ["fit", "table.csv", "--folds", "0", "--out", "model", *TRAINING],
    "predict": ["predict", "model", "table.csv", "--out", "predicted.csv"],
    "clean --in-sample, 3 epochs": [
        "clean", "table.csv", "--in-sample", "--out", "clean.csv", *TRAINING
    ],
}  # fmt: skip
MOST_GIGABYTES = {"audit": 4}
MOST_SECONDS = {"audit": 60}


def write_big_table(path: Path, n_rows: int) -> None:
    """Write made-up data with labels such as ``c3|c41``."""
    data = make_partial_label_dataset(
        n_rows, N_FEATURES, N_LABELS, average_candidates=2, overlap=0.3, random_state=0
    )
    named = data.candidates.from_mask(
        data.candidates.to_sparse(), [f"c{number}" for number in range(N_LABELS)]
    )
    frame = pd.DataFrame(data.X.round(6), columns=data.feature_names)
    write_table(frame.assign(label=named.to_strings()), path)


def run(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds and its peak memory in gigabytes."""
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "disambig", *words], cwd=folder)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"disambig {' '.join(words)} failed.")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024 / 1e9  # Linux counts in KiB


def main() -> None:
    """Run every command and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_big_table(folder / "table.csv", n_rows)
        size = (folder / "table.csv").stat().st_size / 1e6
        taken = {}
        for title, words in COMMANDS.items():
            taken[title] = run(words, folder)
            print(title, *(f"{number:.1f}" for number in taken[title]), flush=True)
        for output in ("predicted.csv", "clean.csv"):
            with (folder / output).open("rb") as file:
                n_lines = sum(1 for _ in file)
            if n_lines != n_rows + 1:
                raise SystemExit(f"{output} has {n_lines - 1:,} rows.")
    write_page(
        "own_file_at_scale",
        "benchmarks/own_file_at_scale.py",
        f"{n_rows:,} rows x {N_FEATURES} numbers, {N_LABELS} labels, two candidates a row, a CSV "
        f"of {size:.0f} MB; NCPD with its default networks. Every command reads the file anew. Two "
        "shared cores: the seconds are no more than an order of magnitude.",
        markdown_table(
            ["command", "seconds", "peak memory, GB"],
            [
                [title, f"{seconds:.0f}", f"{gigabytes:.1f}"]
                for title, (seconds, gigabytes) in taken.items()
            ],
        ),
        real_data=False,
    )
    too_much = [
        title
        for title, (seconds, gigabytes) in taken.items()
        if gigabytes > MOST_GIGABYTES.get(title, 8)
        or seconds > MOST_SECONDS.get(title, float("inf"))
    ]
    if too_much:
        raise SystemExit(f"Too slow or too large: {', '.join(too_much)}.")


if __name__ == "__main__":
    main()
