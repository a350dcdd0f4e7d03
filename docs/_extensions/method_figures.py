"""What was measured of every method: accuracy, time and memory, from the files of the results."""

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from disambig.bench.entries import MethodEntry
from disambig.methods import all_methods

RESULTS = Path(__file__).resolve().parent.parent / "results"
DATASETS = ("lost", "birdsong", "msrcv2")
# What ncpd_plus_accuracy.json calls them.
_OURS = {"ncpd_plus": "NCPD+", "ncpd": "NCPD"}


class Figures(NamedTuple):
    """Of one method; what was not measured is missing or None."""

    accuracy: dict[str, float]  # by dataset
    seconds: float | None = None  # to fit, at the size of the largest set
    gigabytes: float | None = None  # at most, then

    @property
    def mean(self) -> float:
        """The mean accuracy, by which methods are ordered; 0 where none was measured."""
        return sum(self.accuracy.values()) / max(len(self.accuracy), 1)


def measured_figures() -> dict[str, Figures]:
    """Return what was measured of every method, by name."""
    accuracy = _accuracy_of_ours() | _accuracy_of_rivals() | _accuracy_of_baselines()
    costs = _read("rivals_at_scale.json")["measured"]
    return {
        name: Figures(
            accuracy.get(name, {}),
            costs.get(name, {}).get("fit"),
            costs.get(name, {}).get("peak"),
        )
        for name in all_methods()
    }


def _accuracy_of_ours() -> dict[str, dict[str, float]]:
    kept = _read("ncpd_plus_accuracy.json")
    return {
        name: {data: pd.Series(kept[data][title]["test"]).mean() for data in DATASETS}
        for name, title in _OURS.items()
    }


def _accuracy_of_rivals() -> dict[str, dict[str, float]]:
    means = pd.read_csv(RESULTS / "rivals_accuracy.csv")
    return {
        str(name): dict(zip(rows["data"], rows["mean"], strict=True))
        for name, rows in means.groupby("method")
    }


def _accuracy_of_baselines() -> dict[str, dict[str, float]]:
    jobs = pd.read_csv(RESULTS / "table" / "jobs.csv")
    means = jobs.groupby(["method", "dataset"])["accuracy"].mean()
    titles = {
        name: MethodEntry(name=name).shown_title
        for name, method in all_methods().items()
        if method.card.role != "method"
    }
    return {
        name: {data: means[title, data] for data in DATASETS}
        for name, title in titles.items()
        if title in means
    }


def _read(name: str) -> dict:  # type: ignore[type-arg]  # whatever a script kept
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]  # the same
