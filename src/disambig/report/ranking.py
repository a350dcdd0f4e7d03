"""All methods over all data: average ranks and the tests that go with them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from disambig._core.typing import FloatArray
from disambig.report.cells import Cells
from disambig.report.metric_names import direction
from disambig.study.statistics import (
    FriedmanTest,
    RivalTest,
    average_ranks,
    critical_difference,
    friedman_test,
    wilcoxon_holm,
)

__all__ = ["Ranking", "rank_methods", "tests_against_rivals"]


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
