"""How near estimates of the time of a fit come, and what they cost.

    python benchmarks/time_estimates.py [--folder docs/results]

Every method is asked how long a fit will take, and then fitted, by default parameters, to data of
several shapes. Fits that are expected to take very long are not done. Writes time_estimates.md.
"""

import argparse
import time
import warnings
from pathlib import Path

from sklearn.base import clone

from disambig.datasets import make_partial_label_dataset
from disambig.methods import PartialLabelClassifier, all_methods, estimate_fit_seconds
from results_page import FOLDER, markdown_table, write_page

SHAPES = ((400, 10, 5), (2000, 8, 100), (4000, 20, 10))
LONGEST = 30.0


def compare(method: PartialLabelClassifier, shape: tuple[int, int, int]) -> list[str]:
    """Return the cells of one shape: estimated and actual seconds, their ratio, and the cost."""
    n_samples, n_features, n_classes = shape
    data = make_partial_label_dataset(n_samples, n_features, n_classes, random_state=0)
    y = data.true_labels if method.card.reads_true_labels else data.candidates
    start = time.perf_counter()
    estimated = estimate_fit_seconds(method, data.X, y)
    asked = time.perf_counter()
    if estimated > LONGEST:
        return [f"{estimated:.1f}", "", "", f"{asked - start:.1f}"]
    clone(method).fit(data.X, y)
    actual = time.perf_counter() - asked
    return [
        f"{estimated:.1f}",
        f"{actual:.1f}",
        f"{estimated / actual:.2f}",
        f"{asked - start:.1f}",
    ]


def main() -> None:
    """Ask and fit all methods, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of methods that have not converged
    header = ("method", "estimated, s", "actual, s", "ratio", "cost of the estimate, s")
    sections = []
    for shape in SHAPES:
        rows = []
        for name, kind in all_methods().items():
            rows.append([name, *compare(kind(), shape)])
            print(*shape, *rows[-1], flush=True)
        title = "{:,} rows, {} features, {} classes".format(*shape)
        sections += [f"## {title}", markdown_table(header, rows)]
    write_page(
        "time_estimates",
        "benchmarks/time_estimates.py",
        "Default parameters, one fit each, seconds of a clock on a machine with other work to do. "
        f"What is expected to take more than {LONGEST:.0f} s is not fitted here.",
        *sections,
        folder=options.folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
