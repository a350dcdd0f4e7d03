"""Candidate sets of a million rows and a thousand classes: memory, and the speed of slicing.

    python benchmarks/candidate_sets_at_scale.py

Speed is a ratio, measured side by side: the same rows taken from ``CandidateLabels`` and from the
bare SciPy array behind it. Writes docs/results/candidate_sets.md.
"""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from disambig.candidates import CandidateLabels, corrupt_controlled
from results_page import markdown_table, write_page

N_ROWS, N_CLASSES = 1_000_000, 1000


def make() -> CandidateLabels:
    """Return two candidates for every row."""
    return corrupt_controlled(
        np.arange(N_ROWS) % N_CLASSES, p=1, r=1, classes=range(N_CLASSES), random_state=0
    )


def seconds(action: Callable[[], Any], repeats: int = 7) -> float:
    """Return the shortest of several times."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Measure and write the page."""
    tracemalloc.start()
    candidates = make()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    bare = candidates.to_sparse()
    shuffled = np.random.default_rng(0).permutation(N_ROWS)
    keys = {
        "9 of 10 rows, shuffled": shuffled[: N_ROWS * 9 // 10],
        "1 of 10 rows, shuffled": shuffled[: N_ROWS // 10],
        "every second row": slice(None, None, 2),
        "a batch of 128 rows": shuffled[:128],
    }
    rows = []
    for name, key in keys.items():
        ours, theirs = seconds(lambda k=key: candidates[k]), seconds(lambda k=key: bare[k])
        rows.append([name, f"{ours / theirs:.2f}"])
    write_page(
        "candidate_sets",
        "benchmarks/candidate_sets_at_scale.py",
        f"{N_ROWS:,} rows, {N_CLASSES:,} classes, 2 candidates a row.",
        markdown_table(
            ["memory", "MB"],
            [
                ["the container", f"{candidates.nbytes / 1e6:.0f}"],
                ["peak while it is made, labels included", f"{peak / 1e6:.0f}"],
                ["a dense boolean mask would take", f"{N_ROWS * N_CLASSES / 1e6:.0f}"],
            ],
        ),
        "Time to slice, as a multiple of the time SciPy takes for the same rows of the bare array:",
        markdown_table(["rows taken", "ratio"], rows),
        real_data=False,
    )
    if candidates.nbytes > 200e6:
        raise SystemExit("The container takes more than 200 MB.")


if __name__ == "__main__":
    main()
