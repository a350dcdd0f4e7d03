"""Small data in files, small studies on them, and what came out."""

import csv
import json
import os
from pathlib import Path

from disambig.bench import Study
from disambig.datasets import make_partial_label_dataset

NAMES = ("cat", "dog", "fox")
DILIGENT = "bench.study_methods:Diligent"
SIDE_BY_SIDE = "bench.study_methods:SideBySide"


def write_table(path, n_rows=30, random_state=0):
    """Write a CSV file whose first feature is the number of the row; return its path."""
    data = make_partial_label_dataset(
        n_rows, 2, len(NAMES), average_candidates=1.7, random_state=random_state
    )
    sets = [[NAMES[column] for column in sorted(one)] for one in data.candidates.to_sets()]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "a", "b", "label", "truth"])
        for row, (values, labels, truth) in enumerate(
            zip(data.X, sets, data.true_labels, strict=True)
        ):
            writer.writerow([row, *values, "|".join(labels), NAMES[truth]])
    return path


def small_study(table, *methods, **settings):
    """Return a study of three folds on a table of ``write_table``."""
    entry = {"path": str(table), "truth": "truth"}
    defaults = {"name": "small", "datasets": [entry], "protocol": {"folds": 3}}
    return Study(**{**defaults, "methods": list(methods), **settings})


def diligent(**parameters):
    """Return the entry of a method of ours."""
    return {"name": DILIGENT, "parameters": parameters}


def metrics_of(result):
    """Return the metrics of all jobs as text, to the last bit, by method, data and split."""
    return {
        (planned.method_title, planned.data_title, planned.job.split): json.dumps(
            result.records[planned.job.key].metrics, sort_keys=True
        )
        for planned in result.plan.jobs
    }


def fits_in(log):
    """Return what methods of ours wrote into a log, one dictionary for every fit."""
    path = Path(log)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def bytes_in(folder):
    """Return the content of every record and prediction in a store, by the name of the file."""
    return {
        entry.name: Path(entry.path).read_bytes()
        for entry in os.scandir(folder)
        if entry.name.endswith((".json", ".npz")) and not entry.name.startswith(".")
    }
