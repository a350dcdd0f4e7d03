import numpy as np
import pytest

from disambig import PLKNN, CandidateLabels
from disambig._core.errors import DisambigError, ParameterError
from disambig._core.parameters import spawn_seeds
from disambig.bench import ControlledCorruption, shuffled_folds
from disambig.bench.trial import (
    Split,
    leave_out_of_training,
    make_trial,
    thin_out_training,
)
from disambig.candidates import corrupt_controlled
from disambig.candidates.dataset import PartialLabelDataset
from disambig.datasets import make_partial_label_dataset
from disambig.methods import OracleClassifier

CORRUPTION = ControlledCorruption(p=0.5, r=2)


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(60, 3, 4, average_candidates=2, random_state=0)


def folds(seed=0):
    return [Split(seed=seed, fold=fold, n_folds=3) for fold in range(3)]


def test_rows_are_those_of_the_split(data):
    for split, (train, test) in zip(folds(5), shuffled_folds(60, 3, 5), strict=True):
        trial = make_trial(data, split)
        for rows, numbers in ((trial.train, train), (trial.test, test)):
            np.testing.assert_array_equal(rows.numbers, numbers)
            np.testing.assert_array_equal(rows.X, data.X[numbers])
            np.testing.assert_array_equal(rows.true_labels, data.true_labels[numbers])
            assert rows.candidates == data.candidates[numbers]


def test_corruption_and_method_have_the_seeds_that_earlier_versions_gave_them(data):
    # What was published must stay what it was: the same rows, the same sets, the same networks.
    splits = zip(folds(7), shuffled_folds(60, 3, 7), spawn_seeds(7, 3), strict=True)
    for split, (train, _), fold_seed in splits:
        corruption_seed, method_seed = spawn_seeds(fold_seed, 2)
        trial = make_trial(data, split, CORRUPTION)
        assert trial.method_seed == method_seed
        assert trial.train.candidates == corrupt_controlled(
            data.true_labels[train], p=0.5, r=2, classes=range(4), random_state=corruption_seed
        )


def test_all_seeds_differ_by_fold_and_by_repeat(data):
    trials = [make_trial(data, split) for seed in (0, 1) for split in folds(seed)]
    seeds = [seed for trial in trials for seed in (trial.method_seed, trial.selection_seed)]
    assert len(set(seeds)) == 12


def test_a_hold_out_is_repeated_with_other_seeds(data):
    trials = [make_trial(data, Split(seed=seed, test_share=0.3)) for seed in (0, 1)]
    assert trials[0].method_seed != trials[1].method_seed


def test_corruption_is_the_same_whenever_it_is_made(data):
    first, again = (make_trial(data, folds()[1], CORRUPTION) for _ in range(2))
    assert first.train.candidates == again.train.candidates
    assert first.test.candidates == again.test.candidates


def test_corruption_of_training_rows_is_drawn_anew_for_every_fold_and_seed(data):
    trials = [make_trial(data, split, CORRUPTION) for seed in (0, 1) for split in folds(seed)]
    assert len({tuple(trial.train.candidates.sizes) for trial in trials}) == 6


def test_test_rows_have_sets_of_their_own_made_by_another_seed(data):
    # With as many test rows as training rows, the same seed would draw the same rows and labels.
    trial = make_trial(data, Split(seed=0, test_share=0.5), CORRUPTION)
    assert (trial.train.candidates.sizes == 3).sum() == 15
    assert (trial.test.candidates.sizes == 3).sum() == 15
    assert trial.train.candidates.sizes.tolist() != trial.test.candidates.sizes.tolist()


def test_sets_of_training_rows_do_not_depend_on_labels_of_test_rows(data):
    split = folds()[0]
    _, test = split.rows(60)
    labels = data.true_labels.copy()
    labels[test] = (labels[test] + 1) % 4
    sets = CandidateLabels.from_labels(labels, classes=range(4))
    changed = PartialLabelDataset("changed", data.X, sets, labels, data.feature_names)
    before, after = make_trial(data, split, CORRUPTION), make_trial(changed, split, CORRUPTION)
    assert before.train.candidates == after.train.candidates
    assert before.test.candidates != after.test.candidates


