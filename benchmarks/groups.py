"""What changes where rows come together: new groups instead of rows, and what a group promises.

    DISAMBIG_DATA=folder python benchmarks/groups.py [protocols promises random photos]

Measures the parts that are named, or all; the others keep their figures, which are in groups.json.
Writes groups.md, for benchmarks/draw_groups.py to draw. Every line is measured in a process of its
own, as many at a time as DISAMBIG_JOBS says. The networks are quick on a CUDA card only.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from disambig import CandidateLabels, get_method, load_dataset
from disambig.bench.folds import Split
from disambig.bench.statistics import corrected_t_test
from disambig.bench.trial import ControlledCorruption, Trial, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.groups import PromiseKind
from disambig.datasets.photos import make_photo_dataset
from disambig.methods import fit_many
from disambig.methods.base import keep_promise
from disambig.metrics import accuracy
from fold_trials import CORRUPTION, REAL
from results_page import FOLDER, markdown_table, write_page

CLASSICAL = ("plknn", "em", "clpl", "plsvm", "lsbcmm", "ipal", "sure", "aggd", "m3pl")
NETWORKS = ("ncpd_plus", "ncpd", "proden", "cc")
# Those in which a promise is part of the training.
LISTENING = ("ncpd_plus", "ncpd")
TITLES = {"ncpd_plus": "NCPD+", "truth": "NCPD+ on true labels"}
# The fold seeds of the promises were looked at once; what is constant was chosen on 0 and 1.
PROMISE_SEEDS = (100, 101, 102, 103, 104)
LONGER = {"epochs": 200}
PHOTO_SEEDS = range(100, 110)
MISSING = (0.0, 0.1, 0.2, 0.3)
KINDS: dict[str, PromiseKind] = {"cover": "cover", "exclusive": "exclusive"}
Scores = dict[str, list[float]]


# ---- what is measured


def scores_of(method: str, trials: Sequence[Trial], parameters: dict[str, int]) -> Scores:
    """Return, for every fold, how many held-out rows are right, and how many training rows.

    Where groups promise nothing, also how many training rows would be with 'cover' as a last step.
    """
    torch.set_num_threads(1)
    classifier = get_method("ncpd_plus" if method == "truth" else method)(**parameters)
    tasks = []
    for trial in trials:
        X, y, seed = trial.task(classifier)
        if method == "truth":
            known = CandidateLabels.from_labels(trial.train.true_labels, classes=y.classes)
            y = known.with_groups(y.groups)
        tasks.append((X, y, seed))
    scores: Scores = {"test": [], "train": [], "covered": []}
    for trial, fitted in zip(trials, fit_many(classifier, tasks), strict=True):
        train, test = trial.train, trial.test
        scores["test"].append(accuracy(test.true_labels, fitted.predict(test.X)))
        scores["train"].append(accuracy(train.true_labels, fitted.disambiguate()))
        sets = train.candidates
        if sets.groups is not None and sets.promise is None and method != "truth":
            cover = sets.with_groups(sets.groups, promise="cover")
            told = keep_promise(cover, fitted.candidate_confidence_)
            scores["covered"].append(accuracy(train.true_labels, cover.choose(told)))
    return scores


def real_scores(
    name: str, method: str, promise: str, seeds: Sequence[int], parameters: dict[str, int]
) -> Scores:
    """Measure ten folds for every seed; ``promise`` is "rows" where rows are dealt."""
    data = load_dataset(name, groups=promise != "rows", promise=KINDS.get(promise))
    return scores_of(method, ten_folds(data, seeds), parameters)


def ten_folds(
    data: PartialLabelDataset,
    seeds: Sequence[int],
    corruption: ControlledCorruption | None = None,
) -> list[Trial]:
    """Return ten folds for every seed."""
    splits = [Split(seed=seed, fold=fold, n_folds=10) for seed in seeds for fold in range(10)]
    return [make_trial(data, split, corruption) for split in splits]


def random_scores(name: str, grouped: bool) -> Scores:
    """Measure NCPD+ on corrupted data, with rows or with groups of rows that share nothing."""
    data = load_dataset(name)
    if grouped:
        # Groups of five rows on average, some of one and some of many.
        groups = np.random.default_rng(0).geometric(0.2, len(data.X)).cumsum()
        groups = np.searchsorted(groups, np.random.default_rng(1).permutation(len(data.X)))
        data = replace(data, candidates=data.candidates.with_groups(groups))
    trials = ten_folds(data, PROMISE_SEEDS, ControlledCorruption(**CORRUPTION))
    return scores_of("ncpd_plus", trials, {})


def photo_scores(method: str, promise: str, missing: float) -> Scores:
    """Measure made-up photos, three tenths of them held out, in several draws."""
    trials = []
    for seed in PHOTO_SEEDS:
        data = make_photo_dataset(
            missing_names=missing, promise=KINDS.get(promise), random_state=seed
        )
        trials.append(make_trial(data, Split(seed=seed, test_share=0.3)))
    return scores_of(method, trials, {})


def jobs_of(parts: Sequence[str]) -> dict[str, Callable[[], Scores]]:
    """Return what is to be measured, by name, the longest first."""
    jobs: dict[str, Callable[[], Scores]] = {}
    names = ("birdsong", "msrcv2", "lost")
    if "promises" in parts:
        for name in names:
            for method, promise in (
                ("ncpd_plus", "cover"),
                ("ncpd_plus", "none"),
                ("truth", "none"),
            ):
                key = f"promises/{name}/{method}/{promise}"
                jobs[key] = partial(real_scores, name, method, promise, PROMISE_SEEDS, LONGER)
    if "random" in parts:
        for name in ("vehicle", "ecoli"):
            for grouped in (False, True):
                jobs[f"random/{name}/{'groups' if grouped else 'rows'}"] = partial(
                    random_scores, name, grouped
                )
    if "protocols" in parts:
        for name in names:
            for method in (*NETWORKS, "truth", *CLASSICAL[::-1]):
                for promise in ("rows", "none", *(("cover",) * (method in LISTENING))):
                    key = f"protocols/{name}/{method}/{promise}"
                    jobs[key] = partial(real_scores, name, method, promise, (0,), {})
    if "photos" in parts:
        for method in ("ncpd_plus", "ncpd", "em"):
            for promise in ("none", "cover", "exclusive"):
                for missing in MISSING:
                    key = f"photos/{method}/{promise}/{missing:g}"
                    jobs[key] = partial(photo_scores, method, promise, missing)
    return jobs


def measure(parts: Sequence[str], file: Path) -> dict[str, Scores]:
    """Measure, and add to what is in the file as results come."""
    found: dict[str, Scores] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    workers = int(os.environ.get("DISAMBIG_JOBS", "1"))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(job): key for key, job in jobs_of(parts).items()}
        for done in as_completed(running):
            key = running[done]
            scores = done.result()
            found[key] = {name: [round(v, 5) for v in values] for name, values in scores.items()}
            print(key, {name: round(float(np.mean(v)), 4) for name, v in scores.items() if v})
            write_scores(found, file)
    return found


def write_scores(found: dict[str, Scores], file: Path) -> None:
    """Write a line for every key."""
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found)]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


# ---- the page


def title_of(method: str) -> str:
    """Return what tables call a method."""
    return TITLES.get(method, method.upper())


def mean_text(values: Sequence[float]) -> str:
    """Return the mean and the standard error over folds."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.3f} ± {error:.3f}"


