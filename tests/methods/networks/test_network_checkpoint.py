import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from disambig import CandidateLabels
from disambig._core.errors import ModelFileError
from methods.ncpd.examples import (
    NEW_X,
    EpochCounter,
    Interruption,
    X,
    Y,
    assert_same_bits,
    description_in,
    quick,
    rewrite,
)
from methods.ncpd.other_process import (
    exit_code_of,
    fit,
    fit_until_killed,
    results_of,
    write_result,
)

WATCHED = (X[:30] + 0.5, Y[:30])
# Every class is a candidate: no epoch is better than the first.
EVERYTHING = (X, np.ones((60, 3), dtype=bool))


LEFT_BEHIND = {}


def interrupted(path, epoch=3, **parameters):
    """Leave a checkpoint of a training that did not come to its end; each is trained once."""
    key = (epoch, repr(parameters))
    if key not in LEFT_BEHIND:
        train_until_interrupted(path, epoch, **parameters)
        LEFT_BEHIND[key] = path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(LEFT_BEHIND[key])


def train_until_interrupted(path, epoch, **parameters):
    method = quick(checkpoint=path, checkpoint_every=1, callbacks=[Interruption(epoch)])
    with pytest.raises(KeyboardInterrupt):
        method.set_params(**parameters).fit(X, Y)
    assert len(description_in(path)["history"]["loss"]) == epoch


def assert_same_results(path, fitted, tmp_path):
    write_result(fitted, tmp_path / "expected.npz")
    found, expected = results_of(path), results_of(tmp_path / "expected.npz")
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


# Killed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "killed_at"),
    [
        ({"cooperation": False, "batch_norm": False}, 1),
        ({"hidden": (16, 8), "checkpoint_every": 3}, 5),
        ({"n_networks": 3, "scaling": "quantile", "validation": 0.2}, 4),
    ],
)
def test_a_killed_training_goes_on_as_if_nothing_had_happened(tmp_path, parameters, killed_at):
    checkpoint, result = tmp_path / "checkpoint", tmp_path / "result.npz"
    resumable = {"checkpoint": checkpoint, "checkpoint_every": 1, **parameters}
    assert exit_code_of(fit, resumable, result, killed_at) == -signal.SIGKILL
    assert checkpoint.exists()
    assert not result.exists()
    assert exit_code_of(fit, resumable, result) == 0
    assert_same_results(result, quick(**parameters).fit(X, Y), tmp_path)


@pytest.mark.parametrize("best", [3, 8], ids=["best before", "best after"])
def test_a_killed_training_keeps_its_best_epoch(tmp_path, best):
    # The watched labels are what is predicted after the epoch that shall be the best.
    fixed = {"learning_rate": 0.03, "epochs": 12, "ramp_epochs": 1}
    labels = quick(**{**fixed, "epochs": best}).fit(X, Y).predict(WATCHED[0])
    parameters = {**fixed, "validation": (WATCHED[0], labels), "early_stopping": 12}
    expected = quick(**parameters).fit(X, Y)
    found_best = int(expected.history_["validation_covering_rate"].argmax()) + 1
    assert 1 < found_best <= best
    assert (found_best < 5) == (best == 3)  # it is killed at 5
    checkpoint, result = tmp_path / "checkpoint", tmp_path / "result.npz"
    resumable = {"checkpoint": checkpoint, "checkpoint_every": 1, **parameters}
    assert exit_code_of(fit, resumable, result, 5) == -signal.SIGKILL
    assert exit_code_of(fit, resumable, result) == 0
    assert_same_results(result, expected, tmp_path)
    alone = quick(**{**fixed, "epochs": found_best}).fit(X, Y).predict_proba_per_network(NEW_X)
    np.testing.assert_array_equal(results_of(result)["probabilities"], alone)


