from dataclasses import replace

import numpy as np
import pytest

from disambig import CandidateLabels
from disambig.datasets import make_partial_label_dataset
from disambig.methods.ncpd_plus import members
from disambig.methods.ncpd_plus.members import WatchedRows, mixed_covering_rates
from disambig.methods.ncpd_plus.selection import ConfigurationScore, Selection
from disambig.methods.networks.validation import ValidationMonitor
from disambig.metrics import covering_rate
from methods.ncpd.examples import X, Y, assert_same_bits
from methods.ncpd_plus.plus_examples import quick_mix, quick_single

RATE = "validation_covering_rate"
WATCHED = make_partial_label_dataset(40, 4, 3, average_candidates=1.7, overlap=0.3, random_state=5)
PAIR = (WATCHED.X, WATCHED.candidates)


@pytest.fixture(scope="module")
def watched():
    return quick_mix(validation=PAIR).fit(X, Y)


def test_the_last_rate_is_the_score_of_the_mix(watched):
    rates = watched.history_[RATE]
    assert rates.shape == (watched.history_.n_epochs,) == (12,)
    assert rates[-1] == watched.score(*PAIR)
    assert rates[-1] == covering_rate(PAIR[1], watched.predict(PAIR[0]))


def test_rates_are_those_of_the_mix_and_not_of_its_members(watched):
    weights, epoch = watched.selection_.weights, 5
    probabilities = 0
    for name, member in watched.members_.items():
        # The same training, ended there.
        ended = quick_single(**{**member.get_params(), "validation": None, "epochs": epoch})
        probabilities = probabilities + weights[name] * ended.fit(X, Y).predict_proba(PAIR[0])
    predicted = watched.classes_[probabilities.argmax(axis=1)]
    assert watched.history_[RATE][epoch - 1] == covering_rate(PAIR[1], predicted)


def test_the_history_is_that_of_the_heaviest_member_but_for_the_rate(watched):
    history = watched.history_.to_dict()
    expected = watched.members_[watched.selection_.choice].history_.to_dict()
    assert set(history) == set(expected)
    for name in set(history) - {RATE}:
        np.testing.assert_array_equal(history[name], expected[name], err_msg=name)


def test_watching_other_rows_changes_nothing_that_is_learned(watched, mix):
    np.testing.assert_array_equal(watched.predict_proba(X), mix.predict_proba(X))
    assert dict(watched.selection_) == dict(mix.selection_)


def test_a_share_of_the_rows_is_watched_and_neither_scouted_nor_trained_on():
    fitted = quick_mix(validation=0.3).fit(X, Y)
    (rows, sets), *others = [own.validation for own in fitted.members_.values()]
    assert len(rows) == len(sets) == 18
    for other_rows, _ in others:
        np.testing.assert_array_equal(other_rows, rows)
    assert fitted.history_[RATE][-1] == fitted.score(rows, sets)
    held_out = np.array([any((row == own).all() for own in rows) for row in X])
    assert held_out.sum() == 18
    moved = np.where(held_out[:, np.newaxis], X + 100, X)
    again = quick_mix(validation=0.3).fit(moved, Y)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    # They have confidences in their places all the same.
    assert ((fitted.candidate_confidence_.toarray() > 0) == Y.to_mask()).all()


# "plain" is the heaviest with seed 0, and trained for 12 epochs; with seed 2 it is "noisy_views",
# which ends after 9 of them and stays as it is.
@pytest.mark.parametrize(("seed", "choice", "n_epochs"), [(0, "plain", 12), (2, "noisy_views", 9)])
def test_rates_go_on_to_the_end_of_the_longest_training(seed, choice, n_epochs):
    fitted = quick_mix(validation=PAIR, random_state=seed).fit(X, Y)
    assert fitted.selection_.choice == choice
    assert fitted.members_[choice].history_.n_epochs == n_epochs
    assert fitted.history_[RATE].shape == (12,)
    assert np.isfinite(fitted.history_[RATE]).all()
    assert fitted.history_[RATE][-1] == fitted.score(*PAIR)
    assert np.isfinite(fitted.history_["loss"]).sum() == n_epochs


def test_rates_of_a_mix_have_one_length_whoever_is_in_it(monkeypatch):
    # The folds of a study are laid side by side, and "plain" alone is trained to the end.
    score = ConfigurationScore(0.5, -1.0, 0.5, 0.5)
    said_of = {"noisy": score, "noisy_views": score, "plain": replace(score, weight=0.0)}
    monkeypatch.setattr(members, "_selections", lambda tasks: [Selection(said_of) for _ in tasks])
    fitted = quick_mix(validation=PAIR, epochs=np.int64(12)).fit(X, Y)
    assert set(fitted.members_) == {"noisy", "noisy_views"}
    assert fitted.history_[RATE].shape == (12,)
    assert fitted.history_[RATE][-1] == fitted.score(*PAIR)
    assert np.isfinite(fitted.history_["loss"]).sum() == 9


def said(monitor, **by_epoch):
    """What a member said of the watched rows: a class for each row, by epoch."""
    watched = WatchedRows()
    watched.monitor = monitor
    for epoch, classes in by_epoch.items():
        watched.probabilities[int(epoch.removeprefix("epoch_"))] = np.eye(2)[classes]
    return watched


def test_rates_of_a_mix_by_hand():
    sets = CandidateLabels.from_sets([["a"], ["a"], ["b"], ["a", "b"]])
    monitor = ValidationMonitor(np.zeros((4, 1)), sets, sets.classes, None)
    light = said(monitor, epoch_1=[0, 0, 0, 0], epoch_2=[0, 0, 1, 0], epoch_3=[0, 0, 1, 0])
    heavy = said(monitor, epoch_1=[0, 1, 1, 1], epoch_2=[1, 1, 0, 0])
    # The heavier one decides: in epochs 1 and 2 it is right about 3 rows and 1, and stays so.
    rates = mixed_covering_rates([light, heavy], [0.4, 0.6], 3)
    assert rates.tolist() == [0.75, 0.25, 0.25]
    rates = mixed_covering_rates([light, heavy], [0.6, 0.4], 3)
    assert rates.tolist() == [0.75, 1.0, 1.0]


def test_epochs_that_nobody_watched_have_no_rate():
    sets = CandidateLabels.from_sets([["a"], ["b"]])
    monitor = ValidationMonitor(np.zeros((2, 1)), sets, sets.classes, None)
    resumed = said(monitor, epoch_3=[0, 1])
    whole = said(monitor, epoch_1=[0, 1], epoch_2=[0, 1], epoch_3=[0, 1])
    found = mixed_covering_rates([whole, resumed], [0.5, 0.5], 3)
    np.testing.assert_array_equal(found, [np.nan, np.nan, 1.0])
    finished = mixed_covering_rates([whole, said(monitor)], [0.5, 0.5], 3)
    np.testing.assert_array_equal(finished, [np.nan] * 3)


def test_a_mix_that_is_only_read_says_the_same_but_has_watched_nothing(tmp_path, watched):
    method = quick_mix(validation=PAIR, checkpoint=tmp_path / "run")
    assert_same_bits(method.fit(X, Y), watched)
    again = method.fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), watched.predict_proba(X))
    np.testing.assert_array_equal(again.history_[RATE], [np.nan] * 12)


def test_one_configuration_is_watched_as_in_ncpd():
    fitted = quick_single(validation=PAIR, swap_noise=0.3, second_view="quantile").fit(X, Y)
    assert fitted.history_[RATE][-1] == fitted.score(*PAIR)
