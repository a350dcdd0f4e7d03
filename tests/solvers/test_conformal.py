import subprocess
import sys

import numpy as np
import pytest

from disambig import CandidateLabels
from disambig._core.errors import CandidateError, ParameterError
from disambig.candidates import corrupt_controlled
from disambig.solvers.conformal import (
    KINDS,
    calibrate_coverage,
    conformal_quantile,
    conformal_threshold,
    fewest_units,
    prediction_mask,
)

N_CLASSES = 5
N_SPLITS = 300


def draw(rng, n_rows, *, sharpness=1.0):
    """Return a classifier's probabilities, sharper or duller than the truth, and the truth."""
    logits = 2 * rng.normal(size=(n_rows, N_CLASSES))
    true = softmax(logits)
    truth = (true.cumsum(axis=1) > rng.random((n_rows, 1))).argmax(axis=1)
    return softmax(sharpness * logits), truth


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def coverages(kind, r, *, n_rows=100, sharpness=1.0, p=0.6, measure="truth"):
    """Return the share of other rows that are covered, for each of 300 splits of 2,000 rows."""
    probabilities, truth = draw(np.random.default_rng(0), 2000, sharpness=sharpness)
    sets = corrupt_controlled(truth, p=p, r=r, classes=range(N_CLASSES), random_state=0)
    wanted = sets.to_mask() if measure == "candidates" else np.eye(N_CLASSES, dtype=bool)[truth]
    found = []
    for seed in range(N_SPLITS):
        rows = np.random.default_rng(seed).permutation(2000)
        known, new = rows[:n_rows], rows[n_rows:]
        threshold = conformal_threshold(probabilities[known], sets[known], coverage=0.9, kind=kind)
        mask = prediction_mask(probabilities[new], threshold)
        found.append((mask & wanted[new]).any(axis=1).mean())
    return np.array(found)


def standard_error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("sharpness", [0.3, 3.0])
@pytest.mark.parametrize(("p", "r"), [(0.05, 1), (0.6, 1), (0.6, 3)])
def test_safe_sets_hold_the_truth_as_often_as_promised(p, r, sharpness):
    found = coverages("safe", r, sharpness=sharpness, p=p)
    assert found.mean() >= 0.9 - 3 * standard_error(found)


def test_safe_sets_hold_the_truth_though_every_other_candidate_is_likelier():
    found = []
    probabilities, truth = draw(np.random.default_rng(0), 2000)
    of_truth = probabilities[np.arange(2000), truth]
    sets = CandidateLabels(probabilities >= of_truth[:, np.newaxis])
    for seed in range(N_SPLITS):
        rows = np.random.default_rng(seed).permutation(2000)
        known, new = rows[:100], rows[100:]
        threshold = conformal_threshold(probabilities[known], sets[known], coverage=0.9)
        found.append((of_truth[new] >= threshold).mean())
    # 91 of the 100 rows and the new one, in any order: the promise is kept and no more.
    assert np.mean(found) == pytest.approx(91 / 101, abs=3 * standard_error(np.array(found)))


@pytest.mark.parametrize("sharpness", [0.3, 3.0])
@pytest.mark.parametrize("r", [1, 3])
def test_weak_sets_meet_the_candidates_as_often_as_promised_and_not_more(r, sharpness):
    found = coverages("weak", r, sharpness=sharpness, measure="candidates")
    # 91 of the 100 rows and the new one, in any order.
    assert found.mean() == pytest.approx(91 / 101, abs=3 * standard_error(found))


def test_weak_and_estimated_sets_promise_nothing_about_the_truth():
    # So that the tests above are known to be able to fail.
    assert coverages("weak", 3).mean() < 0.85
    assert coverages("estimated", 1, sharpness=5.0).mean() < 0.89


def test_estimated_sets_hold_the_truth_where_the_probabilities_are_right():
    found = coverages("estimated", 2)
    assert found.mean() == pytest.approx(0.9, abs=0.02)
    # At a lower price than safe ones.
    assert found.mean() < coverages("safe", 2).mean() - 0.05


def test_few_rows_are_corrected_for():
    # Without the correction, 14 of 15 rows would be enough and new ones covered in 14 of 16 cases.
    found = coverages("safe", 1, p=0.0, n_rows=15)
    assert found.mean() == pytest.approx(15 / 16, abs=3 * standard_error(found))


