"""Average ranks, and the bars of a critical difference diagram."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from disambig._core.typing import FloatArray
from disambig.bench.run_table import Cells
from disambig.bench.statistics import (
    FriedmanTest,
    RivalTest,
    average_ranks,
    critical_difference,
    friedman_test,
    groups_alike,
    wilcoxon_holm,
)
from disambig.metrics import direction

__all__ = [
    "RankSides",
    "Ranking",
    "bar_levels",
    "bars_alike",
    "rank_methods",
    "rank_sides",
    "tests_against_rivals",
]


@dataclass(frozen=True)
class Ranking:
    """Methods ranked on the data that all of them have.

    Attributes
    ----------
    data, left_out : tuple of str
        Data that counts, and data where the methods share no run.
    means : dict of str to array
        Mean score of every method on ``data``, over the runs that all methods share; larger is
        better, whatever the metric.
    ranks : dict of str to float
        Average ranks, 1 is best. Empty without data, or without a second method.
    friedman, critical_difference : optional
        None with fewer than three methods or two pieces of data.
    n_datasets : int
        How many datasets ``data`` comes from.
    """

    data: tuple[str, ...]
    left_out: tuple[str, ...]
    means: Mapping[str, FloatArray]
    ranks: Mapping[str, float]
    friedman: FriedmanTest | None
    critical_difference: float | None
    n_datasets: int

    @property
    def lacks(self) -> str | None:
        """What is missing for the tests over data, in words; None if nothing is."""
        if len(self.means) < 3:
            return f"three methods or more, and there are {len(self.means)}"
        if len(self.data) < 2:
            return f"two datasets or more with all methods, and there are {len(self.data)}"
        return None


def rank_methods(cells: Cells, alpha: float = 0.05) -> Ranking:
    """Rank the methods; those without a single value of the metric are left out."""
    methods = [method for method in cells.methods if _has_values(cells, method)]
    means = {data: _shared_means(cells, data, methods) for data in cells.data}
    ranked = tuple(data for data in cells.data if means[data] is not None)
    left_out = tuple(data for data in cells.data if means[data] is None)
    matrix = np.array([means[data] for data in ranked]).reshape(len(ranked), len(methods))
    testable = len(methods) > 2 and len(ranked) > 1
    ranks = average_ranks(matrix).tolist() if len(methods) > 1 and ranked else []
    return Ranking(
        data=ranked,
        left_out=left_out,
        means=dict(zip(methods, matrix.T, strict=True)),
        ranks=dict(zip(methods, ranks, strict=False)),
        friedman=friedman_test(matrix) if testable else None,
        critical_difference=(
            critical_difference(len(methods), len(ranked), alpha=alpha) if testable else None
        ),
        n_datasets=len({cells.settings[data].dataset for data in ranked}),
    )


def tests_against_rivals(ranking: Ranking, reference: str) -> Mapping[str, RivalTest]:
    """Test the reference against each rival over data; empty where there is too little of it."""
    if len(ranking.data) < 2 or len(ranking.means) < 2 or reference not in ranking.means:
        return {}
    rivals = {method: means for method, means in ranking.means.items() if method != reference}
    return wilcoxon_holm(ranking.means[reference], rivals)


def _has_values(cells: Cells, method: str) -> bool:
    return any(cells.runs.get((data, method)) for data in cells.data)


def _shared_means(cells: Cells, data: str, methods: list[str]) -> FloatArray | None:
    if not methods:
        return None
    shared = cells.shared_runs(data, methods)
    if len(shared) == 0:
        return None
    means: FloatArray = direction(cells.metric) * shared.mean(axis=0)
    return means


Bar = tuple[float, float]


@dataclass(frozen=True)
class RankSides:
    """Methods from the best to the worst, and which of them are named on which side.

    Attributes
    ----------
    left, right : tuple of str
        The better half, the best first, and the others, the worst first.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]


def rank_sides(ranks: Mapping[str, float]) -> RankSides:
    """Return which methods are named on the left and on the right of the axis, from the top."""
    names = sorted(ranks, key=lambda name: ranks[name])
    n_left = (len(names) + 1) // 2
    return RankSides(tuple(names[:n_left]), tuple(names[n_left:][::-1]))


def bars_alike(ranks: Mapping[str, float], difference: float) -> list[Bar]:
    """Return the best and the worst rank of every group that cannot be told apart."""
    ordered = sorted(ranks.values())
    return [(ordered[group[0]], ordered[group[-1]]) for group in groups_alike(ordered, difference)]


def bar_levels(bars: Sequence[Bar], gap: float) -> list[int]:
    """Return the lowest level for each bar, from left to right, where it stays clear of others."""
    ends: list[float] = []
    levels = []
    for best, worst in bars:
        free = [level for level, end in enumerate(ends) if end + gap < best]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [worst]
        levels.append(level)
    return levels
