import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy.stats import friedmanchisquare
from statsmodels.stats.anova import AnovaRM

from disambig._core.errors import ParameterError
from disambig.bench.statistics import (
    FriedmanTest,
    average_ranks,
    critical_difference,
    friedman_test,
    groups_alike,
)

# Average ranks of four versions of C4.5 on 14 datasets, from Demsar (2006), Statistical comparisons
# of classifiers over multiple data sets.
DEMSAR = [3.143, 2.000, 2.893, 1.964]

# Few values, so that ties are common.
score_tables = st.tuples(st.integers(2, 9), st.integers(3, 6)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(0, 6).map(lambda hits: hits / 7))
)


def ranks_by_counting(row):
    better = [sum(other > score for other in row) for score in row]
    equal = [sum(other == score for other in row) for score in row]
    return [b + (e + 1) / 2 for b, e in zip(better, equal, strict=True)]


@given(score_tables)
def test_a_rank_is_one_more_than_the_better_scores_and_half_the_equal_ones(scores):
    expected = np.mean([ranks_by_counting(row) for row in scores], axis=0)
    assert average_ranks(scores) == pytest.approx(expected)


def test_scores_equal_up_to_rounding_share_their_rank():
    assert 0.1 + 0.2 != 0.3
    assert average_ranks([[0.1 + 0.2, 0.3, 0.9]]).tolist() == [2.5, 2.5, 1]


def test_rounding_is_judged_dataset_by_dataset():
    scores = [[1e15, 2e15, 3e15], [1e-15, 2e-15, 3e-15]]
    assert average_ranks(scores).tolist() == [3, 2, 1]


@given(score_tables)
def test_chi_square_agrees_with_scipy(scores):
    assume(any(len(set(row)) > 1 for row in scores.tolist()))
    test, expected = friedman_test(scores), friedmanchisquare(*scores.T)
    assert test.chi_square == pytest.approx(expected.statistic, abs=1e-9)
    assert test.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_values", [3, 1000], ids=["many ties", "few ties"])
def test_f_is_that_of_an_analysis_of_variance_of_the_ranks(seed, n_values):
    scores = np.random.default_rng(seed).integers(n_values, size=(8, 4)) + np.eye(8, 4)
    rows = [
        (dataset, method, rank)
        for dataset, row in enumerate(scores)
        for method, rank in enumerate(ranks_by_counting(row))
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "rank"])
    table = AnovaRM(frame, "rank", "dataset", within=["method"]).fit().anova_table
    test = friedman_test(scores)
    assert test.f_statistic == pytest.approx(table["F Value"].item())
    assert test.f_p_value == pytest.approx(table["Pr > F"].item())


def test_statistics_without_ties_follow_from_the_average_ranks():
    scores = np.random.default_rng(3).normal([0, 0.5, 0, 1], size=(14, 4))
    ranks = average_ranks(scores)
    chi_square = 12 * 14 / (4 * 5) * (np.sum(ranks**2) - 4 * 5**2 / 4)
    test = friedman_test(scores)
    assert test.chi_square == pytest.approx(chi_square)
    assert test.f_statistic == pytest.approx(13 * chi_square / (14 * 3 - chi_square))


def test_methods_that_never_differ_are_alike_beyond_doubt():
    scores = np.repeat([[0.1], [0.9], [0.5]], 4, axis=1)
    assert friedman_test(scores) == FriedmanTest(0.0, 1.0, 0.0, 1.0)


def test_methods_with_balanced_ranks_are_alike_beyond_doubt():
    assert friedman_test([[1, 2, 3], [3, 1, 2], [2, 3, 1]]) == FriedmanTest(0.0, 1.0, 0.0, 1.0)


@pytest.mark.parametrize("row", [[0.3, 0.1, 0.2, 0.7], [0.3, 0.1, 0.1, 0.7], [0.1, 0.1, 0.2]])
def test_ranks_that_never_change_leave_no_doubt(row):
    n_datasets = 7
    test = friedman_test([row] * n_datasets)
    assert test.chi_square == pytest.approx(n_datasets * (len(row) - 1))
    assert (test.f_statistic, test.f_p_value) == (math.inf, 0.0)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((1, 3)), r"2 datasets \(rows\) and 3 methods \(columns\). Got 1 and 3. Compare"),
        (np.zeros((2, 2)), "Got 2 and 2. Compare two methods with 'wilcoxon_holm'"),
        (np.zeros((0, 0)), "Got 0 and 0"),
        (
            np.zeros(3),
            r"'scores' must have the shape \(n_datasets, n_methods\).*\(3,\)",
        ),
        ([[1, 2, 3], [1, 2, math.nan]], r"'scores' must be finite. Got nan at \(1, 2\). Leave"),
    ],
)
def test_tables_too_small_or_with_gaps_are_refused(scores, message):
    with pytest.raises(ParameterError, match=message):
        friedman_test(scores)


