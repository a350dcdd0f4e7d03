import numpy as np
import pytest
from scipy.special import softmax

from disambig.candidates import CandidateLabels, corrupt_controlled
from disambig.candidates.storage import group_maxima
from disambig.methods.base import confidence_from_pairs
from disambig.solvers import calibration
from disambig.solvers.calibration import (
    Calibration,
    calibrate_choices,
    calibrate_predictions,
    some_rows,
)

# With fewer classes, 5 for instance, choices of an honest model are said to be wrong too often:
# benchmarks/calibration.py measures how much.
N_ROWS, N_CLASSES = 2000, 8


@pytest.fixture(scope="module")
def honest():
    """Return probabilities, and true labels that are drawn from them."""
    rng = np.random.default_rng(0)
    said = softmax(2 * rng.normal(size=(N_ROWS, N_CLASSES)), axis=1)
    return said, drawn(rng, said)


@pytest.fixture(scope="module")
def sets(honest):
    """Return candidate sets of these labels: of two rows in three, with two random false ones."""
    _, truth = honest
    return corrupt_controlled(truth, p=0.67, r=2, classes=range(N_CLASSES), random_state=0)


def drawn(rng, probabilities):
    return (rng.random(len(probabilities))[:, None] > probabilities.cumsum(axis=1)).sum(axis=1)


def stated_and_wrong(shares, candidates, truth):
    """Return the stated and the actual number of wrong choices."""
    chosen = np.asarray(candidates.choose(confidence_from_pairs(candidates, shares)))
    stated = (1 - group_maxima(shares, candidates.starts)).sum()
    return stated, (chosen != candidates.classes[truth]).sum()


def honest_within(shares, candidates, truth, tolerance):
    stated, wrong = stated_and_wrong(shares, candidates, truth)
    return stated == pytest.approx(wrong, rel=tolerance)


@pytest.mark.parametrize("power", [0.3, 1, 3])
def test_choices_of_a_modest_and_of_a_sure_model_become_honest(honest, sets, power):
    said, truth = honest
    given = Calibration(power).apply(said)
    shares = calibrate_choices(given, sets)
    assert honest_within(shares, sets, truth, 0.15)
    as_given = calibration._shares(given, sets, 1.0, 1.0)
    assert honest_within(as_given, sets, truth, 0.15) == (power == 1)


@pytest.mark.parametrize("power", [0.3, 1, 3])
def test_predictions_of_a_modest_and_of_a_sure_model_become_honest(honest, sets, power):
    said, truth = honest
    given = Calibration(power).apply(said)
    found = calibrate_predictions(given, sets)
    predicted = found.apply(given)
    right = (predicted.argmax(axis=1) == truth).mean()
    assert predicted.max(axis=1).mean() == pytest.approx(right, abs=0.03)
    assert found.power * power == pytest.approx(1, rel=0.25)


def test_errors_without_a_visible_reason_are_found_as_doubt(honest):
    said, truth = honest
    rng = np.random.default_rng(1)
    strange = rng.random(N_ROWS) < 0.2
    truth = np.where(strange, rng.integers(0, N_CLASSES, N_ROWS), truth)
    single = CandidateLabels.from_labels(truth, classes=range(N_CLASSES))
    assert calibrate_predictions(said, single).doubt == pytest.approx(0.2, abs=0.1)


def test_classes_keep_their_order(honest, sets):
    said, _ = honest
    order = said.argsort(axis=1)
    calibrated = calibrate_predictions(said, sets).apply(said)
    np.testing.assert_array_equal(calibrated.argsort(axis=1), order)
    np.testing.assert_allclose(calibrated.sum(axis=1), 1)
    shares = confidence_from_pairs(sets, calibrate_choices(said, sets)).toarray()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert not shares[~sets.to_mask()].any()
    np.testing.assert_array_equal(
        shares.argmax(axis=1), np.where(sets.to_mask(), said, 0).argmax(axis=1)
    )