def test_all_classes_are_kept_where_a_split_has_not_all_of_them():
    labels = np.array(["a"] * 9 + ["z"])
    sets = CandidateLabels.from_labels(labels, classes=["a", "m", "z"])
    data = PartialLabelDataset("rare", np.zeros((10, 1)), sets, labels, ["x"])
    for corruption in (None, ControlledCorruption(p=1.0, r=1)):
        trial = make_trial(data, Split(seed=0, n_folds=5), corruption)
        for rows in (trial.train, trial.test):
            assert rows.candidates.classes.tolist() == ["a", "m", "z"]
            assert rows.visible_to(OracleClassifier()).classes.tolist() == ["a", "m", "z"]


def test_only_who_may_read_the_truth_is_shown_it(data):
    train = make_trial(data, folds()[0]).train
    assert train.visible_to(PLKNN()) == train.candidates
    shown = train.visible_to(OracleClassifier())
    assert shown.sizes.tolist() == [1] * 40
    assert shown.contains(train.true_labels).all()


def test_weights_of_the_sets_stay(data):
    mask = data.candidates.to_mask()
    weighted = CandidateLabels.from_mask(mask, weights=mask * np.array([1.0, 2.0, 3.0, 4.0]))
    voted = PartialLabelDataset("votes", data.X, weighted, data.true_labels, data.feature_names)
    assert make_trial(voted, folds()[0]).train.candidates.weights is not None


@pytest.mark.parametrize("corruption", [None, CORRUPTION])
def test_the_truth_is_left_out_of_a_share_of_the_training_sets_alone(data, corruption):
    split = folds()[1]
    trial = make_trial(data, split, corruption)
    missing = leave_out_of_training(trial, split, 0.25)
    contained = missing.train.candidates.contains(missing.train.true_labels)
    assert (~contained).sum() == round(0.25 * len(contained))
    untouched = np.flatnonzero(contained)
    assert missing.train.candidates[untouched] == trial.train.candidates[untouched]
    assert missing.test is trial.test
    assert (missing.method_seed, missing.selection_seed) == (
        trial.method_seed,
        trial.selection_seed,
    )


def test_misses_follow_from_the_split_and_are_others_in_every_fold_and_seed(data):
    def missed(split):
        train = leave_out_of_training(make_trial(data, split, CORRUPTION), split, 0.25).train
        return tuple(train.numbers[~train.candidates.contains(train.true_labels)].tolist())

    splits = [Split(seed=seed, fold=fold, n_folds=3) for seed in (0, 1) for fold in (0, 1)]
    assert [missed(split) for split in splits] == [missed(split) for split in splits]
    assert len({missed(split) for split in splits}) == 4


def test_true_labels_are_needed(data):
    blind = PartialLabelDataset("blind", data.X, data.candidates, None, data.feature_names)
    with pytest.raises(ParameterError, match="needs true labels, and blind has none"):
        make_trial(blind, folds()[0])


@pytest.mark.parametrize(
    ("corruption", "message"),
    [
        (ControlledCorruption(p=1.5, r=1), "'p' must be a number from 0 to 1"),
        (ControlledCorruption(p=0.5, r=4), "'r' must be an integer from 1 to 3"),
    ],
)
def test_impossible_corruption_is_refused(data, corruption, message):
    with pytest.raises(DisambigError, match=message):
        make_trial(data, folds()[0], corruption)


@pytest.mark.parametrize("corruption", [None, CORRUPTION])
def test_training_rows_are_left_out_until_classes_are_long_tailed(data, corruption):
    split = folds()[1]
    trial = make_trial(data, split, corruption)
    thinned = thin_out_training(trial, split, 5.0)
    sizes = np.sort(np.unique(thinned.train.true_labels, return_counts=True)[1])[::-1]
    largest = np.unique(trial.train.true_labels, return_counts=True)[1].max()
    assert sizes.tolist() == [int(largest * 5 ** (-k / 3) + 1e-9) for k in range(4)]
    places = np.searchsorted(trial.train.numbers, thinned.train.numbers)
    np.testing.assert_array_equal(trial.train.numbers[places], thinned.train.numbers)
    np.testing.assert_array_equal(trial.train.X[places], thinned.train.X)
    assert trial.train.candidates[places] == thinned.train.candidates
    assert thinned.test is trial.test
    assert thinned.method_seed == trial.method_seed


def test_rows_left_out_follow_from_the_split_and_are_others_in_every_fold(data):
    def kept(split):
        return tuple(thin_out_training(make_trial(data, split), split, 5.0).train.numbers.tolist())

    splits = [Split(seed=seed, fold=fold, n_folds=3) for seed in (0, 1) for fold in (0, 1)]
    assert [kept(split) for split in splits] == [kept(split) for split in splits]
    assert len({kept(split) for split in splits}) == 4
