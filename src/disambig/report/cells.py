"""A frame of study records as cells: the runs of one method on one dataset, by seed and fold."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError, UnknownNameError
from disambig._core.typing import FloatArray

__all__ = ["Cells", "Setting", "read_cells"]

_COLUMNS = ("dataset", "p", "r", "data", "method", "role", "seed", "fold", "selection")
_ROLES = ("method", "floor", "ceiling")
Run = tuple[int, int]


@dataclass(frozen=True)
class Setting:
    """A dataset and how its labels were corrupted; NaN where they were not."""

    dataset: str
    p: float
    r: float


@dataclass(frozen=True)
class Cells:
    """One metric of a study. Data and methods are in the order of their first appearance.

    Attributes
    ----------
    metric : str
        Name of the metric.
    settings : mapping
        What every label of data stands for.
    roles : mapping
        "method", "floor" or "ceiling" for every method.
    selections : mapping
        For methods with a grid: by what their parameters were chosen.
    runs : mapping
        The finished runs of (data, method), by (seed, fold).
    n_runs : int
        Number of runs of the fullest cell, finished or not.
    """

    metric: str
    settings: Mapping[str, Setting]
    roles: Mapping[str, str]
    selections: Mapping[str, tuple[str, ...]]
    runs: Mapping[tuple[str, str], Mapping[Run, float]]
    n_runs: int

    @property
    def data(self) -> tuple[str, ...]:
        """Labels of all data."""
        return tuple(self.settings)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that are compared: neither floor nor ceiling."""
        return self.in_role("method")

    @property
    def bounds(self) -> tuple[str, ...]:
        """Floors, then ceilings."""
        return self.in_role("floor") + self.in_role("ceiling")

    @property
    def unit(self) -> str:
        """What data is counted in: datasets, or settings where a dataset comes in several."""
        datasets = {setting.dataset for setting in self.settings.values()}
        return "dataset" if len(datasets) == len(self.settings) else "setting"

    def in_role(self, role: str) -> tuple[str, ...]:
        """Return the methods with this role."""
        return tuple(method for method, own in self.roles.items() if own == role)

    def rivals(self, reference: str) -> tuple[str, ...]:
        """Return the methods that the reference is compared with."""
        return tuple(method for method in self.methods if method != reference)

    def shown(self, method: str) -> str:
        """Return the method's name with what a reader must not overlook."""
        marks = [] if self.roles[method] == "method" else [self.roles[method]]
        if "oracle" in self.selections.get(method, ()):
            marks.append("chosen by true labels")
        return f"{method} ({', '.join(marks)})" if marks else method

    def values(self, data: str, method: str) -> FloatArray:
        """Return the scores of a cell; empty where nothing finished."""
        return np.array(list(self.runs.get((data, method), {}).values()), dtype=float)

    def is_complete(self, data: str, method: str) -> bool:
        """Whether all runs of a cell finished."""
        return len(self.runs.get((data, method), {})) == self.n_runs

    def shared_runs(self, data: str, methods: Iterable[str]) -> FloatArray:
        """Return the scores of runs that all these methods have: a row per run."""
        cells = [self.runs.get((data, method), {}) for method in methods]
        shared = sorted(set.intersection(*(set(cell) for cell in cells)))
        rows = [[cell[run] for cell in cells] for run in shared]
        return np.array(rows, dtype=float).reshape(len(shared), len(cells))

    def check_reference(self, reference: str) -> None:
        """Refuse a reference that is not one of the methods compared."""
        if reference not in self.methods:
            raise UnknownNameError("method to compare with", reference, self.methods)


def read_cells(scores: Any, metric: str) -> Cells:
    """Sort the records of a study, a pandas frame, into cells of one metric.

    Records without a value of the metric count as missing.
    """
    missing = [name for name in (*_COLUMNS, metric) if name not in scores.columns]
    if missing:
        raise ParameterError(
            f"Study records need the columns {', '.join(missing)}. Got {', '.join(scores.columns)}."
        )
    if scores.empty:
        raise ParameterError("There are no study records: no job has finished.")
    settings: dict[str, Setting] = {}
    roles: dict[str, str] = {}
    selections: dict[str, tuple[str, ...]] = {}
    runs: dict[tuple[str, str], dict[Run, float]] = {}
    columns = [*_COLUMNS, metric]
    for record in zip(*(scores[name].tolist() for name in columns), strict=True):
        dataset, p, r, data, method, role, seed, fold, selection, value = record
        settings.setdefault(data, Setting(dataset, _number(p), _number(r)))
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
                f"A run must be there once. {method!r} on {data!r} has seed {seed}, fold {fold} "
                "twice; give variants of a method labels of their own."
            )
        cell[seed, fold] = _number(value)
    finished = {
        key: {run: value for run, value in cell.items() if not math.isnan(value)}
        for key, cell in runs.items()
    }
    n_runs = max(len(cell) for cell in runs.values())
    return Cells(metric, settings, roles, selections, finished, n_runs)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