def confused_twins(n_singles):
    """Return sets of two classes that a model cannot tell apart, where they are not single."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 6, 2000)
    twin = truth ^ 1  # 0 and 1, 2 and 3, 4 and 5
    believed = np.where(rng.random(2000) < 0.6, truth, twin)  # four in ten times the wrong twin
    said = np.full((2000, 6), 0.005)
    rows = np.arange(2000)
    said[rows, believed ^ 1] = 0.08
    said[rows, believed] = 0.9
    mask = np.zeros((2000, 6), dtype=bool)
    mask[rows, truth] = True
    mask[rows[n_singles:], twin[n_singles:]] = True
    return said, CandidateLabels.from_mask(mask), truth


def test_labels_that_come_together_and_are_confused_are_noticed_by_single_labels():
    said, candidates, truth = confused_twins(700)
    stated, wrong = stated_and_wrong(calibrate_choices(said, candidates), candidates, truth)
    assert stated == pytest.approx(wrong, rel=0.15)


def test_too_few_single_labels_say_nothing():
    said, candidates, truth = confused_twins(19)
    stated, wrong = stated_and_wrong(calibrate_choices(said, candidates), candidates, truth)
    assert stated < wrong / 2


def test_single_labels_that_probably_miss_the_truth_say_nothing():
    said, candidates, _ = confused_twins(700)
    missed = (candidates.sizes == 1).astype(float)
    shares = calibrate_choices(said, candidates, miss_probability=missed)
    few, *_ = confused_twins(0)
    np.testing.assert_array_equal(said, few)
    believed = group_maxima(shares, candidates.starts)[candidates.sizes > 1]
    trusted = calibrate_choices(said, candidates)
    assert believed.mean() > group_maxima(trusted, candidates.starts)[candidates.sizes > 1].mean()


def test_rows_whose_sets_probably_miss_the_truth_count_less(honest, sets):
    said, truth = honest
    missing = np.random.default_rng(3).random(N_ROWS) < 0.3
    mask = sets.to_mask().copy()
    mask[missing] = False
    mask[missing, (truth[missing] + 1) % N_CLASSES] = True
    wrong_sets = CandidateLabels.from_mask(mask)
    as_known = calibrate_predictions(said, wrong_sets, miss_probability=missing.astype(float))
    assert as_known == calibrate_predictions(said[~missing], wrong_sets[~missing])
    assert as_known.doubt < calibrate_predictions(said, wrong_sets).doubt
    known = calibrate_choices(said, wrong_sets, miss_probability=missing.astype(float))
    stated, wrong = stated_and_wrong(
        known[~missing[wrong_sets.pairs()[0]]], wrong_sets[~missing], truth[~missing]
    )
    assert stated == pytest.approx(wrong, rel=0.15)


def weighted_sets(sets, truth, on_truth):
    """Return the sets with weights: so much on one candidate, which is the truth in .75 of them."""
    rng = np.random.default_rng(4)
    mask = sets.to_mask()
    favourite = np.where(rng.random(N_ROWS) < 0.75, truth, drawn(rng, mask / mask.sum(1)[:, None]))
    weights = np.where(mask, 1.0 - on_truth, 0)
    weights[np.arange(N_ROWS), favourite] = on_truth
    return CandidateLabels.from_mask(mask, sets.classes, weights=weights)


def test_weights_that_overstate_are_trusted_less_and_good_ones_kept(honest, sets):
    said, truth = honest
    modest, loud = (weighted_sets(sets, truth, share) for share in (0.8, 0.9999))
    trusts = [calibration._trust_in_weights(said, each) for each in (modest, loud)]
    assert trusts[0] >= 1
    assert trusts[1] < 0.5
    for candidates in (modest, loud):
        shares = calibrate_choices(said, candidates)
        assert honest_within(shares, candidates, truth, 0.25)
    loud_as_given = calibration._shares(said, loud, 1.0, 1.0)
    assert not honest_within(loud_as_given, loud, truth, 0.25)


def test_weights_without_information_are_ignored(honest, sets):
    said, _ = honest
    mask = sets.to_mask()
    noise = np.where(mask, np.random.default_rng(5).choice([0.01, 1.0], mask.shape), 0)
    candidates = CandidateLabels.from_mask(mask, sets.classes, weights=noise)
    np.testing.assert_allclose(
        calibrate_choices(said, candidates), calibrate_choices(said, sets), atol=0.02
    )


@pytest.mark.parametrize("power", [0.3, 3])
def test_checked_rows_tell_what_sets_cannot_show(power):
    said, candidates, truth = confused_twins(0)
    given = Calibration(power).apply(said)
    by_sets = stated_and_wrong(calibrate_choices(given, candidates), candidates, truth)
    assert by_sets[0] < by_sets[1] / 2
    checked = np.where(np.arange(len(truth)) < 200, truth, -1)
    shares = calibrate_choices(given, candidates, truth=checked)
    assert honest_within(shares, candidates, truth, 0.15)
    np.testing.assert_allclose(np.add.reduceat(shares, candidates.starts), 1)


def test_checked_rows_whose_set_misses_the_truth_do_not_count():
    said, candidates, truth = confused_twins(0)
    checked = np.where(np.arange(len(truth)) < 200, truth, -1)
    outside = checked.copy()
    outside[200:400] = (truth[200:400] + 2) % 6
    np.testing.assert_array_equal(
        calibrate_choices(said, candidates, truth=checked),
        calibrate_choices(said, candidates, truth=outside),
    )


def test_without_a_known_label_sets_decide(honest, sets):
    said, _ = honest
    nothing = np.full(N_ROWS, -1)
    np.testing.assert_array_equal(
        calibrate_choices(said, sets, truth=nothing), calibrate_choices(said, sets)
    )


def test_a_sample_of_many_rows_gives_nearly_the_same(honest, sets, monkeypatch):
    said, _ = honest
    given = Calibration(3).apply(said)
    whole = calibrate_choices(given, sets)
    power = calibrate_predictions(given, sets).power
    monkeypatch.setattr(calibration, "_MOST_ROWS", 1000)
    rows = some_rows(N_ROWS)
    assert len(np.unique(rows)) == 1000
    np.testing.assert_array_equal(rows, some_rows(N_ROWS))
    monkeypatch.setattr(calibration, "_ROWS_AT_LEAST", 100)
    assert len(some_rows(N_ROWS, n_classes=10_000)) == 500  # of very many classes fewer
    sampled = calibrate_choices(given, sets)
    assert sampled.shape == whole.shape
    np.testing.assert_allclose(sampled, whole, atol=0.1)
    assert calibrate_predictions(given, sets).power == pytest.approx(power, rel=0.4)


def test_single_labels_alone_are_certain(honest):
    said, truth = honest
    single = CandidateLabels.from_labels(truth, classes=range(N_CLASSES))
    np.testing.assert_array_equal(calibrate_choices(said, single), np.ones(N_ROWS))


def test_a_candidate_that_was_ruled_out_can_still_be_right():
    said = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]] * 40)
    candidates = CandidateLabels.from_sets([{1, 2}, {0, 2}, {0, 1}] * 40)
    shares = calibrate_choices(said, candidates)
    np.testing.assert_allclose(shares, 0.5)


def test_two_calls_give_the_same_and_leave_global_random_numbers_alone(honest, sets):
    said, _ = honest
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (calibrate_choices(said, sets) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert calibrate_predictions(said, sets) == calibrate_predictions(said, sets)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_rows_of_one_label_are_compared_with_ambiguous_ones_of_their_group():
    generator = np.random.default_rng(0)
    sets = CandidateLabels.from_strings(["a", "a|b", "b|c", "c", "b", "a|c"] * 40)
    single = sets.sizes == 1
    # A model that is sure of ambiguous rows, and at a loss where a label came alone.
    said = generator.dirichlet([0.3] * 3, len(sets))
    said[single] = 1 / 3
    alone = calibrate_choices(said, sets)
    by_kind = calibrate_choices(said, sets.with_groups(single))
    assert _sureness(sets, by_kind) > _sureness(sets, alone) + 0.05
    mixed = calibrate_choices(said, sets.with_groups(np.arange(len(sets)) // 6))
    np.testing.assert_array_equal(mixed, alone)
    # Groups of one row each are no groups.
    by_itself = calibrate_choices(said, sets.with_groups(np.arange(len(sets))))
    np.testing.assert_array_equal(by_itself, alone)


def _sureness(sets: CandidateLabels, shares: np.ndarray) -> float:
    confidences = [part.max() for part in np.split(shares, sets.starts[1:]) if len(part) > 1]
    return float(np.mean(confidences))


def answers_of_a_pupil(seed, spread=1.0):
    """Return features' probabilities, what somebody believes who saw the same, and the truth."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(N_ROWS, N_CLASSES))
    said = softmax(logits + spread * rng.normal(size=logits.shape), axis=1)
    return said, softmax(logits, axis=1), drawn(rng, softmax(logits, axis=1))


