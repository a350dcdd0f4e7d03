"""Many methods on many datasets, compared by their ranks as in Demsar (2006)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, rankdata, studentized_range
from scipy.stats import f as fisher_f

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import FloatArray
from disambig.bench.statistics.paired import ROUNDING, as_finite, check_proper_share

__all__ = [
    "FriedmanTest",
    "average_ranks",
    "critical_difference",
    "friedman_test",
    "groups_alike",
    "ranks_of",
]


@dataclass(frozen=True)
class FriedmanTest:
    """Whether the methods differ at all, in two versions of the test.

    Attributes
    ----------
    chi_square, p_value : float
        Friedman's statistic, corrected for ties, and its p-value.
    f_statistic, f_p_value : float
        The F of Iman and Davenport and its p-value; less timid than the chi-square.
    """

    chi_square: float
    p_value: float
    f_statistic: float
    f_p_value: float


def average_ranks(scores: Any) -> FloatArray:
    """Return the rank of every method, averaged over the datasets.

    On a dataset the highest score has rank 1 and ties share the mean of their ranks. Scores that
    differ by rounding only are ties.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Higher is better.
    """
    ranks: FloatArray = _ranks_by_dataset(scores, n_datasets=1, n_methods=1).mean(axis=0)
    return ranks


def friedman_test(scores: Any) -> FriedmanTest:
    """Test whether all the methods are equally good.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Higher is better. At least two datasets and three methods.

    References
    ----------
    Iman and Davenport (1980), Approximations of the critical region of the Friedman statistic,
    Communications in Statistics 9; Conover (1999), Practical Nonparametric Statistics, 5.8.
    """
    ranks = _ranks_by_dataset(scores, n_datasets=2, n_methods=3)
    n_datasets, n_methods = ranks.shape
    centred = ranks - (n_methods + 1) / 2
    # Ranks are halves of integers, so these sums are exact and can be compared with zero.
    total = float((centred**2).sum())
    explained = float((centred.sum(axis=0) ** 2).sum())
    unexplained = n_datasets * total - explained
    chi_square = (n_methods - 1) * explained / total if total else 0.0
    if unexplained:
        f_statistic = (n_datasets - 1) * explained / unexplained
    else:
        # Every dataset ranks the methods alike, or none tells them apart.
        f_statistic = math.inf if total else 0.0
    freedom = n_methods - 1
    return FriedmanTest(
        chi_square=chi_square,
        p_value=float(chi2.sf(chi_square, freedom)),
        f_statistic=f_statistic,
        f_p_value=float(fisher_f.sf(f_statistic, freedom, freedom * (n_datasets - 1))),
    )


def critical_difference(n_methods: int, n_datasets: int, *, alpha: float = 0.05) -> float:
    """Return how far two average ranks must lie apart to differ, by the test of Nemenyi.

    Parameters
    ----------
    n_methods : int
        Number of methods that were ranked, at least two.
    n_datasets : int
        Number of datasets that the ranks were averaged over, at least two.
    alpha : float, default=0.05
        Chance of finding any difference among methods that are equally good.
    """
    check_integer("n_methods", n_methods, minimum=2)
    check_integer("n_datasets", n_datasets, minimum=2)
    check_proper_share("alpha", alpha, hint="Usual are 0.05 and 0.01.")
    quantile = float(studentized_range.ppf(1 - alpha, n_methods, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def groups_alike(ranks: Any, difference: float) -> list[list[int]]:
    """Return the groups of methods that cannot be told apart: bars in a diagram of ranks.

    A group is a run of methods, in the order of their ranks, whose first and last differ by at
    most ``difference``. It has two members or more and is not part of a larger group.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        Average rank of every method.
    difference : float
        Such as ``critical_difference`` returns.

    Returns
    -------
    groups : list of lists of int
        Places in ``ranks``, the best method first.
    """
    check_real("difference", difference, minimum=0)
    values = as_finite("ranks", ranks, n_axes=1)
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    # In floating point 1.2 + 0.6 is less than 1.8.
    reach = in_order + difference + ROUNDING * np.abs(in_order)
    ends = np.searchsorted(in_order, reach, side="right")
    groups: list[list[int]] = []
    covered = 0
    for start, end in enumerate(ends.tolist()):
        if end - start >= 2 and end > covered:
            groups.append(order[start:end].tolist())
            covered = end
    return groups


def ranks_of(values: FloatArray, *, rounding: Any) -> FloatArray:
    """Rank along the last axis, lowest first; neighbours at most ``rounding`` apart are ties."""
    order = np.argsort(values, axis=-1)
    in_order = np.take_along_axis(values, order, axis=-1)
    is_next = np.diff(in_order, axis=-1, prepend=in_order[..., :1]) > rounding
    levels = np.empty(values.shape, dtype=int)
    np.put_along_axis(levels, order, np.cumsum(is_next, axis=-1), axis=-1)
    ranks: FloatArray = rankdata(levels, axis=-1)
    return ranks


def _ranks_by_dataset(scores: Any, *, n_datasets: int, n_methods: int) -> FloatArray:
    table = as_finite("scores", scores, n_axes=2)
    if table.shape[0] < n_datasets or table.shape[1] < n_methods:
        raise ParameterError(
            f"'scores' needs at least {n_datasets} datasets (rows) and {n_methods} methods "
            f"(columns). Got {table.shape[0]} and {table.shape[1]}. "
            "Compare two methods with 'wilcoxon_holm', on one dataset with 'corrected_t_test'."
        )
    rounding = ROUNDING * np.abs(table).max(axis=1, keepdims=True)
    return ranks_of(-table, rounding=rounding)
