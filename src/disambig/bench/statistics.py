"""Tests that say whether one method beats another by more than chance.

Over the folds of one dataset: ``paired_t_test`` and ``corrected_t_test``. Over datasets: all the
methods at once with ``friedman_test`` and ``critical_difference``, or one method against its
rivals with ``wilcoxon_holm``. Higher scores are better everywhere.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import f as fisher_f
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon
from scipy.stats import t as student_t

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import FloatArray

Verdict = Literal["better", "worse", "tie"]

# Scores that differ by less than this share of their size differ by rounding only: the mean of the
# same accuracies added up in another order, or 0.9 - 0.8 beside 0.4 - 0.3.
_ROUNDING = 1e-12

# The exact distribution takes time with the cube of the datasets; from here on the normal one is
# as good.
_EXACT_UP_TO = 200


# Two methods on the folds of one dataset ---------------------------------------------------------


@dataclass(frozen=True)
class PairedTest:
    """Result of a two-sided test over folds."""

    difference: float  # mean score of the first method minus that of the second
    statistic: float  # Student's t, with the sign of the difference
    p_value: float

    def verdict(self, alpha: float = 0.05) -> Verdict:
        """Return how the first method does against the second, at significance level ``alpha``."""
        return _verdict(self.statistic, self.p_value, alpha)


def paired_t_test(first: Any, second: Any) -> PairedTest:
    """Compare the scores of two methods on the same folds by Student's t-test.

    The folds of a cross-validation share training rows, which this test ignores: it finds
    differences too easily. It is what most papers report; ``corrected_t_test`` is fairer.
    """
    first, second = _as_pairs(first=first, second=second)
    return _t_test(first, second, 1 / len(first))


def corrected_t_test(first: Any, second: Any, *, test_share: float) -> PairedTest:
    """Compare two methods by the t-test of Nadeau and Bengio for overlapping training sets.

    The variance of the mean of J differences is taken to be (1/J + n_test/n_train) times the
    variance of a difference, because scores on folds that share training rows are correlated. Of a
    repeated cross-validation, give the scores of all repeats; ``test_share`` is 0.1 for ten folds.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.
    """
    _check_proper_share("test_share", test_share, hint="For k folds it is 1 / k.")
    first, second = _as_pairs(first=first, second=second)
    return _t_test(first, second, 1 / len(first) + test_share / (1 - test_share))


def _t_test(first: FloatArray, second: FloatArray, variance_of_mean: float) -> PairedTest:
    """Return the t-test where the mean varies ``variance_of_mean`` times as much as one score."""
    differences = first - second
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    rounding = _ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    if spread > rounding:
        statistic = mean / (spread * math.sqrt(variance_of_mean))
    elif abs(mean) > rounding:
        # The same difference on every fold leaves no room for chance.
        statistic = math.copysign(math.inf, mean)
    else:
        statistic = 0.0
    p_value = 2 * float(student_t.sf(abs(statistic), len(differences) - 1))
    return PairedTest(difference=mean, statistic=statistic, p_value=p_value)


# Many methods on many datasets, by their ranks as in Demsar (2006) -------------------------------


@dataclass(frozen=True)
class FriedmanTest:
    """Whether the methods differ at all, in two versions of the test."""

    chi_square: float  # corrected for ties
    p_value: float
    f_statistic: float  # of Iman and Davenport; less conservative than the chi-square
    f_p_value: float


def average_ranks(scores: Any) -> FloatArray:
    """Return the rank of every method (column), averaged over the datasets (rows).

    On a dataset the highest score has rank 1 and ties share the mean of their ranks. Scores that
    differ by rounding only are ties.
    """
    ranks: FloatArray = _ranks_by_dataset(scores, n_datasets=1, n_methods=1).mean(axis=0)
    return ranks


def friedman_test(scores: Any) -> FriedmanTest:
    """Test whether all methods (columns) are equally good on the datasets (rows).

    References
    ----------
    Iman and Davenport (1980), Approximations of the critical region of the Friedman statistic,
    Communications in Statistics 9; Conover (1999), Practical Nonparametric Statistics, 5.8.
    """
    ranks = _ranks_by_dataset(scores, n_datasets=2, n_methods=3)
    n_datasets, n_methods = ranks.shape
    centred = ranks - (n_methods + 1) / 2
    # Ranks are halves of integers, so these sums are exact and can be compared with zero, which
    # the F needs: computed from the chi-square, an infinite one would only be a large number.
    total = float((centred**2).sum())
    explained = float((centred.sum(axis=0) ** 2).sum())
    if not explained:
        return FriedmanTest(0.0, 1.0, 0.0, 1.0)
    unexplained = n_datasets * total - explained
    # Infinite where every dataset ranks the methods in the same way.
    f_statistic = (n_datasets - 1) * explained / unexplained if unexplained else math.inf
    chi_square, p_value = friedmanchisquare(*ranks.T)
    freedom = n_methods - 1
    return FriedmanTest(
        chi_square=float(chi_square),
        p_value=float(p_value),
        f_statistic=f_statistic,
        f_p_value=float(fisher_f.sf(f_statistic, freedom, freedom * (n_datasets - 1))),
    )


def critical_difference(n_methods: int, n_datasets: int, *, alpha: float = 0.05) -> float:
    """Return how far two average ranks must lie apart to differ, by the test of Nemenyi.

    ``alpha`` is the chance of finding any difference among methods that are equally good.
    """
    check_integer("n_methods", n_methods, minimum=2)
    check_integer("n_datasets", n_datasets, minimum=2)
    _check_proper_share("alpha", alpha, hint="Usual are 0.05 and 0.01.")
    quantile = float(studentized_range.ppf(1 - alpha, n_methods, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def groups_alike(ranks: Any, difference: float) -> list[list[int]]:
    """Return the groups of methods that cannot be told apart, as indices into ``ranks``.

    A group is a run of methods, in the order of their ranks, whose first and last differ by at
    most ``difference``. It has two members or more and is not part of a larger group. The best
    group and the best method in it come first.
    """
    check_real("difference", difference, minimum=0)
    values = _as_finite("ranks", ranks, n_axes=1)
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    # In floating point 1.2 + 0.6 is less than 1.8.
    reach = in_order + difference + _ROUNDING * np.abs(in_order)
    ends = np.searchsorted(in_order, reach, side="right")
    groups: list[list[int]] = []
    covered = 0
    for start, end in enumerate(ends.tolist()):
        if end - start >= 2 and end > covered:
            groups.append(order[start:end].tolist())
            covered = end
    return groups


def _ranks_by_dataset(scores: Any, *, n_datasets: int, n_methods: int) -> FloatArray:
    table = _as_finite("scores", scores, n_axes=2)
    if table.shape[0] < n_datasets or table.shape[1] < n_methods:
        raise ParameterError(
            f"'scores' needs at least {n_datasets} datasets (rows) and {n_methods} methods "
            f"(columns). Got {table.shape[0]} and {table.shape[1]}. "
            "Compare two methods with 'wilcoxon_holm', on one dataset with 'corrected_t_test'."
        )
    rounding = _ROUNDING * np.abs(table).max(axis=1, keepdims=True)
    return _ranks(-table, rounding=rounding)


def _ranks(values: FloatArray, *, rounding: Any) -> FloatArray:
    """Rank along the last axis, lowest first; neighbours at most ``rounding`` apart are ties."""
    order = np.argsort(values, axis=-1)
    in_order = np.take_along_axis(values, order, axis=-1)
    is_next = np.diff(in_order, axis=-1, prepend=in_order[..., :1]) > rounding
    levels = np.empty(values.shape, dtype=int)
    np.put_along_axis(levels, order, np.cumsum(is_next, axis=-1), axis=-1)
    ranks: FloatArray = rankdata(levels, axis=-1)
    return ranks


# One method against each of its rivals, over datasets --------------------------------------------


@dataclass(frozen=True)
class RivalTest:
    """Result of a two-sided signed-rank test of a reference against one rival."""

    difference: float  # mean score of the reference minus that of the rival
    # Sum of the ranks of the datasets where the reference is ahead, minus that of the others.
    statistic: float
    p_value: float  # of this comparison alone
    adjusted_p_value: float  # as one of several, by Holm's step-down correction

    def verdict(self, alpha: float = 0.05) -> Verdict:
        """Return how the reference does against the rival, by the adjusted p-value.

        The ranks decide which of the two is ahead: one huge win outweighs many small losses in
        the mean, but not in this test.
        """
        return _verdict(self.statistic, self.adjusted_p_value, alpha)


def wilcoxon_holm(reference: Any, rivals: Mapping[str, Any]) -> dict[str, RivalTest]:
    """Compare a method with each of its rivals by Wilcoxon's signed-rank test.

    Each has a score for every dataset, in the same order. Datasets without a difference are left
    out, as Wilcoxon did. Differences that are equal up to rounding share their rank. The p-value
    is exact, with ties as well: all the signs that the ranks could have had are counted. Beyond
    200 datasets with a difference it is the normal approximation, without continuity correction.

    All rivals count in Holm's correction, so give those that are reported together.
    """
    found = []
    for name, scores in rivals.items():
        first, second = _as_pairs(**{"reference": reference, f"rivals[{name!r}]": scores})
        rounding = _ROUNDING * max(np.abs(first).max(), np.abs(second).max())
        found.append((float(np.mean(first - second)), *_signed_rank_test(first - second, rounding)))
    adjusted = _holm([p_value for _, _, p_value in found])
    return {
        name: RivalTest(*test, adjusted_p_value)
        for name, test, adjusted_p_value in zip(rivals, found, adjusted, strict=True)
    }


def _signed_rank_test(differences: FloatArray, rounding: float) -> tuple[float, float]:
    """Return the signed sum of ranks and its two-sided p-value."""
    differences = differences[np.abs(differences) > rounding]
    ranks = _ranks(np.abs(differences), rounding=rounding)
    signed = np.copysign(ranks, differences)
    if len(signed) > _EXACT_UP_TO:
        return float(signed.sum()), float(wilcoxon(signed, method="asymptotic").pvalue)
    # The exact p-value of scipy is wrong where ranks are shared. Shared ranks are halves: doubled
    # they are integers, which can index an array.
    doubled = (2 * ranks).astype(int)
    smaller = min(doubled[signed > 0].sum(), doubled[signed < 0].sum())
    chances = np.ones(1)  # of every sum, if a coin decides for each rank whether it counts
    for rank in doubled.tolist():
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return float(signed.sum()), min(1.0, 2 * float(chances[: smaller + 1].sum()))


def _holm(p_values: list[float]) -> list[float]:
    """Return p-values adjusted for their number: the smallest is multiplied by all of it."""
    order = np.argsort(p_values)
    raised = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    # A p-value that was larger may not become the smaller one.
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raised))
    return adjusted.tolist()


# Shared ------------------------------------------------------------------------------------------


def _verdict(statistic: float, p_value: float, alpha: float) -> Verdict:
    _check_proper_share("alpha", alpha, hint="Usual are 0.05 and 0.01.")
    if p_value >= alpha:
        return "tie"
    return "better" if statistic > 0 else "worse"


def _as_pairs(**scores: Any) -> tuple[FloatArray, FloatArray]:
    """Return the scores of two methods as arrays of the same length, at least two."""
    (first_name, first), (second_name, second) = (
        (name, _as_finite(name, values, n_axes=1)) for name, values in scores.items()
    )
    if len(first) != len(second) or len(first) < 2:
        raise ParameterError(
            f"{first_name!r} and {second_name!r} need one score each for the same folds or "
            f"datasets, at least two. Got {len(first)} and {len(second)}. "
            "Leave out what only one of them was scored on."
        )
    return first, second


def _as_finite(name: str, values: Any, *, n_axes: int) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.ndim != n_axes:
        shape = "(n_datasets, n_methods)" if n_axes == 2 else "(n_scores,)"
        raise ParameterError(f"{name!r} must have the shape {shape}. Got the shape {array.shape}.")
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        place = tuple(bad[0].tolist())
        raise ParameterError(
            f"{name!r} must be finite. Got {array[place]} at {place if n_axes > 1 else place[0]}. "
            "Leave that fold or dataset out for every method."
        )
    return array


def _check_proper_share(name: str, value: Any, *, hint: str) -> None:
    check_real(name, value, minimum=0, maximum=1)
    if value in (0, 1):
        raise ParameterError(f"{name!r} must be above 0 and below 1. Got {value!r}. {hint}")
