"""From the records of a study to a frame. Jobs run in this process."""

import json

import numpy as np
import pytest

from bench.small_reports import (
    CORRUPTION,
    NETWORK,
    result_of,
    small,
)
from bench.small_studies import diligent
from disambig.bench.run_table import accuracy_by_epoch, study_scores
from disambig.metrics import METRICS


def test_there_is_a_row_of_scores_for_every_job_in_the_order_of_the_plan(data):
    entries = ["glass", data | {"corruption": CORRUPTION}]
    tuned = {"name": "plknn", "grid": {"n_neighbors": [2, 5]}}
    study = small(tuned, "sure", datasets=entries, protocol={"folds": 2, "inner_folds": 2})
    result = result_of(study)
    scores = study_scores(result)
    assert len(scores) == len(result.plan.jobs) == 3 * 4 * 2
    for (_, row), (planned, record) in zip(scores.iterrows(), result.jobs(), strict=True):
        assert row["key"] == planned.job.key
        assert row["method"] == planned.method_title
        assert row["data"] == planned.data_title
        assert (row["seed"], row["fold"]) == (planned.job.split.seed, planned.job.split.fold)
        assert {name: row[name] for name in METRICS} == record.metrics
        assert row["fit_seconds"] == record.seconds["fit"]
    assert scores["dataset"].unique().tolist() == ["glass", "small"]
    assert scores["data"].unique().tolist() == ["glass", "small, p=0.2, r=1", "small, p=0.6, r=1"]
    assert scores["p"].dropna().unique().tolist() == [0.2, 0.6]
    assert scores.loc[scores["data"] == "glass", ["p", "r"]].isna().all(axis=None)
    roles = dict(zip(scores["method"], scores["role"], strict=True))
    assert roles == {
        "PLKNN": "method",
        "SURE": "method",
        "LR on a random candidate": "candidate_baseline",
        "LR on true labels": "true_label_baseline",
    }
    is_tuned = scores["method"] == "PLKNN"
    assert set(scores.loc[is_tuned, "selection"]) == {"covering_rate"}
    assert {json.loads(text)["n_neighbors"] for text in scores.loc[is_tuned, "chosen"]} <= {2, 5}
    assert scores.loc[~is_tuned, ["selection", "chosen"]].isna().all(axis=None)


def test_what_failed_has_a_row_without_metrics_that_says_why(data):
    study = small("plknn", diligent(fails_without=7), datasets=[data])
    scores = study_scores(result_of(study))
    failed = scores["status"] == "failed"
    assert failed.sum() == 1
    assert scores.loc[failed, "error"].tolist() == ["row 7 is not there"]
    assert scores.loc[failed, "method"].tolist() == ["DILIGENT"]
    assert scores.loc[failed, [*METRICS, "fit_seconds"]].isna().all(axis=None)
    assert scores.loc[~failed, list(METRICS)].notna().all(axis=None)
    assert scores.loc[~failed, "error"].isna().all()


def test_accuracy_by_epoch_is_there_for_methods_with_epochs_and_ends_in_the_score(data):
    methods = [
        {"name": "ncpd", "parameters": NETWORK},
        {"name": "ncpd", "title": "long", "parameters": NETWORK | {"epochs": 5}},
    ]
    result = result_of(small(*methods, datasets=[data], protocol={"folds": 2, "by_epoch": True}))
    curves = accuracy_by_epoch(result)
    assert list(curves) == ["small"]
    assert {name: np.shape(runs) for name, runs in curves["small"].items()} == {
        "NCPD": (2, 3),
        "long": (2, 5),
    }
    scores = study_scores(result).set_index(["method", "fold"])["accuracy"]
    for name, runs in curves["small"].items():
        assert [run[-1] for run in runs] == pytest.approx(scores[name].tolist())


def test_without_asking_nothing_is_known_of_epochs():
    assert accuracy_by_epoch(result_of(small("plknn"))) == {}
