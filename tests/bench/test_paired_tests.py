import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t as student_t
from scipy.stats import ttest_rel

from disambig._core.errors import ParameterError
from disambig.bench.statistics import PairedTest, corrected_t_test, paired_t_test

accuracies = st.integers(0, 200).map(lambda hits: hits / 200)
pairs_of_scores = st.lists(st.tuples(accuracies, accuracies), min_size=2, max_size=30)

both_tests = pytest.mark.parametrize(
    "compare",
    [paired_t_test, lambda first, second: corrected_t_test(first, second, test_share=0.1)],
    ids=["paired", "corrected"],
)


@given(pairs_of_scores)
def test_paired_t_test_agrees_with_scipy(pairs):
    first, second = np.array(pairs).T
    assume(len(set(np.round(first - second, 9))) > 1)
    test, expected = paired_t_test(first, second), ttest_rel(first, second)
    assert test.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert test.p_value == pytest.approx(expected.pvalue)
    assert test.difference == pytest.approx(sum(a - b for a, b in pairs) / len(pairs))


@given(pairs_of_scores, st.floats(0.01, 0.9))
def test_corrected_t_test_agrees_with_the_formula_in_a_loop(pairs, test_share):
    differences = [a - b for a, b in pairs]
    assume(len(set(np.round(differences, 9))) > 1)
    n_scores = len(pairs)
    mean = sum(differences) / n_scores
    variance = 0.0
    for difference in differences:
        variance += (difference - mean) ** 2 / (n_scores - 1)
    n_test, n_train = 1000 * test_share, 1000 * (1 - test_share)
    statistic = mean / math.sqrt((1 / n_scores + n_test / n_train) * variance)
    test = corrected_t_test(*np.array(pairs).T, test_share=test_share)
    assert test.difference == pytest.approx(mean)
    assert test.statistic == pytest.approx(statistic, abs=1e-9)
    assert test.p_value == pytest.approx(2 * student_t.cdf(-abs(statistic), n_scores - 1))


def test_correction_for_ten_folds_divides_the_statistic_by_the_known_factor():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 10))
    plain, corrected = paired_t_test(first, second), corrected_t_test(first, second, test_share=0.1)
    # (1/10 + 1/9) / (1/10) = 19/9
    assert plain.statistic / corrected.statistic == pytest.approx(math.sqrt(19 / 9))


def test_more_overlap_makes_a_difference_less_sure():
    first, second = [0.8, 0.9, 0.85, 0.9], [0.7, 0.85, 0.8, 0.7]
    p_values = [
        corrected_t_test(first, second, test_share=share).p_value for share in (0.1, 0.2, 0.5)
    ]
    assert p_values == sorted(set(p_values))


@both_tests
def test_equal_scores_are_a_tie_beyond_doubt(compare):
    assert compare([0.5, 0.7, 0.2], [0.5, 0.7, 0.2]) == PairedTest(0.0, 0.0, 1.0)


@both_tests
def test_scores_that_are_all_zero_are_a_tie_beyond_doubt(compare):
    assert compare([0, 0], [0, 0]) == PairedTest(0.0, 0.0, 1.0)


@both_tests
@pytest.mark.parametrize(("shift", "sign", "verdict"), [(0.25, 1, "better"), (-0.25, -1, "worse")])
def test_a_constant_difference_leaves_no_doubt(compare, shift, sign, verdict):
    second = np.array([0.25, 0.5, 0.375])
    test = compare(second + shift, second)
    assert test == PairedTest(shift, sign * math.inf, 0.0)
    assert test.verdict(1e-9) == verdict


@both_tests
def test_scores_equal_up_to_rounding_are_equal(compare):
    first, second = [0.1 + 0.2, 0.5], [0.3, 0.5]
    assert first != second
    test = compare(first, second)
    assert (test.statistic, test.p_value) == (0.0, 1.0)


@both_tests
def test_differences_equal_up_to_rounding_are_constant(compare):
    first, second = np.array([0.9, 0.4, 0.2]), np.array([0.8, 0.3, 0.1])
    assert len(set(first - second)) > 1
    test = compare(first, second)
    assert (test.statistic, test.p_value) == (math.inf, 0.0)


@both_tests
def test_rounding_is_judged_by_the_size_of_the_scores(compare):
    first, second = np.array([0.9, 0.6, 0.35]), np.array([0.8, 0.5, 0.2])
    small, usual, large = (
        compare(scale * first, scale * second).statistic for scale in (1e-15, 1, 1e15)
    )
    assert small == pytest.approx(usual)
    assert large == pytest.approx(usual)


def test_exchanging_the_methods_turns_the_verdict_round():
    first, second = [0.8, 0.9, 0.85, 0.9], [0.6, 0.65, 0.6, 0.7]
    assert paired_t_test(first, second).verdict() == "better"
    assert paired_t_test(second, first).verdict() == "worse"


@pytest.mark.parametrize(
    ("p_value", "alpha", "verdict"),
    [(0.04, 0.05, "better"), (0.05, 0.05, "tie"), (0.06, 0.05, "tie"), (0.06, 0.1, "better")],
)
def test_a_difference_counts_where_its_p_value_is_below_alpha(p_value, alpha, verdict):
    assert PairedTest(0.1, 2.0, p_value).verdict(alpha) == verdict


def test_verdict_is_at_five_percent_by_default():
    assert [PairedTest(0.1, 2.0, p).verdict() for p in (0.049, 0.051)] == ["better", "tie"]


@both_tests
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2], "'first' and 'second'.*Got 3 and 2. Leave out"),
        ([0.1], [0.2], "at least two. Got 1 and 1."),
        ([], [], "at least two. Got 0 and 0."),
        ([0.1, math.nan], [0.1, 0.2], "'first' must be finite. Got nan at 1. Leave that fold"),
        ([0.1, 0.2], [math.inf, 0.2], "'second' must be finite. Got inf at 0. Leave that fold"),
        ([[0.1, 0.2]], [0.1, 0.2], r"'first' must have the shape .n_scores,.*shape \(1, 2\)"),
        ([0.1, 0.2], 0.3, r"'second' must have the shape .n_scores,.*shape \(\)"),
    ],
)
def test_scores_that_cannot_be_paired_are_refused(compare, first, second, message):
    with pytest.raises(ParameterError, match=message):
        compare(first, second)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, math.nan, "0.1", None])
def test_a_test_share_that_leaves_no_test_or_training_rows_is_refused(share):
    with pytest.raises(ParameterError, match="'test_share' must be"):
        corrected_t_test([0.1, 0.2], [0.2, 0.4], test_share=share)


def test_a_test_share_of_one_is_refused_with_a_hint():
    with pytest.raises(ParameterError, match="above 0 and below 1. Got 1. For k folds it is 1 / k"):
        corrected_t_test([0.1, 0.2], [0.2, 0.4], test_share=1)


@pytest.mark.parametrize("alpha", [0, 1, 5, -0.05])
def test_a_level_that_is_no_chance_is_refused(alpha):
    with pytest.raises(ParameterError, match="'alpha' must be"):
        PairedTest(0.1, 2.0, 0.04).verdict(alpha)