def protocol_rows(found: dict[str, Scores]) -> list[list[str]]:
    """Return a line for every data and method: rows, new groups, training rows set right."""
    lines = []
    for name in REAL:
        for method in (*NETWORKS, *CLASSICAL, "truth"):
            rows, groups = (found[f"protocols/{name}/{method}/{p}"] for p in ("rows", "none"))
            covered = found.get(f"protocols/{name}/{method}/cover", groups)
            set_right = covered["train"] if method in LISTENING else groups["covered"]
            lines.append(
                [
                    name,
                    title_of(method),
                    mean_text(rows["test"]),
                    mean_text(groups["test"]),
                    f"{np.mean(groups['test']) - np.mean(rows['test']):+.3f}",
                    f"{np.mean(covered['test']):.3f}" if method in LISTENING else "",
                    "" if method == "truth" else f"{np.mean(groups['train']):.3f}",
                    "" if method == "truth" else f"{np.mean(set_right):.3f}",
                ]
            )
    return lines


def rank_sentence(found: dict[str, Scores]) -> str:
    """Say how far both protocols agree about the order of the methods."""
    words = []
    for name in REAL:
        means = [
            [
                np.mean(found[f"protocols/{name}/{method}/{kind}"]["test"])
                for kind in ("rows", "none")
            ]
            for method in (*NETWORKS, *CLASSICAL)
        ]
        words.append(f"{spearmanr(means).statistic:.3f} on {name}")
    return f"Spearman's rank correlation of the methods, rows with new groups: {', '.join(words)}."


