"""The records of a study as one table, a row for every job."""

import json
import math
from typing import Any

from disambig.study.evaluation import METRICS
from disambig.study.plan import PlannedJob
from disambig.study.record import Record
from disambig.study.results import StudyResult

__all__ = ["STEPS", "accuracy_by_epoch", "study_scores"]

# Of a job, each of which is timed.
STEPS = ("choose", "fit", "predict")


def study_scores(result: StudyResult) -> Any:
    """Return a pandas frame with a row for every job; what failed has no metrics."""
    import pandas as pd  # slow to import

    return pd.DataFrame([_row(planned, record) for planned, record in result.jobs()])


def accuracy_by_epoch(result: StudyResult) -> dict[str, dict[str, list[list[float]]]]:
    """Return held-out accuracy by run and epoch, by data and method, where it was followed."""
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for planned, record in result.jobs():
        if record.by_epoch is not None:
            of_data = curves.setdefault(planned.data_title, {})
            of_data.setdefault(planned.method_title, []).append(record.by_epoch)
    return curves


def _without_half_characters(text: str) -> str:
    """Spell out what no UTF-8 has: Arrow, where pandas uses it, takes no such text."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _row(planned: PlannedJob, record: Record) -> dict[str, Any]:
    job = planned.job
    return {
        "dataset": planned.dataset.name,
        "p": job.corruption.p if job.corruption else None,
        "r": job.corruption.r if job.corruption else None,
        "data": planned.data_title,
        "method": planned.method_title,
        "role": planned.role,
        "seed": job.split.seed,
        "fold": job.split.fold,
        **{metric: record.metrics.get(metric, math.nan) for metric in METRICS},
        **{f"{step}_seconds": record.seconds.get(step, math.nan) for step in STEPS},
        "peak_memory_mb": record.peak_memory_mb,
        "selection": job.selection.criterion if job.selection else None,
        "chosen": json.dumps(record.chosen) if record.chosen else None,
        "status": record.status,
        "error": _without_half_characters(record.error["message"]) if record.error else None,
        "key": record.key,
    }
