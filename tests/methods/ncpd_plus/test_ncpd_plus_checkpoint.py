import shutil

import pytest
import torch

from disambig._core.errors import ModelFileError
from methods.ncpd.examples import EpochCounter, X, Y, assert_same_bits, rewrite
from methods.ncpd_plus.plus_examples import EVERY_PART, quick_mix, quick_single


class InterruptionAfter:
    """A callback that breaks off after so many epochs of all trainings together."""

    def __init__(self, epochs):
        self.left = epochs

    def on_epoch_end(self, training):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def interrupted(method, path, epochs):
    method.set_params(checkpoint=path, checkpoint_every=1, callbacks=[InterruptionAfter(epochs)])
    with pytest.raises(KeyboardInterrupt):
        method.fit(X, Y)


@pytest.fixture(scope="module")
def left_by_single(tmp_path_factory):
    """A checkpoint of a configuration that was broken off after six epochs."""
    path = tmp_path_factory.mktemp("single") / "run"
    interrupted(quick_single(**EVERY_PART), path, 6)
    return path


@pytest.fixture(scope="module")
def left_by_mix(tmp_path_factory):
    """A folder with the checkpoints of a mix that was broken off after thirty epochs."""
    folder = tmp_path_factory.mktemp("mix")
    interrupted(quick_mix(), folder / "run", 30)
    return folder


# Three scouts train for 4 epochs each, and go on as members for 8.
@pytest.mark.parametrize("epochs", [1, 14, 36])
def test_an_interrupted_mix_goes_on_to_the_same_bits(tmp_path, mix, epochs):
    interrupted(quick_mix(), tmp_path / "run", epochs)
    counter = EpochCounter()
    resumed = quick_mix(checkpoint=tmp_path / "run", callbacks=[counter]).fit(X, Y)
    assert counter.epochs == 36 - epochs
    assert_same_bits(resumed, mix)
    assert dict(resumed.selection_) == dict(mix.selection_)


@pytest.mark.parametrize("epochs", [1, 5, 7])
def test_an_interrupted_configuration_with_every_part_goes_on_to_the_same_bits(
    tmp_path, single, epochs
):
    interrupted(quick_single(**EVERY_PART), tmp_path / "run", epochs)
    counter = EpochCounter()
    resumed = quick_single(**EVERY_PART, checkpoint=tmp_path / "run", callbacks=[counter])
    assert_same_bits(resumed.fit(X, Y), single)
    assert counter.epochs == 12 - epochs


def test_a_finished_mix_has_a_file_for_every_training_and_is_read_without_any(tmp_path, mix):
    tmp_path = tmp_path / "deep"
    first = quick_mix(checkpoint=str(tmp_path / "run")).fit(X, Y)
    assert_same_bits(first, mix)
    scouts = {f"run.scout-{name}" for name in mix.selection_}
    members = {f"run.{name}" for name in mix.members_}
    assert {file.name for file in tmp_path.iterdir()} == scouts | members
    contents = {file: file.read_bytes() for file in tmp_path.iterdir()}
    counter = EpochCounter()
    again = quick_mix(checkpoint=tmp_path / "run", callbacks=[counter]).fit(X, Y)
    assert counter.epochs == 0
    assert_same_bits(again, mix)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == contents


def test_a_configuration_without_a_seed_goes_on_as_it_began(tmp_path):
    parameters = {**EVERY_PART, "checkpoint": tmp_path / "run", "random_state": None}
    whole = quick_single(**parameters).fit(X, Y)
    assert_same_bits(quick_single(**parameters).fit(X, Y), whole)


@pytest.mark.parametrize(
    "changes",
    [
        {"swap_noise": 0.2},
        {"noise_from": 3},
        {"prior_correction": 0.4},
        {"guard": False},
        {"second_view": "standard"},
        {"second_view": None},
        {"ramp_epochs": 4},
    ],
    ids=str,
)
def test_a_checkpoint_of_other_parts_is_refused(left_by_single, changes):
    other = quick_single(**{**EVERY_PART, **changes}, checkpoint=left_by_single)
    with pytest.raises(ModelFileError, match="other data or with other parameters. Delete it"):
        other.fit(X, Y)


@pytest.mark.parametrize(
    "changes", [{"random_state": 1}, {"hidden": 8}, {"epochs": 14}, {"validation": 0.2}], ids=str
)
def test_a_checkpoint_of_another_mix_is_refused(left_by_mix, changes):
    with pytest.raises(ModelFileError, match="other data or with other parameters. Delete it"):
        quick_mix(checkpoint=left_by_mix / "run", **changes).fit(X, Y)


@pytest.mark.parametrize(
    "change",
    [
        lambda _, d: d.update(history={"loss": [1.0], "T": [1.0, 2.0]}),
        lambda _, d: d.update(history={"loss": ["much"]}),
        lambda _, d: d.update(history={"loss": [10**400]}),
        lambda _, d: d.update(history=[1]),
        lambda t, _: t.pop("early.collapsed"),
        lambda t, _: t.update({"early.0": torch.zeros(len(X) + 1)}),
        lambda t, _: t.update({"early.1": torch.zeros(len(X))}),
        lambda t, _: t.update({"early.first": torch.zeros(len(X))}),
    ],
)
def test_a_checkpoint_that_contradicts_itself_is_refused(tmp_path, left_by_single, change):
    shutil.copy(left_by_single, tmp_path / "run")
    rewrite(tmp_path / "run", change)
    with pytest.raises(ModelFileError, match="is inconsistent .* Delete it to start again"):
        quick_single(**EVERY_PART, checkpoint=tmp_path / "run").fit(X, Y)
