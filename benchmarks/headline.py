"""The README's table: NCPD+, NCPD, the best rival, and NCPD on true labels, on the same folds.

    DISAMBIG_DATA=folder python benchmarks/headline.py [--folder docs/results]

Ten folds, fold seeds 200 to 204. NCPD+ and NCPD are read from ncpd_plus_accuracy.json. The rival is
the best of five in docs/results/table, with its parameters chosen as there, in as many processes as
DISAMBIG_JOBS says. Writes headline.md. Quick on a CUDA card with some cores beside it.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

# Processes side by side: more threads in each would wait for each other.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from disambig import NCPDClassifier  # noqa: E402
from disambig._core.typing import FloatArray  # noqa: E402
from disambig.bench.statistics import corrected_t_test  # noqa: E402
from disambig.bench.trial import GridSelection, fit_alone  # noqa: E402
from disambig.candidates import CandidateLabels  # noqa: E402
from disambig.methods import IPAL, SURE, fit_many  # noqa: E402
from disambig.metrics import accuracy  # noqa: E402
from fold_trials import REAL, trials_of  # noqa: E402
from results_page import FOLDER, markdown_table, write_page  # noqa: E402

SEEDS = range(200, 205)
# The best of five in docs/results/table, and the parameters that are chosen inside training rows.
RIVALS = {
    "lost": (SURE, {}),
    "birdsong": (SURE, {}),
    "msrcv2": (IPAL, {"n_neighbors": [5, 10, 15, 20]}),
}
SELECTION = GridSelection("covering_rate", n_folds=3)


def rival_score(name: str, number: int) -> float:
    """Return the accuracy of the rival on one of the 50 folds."""
    trial = trials_of(name, [SEEDS[number // 10]])[number % 10]
    method, grid = RIVALS[name]
    fitted = fit_alone(method(), trial, grid=grid, selection=SELECTION).classifier
    return accuracy(trial.test.true_labels, fitted.predict(trial.test.X))


def scores_on_true_labels(name: str) -> FloatArray:
    """Return the accuracy of NCPD's networks on every fold, trained on the true labels."""
    trials = trials_of(name, SEEDS)
    tasks = [
        (trial.train.X, CandidateLabels.from_labels(trial.train.true_labels), trial.method_seed)
        for trial in trials
    ]
    return np.array(
        [
            accuracy(trial.test.true_labels, fitted.predict(trial.test.X))
            for trial, fitted in zip(trials, fit_many(NCPDClassifier(), tasks), strict=True)
        ]
    )


def main() -> None:
    """Measure, and write the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    known = json.loads((FOLDER / "ncpd_plus_accuracy.json").read_text(encoding="utf-8"))
    jobs = int(os.environ.get("DISAMBIG_JOBS", "1"))
    rows = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        n_folds = 10 * len(SEEDS)
        running = {name: pool.map(rival_score, [name] * n_folds, range(n_folds)) for name in REAL}
        on_truth = {name: scores_on_true_labels(name) for name in REAL}
        for name in REAL:
            ours, ncpd = (np.array(known[name][title]["test"]) for title in ("NCPD+", "NCPD"))
            rival = np.array(list(running[name]))
            test = corrected_t_test(ours, rival, test_share=0.1)
            rows.append(
                [
                    name,
                    f"**{ours.mean():.3f}**",
                    f"{ncpd.mean():.3f}",
                    f"{rival.mean():.3f} ({RIVALS[name][0].__name__})",
                    f"{test.difference:+.3f} (p = {test.p_value:.2g})",
                    f"{on_truth[name].mean():.3f}",
                ]
            )
            print(rows[-1], flush=True)
    header = [
        "data",
        "NCPD+",
        "NCPD",
        "best of five rivals",
        "NCPD+ to it",
        "NCPD's networks on true labels",
    ]
    write_page(
        "headline",
        "benchmarks/headline.py",
        "Accuracy on held-out rows after the last epoch: ten folds, fold seeds 200 to 204, mean "
        "over all 50. The rival is the one of five that is best on this set in [Table 2 on fold "
        "seed 0](table/report.md); p is that of the corrected t-test. On the right is what NCPD's "
        "networks reach when they are given the true labels.",
        markdown_table(header, rows),
        folder=folder,
    )


if __name__ == "__main__":
    main()
