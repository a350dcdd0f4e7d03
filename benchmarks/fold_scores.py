"""Scores of a study by data and method, fold by fold; what has a record is not run again."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np

from disambig._core.typing import FloatArray
from disambig.bench import Study, run_study

STORE = Path(__file__).resolve().parent.parent / "out" / "records"


def fold_scores(
    study: Study, metric: str = "accuracy", store: Path = STORE
) -> dict[tuple[str, str], FloatArray]:
    """Return the scores on all folds of all repeats, in their order, by (data, method)."""
    result = run_study(study, store, jobs=int(os.environ.get("DISAMBIG_JOBS", "1")))
    scores = defaultdict(list)
    for planned, record in result.jobs():
        if not record.is_done:
            raise SystemExit(f"{planned.title} failed: {record.error}")
        split = planned.job.split
        value = record.metrics[metric]
        scores[planned.data_title, planned.method_title].append((split.seed, split.fold, value))
    return {key: np.array([score for *_, score in sorted(own)]) for key, own in scores.items()}
