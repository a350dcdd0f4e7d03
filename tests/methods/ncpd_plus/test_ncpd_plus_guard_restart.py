"""A training that has collapsed is begun again with a shorter ramp."""

import json
import math
import warnings

import numpy as np
import pytest

from disambig import NCPDClassifier
from disambig._core.parameters import spawn_seeds
from disambig.datasets import make_partial_label_dataset
from disambig.methods import fit_many
from disambig.methods.ncpd_plus import members
from disambig.methods.ncpd_plus.collapse import CollapseGuard
from methods.ncpd.examples import NEW_X, X, Y, assert_same_bits
from methods.ncpd_plus.plus_examples import SMALL, load_plus, quick_mix, quick_single

NO_RAMP_LEFT = r"abandoned what it first learned \(collapsed\), and no shorter ramp is left to try"
LOOKED_AT = 5


class Ramps:
    """A callback that writes down the ramp of every training, and the epochs it came to."""

    def __init__(self):
        self.seen = []

    def on_fit_end(self, training):
        self.seen.append((training.rule.ramp_epochs, training.epoch))


def collapse_where(monkeypatch, has_collapsed):
    """Let ``has_collapsed(n_rows, ramp_epochs)`` decide what the guard finds in epoch 5."""

    def look(guard, training):
        if training.epoch == LOOKED_AT:
            ramp = training.rule.ramp_epochs
            guard._collapsed = np.array([has_collapsed(len(s), ramp) for s in guard._set_sizes])
            training.note("collapsed", guard._collapsed)
            if guard._collapsed.all():
                training.stop()

    monkeypatch.setattr(CollapseGuard, "on_epoch_end", look)


@pytest.fixture
def long_ramps_collapse(monkeypatch):
    collapse_where(monkeypatch, lambda _, ramp: ramp > 5)


@pytest.fixture
def everything_collapses(monkeypatch):
    collapse_where(monkeypatch, lambda *_: True)


@pytest.mark.usefixtures("long_ramps_collapse")
@pytest.mark.parametrize(
    ("ramp", "tried"),
    [(5, [5]), (6, [6, 1]), (40, [40, 4]), (59, [59, 5]), (600, [600, 60, 6, 1])],
)
def test_a_collapse_is_begun_again_with_a_ramp_ten_times_shorter(ramp, tried):
    ramps = Ramps()
    found = quick_single(ramp_epochs=ramp, epochs=600, callbacks=[ramps, stop_after(12)]).fit(X, Y)
    *stopped, last = ramps.seen
    assert stopped == [(length, LOOKED_AT) for length in tried[:-1]]
    assert last == (tried[-1], 12)
    assert found.ramp_epochs == ramp
    assert np.nanmax(found.history_["collapsed"]) == 0


def stop_after(epoch):
    """A callback that ends every training there."""

    class Stop:
        def on_epoch_end(self, training):
            if training.epoch == epoch:
                training.stop()

    return Stop()


@pytest.mark.usefixtures("long_ramps_collapse")
@pytest.mark.parametrize("parameters", [{}, {"swap_noise": 0.3, "prior_correction": 0.5}], ids=str)
def test_what_is_begun_again_is_the_training_with_the_shorter_ramp(parameters):
    found = quick_single(ramp_epochs=30, epochs=30, **parameters).fit(X, Y)
    expected = quick_single(ramp_epochs=3, epochs=30, **parameters).fit(X, Y)
    assert_same_bits(found, expected)


@pytest.mark.usefixtures("long_ramps_collapse")
def test_watched_rows_and_the_best_epoch_are_forgotten_too():
    parameters = {"epochs": 40, "validation": (NEW_X, np.ones((25, 3), bool)), "early_stopping": 7}
    found = quick_single(ramp_epochs=30, **parameters).fit(X, Y)
    expected = quick_single(ramp_epochs=3, **parameters).fit(X, Y)
    assert found.history_.n_epochs == 8
    assert_same_bits(found, expected)