def test_average_ranks_of_no_dataset_are_refused():
    with pytest.raises(ParameterError, match="1 datasets.*Got 0 and 3"):
        average_ranks(np.zeros((0, 3)))


@pytest.mark.parametrize(
    ("n_methods", "quantile"),
    list(enumerate((1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164), start=2)),
)
def test_critical_difference_follows_from_the_published_quantiles(n_methods, quantile):
    expected = quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * 20))
    assert critical_difference(n_methods, 20) == pytest.approx(expected, rel=4e-4)


@pytest.mark.parametrize(("alpha", "expected"), [(0.05, 1.25), (0.10, 1.12)])
def test_critical_difference_is_that_of_the_paper(alpha, expected):
    assert critical_difference(4, 14, alpha=alpha) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_critical_difference_agrees_with_the_p_values_of_scikit_posthocs(seed):
    scores = np.random.default_rng(seed).normal(np.linspace(0, 2, 6), size=(12, 6))
    ranks, p_values = average_ranks(scores), posthoc_nemenyi_friedman(scores).to_numpy()
    gaps = np.abs(ranks[:, None] - ranks)
    upper = np.triu_indices(6, 1)
    differ = gaps[upper] > critical_difference(6, 12)
    assert 0 < differ.sum() < len(differ)
    assert (differ == (p_values[upper] < 0.05)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_methods": 1, "n_datasets": 5}, "'n_methods' must be an integer >= 2"),
        ({"n_methods": 3, "n_datasets": 1}, "'n_datasets' must be an integer >= 2"),
        ({"n_methods": 3, "n_datasets": 5, "alpha": 1}, "'alpha' must be above 0 and below 1"),
    ],
)
def test_a_critical_difference_of_nothing_is_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        critical_difference(**arguments)


def test_groups_are_those_of_the_paper():
    assert groups_alike(DEMSAR, critical_difference(4, 14)) == [[3, 1, 2, 0]]
    assert groups_alike(DEMSAR, critical_difference(4, 14, alpha=0.10)) == [[3, 1, 2], [2, 0]]


@given(
    st.lists(st.integers(4, 40).map(lambda quarter: quarter / 4), max_size=7),
    st.integers(0, 12).map(lambda quarter: quarter / 4),
)
def test_groups_are_the_largest_sets_of_methods_that_all_lie_close(ranks, difference):
    methods = range(len(ranks))
    close = [
        set(chosen)
        for size in range(2, len(ranks) + 1)
        for chosen in itertools.combinations(methods, size)
        if max(ranks[m] for m in chosen) - min(ranks[m] for m in chosen) <= difference
    ]
    largest = [group for group in close if not any(group < other for other in close)]
    found = groups_alike(ranks, difference)
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest))


def test_groups_and_their_members_come_best_first():
    assert groups_alike([5, 1, 4, 2, 9], 1) == [[1, 3], [2, 0]]


def test_a_gap_equal_to_the_difference_up_to_rounding_is_no_difference():
    assert 1.2 + 0.6 < 1.8
    assert groups_alike([1.2, 1.8], 0.6) == [[0, 1]]


@pytest.mark.parametrize("ranks", [[], [1.0], [1.0, 2.0, 3.0]])
def test_methods_that_lie_apart_form_no_group(ranks):
    assert groups_alike(ranks, 0.5) == []


@pytest.mark.parametrize(
    ("ranks", "difference", "message"),
    [
        ([1.0, 2.0], -1, "'difference' must be a number >= 0"),
        ([1.0, math.nan], 1, "'ranks' must be finite. Got nan at 1"),
        ([[1.0, 2.0]], 1, "'ranks' must have the shape .n_scores,"),
    ],
)
def test_ranks_and_differences_that_make_no_sense_are_refused(ranks, difference, message):
    with pytest.raises(ParameterError, match=message):
        groups_alike(ranks, difference)