def test_a_share_of_sets_without_the_truth_lowers_coverage_by_that_share_at_most():
    probabilities, truth = draw(np.random.default_rng(0), 2000)
    of_truth = probabilities[np.arange(2000), truth]
    # The worst that can happen: it is missing where it is least expected.
    likeliest = probabilities.argmax(axis=1)
    labels = np.where(of_truth < np.quantile(of_truth, 0.1), likeliest, truth)
    sets = CandidateLabels.from_labels(labels, classes=range(N_CLASSES))
    found = []
    for seed in range(N_SPLITS):
        rows = np.random.default_rng(seed).permutation(2000)
        known, new = rows[:100], rows[100:]
        threshold = conformal_threshold(probabilities[known], sets[known], coverage=0.9)
        found.append((of_truth[new] >= threshold).mean())
    assert 0.9 - (labels != truth).mean() <= np.mean(found) < 0.82


def test_rows_of_new_groups_are_covered_though_rows_of_a_group_are_alike():
    rng = np.random.default_rng(0)
    # One group in five has a single row, which the classifier gets wrong.
    is_hard = rng.random(400) < 0.2
    groups = np.repeat(np.arange(400), np.where(is_hard, 1, 20))
    probabilities, truth = draw(rng, len(groups))
    hard_rows = is_hard[groups]
    probabilities[hard_rows] = probabilities[hard_rows, ::-1]
    sets = CandidateLabels.from_labels(truth, classes=range(N_CLASSES))
    of_truth = probabilities[np.arange(len(truth)), truth]
    first_rows = np.flatnonzero(np.diff(groups, prepend=-1))
    by_groups, by_rows = [], []
    for seed in range(N_SPLITS):
        shuffled = np.random.default_rng(seed).permutation(400)
        known = np.isin(groups, shuffled[:30])
        of_new = of_truth[first_rows[shuffled[30:]]]
        for found, named in ((by_groups, groups[known]), (by_rows, None)):
            threshold = conformal_threshold(
                probabilities[known], sets[known], coverage=0.85, groups=named
            )
            found.append((of_new >= threshold).mean())
    assert np.mean(by_groups) >= 0.85 - 3 * standard_error(np.array(by_groups))
    assert np.mean(by_rows) < 0.8


def by_hand(probabilities, sets, coverage, kind):
    """Sort one minus the probabilities in plain Python, as textbooks do."""
    weighted = []
    for row, names in zip(probabilities.tolist(), sets.to_sets(), strict=True):
        scores = sorted(1 - row[name] for name in names)
        if kind == "safe":
            weighted.append((scores[-1], 1.0))
        elif kind == "weak":
            weighted.append((scores[0], 1.0))
        else:
            total = sum(1 - score for score in scores)
            weighted.extend((score, (1 - score) / total) for score in scores)
    reached = 0.0
    for score, weight in sorted(weighted):
        reached += weight
        if reached >= coverage * (len(probabilities) + 1) - 1e-9:
            return 1 - score
    return 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.99])
def test_the_threshold_is_that_of_the_textbook(kind, coverage):
    probabilities, truth = draw(np.random.default_rng(0), 40)
    sets = corrupt_controlled(truth, p=0.7, r=2, classes=range(N_CLASSES), random_state=0)
    threshold = conformal_threshold(probabilities, sets, coverage=coverage, kind=kind)
    assert threshold == pytest.approx(by_hand(probabilities, sets, coverage, kind))
    assert (threshold == 0) == (coverage == 0.99)


def test_the_three_kinds_are_one_where_sets_have_one_candidate():
    probabilities, truth = draw(np.random.default_rng(0), 50)
    sets = CandidateLabels.from_labels(truth, classes=range(N_CLASSES))
    found = {conformal_threshold(probabilities, sets, coverage=0.8, kind=kind) for kind in KINDS}
    assert len(found) == 1


def test_weights_of_candidates_count_in_estimates_and_none_is_ruled_out():
    probabilities = np.array([[0.6, 0.4, 0.0]] * 9)
    mask = [[True, True, False]] * 9
    even = CandidateLabels(mask)
    votes = CandidateLabels(mask, weights=[[1.0, 9.0, 0.0]] * 9)
    assert conformal_threshold(probabilities, even, coverage=0.5, kind="estimated") == 0.6
    assert conformal_threshold(probabilities, votes, coverage=0.5, kind="weak") == 0.6
    weighted = CandidateLabels(mask, weights=[[0.0, 9.0, 0.0]] * 9)
    for kind in KINDS:
        assert conformal_threshold(probabilities, weighted, coverage=0.5, kind=kind) == 0.4
    # 9 of 15 parts speak for the first label without votes, 6 of 42 with them.
    assert conformal_threshold(probabilities, even, coverage=0.54, kind="estimated") == 0.6
    assert conformal_threshold(probabilities, votes, coverage=0.54, kind="estimated") == 0.4


