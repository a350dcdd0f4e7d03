"""Tests that say whether one method beats another by more than chance.

Over the folds of one dataset: ``paired_t_test`` and ``corrected_t_test``. Over datasets: all the
methods at once with ``friedman_test`` and ``critical_difference``, or one method against its
rivals with ``wilcoxon_holm``. Higher scores are better everywhere.
"""

from disambig.bench.statistics.paired import (
    PairedTest,
    Verdict,
    corrected_t_test,
    paired_t_test,
)
from disambig.bench.statistics.ranks import (
    FriedmanTest,
    average_ranks,
    critical_difference,
    friedman_test,
    groups_alike,
)
from disambig.bench.statistics.rivals import RivalTest, wilcoxon_holm

__all__ = [
    "FriedmanTest",
    "PairedTest",
    "RivalTest",
    "Verdict",
    "average_ranks",
    "corrected_t_test",
    "critical_difference",
    "friedman_test",
    "groups_alike",
    "paired_t_test",
    "wilcoxon_holm",
]