@pytest.mark.usefixtures("everything_collapses")
def test_where_no_shorter_ramp_is_left_there_is_a_warning():
    ramps = Ramps()
    with pytest.warns(UserWarning, match=NO_RAMP_LEFT) as caught:
        found = quick_single(ramp_epochs=12, callbacks=[ramps]).fit(X, Y)
    assert len(caught) == 1
    assert [ramp for ramp, _ in ramps.seen] == [12, 1]
    assert found.history_.n_epochs == LOOKED_AT
    assert np.isfinite(found.predict_proba(NEW_X)).all()


@pytest.mark.usefixtures("everything_collapses")
def test_a_training_without_a_ramp_is_not_begun_again():
    ramps = Ramps()
    with pytest.warns(UserWarning, match=NO_RAMP_LEFT):
        quick_single(progressive=False, callbacks=[ramps]).fit(X, Y)
    assert len(ramps.seen) == 1


@pytest.mark.usefixtures("everything_collapses")
def test_without_a_guard_a_training_goes_on_regardless():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = quick_single(guard=False).fit(X, Y)
    assert found.history_.n_epochs == 12


def collapse_in_mix(monkeypatch, has_collapsed):
    """Let ``has_collapsed(noisy, scouting)`` decide what the guard finds in every training."""

    def look(guard, training):
        scouting = len(guard._set_sizes[0]) < len(X)
        guard._collapsed[:] = has_collapsed(training.noise is not None, scouting)
        training.note("collapsed", guard._collapsed)

    monkeypatch.setattr(CollapseGuard, "on_epoch_end", look)


@pytest.mark.parametrize("where", ["scouts", "members"])
def test_what_has_collapsed_is_left_out_of_a_mix(monkeypatch, where):
    collapse_in_mix(monkeypatch, lambda noisy, scouting: noisy and scouting == (where == "scouts"))
    message = "NCPD\\+ leaves out of its mix: noisy, noisy_views. The training has abandoned"
    with pytest.warns(UserWarning, match=message) as caught:
        fitted = quick_mix().fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]
    assert fitted.selection_.weights == {"plain": 1.0}
    assert list(fitted.members_) == ["plain"]
    assert set(fitted.selection_) == {"plain", "noisy", "noisy_views"}
    expected = fitted.members_["plain"].predict_proba(NEW_X)
    np.testing.assert_array_equal(fitted.predict_proba(NEW_X), expected)


@pytest.mark.parametrize("where", ["scouts", "members"])
def test_a_mix_of_which_nothing_is_left_is_ncpd(monkeypatch, tmp_path, where):
    collapse_in_mix(monkeypatch, lambda _, scouting: scouting == (where == "scouts"))
    message = "mix: plain, noisy, noisy_views.* Nothing else is left, so NCPD is trained instead"
    with pytest.warns(UserWarning, match=message):
        fitted = quick_mix().fit(X, Y)
    assert fitted.selection_.weights == {"ncpd": 1.0}
    seed = spawn_seeds(0, 3)[2]
    parameters = {**SMALL, "ramp_epochs": 6, "random_state": seed}
    ncpd = NCPDClassifier(**parameters).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(NEW_X), ncpd.predict_proba(NEW_X))
    fitted.save(tmp_path / "model")
    loaded = load_plus(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(NEW_X), ncpd.predict_proba(NEW_X))
    assert loaded.selection_.weights == {"ncpd": 1.0}
    assert "ncpd" in str(loaded.selection_)
    # Its scores are not known, which JSON cannot say by a number.
    assert json.dumps(loaded.selection_.to_dict(), allow_nan=False)
    assert math.isnan(loaded.selection_["ncpd"].log_mass)


