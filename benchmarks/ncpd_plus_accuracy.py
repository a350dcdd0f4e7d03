"""NCPD+ against NCPD, and against itself before, on fold seeds that nothing was chosen on.

    DISAMBIG_DATA=folder python benchmarks/ncpd_plus_accuracy.py --before SRC [--folder FOLDER]

Ten folds, fold seeds 200 to 204, the same call for every set, accuracy after the last epoch. SRC is
the src folder of version 0.1.0, which is measured on the same folds; or a file that this script has
written: then NCPD and 0.1.0 are taken from there, and only NCPD+ is measured, in as many processes
as DISAMBIG_JOBS says. Writes ncpd_plus_accuracy.md, and .json with the scores of every fold. All at
once is quick on a CUDA card only.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from disambig import NCPDClassifier, NCPDPlusClassifier
from disambig._core.typing import FloatArray
from disambig.bench.statistics import corrected_t_test
from disambig.methods import PartialLabelClassifier, fit_many
from disambig.metrics import accuracy
from fold_trials import REAL, trials_of
from results_page import FOLDER, markdown_table, write_page

SEEDS = range(200, 205)
MOST_LOST = 0.005
METHODS = {"NCPD": NCPDClassifier, "NCPD+": NCPDPlusClassifier}
# Of held-out rows, and of training rows: those whose true label was chosen among the candidates.
Scores = dict[str, list[float]]


def scores_of(method: PartialLabelClassifier, name: str, seeds: Sequence[int] = SEEDS) -> Scores:
    """Return both accuracies on every fold."""
    trials = trials_of(name, seeds)
    scores: Scores = {"test": [], "train": []}
    tasks = [trial.task(method) for trial in trials]
    for trial, fitted in zip(trials, fit_many(method, tasks), strict=True):
        scores["test"].append(accuracy(trial.test.true_labels, fitted.predict(trial.test.X)))
        scores["train"].append(accuracy(trial.train.true_labels, fitted.disambiguate()))
    return scores


def scores_by_seed(name: str) -> Scores:
    """Return the scores of NCPD+, seed by seed in as many processes as DISAMBIG_JOBS says."""
    jobs = int(os.environ.get("DISAMBIG_JOBS", "1"))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(_scores_of_seed, [name] * len(SEEDS), SEEDS))
    return {kind: [score for part in parts for score in part[kind]] for kind in parts[0]}


def _scores_of_seed(name: str, seed: int) -> Scores:
    torch.set_num_threads(1)
    return scores_of(NCPDPlusClassifier(), name, [seed])


def started_before(source: Path) -> dict[str, subprocess.Popen[bytes]]:
    """Start to measure NCPD+ by the code in another src folder, every set in its own process."""
    here = Path(__file__).resolve()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(here.parent)])}
    command = [sys.executable, str(here), "--print-scores"]
    return {
        name: subprocess.Popen([*command, name], env=environment, stdout=subprocess.PIPE)
        for name in REAL
    }


def finished(running: dict[str, subprocess.Popen[bytes]]) -> dict[str, Scores]:
    """Return what these processes print, once they are done."""
    found = {name: json.loads(process.communicate()[0]) for name, process in running.items()}
    print({name: np.mean(scores["test"]).round(4) for name, scores in found.items()}, flush=True)
    return found


def rows_of(
    kind: str, now: dict[str, dict[str, Scores]], before: dict[str, Scores]
) -> tuple[list[list[str]], list[str]]:
    """Return the rows of a table, and the sets on which too much was lost."""
    rows, lost = [], []
    for name in REAL:
        ncpd, ours = (np.array(now[name][title][kind]) for title in METHODS)
        earlier: FloatArray = np.array(before[name][kind])
        against_ncpd = corrected_t_test(ours, ncpd, test_share=0.1)
        against_earlier = corrected_t_test(ours, earlier, test_share=0.1)
        by_seed = ours.reshape(len(SEEDS), -1).mean(axis=1)
        rows.append(
            [
                name,
                f"{ncpd.mean():.3f}",
                f"{earlier.mean():.3f}",
                f"{ours.mean():.3f}",
                " ".join(f"{mean:.3f}" for mean in by_seed),
                f"{against_ncpd.difference:+.3f} (p = {against_ncpd.p_value:.2g})",
                f"{against_earlier.difference:+.4f} (p = {against_earlier.p_value:.2g})",
            ]
        )
        if against_earlier.difference < -MOST_LOST:
            lost.append(name)
    return rows, lost


def main() -> None:
    """Measure, write the page, and say what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    parser.add_argument("--before", type=Path, help="src folder of 0.1.0, or scores")
    parser.add_argument("--print-scores", metavar="DATA", help="of NCPD+, and write nothing")
    arguments = parser.parse_args()
    if arguments.print_scores:
        json.dump(scores_of(NCPDPlusClassifier(), arguments.print_scores), sys.stdout)
        return
    if arguments.before is None:
        parser.error("--before is needed: the src folder of version 0.1.0, or a file of scores.")
    now: dict[str, dict[str, Scores]] = {}
    if arguments.before.is_file():
        kept = json.loads(arguments.before.read_text(encoding="utf-8"))
        for name in REAL:
            now[name] = {"NCPD": kept[name]["NCPD"], "NCPD+": scores_by_seed(name)}
            print(name, np.mean(now[name]["NCPD+"]["test"]).round(4), flush=True)
        before = {name: kept[name]["NCPD+ 0.1.0"] for name in REAL}
    else:
        running = started_before(arguments.before.resolve())
        for name in REAL:
            now[name] = {title: scores_of(method(), name) for title, method in METHODS.items()}
            print(name, np.mean(now[name]["NCPD+"]["test"]).round(4), flush=True)
        before = finished(running)
    kept = {name: {**now[name], "NCPD+ 0.1.0": before[name]} for name in REAL}
    (arguments.folder / "ncpd_plus_accuracy.json").write_text(json.dumps(kept), encoding="utf-8")
    header = ["data", "NCPD", "NCPD+ 0.1.0", "NCPD+", "by seed", "to NCPD", "to 0.1.0"]
    held_out, lost = rows_of("test", now, before)
    training, _ = rows_of("train", now, before)
    write_page(
        "ncpd_plus_accuracy",
        "benchmarks/ncpd_plus_accuracy.py --before SRC",
        "Ten folds, fold seeds 200 to 204, default parameters, the same call for every set, after "
        "the last epoch; mean over the 50 folds. SRC is the src folder of version 0.1.0, whose "
        "NCPD+ met the same folds. p is that of the corrected t-test. Nothing was developed or "
        "chosen on these seeds; it was on fold seeds 0 to 3 of the same sets.",
        "## Held-out rows",
        markdown_table(header, held_out),
        "## Training rows: share whose true label was chosen among the candidates",
        markdown_table(header, training),
        folder=arguments.folder,
    )
    if lost:
        raise SystemExit(f"More than {MOST_LOST} below 0.1.0 on {lost}.")


if __name__ == "__main__":
    main()
