"""The records of a study: a row per job, and one metric as runs by method and data."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from disambig._core.errors import ParameterError, UnknownNameError
from disambig._core.typing import FloatArray
from disambig.bench.plan import PlannedJob
from disambig.bench.record import Record
from disambig.bench.study_results import StudyResult
from disambig.methods.base import Role
from disambig.metrics.registry import METRICS, direction

# The steps of a job; each is timed.
STEPS = ("choose", "fit", "predict")
# Scores are shown, and called equal, to this many decimals.
DECIMALS = 3
_COLUMNS = ("dataset", "p", "r", "data", "method", "role", "seed", "fold", "selection")
_ROLES = get_args(Role)
# What jobs.csv of version 0.1 says.
_FORMER_ROLES = {"floor": "candidate_baseline", "ceiling": "true_label_baseline"}
Run = tuple[int, int]  # seed and fold


def study_scores(result: StudyResult) -> Any:
    """Return a pandas frame with a row for every job; failed ones have no metrics."""
    import pandas as pd  # slow to import

    scores = pd.DataFrame([_row(planned, record) for planned, record in result.jobs()])
    return scores if scores["groups"].any() else scores.drop(columns="groups")


def miss_rates(scores: Any) -> Any:
    """Return the column of miss rates; it is 0 in records of earlier versions, which have none."""
    import pandas as pd

    known = scores.get("miss", pd.Series(0.0, index=scores.index))
    return known.fillna(0).astype(float)


def held_out_groups(scores: Any) -> Any:
    """Return the column of groups: what is new about held-out rows, empty where rows stand alone.

    Studies of rows have no such column.
    """
    import pandas as pd

    known = scores.get("groups", pd.Series("", index=scores.index))
    return known.fillna("").astype(str)


def _row(planned: PlannedJob, record: Record) -> dict[str, Any]:
    job = planned.job
    error = (record.error or {}).get("message")
    return {
        "dataset": planned.dataset.name,
        "p": job.corruption.p if job.corruption else None,
        "r": job.corruption.r if job.corruption else None,
        "miss": job.miss,
        "groups": planned.groups_title,
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
        # Lone surrogates are spelled out: Arrow, where pandas uses it, refuses such strings.
        "error": error and error.encode("utf-8", "backslashreplace").decode(),
        "key": record.key,
    }


def accuracy_by_epoch(result: StudyResult) -> dict[str, dict[str, list[list[float]]]]:
    """Return held-out accuracy by run and epoch, by data and method, where it was followed.

    Records of other code may have other numbers of epochs: the most common one is taken.
    """
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for planned, record in result.jobs():
        if record.by_epoch is not None:
            methods = curves.setdefault(planned.data_title, {})
            methods.setdefault(planned.method_title, []).append(record.by_epoch)
    for methods in curves.values():
        for method, runs in methods.items():
            ((n_epochs, _),) = Counter(map(len, runs)).most_common(1)
            methods[method] = [run for run in runs if len(run) == n_epochs]
    return curves


@dataclass(frozen=True)
class Setting:
    """A dataset and how its labels were corrupted; p and r are NaN where the sets are its own."""

    dataset: str
    p: float
    r: float
    miss: float = 0.0  # share of the training sets without the truth
    groups: str = ""  # "new groups" where whole ones are held out, and what they promise


@dataclass(frozen=True)
class RunTable:
    """One metric of a study: a cell for all data and every method, with a score for every run.

    Data and methods are in the order of their first appearance.
    """

    metric: str
    settings: Mapping[str, Setting]  # what every label of data stands for
    roles: Mapping[str, str]  # of every method, as its card says
    selections: Mapping[str, tuple[str, ...]]  # of methods with a grid: how they were chosen
    finished: Mapping[tuple[str, str], Mapping[Run, float]]  # of (data, method)
    n_runs: int  # of the fullest cell, finished or not

    @classmethod
    def from_scores(cls, scores: Any, metric: str, reference: str | None = None) -> "RunTable":
        """Sort the records of a study, a pandas frame, into cells of one metric.

        Records without a value of the metric count as missing. A reference that is not one of the
        methods compared is refused.
        """
        missing = [name for name in (*_COLUMNS, metric) if name not in scores.columns]
        if missing:
            raise ParameterError(
                f"Study records need the columns {', '.join(missing)}. Got "
                f"{', '.join(scores.columns)}."
            )
        if scores.empty:
            raise ParameterError("There are no study records: no job has finished.")
        settings: dict[str, Setting] = {}
        roles: dict[str, str] = {}
        selections: dict[str, tuple[str, ...]] = {}
        runs: dict[tuple[str, str], dict[Run, float]] = {}
        columns = [scores[name].tolist() for name in [*_COLUMNS, metric]]
        others = miss_rates(scores).tolist(), held_out_groups(scores).tolist()
        for miss, groups, *record in zip(*others, *columns, strict=True):
            dataset, p, r, data, method, role, seed, fold, selection, value = record
            role = _FORMER_ROLES.get(role, role)
            settings.setdefault(data, Setting(dataset, _number(p), _number(r), miss, groups))
            if roles.setdefault(method, role) != role or role not in _ROLES:
                raise ParameterError(
                    f"A method has one role, {', '.join(_ROLES)}. {method!r} has {role!r}"
                    f"{'' if roles[method] == role else f' and {roles[method]!r}'}."
                )
            if isinstance(selection, str):
                selections[method] = tuple(dict.fromkeys([*selections.get(method, ()), selection]))
            cell = runs.setdefault((data, method), {})
            if (seed, fold) in cell:
                raise ParameterError(
                    f"A run must be there once. {method!r} on {data!r} has seed {seed}, fold "
                    f"{fold} twice. Give variants of a method different labels."
                )
            cell[seed, fold] = _number(value)
        finished = {
            key: {run: value for run, value in cell.items() if not math.isnan(value)}
            for key, cell in runs.items()
        }
        n_runs = max(len(cell) for cell in runs.values())
        table = cls(metric, settings, roles, selections, finished, n_runs)
        if reference is not None and reference not in table.methods:
            raise UnknownNameError("method to compare with", reference, table.methods)
        return table

    @property
    def data(self) -> tuple[str, ...]:
        """Labels of all data."""
        return tuple(self.settings)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that are compared, which baselines are not."""
        return self.in_role("method")

    @property
    def bounds(self) -> tuple[str, ...]:
        """Baselines; those trained on true labels last."""
        return self.in_role("candidate_baseline") + self.in_role("true_label_baseline")

    @property
    def unit(self) -> str:
        """What data is counted in: datasets, or settings where a dataset comes in several."""
        datasets = {setting.dataset for setting in self.settings.values()}
        return "dataset" if len(datasets) == len(self.settings) else "setting"

    def in_role(self, role: str) -> tuple[str, ...]:
        """Return the methods with this role."""
        return tuple(method for method, its_role in self.roles.items() if its_role == role)

    def rivals(self, reference: str) -> tuple[str, ...]:
        """Return the methods that the reference is compared with."""
        return tuple(method for method in self.methods if method != reference)

    def display_name(self, method: str) -> str:
        """Return the method's name with what a reader must not overlook."""
        is_chosen_by_truth = "oracle" in self.selections.get(method, ())
        return f"{method} (chosen by true labels)" if is_chosen_by_truth else method

    def full_name(self, method: str) -> str:
        """Return the name for sentences, in which LR is spelled out."""
        name = self.display_name(method)
        return re.sub("^LR ", "logistic regression ", name) if method in self.bounds else name

    def values(self, data: str, method: str) -> FloatArray:
        """Return the scores of a cell; empty where nothing finished."""
        return np.array(list(self.finished.get((data, method), {}).values()), dtype=float)

    def mean(self, data: str, method: str) -> float:
        """Return the mean over the runs of a cell; NaN where nothing finished."""
        values = self.values(data, method)
        return float(np.mean(values)) if len(values) else math.nan

    def shared_runs(self, data: str, methods: Iterable[str]) -> FloatArray:
        """Return the scores of runs that all these methods have: a row per run."""
        cells = [self.finished.get((data, method), {}) for method in methods]
        shared = sorted(set.intersection(*(set(cell) for cell in cells)))
        rows = [[cell[run] for cell in cells] for run in shared]
        return np.array(rows, dtype=float).reshape(len(shared), len(cells))

    def best_methods(self, data: str) -> list[str]:
        """Return the methods with the best mean as shown, among those with the most runs."""
        counts = {method: len(self.values(data, method)) for method in self.methods}
        most = max(counts.values())
        if most == 0:
            return []
        means = {
            method: direction(self.metric) * round(self.mean(data, method), DECIMALS)
            for method, count in counts.items()
            if count == most
        }
        return [method for method, mean in means.items() if mean == max(means.values())]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
