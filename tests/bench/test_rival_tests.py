import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon
from statsmodels.stats.multitest import multipletests

from disambig._core.errors import ParameterError
from disambig.bench.statistics import RivalTest, wilcoxon_holm

# Whole numbers, so that ties and zeros are common and differences are exact.
whole_differences = st.lists(st.integers(-5, 5), min_size=2, max_size=9)


def only_test(reference, rival):
    (test,) = wilcoxon_holm(reference, {"rival": rival}).values()
    return test


def p_value_by_trying_all_signs(differences):
    kept = np.array([d for d in differences if d != 0])
    ranks = rankdata(np.abs(kept))
    observed = abs(np.sum(np.sign(kept) * ranks))
    sums = [abs(np.dot(signs, ranks)) for signs in itertools.product([-1, 1], repeat=len(ranks))]
    return np.mean([s >= observed for s in sums])


@pytest.mark.parametrize("n_datasets", [2, 5, 10, 20, 50])
def test_p_value_without_ties_agrees_with_the_exact_one_of_scipy(n_datasets):
    reference, rival = np.random.default_rng(n_datasets).normal([[0.3], [0]], size=(2, n_datasets))
    expected = wilcoxon(reference, rival, method="exact").pvalue
    assert only_test(reference, rival).p_value == pytest.approx(expected)


@given(whole_differences)
def test_p_value_with_ties_and_zeros_is_the_share_of_signs_as_extreme(differences):
    test = only_test(differences, np.zeros(len(differences)))
    assert test.p_value == pytest.approx(p_value_by_trying_all_signs(differences))


def test_p_value_of_many_datasets_is_the_normal_approximation():
    reference, rival = np.random.default_rng(0).normal([[0.1], [0]], size=(2, 300))
    expected = wilcoxon(reference, rival, method="asymptotic").pvalue
    assert only_test(reference, rival).p_value == pytest.approx(expected)


def test_exact_p_values_run_into_the_normal_approximation():
    reference, rival = np.random.default_rng(0).normal([[0.1], [0]], size=(2, 200))
    approximation = wilcoxon(reference, rival, method="asymptotic").pvalue
    test = only_test(reference, rival)
    assert test.p_value != approximation
    assert test.p_value == pytest.approx(approximation, rel=0.01)


@given(whole_differences)
def test_statistic_is_the_signed_sum_of_ranks(differences):
    ranks = rankdata([abs(d) for d in differences if d])
    signs = [math.copysign(1, d) for d in differences if d]
    expected = sum(sign * rank for sign, rank in zip(signs, ranks, strict=True))
    assert only_test(differences, np.zeros(len(differences))).statistic == expected


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_agree_with_statsmodels(seed):
    # Whole numbers and a repeated rival: p-values of all sizes, some of them equal.
    columns = np.random.default_rng(seed).integers(-2, 6, size=(5, 10)) - np.arange(5)[:, None]
    rivals = {f"rival {number}": values for number, values in enumerate([*columns, columns[0]])}
    tests = list(wilcoxon_holm(np.zeros(10), rivals).values())
    _, expected, _, _ = multipletests([test.p_value for test in tests], method="holm")
    assert [test.adjusted_p_value for test in tests] == pytest.approx(expected.tolist())


def test_adjusted_p_values_keep_their_order_and_stay_below_one():
    reference = np.arange(1, 9)
    weak = np.where(np.arange(8) < 5, reference - 1, reference + 1)
    rivals = {"even": reference, "weak": weak, "beaten": reference - reference}
    tests = wilcoxon_holm(reference, rivals)
    assert tests["beaten"].p_value == pytest.approx(2 / 2**8)
    assert tests["beaten"].adjusted_p_value == pytest.approx(3 * 2 / 2**8)
    assert tests["weak"].adjusted_p_value == tests["even"].adjusted_p_value == 1


def test_difference_is_the_mean_over_the_datasets():
    assert only_test([0.9, 0.5, 0.4], [0.6, 0.4, 0.6]).difference == pytest.approx(0.2 / 3)


def test_tests_come_in_the_order_of_the_rivals():
    rivals = {"z": [1, 2, 3], "a": [3, 2, 1], "m": [0, 0, 0]}
    assert list(wilcoxon_holm([1, 2, 4], rivals)) == ["z", "a", "m"]


def test_no_rivals_make_no_tests():
    assert wilcoxon_holm([0.1, 0.2], {}) == {}


def test_equal_scores_are_a_tie_beyond_doubt():
    assert only_test([0.5, 0.7], [0.5, 0.7]) == RivalTest(0.0, 0.0, 1.0, 1.0)


def test_scores_equal_up_to_rounding_are_no_difference():
    reference, rival = [0.1 + 0.2, 0.5, 0.9], [0.3, 0.5, 0.8]
    assert only_test(reference, rival).statistic == 1


def test_differences_equal_up_to_rounding_share_their_rank():
    reference, rival = np.array([0.9, 0.3, 0.2]), np.array([0.8, 0.4, 0.1])
    assert len(set(np.abs(reference - rival))) > 1
    assert only_test(reference, rival).statistic == 2


def test_verdict_is_that_of_the_adjusted_p_value():
    reference = np.arange(1.0, 7.0)
    alone = wilcoxon_holm(reference, {"beaten": np.zeros(6)})
    one_of_two = wilcoxon_holm(reference, {"beaten": np.zeros(6), "beaten too": np.zeros(6)})
    assert alone["beaten"].verdict() == "better"
    assert one_of_two["beaten"].p_value < 0.05
    assert one_of_two["beaten"].verdict() == "tie"
    assert one_of_two["beaten"].verdict(alpha=0.1) == "better"


def test_a_reference_that_loses_everywhere_is_worse():
    assert only_test(np.zeros(8), np.arange(1, 9)).verdict() == "worse"


def test_one_huge_win_does_not_turn_many_losses_into_a_verdict_of_better():
    test = only_test([100] + [0] * 11, [0, *range(1, 12)])
    assert test.difference > 0
    assert test.verdict() == "worse"


@pytest.mark.parametrize(
    ("reference", "rival", "message"),
    [
        ([1, 2, 3], [1, 2], r"'reference' and \"rivals\['ours'\]\" need.*Got 3 and 2. Leave out"),
        ([1], [1], "at least two. Got 1 and 1"),
        ([1, 2], [1, math.nan], r"\"rivals\['ours'\]\" must be finite. Got nan at 1"),
        ([1, -math.inf], [1, 2], "'reference' must be finite. Got -inf at 1"),
    ],
)
def test_scores_that_cannot_be_paired_are_refused_with_the_name_of_the_rival(
    reference, rival, message
):
    with pytest.raises(ParameterError, match=message):
        wilcoxon_holm(reference, {"ours": rival})
