import pickle

import numpy as np
import pytest

from disambig import CandidateLabels
from disambig.datasets import make_partial_label_dataset
from disambig.methods.ncpd_plus import members
from disambig.methods.ncpd_plus.mixed_history import WatchedRows, mixed_covering_rates
from disambig.methods.networks.validation import ValidationMonitor
from disambig.metrics import covering_rate
from methods.ncpd.examples import X, Y, assert_same_bits
from methods.ncpd_plus.plus_examples import SCOUTING, quick_mix, quick_single

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


def test_rates_are_those_of_the_mix_and_not_of_its_members():
    kept = {}

    class Keep:
        """Keeps what every configuration says of the watched rows, by epoch."""

        def on_epoch_end(self, training):
            monitor = next(m for m in training.listeners if isinstance(m, ValidationMonitor))
            said = monitor.probabilities(training)
            kept[training.noise is not None, training._features.shape[1], training.epoch] = said

    fitted = quick_mix(validation=PAIR, callbacks=[Keep()]).fit(X, Y)
    by_name = {"plain": (False, 4), "noisy": (True, 4), "noisy_views": (True, 8)}
    weights = fitted.selection_.weights
    for epoch in (1, SCOUTING, SCOUTING + 1, 12):
        mixed = sum(w * kept[*by_name[name], epoch] for name, w in weights.items())
        predicted = fitted.classes_[mixed.argmax(axis=1)]
        assert fitted.history_[RATE][epoch - 1] == covering_rate(PAIR[1], predicted)


def test_the_history_is_that_of_the_heaviest_member_but_for_the_rate(watched):
    history = watched.history_.to_dict()
    expected = watched.members_[watched.selection_.choice].history_.to_dict()
    assert set(history) == set(expected)
    for name in set(history) - {RATE}:
        np.testing.assert_array_equal(history[name], expected[name], err_msg=name)


def test_watching_other_rows_changes_nothing_that_is_learned(watched, mix):
    np.testing.assert_array_equal(watched.predict_proba(X), mix.predict_proba(X))
    assert dict(watched.selection_) == dict(mix.selection_)


def test_what_was_said_in_every_epoch_is_not_kept(watched):
    for member in watched.members_.values():
        assert member.callbacks is None
        assert b"WatchedRows" not in pickle.dumps(member)


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


def test_rates_of_a_mix_have_one_length_however_many_are_in_it(monkeypatch):
    # The folds of a study are laid side by side, and the fewer members the longer the training.
    monkeypatch.setattr(members, "_SCOUT_EPOCHS", 2)
    monkeypatch.setattr(members, "_EPOCHS_AFTER", (11, 5, 3))
    fitted = quick_mix(validation=PAIR, epochs=None).fit(X, Y)
    trained = 2 + 11 // len(fitted.members_)
    assert trained < 13
    assert fitted.history_[RATE].shape == (13,)
    assert np.isfinite(fitted.history_[RATE]).all()
    assert fitted.history_[RATE][-1] == fitted.score(*PAIR)
    assert np.isfinite(fitted.history_["loss"]).sum() == trained


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
