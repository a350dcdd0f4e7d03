"""The nine classical methods on as many rows and classes as the largest real-world set has.

    python benchmarks/rivals_at_scale.py [--at-once 1] [--folder docs/results]

Every method runs in a process of its own, on two cores: time to fit, time to predict, peak memory.
Several run at once where there are cores enough. Writes rivals_at_scale.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from disambig import get_method
from disambig.datasets import make_partial_label_dataset
from results_page import FOLDER, markdown_table, write_page

CORES = 2
METHODS = ("plknn", "ipal", "m3pl", "sure", "aggd", "clpl", "plsvm", "em", "lsbcmm")
# Yahoo! News: nine tenths of its rows are for training.
N_TRAIN, N_TEST, N_FEATURES, N_CLASSES, CANDIDATES = 20_692, 2_299, 163, 219, 1.91
MOST_GIGABYTES = 16


def measure(name: str) -> dict[str, float]:
    """Fit and predict in this process, and return what it took."""
    data = make_partial_label_dataset(
        N_TRAIN + N_TEST,
        N_FEATURES,
        N_CLASSES,
        average_candidates=CANDIDATES,
        overlap=0.3,
        random_state=0,
    )
    before = _peak_gigabytes()
    begin = time.perf_counter()
    method = get_method(name)().fit(data.X[:N_TRAIN], data.candidates[:N_TRAIN])
    fitted = time.perf_counter()
    predicted = method.predict(data.X[N_TRAIN:])
    done = time.perf_counter()
    assert data.true_labels is not None
    return {
        "fit": fitted - begin,
        "predict": done - fitted,
        "before": before,
        "peak": _peak_gigabytes(),
        "accuracy": float(np.mean(predicted == data.true_labels[N_TRAIN:])),
        "set_right": float(np.mean(method.disambiguate() == data.true_labels[:N_TRAIN])),
    }


def measure_in_child(name: str, cores: list[int]) -> dict[str, float]:
    """Measure in a new process that may use these cores only."""
    command = [sys.executable, __file__, "--only", name]
    child = subprocess.Popen(  # noqa: S603  # this very file
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(CORES)},
    )
    os.sched_setaffinity(child.pid, cores)
    output, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{name} failed.")
    result: dict[str, float] = json.loads(output)
    print(name, result, flush=True)
    return result


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Measure every method and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=METHODS, help="print the figures of one method")
    parser.add_argument("--at-once", type=int, default=1, help="processes, on two cores each")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measure(arguments.only)))
        return
    cores = sorted(os.sched_getaffinity(0))
    free: SimpleQueue[list[int]] = SimpleQueue()
    for place in range(arguments.at_once):
        free.put(cores[CORES * place : CORES * (place + 1)])

    def run(name: str) -> dict[str, float]:
        own = free.get()
        try:
            return measure_in_child(name, own)
        finally:
            free.put(own)

    with ThreadPoolExecutor(arguments.at_once) as pool:
        results = dict(zip(METHODS, pool.map(run, METHODS), strict=True))
    rows = [
        [
            name,
            f"{result['fit']:.0f}",
            f"{result['predict']:.1f}",
            f"{result['peak']:.1f}",
            f"{result['accuracy']:.3f}",
            f"{result['set_right']:.3f}",
        ]
        for name, result in results.items()
    ]
    before = max(result["before"] for result in results.values())
    write_page(
        "rivals_at_scale",
        "The classical methods at the size of the largest set",
        "benchmarks/rivals_at_scale.py",
        f"Made-up data: {N_TRAIN:,} training rows, {N_FEATURES} features, {N_CLASSES} classes, "
        f"{CANDIDATES} candidates a row; {N_TEST:,} new rows. Default parameters, one process a "
        f"method on {CORES} cores. Of the peak memory, {before:.1f} GB are Python and the data.",
        markdown_table(
            [
                "method",
                "fit, seconds",
                "predict, seconds",
                "peak memory, GB",
                "accuracy",
                "training rows set right",
            ],
            rows,
        ),
        folder=arguments.folder,
    )
    large = [name for name, result in results.items() if result["peak"] > MOST_GIGABYTES]
    if large:
        raise SystemExit(f"More than {MOST_GIGABYTES} GB: {', '.join(large)}.")


if __name__ == "__main__":
    main()
