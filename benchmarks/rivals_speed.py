"""The small quadratic problems of IPAL and AGGD: all rows at once against one call for every row.

    DISAMBIG_DATA=folder python benchmarks/rivals_speed.py [--older PYTHON]

Both sides take turns in one process on one thread; what is written down are ratios of medians.
With the interpreter of an environment that has an older SciPy, that one is measured, too. Writes
docs/results/rivals_speed.md.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import scipy
from scipy.optimize import minimize, nnls

from disambig import FeatureScaler, load_dataset
from disambig.methods.scaling import apply_scaler
from disambig.solvers.neighbors import (
    difference_products,
    graph_of_weights,
    index_of_rows,
    nearest_of_training_rows,
    reconstruction_weights,
)
from disambig.solvers.nonnegative_qp import minimise_on_simplex
from results_page import FOLDER, markdown_table, write_page

DATA = ("lost", "msrcv2", "birdsong")
N_NEIGHBORS = 10
GOAL = 10
TOLERANCE = 1e-6
ROUNDING = 1e-14


def weights_by_calls(rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """Rebuild every row from its neighbours by a call of its own."""
    return np.array([nnls(rows[near].T, row)[0] for row, near in zip(rows, neighbors, strict=True)])


def simplex_weights_by_calls(products: np.ndarray) -> np.ndarray:
    """Solve every quadratic problem by a generic solver with gradients, as exactly as it can."""
    size = products.shape[1]
    start = np.full(size, 1 / size)
    sums_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}
    return np.array(
        [
            minimize(
                lambda w, matrix=matrix: (w @ matrix @ w, 2 * matrix @ w),
                start,
                jac=True,
                bounds=[(0, None)] * size,
                constraints=sums_to_one,
                method="SLSQP",
                options={"ftol": 1e-15, "maxiter": 500},
            ).x
            for matrix in products / np.trace(products, axis1=1, axis2=2)[:, None, None]
        ]
    )


def taking_turns(
    ours: Callable[[], np.ndarray], theirs: Callable[[], np.ndarray], rounds: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return how many times faster ours is, and what both found."""
    times: tuple[list[float], list[float]] = ([], [])
    found = [np.empty(0), np.empty(0)]
    for _ in range(rounds):
        for side, action in enumerate((ours, theirs)):
            begin = time.perf_counter()
            found[side] = action()
            times[side].append(time.perf_counter() - begin)
    return median(times[1]) / median(times[0]), found[0], found[1]


def measured(methods: list[str]) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield method, data, ratio, the largest difference between rebuilt rows, and ours in excess.

    Rows, not weights: of two neighbours that are the same row either may carry the weight. The
    excess is how much further from its row, squared, ours is than theirs at most: where both differ
    and it is none, ours is the better minimum.
    """
    for name in DATA:
        X = load_dataset(name).X
        rows = apply_scaler(FeatureScaler("standard").fit(X), X, unit_rows=True)
        neighbors = nearest_of_training_rows(index_of_rows(rows), N_NEIGHBORS)
        products = difference_products(rows, neighbors)
        sides = {
            "IPAL": (
                lambda rows=rows, near=neighbors: reconstruction_weights(rows, rows, near),
                lambda rows=rows, near=neighbors: weights_by_calls(rows, near),
                9,
            ),
            "AGGD": (
                lambda products=products: minimise_on_simplex(products),
                lambda products=products: simplex_weights_by_calls(products),
                3,
            ),
        }
        for method in methods:
            ratio, own, theirs = taking_turns(*sides[method])
            ours, other = (graph_of_weights(w, neighbors, len(rows)) @ rows for w in (own, theirs))
            excess = np.sum((rows - ours) ** 2 - (rows - other) ** 2, axis=1)
            yield method, name, ratio, float(np.abs(ours - other).max()), float(excess.max())


def measured_elsewhere(python: str) -> dict[str, list]:
    """Return the SciPy of another interpreter, and what IPAL is worth there."""
    command = [python, __file__, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent.parent / "src")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def main() -> None:
    """Measure, write the page, and say what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--older", help="interpreter that has an older SciPy")
    parser.add_argument("--json", action="store_true", help="print IPAL's figures, write no page")
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps({"scipy": scipy.__version__, "IPAL": list(measured(["IPAL"]))}))
        return
    results = [(scipy.__version__, *result) for result in measured(["IPAL", "AGGD"])]
    if arguments.older:
        older = measured_elsewhere(arguments.older)
        results += [(older["scipy"], *result) for result in older["IPAL"]]
    rows = [
        [method, name, version, f"{ratio:.1f}", f"{apart:.0e}", f"{excess:.0e}"]
        for version, method, name, ratio, apart, excess in results
    ]
    missed = [
        f"- {method} on {name} with SciPy {version}: {ratio:.1f} times faster, {apart:.0e} apart."
        for version, method, name, ratio, apart, excess in results
        if ratio < GOAL or (apart > TOLERANCE and excess > ROUNDING)
    ]
    write_page(
        "rivals_speed",
        "benchmarks/rivals_speed.py",
        f"{N_NEIGHBORS} neighbours, one thread; both sides take turns, ratios of medians. IPAL: "
        "every row rebuilt from its neighbours, against a loop of `scipy.optimize.nnls`. AGGD: the "
        "weights of the graph, against a loop of SciPy's SLSQP.",
        markdown_table(
            [
                "method",
                "data",
                "SciPy",
                "times faster",
                "largest difference of a rebuilt row",
                "largest excess of our objective",
            ],
            rows,
        ),
        f"Aims: {GOAL} times faster, the same to {TOLERANCE:.0e} (or better: without an excess, "
        "the difference is SLSQP's, which stops early). SciPy's `nnls` was written in "
        "Python from 1.12 to 1.14 and has been compiled since.",
        *(["Missed:", "\n".join(missed)] if missed else []),
    )
    print("\n".join(missed))


if __name__ == "__main__":
    main()