def test_a_training_that_is_killed_again_and_again_at_any_moment_comes_to_its_end(tmp_path):
    checkpoint, result = tmp_path / "checkpoint", tmp_path / "result.npz"
    parameters = {"epochs": 60, "validation": 0.2}
    resumable = {"checkpoint": checkpoint, "checkpoint_every": 1, **parameters}
    pauses = np.random.default_rng(0).uniform(0, 0.02, size=3)
    for epoch, pause in zip((15, 30, 45), pauses, strict=True):
        assert exit_code_of(fit_until_killed, resumable, epoch, pause) == -signal.SIGKILL
    assert exit_code_of(fit, resumable, result) == 0
    assert_same_results(result, quick(**parameters).fit(X, Y), tmp_path)


# Interrupted -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [1, 3, 5])
def test_an_interrupted_training_goes_on_where_it_was(tmp_path, fitted, epoch):
    interrupted(tmp_path / "checkpoint", epoch)
    counter = EpochCounter()
    resumed = quick(checkpoint=tmp_path / "checkpoint", callbacks=[counter]).fit(X, Y)
    assert counter.epochs == 6 - epoch
    assert_same_bits(resumed, fitted)


def test_an_early_stop_is_where_it_would_have_been(tmp_path):
    parameters = {"validation": EVERYTHING, "early_stopping": 4, "ramp_epochs": 1}
    interrupted(tmp_path / "checkpoint", 3, **parameters)
    resumed = quick(checkpoint=tmp_path / "checkpoint", **parameters).fit(X, Y)
    assert resumed.history_.n_epochs == 5
    np.testing.assert_array_equal(
        resumed.predict_proba(X), quick(epochs=1, ramp_epochs=1).fit(X, Y).predict_proba(X)
    )


@pytest.mark.parametrize("random_state", [None, "generator"])
def test_without_a_seed_the_same_training_goes_on(tmp_path, random_state):
    class Copier:
        def on_epoch_end(self, training):
            if training.epoch == 3:
                shutil.copy(tmp_path / "checkpoint", tmp_path / "copy")

    def seed(number):
        return None if random_state is None else np.random.default_rng(number)

    method = quick(random_state=seed(1), checkpoint=tmp_path / "checkpoint", checkpoint_every=1)
    whole = method.set_params(callbacks=[Copier()], validation=0.2).fit(X, Y)
    resumed = quick(random_state=seed(2), checkpoint=tmp_path / "copy", validation=0.2).fit(X, Y)
    assert_same_bits(resumed, whole)


def test_what_changes_nothing_that_is_learned_may_change(tmp_path, fitted):
    interrupted(tmp_path / "checkpoint")
    method = quick(checkpoint=str(tmp_path / "checkpoint"), checkpoint_every=4, verbose=1)
    named = CandidateLabels.from_mask(Y.to_mask(), ["x", "y", "z"])
    found = method.fit(X, named).predict_proba(X)
    np.testing.assert_array_equal(found, fitted.predict_proba(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"hidden": (16,)},
        {"hidden": [np.int64(16)]},
        {"hidden": np.array([16])},
        {"hidden": np.int32(16)},
        {"epochs": np.int64(6), "dropout": np.float64(0.5), "batch_norm": np.bool_(True)},
        {"random_state": np.int64(0)},
    ],
    ids=str,
)
def test_the_same_parameters_may_be_written_otherwise(tmp_path, fitted, parameters):
    interrupted(tmp_path / "checkpoint", 4, dropout=0.5, batch_norm=True)
    counter = EpochCounter()
    method = quick(checkpoint=tmp_path / "checkpoint", callbacks=[counter], **parameters)
    assert_same_bits(method.fit(X, Y), fitted)
    assert counter.epochs == 2


# Finished ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"validation": WATCHED, "early_stopping": 6},
        {"validation": EVERYTHING, "early_stopping": 2},  # stopped after 3 of 6 epochs
        {"random_state": None},
    ],
    ids=["plain", "watched", "stopped early", "no seed"],
)
def test_a_finished_checkpoint_gives_the_result_without_training(tmp_path, parameters):
    method = quick(checkpoint=tmp_path / "checkpoint", **parameters)
    expected = method.fit(X, Y)
    content = (tmp_path / "checkpoint").read_bytes()
    counter = EpochCounter()
    again = quick(checkpoint=tmp_path / "checkpoint", callbacks=[counter], **parameters).fit(X, Y)
    assert counter.epochs == 0
    assert_same_bits(again, expected)
    assert (tmp_path / "checkpoint").read_bytes() == content


