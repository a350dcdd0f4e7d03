"""Two methods on the same folds, compared by the mean of their differences."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import t as student_t

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_real
from disambig._core.typing import FloatArray

__all__ = [
    "ROUNDING",
    "PairedTest",
    "Verdict",
    "as_finite",
    "as_pairs",
    "check_proper_share",
    "corrected_t_test",
    "paired_t_test",
    "verdict_of",
]

Verdict = Literal["better", "worse", "tie"]

# Scores that differ by less than this share of their size differ by rounding only: the mean of the
# same accuracies added up in another order, or 0.9 - 0.8 beside 0.4 - 0.3.
ROUNDING = 1e-12


def verdict_of(statistic: float, p_value: float, alpha: float) -> Verdict:
    """Return what a two-sided test says of the side that a positive statistic speaks for."""
    check_proper_share("alpha", alpha, hint="Usual are 0.05 and 0.01.")
    if p_value >= alpha:
        return "tie"
    return "better" if statistic > 0 else "worse"


@dataclass(frozen=True)
class PairedTest:
    """What a two-sided test over folds found.

    Attributes
    ----------
    difference : float
        Mean score of the first method minus that of the second.
    statistic : float
        Student's t, with the sign of the difference.
    p_value : float
        Chance of a statistic at least that far from zero if the methods are equally good.
    """

    difference: float
    statistic: float
    p_value: float

    def verdict(self, alpha: float = 0.05) -> Verdict:
        """Say how the first method does against the second, at significance level ``alpha``."""
        return verdict_of(self.statistic, self.p_value, alpha)


def paired_t_test(first: Any, second: Any) -> PairedTest:
    """Compare two methods by Student's t-test on the differences of their scores.

    The folds of a cross-validation share training rows, which this test ignores: it finds
    differences too easily. It is what most papers report; ``corrected_t_test`` is fairer.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Scores of the two methods on the same folds, in the same order; at least two.
    """
    first, second = as_pairs(first=first, second=second)
    return _t_test(first, second, variance_of_mean=1 / len(first))


def corrected_t_test(first: Any, second: Any, *, test_share: float) -> PairedTest:
    """Compare two methods by the t-test of Nadeau and Bengio for overlapping training sets.

    The variance of the mean of J differences is taken to be (1/J + n_test/n_train) times the
    variance of a difference, because scores on folds that share training rows are correlated.

    Parameters
    ----------
    first, second : array-like of shape (n_scores,)
        Scores of the two methods on the same folds, in the same order; at least two. Of a
        repeated cross-validation, those of all the repeats.
    test_share : float
        Share of the rows that a fold tests on: 0.1 for ten folds.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.
    """
    check_proper_share("test_share", test_share, hint="For k folds it is 1 / k.")
    first, second = as_pairs(first=first, second=second)
    overlap = test_share / (1 - test_share)
    return _t_test(first, second, variance_of_mean=1 / len(first) + overlap)


def _t_test(first: FloatArray, second: FloatArray, variance_of_mean: float) -> PairedTest:
    """Return the t-test where the mean varies ``variance_of_mean`` times as much as one score."""
    differences = first - second
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    rounding = ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    if spread > rounding:
        statistic = mean / (spread * math.sqrt(variance_of_mean))
    elif abs(mean) > rounding:
        # The same difference on every fold leaves no room for chance.
        statistic = math.copysign(math.inf, mean)
    else:
        statistic = 0.0
    p_value = 2 * float(student_t.sf(abs(statistic), len(differences) - 1))
    return PairedTest(difference=mean, statistic=statistic, p_value=p_value)


def as_pairs(**scores: Any) -> tuple[FloatArray, FloatArray]:
    """Return the scores of two methods as arrays that can be paired: as long, at least two."""
    (first_name, first), (second_name, second) = (
        (name, as_finite(name, values, n_axes=1)) for name, values in scores.items()
    )
    if len(first) != len(second) or len(first) < 2:
        raise ParameterError(
            f"{first_name!r} and {second_name!r} need one score each for the same folds or "
            f"datasets, at least two. Got {len(first)} and {len(second)}. "
            "Leave out what only one of them was scored on."
        )
    return first, second


def as_finite(name: str, values: Any, *, n_axes: int) -> FloatArray:
    """Return numbers as an array of ``n_axes`` axes; refuse missing and infinite ones."""
    array = np.asarray(values, dtype=float)
    if array.ndim != n_axes:
        wanted = (
            "one row for each dataset and one column for each method"
            if n_axes == 2
            else ("one number after the other")
        )
        raise ParameterError(
            f"{name!r} must be an array of {n_axes} axes: {wanted}. Got the shape {array.shape}."
        )
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        place = tuple(bad[0].tolist())
        where = place[0] if n_axes == 1 else place
        raise ParameterError(
            f"{name!r} must be finite. Got {array[place]} at {where}. "
            "Leave that fold or dataset out for every method."
        )
    return array


def check_proper_share(name: str, value: Any, *, hint: str) -> None:
    """Refuse a ``value`` that is not strictly between 0 and 1."""
    check_real(name, value, minimum=0, maximum=1)
    if value in (0, 1):
        raise ParameterError(f"{name!r} must be above 0 and below 1. Got {value!r}. {hint}")