def promise_rows(found: dict[str, Scores]) -> list[list[str]]:
    """Return a line for every data: without and with the promise, and on true labels."""
    lines = []
    for name in REAL:
        none, cover, truth = (
            found[f"promises/{name}/{key}"]
            for key in ("ncpd_plus/none", "ncpd_plus/cover", "truth/none")
        )
        test = corrected_t_test(np.array(cover["test"]), np.array(none["test"]), test_share=0.1)
        lines.append(
            [
                name,
                f"{np.mean(none['test']):.3f}",
                f"{np.mean(cover['test']):.3f}",
                f"{test.difference:+.3f} (p = {test.p_value:.2g})",
                f"{np.mean(truth['test']):.3f}",
                f"{np.mean(none['train']):.3f}",
                f"{np.mean(cover['train']):.3f}",
            ]
        )
    return lines


def random_rows(found: dict[str, Scores]) -> list[list[str]]:
    """Return a line for every data set: rows, and groups of rows that share nothing."""
    return [
        [name, *(mean_text(found[f"random/{name}/{kind}"]["test"]) for kind in ("rows", "groups"))]
        for name in ("vehicle", "ecoli")
    ]


def photo_rows(found: dict[str, Scores]) -> list[list[str]]:
    """Return a line for every method and share of missing names: both accuracies by promise."""
    return [
        [title_of(method), f"{missing:g}"]
        + [
            f"{np.mean(found[f'photos/{method}/{promise}/{missing:g}'][side]):.3f}"
            for side in ("train", "test")
            for promise in ("none", "cover", "exclusive")
        ]
        for method in ("ncpd_plus", "ncpd", "em")
        for missing in MISSING
    ]


def page_parts(found: dict[str, Scores]) -> list[str]:
    """Return what the page says, part by part."""
    seeds = f"{PROMISE_SEEDS[0]} to {PROMISE_SEEDS[-1]}"
    return [
        "Accuracy after the last epoch, ten folds, fold seed 0, every method with its defaults; ± "
        "is the standard error over folds. *rows*: rows are dealt into folds, as is usual. "
        "*new groups*: whole groups are, which are runs of neighbouring rows with equal sets. "
        "*with cover*: methods are also told that every label of a group's set belongs to one of "
        "its rows. NCPD and NCPD+ learn from that; all others use it as a last step on the "
        "confidences of training rows. *set right*: the share of training rows whose label is "
        "found, with groups held out. In the file of Lost every candidate set is one run: rows "
        "are sorted by their sets, so that a run may join several scenes.",
        markdown_table(
            (
                "data", "method", "rows", "new groups", "difference", "new groups, with cover",
                "set right", "set right with cover",
            ),
            protocol_rows(found),
        ),
        rank_sentence(found),
        "![Accuracy of every method with rows held out, and with whole groups](groups.svg)",
        f"## What a promise is worth\n\nNCPD+ with `epochs={LONGER['epochs']}`, new groups, ten "
        f"folds, fold seeds {seeds}, looked at once; the same networks without and with `cover` "
        "promised at its default strength. Where a promise is learned from, rows of large groups "
        "also count less; that, and the number of epochs, was chosen on fold seeds 0 and 1, so the "
        "column with cover above has been looked at more than once.",
        markdown_table(
            (
                "data", "no promise", "cover", "difference", "on true labels", "set right",
                "set right with cover",
            ),
            promise_rows(found),
        ),
        "## Groups that share nothing\n\nNCPD+, ten folds, the same fold seeds, on data corrupted "
        f"with p = {CORRUPTION['p']}, r = {CORRUPTION['r']}. Groups of five rows on average are "
        "drawn at random and promise nothing.",
        markdown_table(("data", "rows", "random groups"), random_rows(found)),
        "## Made-up photos\n\n`make_photo_dataset` with its defaults, three tenths of the photos "
        f"held out, {len(PHOTO_SEEDS)} sets of photos. *missing*: the share of the faces whose "
        "name is not in the caption.",
        markdown_table(
            (
                "method", "missing", "set right", "with cover", "with exclusive", "new photos",
                "with cover", "with exclusive",
            ),
            photo_rows(found),
        ),
        "![Faces named right against the share of names that captions lack](group_promises.svg)",
    ]  # fmt: skip


def main() -> None:
    """Measure, and write the page."""
    every = ("protocols", "promises", "random", "photos")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="parts to measure anew; 'page' for none")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page goes")
    arguments = parser.parse_args()
    file = arguments.folder / "groups.json"
    found = measure([part for part in every if part in (arguments.parts or every)], file)
    if all(any(key.startswith(part) for key in found) for part in every):
        write_page("groups", "benchmarks/groups.py", *page_parts(found), folder=arguments.folder)


if __name__ == "__main__":
    main()