def test_candidates_without_any_probability_count_alike():
    probabilities = np.array([[0.0, 0.0, 1.0]] * 4)
    sets = CandidateLabels([[True, True, False]] * 4)
    assert conformal_threshold(probabilities, sets, coverage=0.5, kind="estimated") == 0


def test_the_quantile_of_integers_is_found_where_shares_are_rounded():
    # 0.57 * 100 is a little less than 57, 0.07 * 100 a little more than 7.
    for coverage, rank in ((0.57, 57), (0.07, 7), (0.9, 90)):
        scores = np.arange(1.0, 100.0)
        found = conformal_quantile(scores, coverage, weights=np.ones(99), n_units=99)
        assert found == rank
    thirds = np.full(6, 1 / 3)
    assert conformal_quantile(np.arange(6.0), 2 / 3, weights=thirds, n_units=2) == 5


@pytest.mark.parametrize(("coverage", "rows"), [(0.9, 9), (0.95, 19), (0.5, 1), (0.99, 99)])
def test_so_many_rows_are_needed_to_rule_out_a_label(coverage, rows):
    assert fewest_units(coverage) == rows
    for count, is_enough in ((rows, True), (rows - 1, False)):
        if count:
            probabilities = np.full((count, 2), 0.5)
            sets = CandidateLabels.from_labels([0] * count, classes=[0, 1])
            threshold = conformal_threshold(probabilities, sets, coverage=coverage)
            assert (threshold > 0) == is_enough


PROBABILITIES = np.array([[0.7, 0.3], [0.4, 0.6]])
SETS = CandidateLabels.from_strings(["a", "a|b"])


def test_what_is_promised_is_said():
    found = calibrate_coverage(PROBABILITIES, SETS, coverage=0.6)
    assert str(found) == (
        "At least 60 % of the prediction sets hold the right label, if every candidate set does. "
        "They have 1.5 of 2 labels on average, each with a probability of at least 0.4 "
        "(calibrated on 2 rows)."
    )
    weak = calibrate_coverage(
        PROBABILITIES, SETS, coverage=0.6, kind="weak", exact=False, groups=["x", "y"]
    )
    assert str(weak).startswith(
        "At least about 60 % of the prediction sets of new groups hold a label of the candidate set"
    )
    assert str(weak).endswith("(calibrated on 2 rows of 2 groups).")
    estimated = calibrate_coverage(PROBABILITIES, SETS, coverage=0.9, kind="estimated")
    assert str(estimated) == (
        "About 90 % of the prediction sets hold the right label, if the probabilities are right. "
        "No label can be ruled out, so they have all 2 labels (calibrated on 2 rows)."
    )


def test_what_rows_without_labels_cost_is_made_up_for():
    probabilities, truth = draw(np.random.default_rng(0), 200)
    sets = CandidateLabels.from_labels(truth, classes=range(N_CLASSES))
    found = calibrate_coverage(probabilities, sets, coverage=0.85, abstain=0.05)
    assert found.threshold == conformal_threshold(probabilities, sets, coverage=0.9)
    assert found.coverage == 0.85


@pytest.mark.parametrize("coverage", [0, 1, 1.0, -0.1, 1.5, True, "high", None, float("nan")])
def test_a_bad_coverage_is_refused(coverage):
    with pytest.raises(ParameterError, match="'coverage' must be"):
        conformal_threshold(PROBABILITIES, SETS, coverage=coverage)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (PROBABILITIES[:1], r"each of its classes, \(2, 2\). Got .* shape \(1, 2\)"),
        (PROBABILITIES - 0.5, "from 0 to 1. Got values from -0.2 to 0.2"),
        (PROBABILITIES * 2, "from 0 to 1. Got values from 0.6 to 1.4"),
        (np.full((2, 2), np.nan), "from 0 to 1. Got values from nan to nan"),
    ],
)
def test_bad_probabilities_are_refused(probabilities, message):
    with pytest.raises((CandidateError, ParameterError), match=message):
        conformal_threshold(probabilities, SETS, coverage=0.9)


def test_other_bad_input_is_refused():
    with pytest.raises(CandidateError, match="at least one row"):
        conformal_threshold(PROBABILITIES[:0], SETS[:0], coverage=0.9)
    with pytest.raises(ParameterError, match="'kind' must be one of 'safe', 'weak', 'estimated'"):
        conformal_threshold(PROBABILITIES, SETS, coverage=0.9, kind="sure")
    with pytest.raises(ParameterError, match=r"each of the 2 rows. Got the shape \(3,\)"):
        conformal_threshold(PROBABILITIES, SETS, coverage=0.9, groups=[1, 2, 3])


def test_neither_scikit_learn_nor_torch_is_needed():
    code = "import disambig.solvers.conformal, sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not {"sklearn", "torch", "pandas"} & set(loaded)
