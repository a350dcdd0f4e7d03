"""NCPD+ on the 84 corrupted settings of four UCI sets, beside what was found for all methods.

    python benchmarks/ncpd_plus_corrupted.py [--folder docs/results]

Ten folds, fold seed 0: the folds and candidate sets of docs/results/curves, whose jobs.csv has the
accuracies of the other methods, and those of NCPD+ as it was in version 0.1.0. Writes
ncpd_plus_corrupted.md. Quick on a CUDA card only.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from disambig import NCPDPlusClassifier
from disambig._core.typing import FloatArray
from disambig.bench.statistics import average_ranks, corrected_t_test, paired_t_test
from disambig.bench.trial import ControlledCorruption
from disambig.methods import fit_many
from disambig.metrics import accuracy
from fold_trials import trials_of
from results_page import FOLDER, markdown_table, write_page

UCI = ("glass", "ecoli", "vehicle", "abalone")
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
FALSE_LABELS = (1, 2, 3)
BEFORE = "NCPD+ 0.1.0"
JOBS = Path(__file__).resolve().parent.parent / "docs" / "results" / "curves" / "jobs.csv"
Setting = tuple[str, float, int]


def scores_found() -> dict[str, dict[Setting, FloatArray]]:
    """Return the accuracies on every fold that the study of the curves has found, by method."""
    by_fold: dict[str, dict[Setting, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    with JOBS.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["role"] == "method":
                title = BEFORE if row["method"] == "NCPD+" else row["method"]
                setting = (row["dataset"], float(row["p"]), int(row["r"]))
                by_fold[title][setting][int(row["fold"])] = float(row["accuracy"])
    return {
        title: {
            setting: np.array([folds[n] for n in sorted(folds)]) for setting, folds in own.items()
        }
        for title, own in by_fold.items()
    }


def scores_now(name: str) -> dict[Setting, FloatArray]:
    """Return the accuracies of NCPD+ on every setting of a set, all of them one stack on a card."""
    settings = [(name, p, r) for r in FALSE_LABELS for p in SHARES]
    corruptions = [ControlledCorruption(p, r) for _, p, r in settings]
    trials = [trial for each in corruptions for trial in trials_of(name, corruption=each)]
    method = NCPDPlusClassifier()
    fitted = fit_many(method, [trial.task(method) for trial in trials])
    # As many digits as jobs.csv has.
    scores = [
        round(accuracy(trial.test.true_labels, own.predict(trial.test.X)), 6)
        for trial, own in zip(trials, fitted, strict=True)
    ]
    return dict(zip(settings, np.reshape(scores, (len(settings), -1)), strict=True))


def ranks_of(scores: dict[str, dict[Setting, FloatArray]]) -> dict[str, float]:
    """Return the average rank of every method over the settings; 1 is best."""
    settings = list(next(iter(scores.values())))
    means = [[own[setting].mean() for own in scores.values()] for setting in settings]
    return dict(zip(scores, average_ranks(means), strict=True))


def significant(
    ours: dict[Setting, FloatArray], theirs: dict[Setting, FloatArray]
) -> dict[str, list[str]]:
    """Return the settings on which ours is significantly better or worse, by either test."""
    found: dict[str, list[str]] = {"better": [], "worse": []}
    for setting, own in ours.items():
        tests = (
            paired_t_test(own, theirs[setting]),
            corrected_t_test(own, theirs[setting], test_share=0.1),
        )
        for verdict in {test.verdict() for test in tests} - {"tie"}:
            found[verdict].append("{}, p={}, r={}".format(*setting))
    return found


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    folder = parser.parse_args().folder
    others = scores_found()
    ours: dict[Setting, FloatArray] = {}
    rows = []
    for name in UCI:
        found = scores_now(name)
        ours |= found
        compared = (others["NCPD"], others[BEFORE], found)
        cells = [np.mean([own[setting] for setting in found]) for own in compared]
        rows.append([name, *(f"{cell:.4f}" for cell in cells)])
        print(rows[-1], flush=True)
    rivals = {title: own for title, own in others.items() if title != BEFORE}
    before = ranks_of({**rivals, "NCPD+": others[BEFORE]})
    now = ranks_of({**rivals, "NCPD+": ours})
    ranks = [[t, f"{before[t]:.2f}", f"{now[t]:.2f}"] for t in sorted(now, key=now.__getitem__)]
    verdicts = significant(ours, others["NCPD"])
    gain = np.mean([ours[s] - others["NCPD"][s] for s in ours])
    write_page(
        "ncpd_plus_corrupted",
        "benchmarks/ncpd_plus_corrupted.py",
        "A share p of the training rows of every fold gets r false labels: 84 settings of four "
        "sets, ten folds, fold seed 0. The other methods, and NCPD+ as it was in version 0.1.0, "
        "are those of [the curves](curves/report.md), on the same folds and candidate sets.",
        f"Against NCPD: {gain:+.4f} on average. Significantly better, by the paired or the "
        f"corrected t-test at 0.05, on {len(verdicts['better'])} settings "
        f"({'; '.join(verdicts['better']) or 'none'}); worse on {len(verdicts['worse'])} "
        f"({'; '.join(verdicts['worse']) or 'none'}).",
        "## Mean accuracy over the settings of a set",
        markdown_table(["data", "NCPD", BEFORE, "NCPD+"], rows),
        "## Average ranks over the 84 settings, 1 is best",
        markdown_table(["", "with NCPD+ 0.1.0", "with NCPD+"], ranks),
        folder=folder,
        real_data=False,
    )


if __name__ == "__main__":
    main()