def test_a_checkpoint_changes_nothing_that_is_learned(tmp_path, fitted):
    assert_same_bits(quick(checkpoint=tmp_path / "checkpoint").fit(X, Y), fitted)


def test_it_is_written_as_often_as_asked_for_and_at_the_end(tmp_path):
    written = []

    class Reader:
        def on_epoch_end(self, training):
            path = tmp_path / "checkpoint"
            epochs = len(description_in(path)["history"]["loss"]) if path.exists() else 0
            written.append(epochs)

    quick(
        epochs=7, checkpoint=tmp_path / "checkpoint", checkpoint_every=3, callbacks=[Reader()]
    ).fit(X, Y)
    assert written == [0, 0, 3, 3, 3, 6, 7]


def test_it_is_written_at_an_early_end_too(tmp_path):
    method = quick(validation=EVERYTHING, early_stopping=1, checkpoint=tmp_path / "checkpoint")
    method.fit(X, Y)
    assert len(description_in(tmp_path / "checkpoint")["history"]["loss"]) == 2


def test_its_folder_is_made_and_holds_nothing_else(tmp_path, fitted):
    path = tmp_path / "not" / "there" / "run.safetensors"
    train_until_interrupted(path, 3)
    assert_same_bits(quick(checkpoint=path).fit(X, Y), fitted)
    assert [file.name for file in path.parent.iterdir()] == ["run.safetensors"]


# Refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"hidden": 17},
        {"hidden": (16, 16)},
        {"epochs": 7},
        {"ramp_epochs": 4},
        {"batch_size": 17},
        {"learning_rate": 0.002},
        {"dropout": 0.4},
        {"activation": "tanh"},
        {"batch_norm": False},
        {"scaling": "standard"},
        {"n_networks": 3},
        {"cooperation": False},
        {"progressive": False},
        {"validation": 0.1},
        {"validation": 0.1, "early_stopping": 3},
        {"random_state": 1},
    ],
    ids=str,
)
def test_a_checkpoint_of_other_parameters_is_refused_and_left_alone(tmp_path, parameters):
    path = tmp_path / "checkpoint"
    interrupted(path)
    content = path.read_bytes()
    with pytest.raises(ModelFileError, match="other data or with other parameters. Delete it"):
        quick(checkpoint=path, checkpoint_every=1, **parameters).fit(X, Y)
    assert path.read_bytes() == content


def changed_data():
    moved = X.copy()
    moved[7, 2] = np.nextafter(moved[7, 2], np.inf)
    mask = Y.to_mask()
    weighted = CandidateLabels.from_mask(mask, weights=mask * np.array([1.0, 1.0, 2.0]))
    fewer = mask.copy()
    fewer[np.flatnonzero(Y.sizes > 1)[0]] = [True, False, False]
    return {
        "one value": (moved, Y),
        "weights": (X, weighted),
        "one set": (X, fewer),
        "other order": (X[::-1], Y[::-1]),
        "fewer rows": (X[:-1], Y[:-1]),
        "one more class": (X, Y.with_classes([0, 1, 2, 3])),
        "fewer features": (X[:, :3], Y),
    }


@pytest.mark.parametrize("change", changed_data())
@pytest.mark.parametrize("random_state", [0, None])
def test_a_checkpoint_of_other_data_is_refused_and_left_alone(tmp_path, change, random_state):
    path = tmp_path / "checkpoint"
    interrupted(path, random_state=random_state, scaling="none")
    content = path.read_bytes()
    method = quick(checkpoint=path, scaling="none", random_state=random_state)
    with pytest.raises(ModelFileError, match="other data or with other parameters. Delete it"):
        method.fit(*changed_data()[change])
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, WATCHED),
        (WATCHED, None),
        (WATCHED, (X, Y)),
        (WATCHED, (WATCHED[0], CandidateLabels.from_mask(WATCHED[1].to_mask(), [2, 1, 0]))),
    ],
    ids=["none before", "none after", "others after", "other names after"],
)
def test_a_checkpoint_with_other_rows_to_watch_is_refused(tmp_path, before, after):
    interrupted(tmp_path / "checkpoint", validation=before)
    with pytest.raises(ModelFileError, match="other data or with other parameters. Delete it"):
        quick(checkpoint=tmp_path / "checkpoint", validation=after).fit(X, Y)