def test_ncpd_in_place_of_a_mix_is_watched_for_as_many_epochs(monkeypatch):
    # A study lays its folds side by side, whichever of them have collapsed.
    monkeypatch.setattr(members, "_SCOUT_EPOCHS", 2)
    monkeypatch.setattr(members, "_EPOCHS_AFTER", (11, 5, 3))
    collapse_in_mix(monkeypatch, lambda *_: True)
    method = quick_mix(epochs=None, validation=(X, Y))
    with pytest.warns(UserWarning, match="mix: plain, noisy, noisy_views"):
        fitted = method.fit(X, Y)
    assert list(fitted.members_) == ["ncpd"]
    rates = fitted.history_["validation_covering_rate"]
    assert rates.shape == (13,)
    assert rates[-1] == fitted.score(X, Y)


@pytest.mark.usefixtures("everything_collapses")
def test_scouts_go_through_all_ramps():
    ramps = Ramps()
    with pytest.warns(UserWarning, match="leaves out of its mix"):
        quick_mix(epochs=40, callbacks=[ramps]).fit(X, Y)
    # Of 14 epochs before configurations are compared, "plain" has a ramp of 4, the others of 1.
    assert [ramp for ramp, _ in ramps.seen] == [4, 1, 1, 1, 20]


def tasks_of(*row_counts):
    for seed, n_rows in enumerate(row_counts):
        data = make_partial_label_dataset(n_rows, 4, 3, average_candidates=1.7, random_state=seed)
        yield data.X, data.candidates, seed


def test_of_trainings_side_by_side_those_that_have_collapsed_are_begun_again(monkeypatch):
    collapse_where(monkeypatch, lambda n_rows, ramp: n_rows == 51 and ramp > 5)
    tasks = list(tasks_of(60, 51, 62, 51))
    method = quick_single(ramp_epochs=30, epochs=30)
    found = list(fit_many(method, tasks, at_once=4))
    for fitted, (rows, sets, seed) in zip(found, tasks, strict=True):
        ramp = 3 if len(rows) == 51 else 30
        alone = quick_single(ramp_epochs=ramp, epochs=30, random_state=seed).fit(rows, sets)
        np.testing.assert_allclose(fitted.predict_proba(rows), alone.predict_proba(rows), atol=1e-5)


def test_a_checkpoint_of_a_training_that_was_begun_again_goes_on(tmp_path, long_ramps_collapse):
    parameters = {"ramp_epochs": 30, "epochs": 30, "checkpoint_every": 1}
    expected = quick_single(**parameters).fit(X, Y)

    class Interruption:
        def on_epoch_end(self, training):
            if training.rule.ramp_epochs == 3 and training.epoch == 8:
                raise KeyboardInterrupt

    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        quick_single(**parameters, checkpoint=path, callbacks=[Interruption()]).fit(X, Y)
    assert {file.name for file in tmp_path.iterdir()} == {"run", "run.ramp3"}
    ramps = Ramps()
    resumed = quick_single(**parameters, checkpoint=path, callbacks=[ramps]).fit(X, Y)
    assert ramps.seen == [(30, LOOKED_AT), (3, 30)]
    assert_same_bits(resumed, expected)


# The scout of "plain" has a ramp of 2: it collapses after 5 epochs, and takes 7 when begun again.
@pytest.mark.parametrize("epochs", [8, 30], ids=["begun again", "gone on"])
def test_a_mix_whose_scout_was_begun_again_goes_on_to_the_same_bits(monkeypatch, tmp_path, epochs):
    collapse_where(monkeypatch, lambda _, ramp: ramp > 1)
    expected = quick_mix(epochs=20).fit(X, Y)
    assert "plain" in expected.members_

    class Interruption:
        left = epochs

        def on_epoch_end(self, training):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    parameters = {"epochs": 20, "checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        quick_mix(**parameters, callbacks=[Interruption()]).fit(X, Y)
    assert (tmp_path / "run.scout-plain.ramp1").exists()
    assert_same_bits(quick_mix(**parameters).fit(X, Y), expected)
