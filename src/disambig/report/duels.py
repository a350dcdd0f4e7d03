"""Two methods on the same runs: who is significantly better, dataset by dataset."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from disambig._core.typing import FloatArray
from disambig.report.cells import Cells
from disambig.report.metric_names import direction
from disambig.report.wording import DECIMALS
from disambig.study.statistics import PairedTest

__all__ = ["Test", "WinTieLoss", "best_methods", "count_verdicts", "duel"]

Test = Callable[[FloatArray, FloatArray], PairedTest]


@dataclass(frozen=True)
class WinTieLoss:
    """How often the reference is significantly better, neither, and significantly worse."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def duel(cells: Cells, data: str, first: str, second: str, test: Test) -> PairedTest | None:
    """Test ``first`` against ``second`` on the runs that both have.

    Oriented so that a positive difference is good for ``first``, whatever the metric. None where
    they share fewer than two runs.
    """
    shared = direction(cells.metric) * cells.shared_runs(data, (first, second))
    return test(shared[:, 0], shared[:, 1]) if len(shared) > 1 else None


def count_verdicts(tests: Iterable[PairedTest | None], alpha: float) -> WinTieLoss:
    """Count what tests of the reference against a rival say; those not made count nowhere."""
    verdicts = [test.verdict(alpha) for test in tests if test is not None]
    return WinTieLoss(verdicts.count("better"), verdicts.count("tie"), verdicts.count("worse"))


def best_methods(cells: Cells, data: str) -> list[str]:
    """Return the methods with the best mean as shown, among the cells that are fullest."""
    values = {method: cells.values(data, method) for method in cells.methods}
    most = max(len(runs) for runs in values.values())
    if most == 0:
        return []
    means = {
        method: direction(cells.metric) * round(float(np.mean(runs)), DECIMALS)
        for method, runs in values.items()
        if len(runs) == most
    }
    return [method for method, mean in means.items() if mean == max(means.values())]
