"""One method against each of its rivals over datasets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from disambig._core.typing import FloatArray
from disambig.bench.statistics.paired import ROUNDING, Verdict, as_pairs, verdict_of
from disambig.bench.statistics.ranks import ranks_of

__all__ = ["RivalTest", "wilcoxon_holm"]

# The exact distribution takes time with the cube of the datasets; from here on the normal one is
# as good.
EXACT_UP_TO = 200


@dataclass(frozen=True)
class RivalTest:
    """What a two-sided signed-rank test of a reference against one rival found.

    Attributes
    ----------
    difference : float
        Mean score of the reference minus that of the rival.
    statistic : float
        Sum of the ranks of the datasets where the reference is ahead, minus that of the others.
    p_value : float
        Of this comparison alone.
    adjusted_p_value : float
        Of this comparison as one of several, by Holm's step-down correction.
    """

    difference: float
    statistic: float
    p_value: float
    adjusted_p_value: float

    def verdict(self, alpha: float = 0.05) -> Verdict:
        """Say how the reference does against the rival, by the adjusted p-value.

        Which of the two is ahead is for the ranks to say: one huge win outweighs many small
        losses in the mean, but not in this test.
        """
        return verdict_of(self.statistic, self.adjusted_p_value, alpha)


def wilcoxon_holm(reference: Any, rivals: Mapping[str, Any]) -> dict[str, RivalTest]:
    """Compare a method with each of its rivals by Wilcoxon's signed-rank test.

    Datasets without a difference are left out, as Wilcoxon did. Differences that are equal up to
    rounding share their rank. The p-value is exact, with ties as well: all the signs that the
    ranks could have had are counted. Beyond 200 datasets with a difference it is the normal
    approximation, without continuity correction.

    Parameters
    ----------
    reference : array-like of shape (n_datasets,)
        Scores of the method, at least two.
    rivals : mapping of str to array-like of shape (n_datasets,)
        Scores of every rival on the same datasets, in the same order. All of them count in
        Holm's correction, so give those that are reported together.

    Returns
    -------
    tests : dict of str to RivalTest
        In the order of ``rivals``.
    """
    differences, statistics, p_values = [], [], []
    for name, scores in rivals.items():
        ours, theirs = as_pairs(**{"reference": reference, f"rivals[{name!r}]": scores})
        rounding = ROUNDING * max(np.abs(ours).max(), np.abs(theirs).max())
        statistic, p_value = _signed_rank_test(ours - theirs, rounding)
        differences.append(float(np.mean(ours - theirs)))
        statistics.append(statistic)
        p_values.append(p_value)
    tests = zip(differences, statistics, p_values, _holm(p_values), strict=True)
    return {name: RivalTest(*test) for name, test in zip(rivals, tests, strict=True)}


def _signed_rank_test(differences: FloatArray, rounding: float) -> tuple[float, float]:
    """Return the signed sum of ranks and its two-sided p-value."""
    differences = differences[np.abs(differences) > rounding]
    ranks = ranks_of(np.abs(differences), rounding=rounding)
    signed = np.copysign(ranks, differences)
    if len(signed) > EXACT_UP_TO:
        return float(signed.sum()), float(wilcoxon(signed, method="asymptotic").pvalue)
    # Shared ranks are halves: doubled they are integers, which can index an array.
    doubled = (2 * ranks).astype(int)
    smaller = min(doubled[signed > 0].sum(), doubled[signed < 0].sum())
    chances = _chances_of_sums(doubled.tolist())
    return float(signed.sum()), min(1.0, 2 * float(chances[: smaller + 1].sum()))


def _chances_of_sums(numbers: list[int]) -> FloatArray:
    """Return the chance of every sum if a coin decides for each number whether it counts."""
    chances = np.ones(1)
    for number in numbers:
        without, with_it = np.pad(chances, (0, number)), np.pad(chances, (number, 0))
        chances = (without + with_it) / 2
    return chances


def _holm(p_values: list[float]) -> list[float]:
    """Return p-values adjusted for their number: the smallest is multiplied by all of it."""
    order = np.argsort(p_values)
    raised = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    # A p-value that was larger may not become the smaller one.
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raised))
    return adjusted.tolist()