@pytest.mark.parametrize("random_state", [0, None])
@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused_and_left_alone(tmp_path, share, random_state):
    path = tmp_path / "checkpoint"
    interrupted(path)
    content = path.read_bytes()[: int(share * path.stat().st_size)]
    path.write_bytes(content)
    with pytest.raises(
        ModelFileError, match="is not a training checkpoint that disambig can read: it is dama"
    ):
        quick(checkpoint=path, random_state=random_state).fit(X, Y)
    assert path.read_bytes() == content


@pytest.mark.parametrize("random_state", [0, None])
def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path, random_state):
    path = tmp_path / "notes.txt"
    path.write_text("Not to be lost.")
    with pytest.raises(
        ModelFileError, match="notes.txt' is not a training checkpoint that disambig can read"
    ):
        quick(checkpoint=path, random_state=random_state).fit(X, Y)
    assert path.read_text() == "Not to be lost."


def test_a_saved_model_is_no_checkpoint(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    message = "is not a training checkpoint that disambig can read: it is a model"
    with pytest.raises(ModelFileError, match=message):
        quick(checkpoint=tmp_path / "model").fit(X, Y)


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    interrupted(tmp_path / "checkpoint")
    rewrite(tmp_path / "checkpoint", lambda _, description: description.update(version=99))
    with pytest.raises(ModelFileError, match="it has the version 99, and this disambig reads"):
        quick(checkpoint=tmp_path / "checkpoint").fit(X, Y)


def test_a_checkpoint_that_lacks_any_of_its_numbers_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    interrupted(path)
    content, names = path.read_bytes(), []
    rewrite(path, lambda tensors, _: names.extend(tensors))
    assert len(names) > 10
    for name in names:
        path.write_bytes(content)
        rewrite(path, lambda tensors, _, name=name: tensors.pop(name))
        with pytest.raises(ModelFileError, match="checkpoint"):
            quick(checkpoint=path).fit(X, Y)


def test_a_checkpoint_of_numbers_that_are_none_is_refused(tmp_path):
    def spoil(tensors, _):
        next(value for value in tensors.values() if value.is_floating_point()).fill_(np.nan)

    interrupted(tmp_path / "checkpoint")
    rewrite(tmp_path / "checkpoint", spoil)
    with pytest.raises(ModelFileError, match="it holds numbers that are not finite"):
        quick(checkpoint=tmp_path / "checkpoint").fit(X, Y)


@pytest.mark.parametrize("entry", ["fingerprint", "history", "networks", "seeds"])
def test_a_checkpoint_that_lacks_an_entry_is_refused(tmp_path, entry):
    interrupted(tmp_path / "checkpoint", random_state=None)
    rewrite(tmp_path / "checkpoint", lambda _, description: description.pop(entry))
    with pytest.raises(ModelFileError, match="is not a training checkpoint that disambig can read"):
        quick(checkpoint=tmp_path / "checkpoint", random_state=None).fit(X, Y)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file"):
        quick(checkpoint=tmp_path).fit(X, Y)
    assert Path(tmp_path).is_dir()


class Stop:
    """A callback that stops a training."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, training):
        if training.epoch == self.epoch:
            training.stop()


@pytest.mark.parametrize("epoch", [3, 4])
def test_a_training_that_a_callback_stopped_stays_stopped(tmp_path, epoch):
    stopping = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 2}
    first = quick(**stopping, callbacks=[Stop(epoch)]).fit(X, Y)
    assert first.history_.n_epochs == epoch
    assert_same_bits(quick(**stopping).fit(X, Y), first)
