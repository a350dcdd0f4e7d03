"""Methods on as many rows and classes as the largest real-world set has.

    python benchmarks/rivals_at_scale.py [plknn ncpd ...] [--at-once 1] [--folder docs/results]

Every method, or those that are named, runs in a process of its own, on two cores: time to fit, time
to predict, peak memory. Methods that keep a kernel are fitted in single and in double precision,
too, and compared. Several processes run at once where there are cores enough. Writes
rivals_at_scale.md, and .json with what was measured; methods that are not named keep their figures.
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
from disambig._core.files import write_atomically
from disambig.datasets import PartialLabelDataset, make_partial_label_dataset
from results_page import FOLDER, markdown_table, write_page

CORES = 2
NETWORKS = ("ncpd_plus", "ncpd", "proden", "cc")
METHODS = ("plknn", "ipal", "m3pl", "sure", "aggd", "clpl", "plsvm", "em", "lsbcmm", *NETWORKS)
WITH_KERNEL = ("sure", "aggd")
# Yahoo! News: nine tenths of its rows are for training.
N_TRAIN, N_TEST, N_FEATURES, N_CLASSES, CANDIDATES = 20_692, 2_299, 163, 219, 1.91
MOST_GIGABYTES = 16


def made_up() -> PartialLabelDataset:
    """Return the data that all methods meet."""
    return make_partial_label_dataset(
        N_TRAIN + N_TEST,
        N_FEATURES,
        N_CLASSES,
        average_candidates=CANDIDATES,
        overlap=0.3,
        random_state=0,
    )


def measure(name: str) -> dict[str, float]:
    """Fit and predict in this process, and return what it took."""
    data = made_up()
    before = _peak_gigabytes()
    begin = time.perf_counter()
    on_cpu = {"device": "cpu"} if name in NETWORKS else {}
    method = get_method(name)(**on_cpu).fit(data.X[:N_TRAIN], data.candidates[:N_TRAIN])
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


def compare_precisions(name: str) -> dict[str, float]:
    """Fit in single and double precision, and return how far the results are apart."""
    data = made_up()
    fitted = {
        precision: get_method(name)(precision=precision).fit(
            data.X[:N_TRAIN], data.candidates[:N_TRAIN]
        )
        for precision in ("single", "double")
    }
    single, double = (method.predict_proba(data.X[N_TRAIN:]) for method in fitted.values())
    confidences = [method.candidate_confidence_ for method in fitted.values()]
    return {
        "probabilities": float(np.abs(single - double).max()),
        "confidences": float(abs(confidences[0] - confidences[1]).max()),
        "same_label": float(np.mean(single.argmax(axis=1) == double.argmax(axis=1))),
    }


def run_in_child(task: str, name: str, cores: list[int]) -> dict[str, float]:
    """Do a task in a new process that may use these cores only."""
    command = [sys.executable, __file__, task, name]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(CORES)},
    )
    os.sched_setaffinity(child.pid, cores)
    output, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{task} {name} failed.")
    result: dict[str, float] = json.loads(output)
    print(task, name, result, flush=True)
    return result


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9  # Linux counts in KiB


def main() -> None:
    """Measure every method and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", help="those to measure; all by default")
    parser.add_argument("--measure", choices=METHODS, help="print the figures of one method")
    parser.add_argument("--compare", choices=WITH_KERNEL, help="print how precisions differ")
    parser.add_argument("--at-once", type=int, default=1, help="processes, on two cores each")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    if arguments.compare:
        print(json.dumps(compare_precisions(arguments.compare)))
        return
    cores = sorted(os.sched_getaffinity(0))
    free: SimpleQueue[list[int]] = SimpleQueue()
    for place in range(arguments.at_once):
        free.put(cores[CORES * place : CORES * (place + 1)])

    def run(task: str, name: str) -> dict[str, float]:
        own = free.get()
        try:
            return run_in_child(task, name, own)
        finally:
            free.put(own)

    with ThreadPoolExecutor(arguments.at_once) as pool:
        named = [name for name in METHODS if name in (arguments.methods or METHODS)]
        measured = {name: pool.submit(run, "--measure", name) for name in named}
        compared = {
            name: pool.submit(run, "--compare", name) for name in WITH_KERNEL if name in named
        }
    path = arguments.folder / "rivals_at_scale.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    new = {"measured": measured, "compared": compared}
    for part, futures in new.items():
        kept.setdefault(part, {}).update({name: one.result() for name, one in futures.items()})
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    results = {name: kept["measured"][name] for name in METHODS if name in kept["measured"]}
    precisions = kept["compared"]
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
        "## Single and double precision",
        'What `precision="single"` changes, against double precision:',
        markdown_table(
            [
                "method",
                "largest difference of a probability",
                "of a confidence",
                "new rows of the same label",
            ],
            [
                [
                    name,
                    f"{result['probabilities']:.1e}",
                    f"{result['confidences']:.1e}",
                    f"{result['same_label']:.2%}",
                ]
                for name, result in precisions.items()
            ],
        ),
        folder=arguments.folder,
        real_data=False,
    )
    large = [name for name, result in results.items() if result["peak"] > MOST_GIGABYTES]
    if large:
        raise SystemExit(f"More than {MOST_GIGABYTES} GB: {', '.join(large)}.")


if __name__ == "__main__":
    main()
