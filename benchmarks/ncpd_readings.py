"""NCPD as the paper can be read: its defaults here, the plainest network, and what lies between.

    DISAMBIG_DATA=folder python benchmarks/ncpd_readings.py [--scores FILE] [--folder FOLDER]

Ten folds of the real-world sets at hand, fold seed 0, as in ``disambig reproduce table``, whose
folds and whose SURE the readings are compared with. Writes ncpd_readings.md, and .json with the
scores of every fold; with --scores these are taken from there. --print-scores prints them and
writes no page: that needs torch and scikit-learn only, and takes seconds on a CUDA card.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from disambig import NCPDClassifier
from disambig.bench.statistics import PairedTest, corrected_t_test, paired_t_test
from disambig.methods import fit_many
from disambig.metrics import accuracy
from fold_trials import REAL, fold_trials
from results_page import FOLDER, markdown_table, write_page

FOLDS = 10
PLAINEST, DEFAULTS = "plainest network", "defaults"
# Each of the first five differs from the one before in one choice, from nothing chosen to all.
READINGS: Mapping[str, NCPDClassifier] = {
    PLAINEST: NCPDClassifier.from_paper(),
    "and scaling": NCPDClassifier.from_paper(scaling="half"),
    "and batch norm": NCPDClassifier.from_paper(scaling="half", batch_norm=True),
    "and dropout": NCPDClassifier.from_paper(scaling="half", batch_norm=True, dropout=0.5),
    DEFAULTS: NCPDClassifier(),
    "plainest network, two hidden layers": NCPDClassifier.from_paper(hidden=(512, 512)),
    "the same, and scaling": NCPDClassifier.from_paper(hidden=(512, 512), scaling="half"),
    "defaults, two hidden layers": NCPDClassifier(hidden=(1024, 1024)),
}
# By dataset and reading, the accuracy on every fold.
Scores = dict[str, dict[str, list[float]]]


def measured() -> Scores:
    """Return the accuracy of every reading on every fold, after the last epoch."""
    scores: Scores = {name: {} for name in REAL}
    for name in REAL:
        trials = fold_trials(name, FOLDS)
        for title, method in READINGS.items():
            fitted = fit_many(method, [trial.task(method) for trial in trials])
            scores[name][title] = [
                accuracy(trial.test.true_labels, own.predict(trial.test.X))
                for trial, own in zip(trials, fitted, strict=True)
            ]
            print(name, title, np.mean(scores[name][title]).round(4), file=sys.stderr, flush=True)
    return scores


def scores_of_sure() -> dict[str, list[float]]:
    """Return what SURE reached on the same folds, from the committed records of the table."""
    import pandas as pd

    jobs = pd.read_csv(FOLDER / "table" / "jobs.csv")
    jobs = jobs[(jobs["method"] == "SURE") & (jobs["seed"] == 0)].sort_values("fold")
    return {name: own["accuracy"].tolist() for name, own in jobs.groupby("dataset")}


def both_tests(first: list[float], second: list[float]) -> tuple[PairedTest, PairedTest]:
    """Return the t-test of the paper, and the one corrected for training rows that folds share."""
    return paired_t_test(first, second), corrected_t_test(first, second, test_share=1 / FOLDS)


def compared(first: list[float], second: list[float]) -> str:
    """Return a difference with the p-values of both tests."""
    from disambig.bench.wording import p_value_text  # needs pydantic, as all below

    tests = both_tests(first, second)
    p_values = "; ".join(p_value_text(test.p_value) for test in tests)
    return f"{tests[0].difference:+.3f} ({p_values})"


def rows_of(own: dict[str, list[float]], sure: list[float], paper: float) -> list[list[str]]:
    """Return the rows of a dataset."""
    from disambig.bench import mean_and_std_text

    return [
        [
            title,
            mean_and_std_text(scores),
            "" if title == DEFAULTS else compared(scores, own[DEFAULTS]),
            compared(scores, sure),
            f"{np.mean(scores) - paper:+.3f}",
        ]
        for title, scores in own.items()
    ]


def write(scores: Scores, folder: Path) -> None:
    """Write the page, and the scores beside it."""
    from disambig.bench.paper import published_accuracies

    (folder / "ncpd_readings.json").write_text(json.dumps(scores, indent=1), encoding="utf-8")
    sure = scores_of_sure()
    paper = {name: published_accuracies()[name]["NCPD"][0] for name in REAL}
    header = ["reading", "accuracy", "to the defaults", "to SURE", "to the paper"]
    parts = []
    for name in REAL:
        rows = rows_of(scores[name], sure[name], paper[name])
        parts += [f"## {name}: {paper[name]:.3f} in the paper", markdown_table(header, rows)]
    write_page(
        "ncpd_readings",
        "benchmarks/ncpd_readings.py",
        "The paper leaves the network and the scaling of features open. The *plainest network* is "
        "`NCPDClassifier.from_paper()`: 512 units, no batch norm, no dropout, standardised "
        "features; nothing in it was chosen by a result. Each of the next rows adds one choice: "
        '`"half"` scaling, batch norm, dropout of a half, and with 1024 units these are the '
        "defaults, which were chosen by held-out accuracy on these very sets. Two hidden layers "
        'are the other reading of "3-layer perceptron".',
        "Ten folds, fold seed 0, accuracy after the last epoch, mean and standard deviation over "
        "folds. In brackets p by the paired t-test, then by the corrected one. SURE is that of the "
        "[table](table/report.md), on the same folds. The folds of the paper are not published.",
        *parts,
        folder=folder,
    )


def main() -> None:
    """Measure, or read what was measured, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--scores", type=Path, help="a file that --print-scores has printed")
    parser.add_argument("--print-scores", action="store_true", help="and write nothing")
    arguments = parser.parse_args()
    if arguments.scores is not None:
        scores = json.loads(arguments.scores.read_text(encoding="utf-8"))
    else:
        scores = measured()
    if arguments.print_scores:
        json.dump(scores, sys.stdout)
    else:
        write(scores, arguments.folder)


if __name__ == "__main__":
    main()
