"""Methods compared: pairwise tests on each dataset, ranks over all of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from disambig._core.typing import FloatArray
from disambig.bench.run_table import RunTable
from disambig.bench.statistics import (
    FriedmanTest,
    PairedTest,
    RivalTest,
    average_ranks,
    critical_difference,
    friedman_test,
    paired_t_test,
    wilcoxon_holm,
)
from disambig.metrics.registry import direction

# Diagrams of ranks are drawn from here on; over fewer datasets they tell little: with seven methods
# on three, ranks would have to differ by 5.2 of a possible 6. Settings of one dataset are not
# independent, so that they count as one.
MIN_DATASETS_OF_RANKS = 10
# By data and method; None where it shares fewer than two runs with the reference.
PairwiseTests = Mapping[tuple[str, str], PairedTest | None]


def pairwise_tests(
    runs: RunTable,
    reference: str,
    test: Callable[[FloatArray, FloatArray], PairedTest] = paired_t_test,
) -> PairwiseTests:
    """Test the reference against every other method, on the runs that both have.

    Oriented so that a positive difference is good for the reference, whatever the metric.
    """
    tests: dict[tuple[str, str], PairedTest | None] = {}
    for data, other in product(runs.data, runs.roles):
        if other != reference:
            shared = direction(runs.metric) * runs.shared_runs(data, (reference, other))
            tests[data, other] = test(shared[:, 0], shared[:, 1]) if len(shared) > 1 else None
    return tests


@dataclass(frozen=True)
class WinTieLoss:
    """How often the reference is significantly better, neither, and significantly worse."""

    wins: int
    ties: int
    losses: int

    @classmethod
    def count(cls, tests: Iterable[PairedTest | None], alpha: float) -> "WinTieLoss":
        """Count what tests of the reference say; those not made do not count."""
        verdicts = [test.verdict(alpha) for test in tests if test is not None]
        return cls(verdicts.count("better"), verdicts.count("tie"), verdicts.count("worse"))

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


@dataclass(frozen=True)
class Ranking:
    """Methods ranked on the data that all of them have.

    Friedman's test and the critical difference are None with fewer than three methods or two
    pieces of data.
    """

    data: tuple[str, ...]
    left_out: tuple[str, ...]  # data where the methods share no run
    # Of every method on ``data``, over the runs that all methods share; larger is always better.
    means: Mapping[str, FloatArray]
    ranks: Mapping[str, float]  # averages, 1 is best; empty without data or a second method
    friedman: FriedmanTest | None
    critical_difference: float | None
    n_datasets: int  # that ``data`` comes from

    @property
    def lacks(self) -> str | None:
        """What is missing for the tests over data, in words; None if nothing is."""
        if len(self.means) < 3:
            return f"three methods or more, and there are {len(self.means)}"
        if len(self.data) < 2:
            return f"two datasets or more with all methods, and there are {len(self.data)}"
        return None


def rank_methods(runs: RunTable, alpha: float = 0.05) -> Ranking:
    """Rank the methods; those without a single value of the metric are left out."""
    methods = [
        name for name in runs.methods if any(runs.finished.get((d, name)) for d in runs.data)
    ]
    shared = {data: runs.shared_runs(data, methods) for data in runs.data} if methods else {}
    ranked = tuple(data for data, scores in shared.items() if len(scores))
    means = np.array([shared[data].mean(axis=0) for data in ranked])
    matrix = direction(runs.metric) * means.reshape(len(ranked), len(methods))
    testable = len(methods) > 2 and len(ranked) > 1
    ranks = average_ranks(matrix).tolist() if len(methods) > 1 and ranked else []
    return Ranking(
        data=ranked,
        left_out=tuple(data for data in runs.data if data not in ranked),
        means=dict(zip(methods, matrix.T, strict=True)),
        ranks=dict(zip(methods, ranks, strict=False)),
        friedman=friedman_test(matrix) if testable else None,
        critical_difference=(
            critical_difference(len(methods), len(ranked), alpha=alpha) if testable else None
        ),
        n_datasets=len({runs.settings[data].dataset for data in ranked}),
    )


def tests_against_rivals(ranking: Ranking, reference: str) -> Mapping[str, RivalTest]:
    """Test the reference against each rival over data; empty where there is too little of it."""
    if len(ranking.data) < 2 or len(ranking.means) < 2 or reference not in ranking.means:
        return {}
    rivals = {method: means for method, means in ranking.means.items() if method != reference}
    return wilcoxon_holm(ranking.means[reference], rivals)
