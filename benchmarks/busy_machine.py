"""Threads on a busy machine: what a fit takes beside four busy processes.

    python benchmarks/busy_machine.py

Every fit runs in a process of its own, once with as many threads as torch chooses and once with
OMP_NUM_THREADS=1, in turns; what is written down are ratios of medians. "As before" puts back the
size from which steps got a second thread until disambig 0.1. Needs at least two cores, and nothing
else running. Writes docs/results/busy_machine.md.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from disambig import NCPDClassifier, NCPDPlusClassifier
from disambig.datasets import make_partial_label_dataset
from disambig.engine import device
from results_page import markdown_table, write_page

BUSY_PROCESSES = 4
REPEATS = 3
MOST = 1.3
MOST_SECONDS = 40
MULTIPLICATIONS_PER_THREAD_BEFORE = 8_000_000

METHODS = {"NCPD": NCPDClassifier, "NCPD+": NCPDPlusClassifier}
# Rows, features, classes, candidates a row; and epochs, so that a fit takes some seconds.
DATA = {
    "shape of vehicle": ((846, 18, 4, 2.0), 40),
    "500 features, 90 classes": ((1024, 500, 90, 3.0), 6),
}
THREADS = {"default": {}, "one thread": {"OMP_NUM_THREADS": "1"}}


def fit_seconds(method: str, data: str, as_before: bool) -> float:
    """Return how long one fit takes in this process."""
    if as_before:
        device._MULTIPLICATIONS_PER_THREAD = MULTIPLICATIONS_PER_THREAD_BEFORE
    (rows, features, classes, candidates), epochs = DATA[data]
    made = make_partial_label_dataset(
        rows, features, classes, average_candidates=candidates, random_state=0
    )
    parameters = {"ramp_epochs": epochs // 2} if method == "NCPD" else {}
    model = METHODS[method](epochs=epochs, random_state=0, device="cpu", **parameters)
    begin = time.perf_counter()
    model.fit(made.X, made.candidates)
    return time.perf_counter() - begin


def seconds_elsewhere(method: str, data: str, threads: str, as_before: bool) -> float:
    """Return how long one fit takes in a process of its own; at most ``MOST_SECONDS``."""
    unset = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, __file__, method, data, str(as_before)]
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env=unset | THREADS[threads],
            capture_output=True,
            text=True,
            check=True,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return time.perf_counter() - begin
    return float(done.stdout.split()[-1])


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Let so many processes compute without a pause while the block runs."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ratio(method: str, data: str, as_before: bool = False) -> float:
    """Return what default threads take, as a multiple of one thread."""
    repeats = 1 if as_before else REPEATS
    times = [
        {threads: seconds_elsewhere(method, data, threads, as_before) for threads in THREADS}
        for _ in range(repeats)
    ]
    default, one = (median(each[threads] for each in times) for threads in THREADS)
    print(method, data, f"{default:.1f} s, one thread {one:.1f} s", flush=True)
    return default / one


def main() -> None:
    """Measure and write the page."""
    cases = [(method, data) for data in DATA for method in METHODS]
    idle = {case: ratio(*case) for case in cases}
    with busy_processes(BUSY_PROCESSES):
        busy = {case: ratio(*case) for case in cases}
        before = {case: ratio(*case, as_before=True) for case in cases}
    rows = [
        [data, method, *(f"{ratios[method, data]:.2f}" for ratios in (idle, busy, before))]
        for method, data in cases
    ]
    write_page(
        "busy_machine",
        "benchmarks/busy_machine.py",
        "Seconds of a fit with the threads that it gets by default, as a multiple of those with "
        f"`OMP_NUM_THREADS=1`, on {os.cpu_count()} cores. *Busy*: beside {BUSY_PROCESSES} "
        f"processes that compute without a pause; the limit there is {MOST}.",
        markdown_table(
            ["data", "method", "idle", "busy", "busy, as before"],
            rows,
        ),
        f"*As before*: steps got a second thread from {MULTIPLICATIONS_PER_THREAD_BEFORE:,} "
        f"multiplications on, a fit was given up after {MOST_SECONDS} s. All of a hundred "
        "operations of a step then ended with threads waiting for each other, and where other "
        "processes want the cores that takes until the system lets the last one run. Now a step "
        f"gets a second thread from {device._MULTIPLICATIONS_PER_THREAD:,} multiplications on, "
        "whatever else the machine does: results must not depend on how busy it is. On an idle "
        "machine that leaves a core unused; `fit`, `clean` and studies give it to other folds.",
        real_data=False,
    )
    slow = [case for case, value in busy.items() if value > MOST]
    if slow:
        raise SystemExit(f"More than {MOST} times one thread: {slow}.")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(fit_seconds(sys.argv[1], sys.argv[2], sys.argv[3] == "True"))
    else:
        main()
