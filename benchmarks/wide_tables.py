"""Tables of up to 100,000 columns through every command: seconds and memory against columns.

    python benchmarks/wide_tables.py [--columns 1000 10000 100000] [--before FOLDER]

40 rows of numbers and a label. Every step runs in a process of its own, on one thread, and its
seconds are those of the processor. ``--before`` is the ``src`` folder of another version, whose
reading and planning is measured between ours. Writes docs/results/wide_tables.md; fails where
reading and planning take more than 20 seconds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from results_page import markdown_table, write_page

N_ROWS = 40
N_OBJECTS = 5_000
MOST_SECONDS = 20
ROUNDS = 2
MOST_BEFORE = 10_000  # columns that the other version, which may take minutes, is given
_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Imports, and a small table first, so that only what depends on the columns is measured.
_READ_AND_PLAN = """
import sys, time, warnings
from disambig.tabular.files.formats import read_table
from disambig.tabular.task import prepare_task
warnings.simplefilter("ignore")
prepare_task(read_table(sys.argv[1]))
begin = time.process_time()
prepare_task(read_table(sys.argv[2]))
print(time.process_time() - begin)
"""


def rows_of_numbers(n_columns: int) -> Iterator[tuple[list[float], str]]:
    """Yield the numbers and the label of every row."""
    generator = np.random.default_rng(0)
    for row in range(N_ROWS):
        yield generator.normal(size=n_columns).round(4).tolist(), ("a|b", "b", "a", "c|a")[row % 4]


def write_wide_tables(folder: Path, n_columns: int) -> None:
    """Write the same table as CSV and as JSON lines."""
    names = [f"f{number}" for number in range(n_columns)]
    with (folder / "wide.csv").open("w") as table, (folder / "wide.jsonl").open("w") as lines:
        table.write(",".join([*names, "label"]) + "\n")
        for numbers, label in rows_of_numbers(n_columns):
            table.write(",".join([*map(str, numbers), label]) + "\n")
            named = dict(zip(names, numbers, strict=True))
            lines.write(json.dumps(named | {"label": label}) + "\n")


def write_objects(path: Path, n_objects: int) -> None:
    """Write objects of which each has a key that no other has."""
    with path.open("w") as lines:
        for row in range(n_objects):
            label = ("a|b", "b", "c")[row % 3]
            lines.write(json.dumps({"size": row % 7, f"k{row}": row % 5, "label": label}) + "\n")


def run(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds of processor and its peak memory in gigabytes."""
    command = [sys.executable, "-m", "disambig", *words]
    child = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | _THREADS,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"disambig {' '.join(words)} failed.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e9  # Linux counts in KiB


def read_and_plan(name: str, folder: Path, source: Path | None) -> float:
    """Return the seconds that reading and planning take, by ours or by another version."""
    path = {} if source is None else {"PYTHONPATH": str(source.resolve())}
    done = subprocess.run(
        [sys.executable, "-c", _READ_AND_PLAN, "small.csv", name],
        cwd=folder,
        env=os.environ | _THREADS | path,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def measured(name: str, folder: Path, before: Path | None) -> list[str]:
    """Return our seconds, the best of several, and between them those of the other version."""
    ours = [read_and_plan(name, folder, None)]
    others = [] if before is None else [read_and_plan(name, folder, before)]
    ours += [read_and_plan(name, folder, None) for _ in range(ROUNDS - 1)]
    best = min(ours)
    if best > MOST_SECONDS:
        raise SystemExit(f"{name}: reading and planning took {best:.1f} s.")
    return [f"{best:.2f}", *(f"{other:.2f} ({other / best:.1f} x)" for other in others)]


def main() -> None:
    """Run every step for every number of columns and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    reading, commands = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_wide_tables(folder, 10)
        (folder / "wide.csv").rename(folder / "small.csv")
        for n_columns in options.columns:
            write_wide_tables(folder, n_columns)
            before = options.before if n_columns <= MOST_BEFORE else None
            for file, title in (("wide.csv", "CSV"), ("wide.jsonl", "JSON lines")):
                seconds = measured(file, folder, before)
                reading.append([f"{n_columns:,}", f"{N_ROWS}", title, *seconds])
                print(*reading[-1], flush=True)
            taken = [
                run(["audit", "wide.csv"], folder),
                run(["fit", "wide.csv", "--method", "plknn", "--out", "model"], folder),
                run(["predict", "model", "wide.csv", "--out", "predicted.csv"], folder),
                run(["clean", "wide.csv", "--method", "plknn", "--out", "clean.csv"], folder),
            ]
            commands.append([f"{n_columns:,}", *(f"{s:.1f} s, {gb:.1f} GB" for s, gb in taken)])
            print(*commands[-1], flush=True)
        write_objects(folder / "objects.jsonl", N_OBJECTS)
        seconds = measured("objects.jsonl", folder, None)
        reading.append([f"{N_OBJECTS:,}", f"{N_OBJECTS:,}", "JSON lines, a key for each", *seconds])
        print(*reading[-1], flush=True)
    header = ["columns", "rows", "file", "ours, s", *(["before, s"] if options.before else [])]
    reading = [[*line, ""][: len(header)] for line in reading]
    write_page(
        "wide_tables",
        "benchmarks/wide_tables.py",
        "Numbers and one label of three, one thread, seconds of the processor. To read a file and "
        f"to plan its columns, the better of {ROUNDS} runs; another version ran once, in between:",
        markdown_table(header, reading),
        "Whole commands on the CSV, with the start of Python and all imports, PLKNN in five folds:",
        markdown_table(["columns", "audit", "fit", "predict", "clean"], commands),
        real_data=False,
    )


if __name__ == "__main__":
    main()