@pytest.mark.parametrize("power", [0.5, 1, 3])
def test_beliefs_that_rest_on_the_same_evidence_are_not_counted_twice(power):
    said, believed, truth = answers_of_a_pupil(0)
    candidates = CandidateLabels.from_mask(believed > 0, range(N_CLASSES), weights=believed)
    given = Calibration(power).apply(said)
    shares = calibrate_choices(given, candidates, beliefs=True)
    assert honest_within(shares, candidates, truth, 0.15)
    product = calibration._shares(said, candidates, 1.0, 1.0)
    stated, wrong = stated_and_wrong(product, candidates, truth)
    assert stated < 0.75 * wrong


def test_a_pool_of_beliefs_is_a_geometric_mean():
    said, believed, _ = answers_of_a_pupil(1, spread=0.0)
    candidates = CandidateLabels.from_mask(believed > 0, range(N_CLASSES), weights=believed)
    shares = calibrate_choices(said, candidates, beliefs=True)
    np.testing.assert_allclose(shares.reshape(believed.shape), believed, atol=1e-6)


def test_beliefs_that_the_model_does_not_bear_out_are_calibrated_as_before(honest, sets):
    said, truth = honest
    loud = weighted_sets(sets, truth, 0.9999)
    np.testing.assert_array_equal(
        calibrate_choices(said, loud, beliefs=True), calibrate_choices(said, loud)
    )


def test_beliefs_of_a_minority_of_rows_do_not_decide_for_all(honest, sets):
    said, truth = honest
    mask, modest = sets.to_mask(), weighted_sets(sets, truth, 0.8).weights.toarray()
    with_beliefs = np.arange(N_ROWS) % 3 == 0
    weights = np.where(with_beliefs[:, None], modest, mask)
    some = CandidateLabels.from_mask(mask, sets.classes, weights=weights)
    assert calibration._trust_in_weights(said, some) >= 1
    np.testing.assert_array_equal(
        calibrate_choices(said, some, beliefs=True), calibrate_choices(said, some)
    )
