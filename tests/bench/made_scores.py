"""Records of made-up studies, as a frame, for tables, charts and figures."""

import itertools
from functools import cache

import numpy as np
import pandas as pd

METHODS = ("NCPD", "SURE", "AGGD", "IPAL", "PL-KNN", "CLPL")
MANY = (*METHODS, "M3PL", "PL-SVM", "EM", "LSB-CMM", "w/o NC", "w/o PD", "NCPD by covering rate")
BOUNDS = {"average": "candidate_baseline", "oracle": "true_label_baseline"}
DATASETS = ("glass", "ecoli", "vehicle", "segment")
PS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@cache
def corrupted(datasets=DATASETS, ps=PS, rs=(1, 2, 3), methods=METHODS, n_folds=3):
    """Return a study over all p and r; do not change what it returns, copy it."""
    generator = np.random.default_rng(0)
    rows = []
    names = (*methods, *BOUNDS)
    for dataset, r, p, (i, method) in itertools.product(datasets, rs, ps, enumerate(names)):
        is_corrupted = p == p
        data = f"{dataset}, p={p:g}, r={r:g}" if is_corrupted else dataset
        base = {"average": 0.3, "oracle": 0.9}.get(method, 0.7 - 0.01 * i)
        rows += [
            {
                "dataset": dataset,
                "p": p,
                "r": r,
                "data": data,
                "method": method,
                "role": BOUNDS.get(method, "method"),
                "seed": 0,
                "fold": fold,
                "accuracy": base - (0.1 * p * r if is_corrupted else 0) + noise,
                "selection": None,
            }
            for fold, noise in enumerate(generator.normal(0, 0.03, n_folds))
        ]
    return pd.DataFrame(rows)


def uncorrupted(n_datasets, methods=METHODS):
    """Return a study of data with its own candidate sets."""
    datasets = tuple(f"dataset {i}" for i in range(n_datasets))
    return corrupted(datasets, (np.nan,), (np.nan,), methods)


def sunk(depth, datasets=("glass", "ecoli")):
    """Return a study in which CLPL on glass is so far below the baseline."""
    scores = corrupted(datasets).copy()
    below = (scores["method"] == "CLPL") & (scores["dataset"] == "glass")
    scores.loc[below, "accuracy"] = 0.3 - depth
    return scores


def with_gaps():
    """Return curves in which SURE on glass lacks all runs at p=0.3 and some at p=0.5."""
    scores = corrupted(rs=(1,))
    is_sure = (scores["method"] == "SURE") & (scores["dataset"] == "glass")
    gone = is_sure & (scores["p"] == 0.3)
    partly = is_sure & (scores["p"] == 0.5) & (scores["fold"] == 0)
    return scores[~gone & ~partly]


def dots_with_gaps():
    """Return two datasets; on the second SURE has no run and AGGD lacks one."""
    scores = uncorrupted(2)
    second = scores["data"] == "dataset 1"
    gone = second & (scores["method"] == "SURE")
    partly = second & (scores["method"] == "AGGD") & (scores["fold"] == 0)
    return scores[~gone & ~partly]


def by_epoch():
    """Return accuracies of three variants, by run and epoch."""
    generator = np.random.default_rng(0)
    return {label: generator.uniform(0.3, 0.5, (5, 80)) for label in ("NCPD", "w/o NC", "w/o PD")}
