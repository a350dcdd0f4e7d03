"""Networks trained by several processes: as by one, and only the first one writes."""

import os
import signal
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

from disambig import PRODEN, NCPDClassifier, NCPDPlusClassifier
from disambig._core.errors import ParameterError, TrainingError
from disambig.datasets import make_partial_label_dataset
from disambig.engine.ranks import alone
from disambig.methods import CroSel, PiCO, fit_many
from process_groups import run_in_group

# What losses and confidences may differ by, relative to the largest: sums of float32 in another
# order.
TOLERANCE = 1e-6
# Rows that divide evenly neither into batches nor into shares of three processes; both kinds of
# normalised layers.
SHAPE = {"hidden": (24, 16), "batch_size": 50, "random_state": 0}
DATA = make_partial_label_dataset(203, 7, 5, random_state=0)


def grouped():
    """Return rows of which four each come together, and promise to have all their labels."""
    groups = np.arange(203) // 4
    return DATA.candidates.with_groups(groups, promise="cover")


CASES = {
    "state of rows": lambda: (PRODEN(epochs=4, activation="tanh", **SHAPE), DATA.candidates),
    "small losses of the batch": lambda: (
        NCPDClassifier(epochs=6, ramp_epochs=4, **SHAPE),
        DATA.candidates,
    ),
    "features of other rows": lambda: (
        NCPDPlusClassifier(
            select="none", swap_noise=0.3, prior_correction=0.5, epochs=4, ramp_epochs=3, **SHAPE
        ),
        DATA.candidates,
    ),
    "rows on disk": lambda: (PRODEN(epochs=2, **SHAPE), DATA.candidates),
    "groups": lambda: (NCPDClassifier(epochs=4, ramp_epochs=2, **SHAPE), grouped()),
    "views, averages, a second output": lambda: (PiCO(epochs=2, **SHAPE), DATA.candidates),
    "a look at all rows": lambda: (CroSel(epochs=2, **SHAPE), DATA.candidates),
    "early stopping": lambda: (
        PRODEN(epochs=9, validation=0.2, early_stopping=2, class_weight="balanced", **SHAPE),
        DATA.candidates,
    ),
}


def fitted(case):
    method, candidates = CASES[case]()
    X = DATA.X
    if case == "rows on disk":
        with tempfile.TemporaryFile() as file:
            X = np.memmap(file, dtype="float32", mode="w+", shape=DATA.X.shape)
        X[:] = DATA.X
    model = method.fit(X, candidates)
    return {
        "histories": {name: model.history_[name] for name in model.history_},
        "labels": model.disambiguate(),
        "probabilities": model.predict_proba(X),
    }


def fit_side_by_side():
    """Return the losses of two trainings in one stack, of which one has fewer rows."""
    method = NCPDClassifier(epochs=4, ramp_epochs=3, **SHAPE)
    tasks = [
        (DATA.X[:count], DATA.candidates[:count], seed) for seed, count in enumerate((203, 201))
    ]
    return [model.history_["loss"] for model in fit_many(method, tasks, at_once=2)]


class Killed:
    """Ends the process at the end of an epoch, as if the system had."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, training):
        if training.epoch == self.epoch:
            os.kill(os.getpid(), signal.SIGKILL)


def to_be_resumed(folder, **changes):
    return PRODEN(epochs=8, checkpoint=folder / "training", checkpoint_every=2, **SHAPE, **changes)


def _everything(rank, folder):
    """Return all that three processes do, until one of them dies."""
    found = {case: fitted(case) for case in CASES}
    found["side by side"] = fit_side_by_side()
    with alone():
        own = PRODEN(epochs=1, **SHAPE | {"random_state": rank}).fit(DATA.X, DATA.candidates)
    found["alone"] = own.predict_proba(DATA.X)
    refused = {
        "seed": lambda: PRODEN(epochs=1, **SHAPE | {"random_state": None}),
        "network": lambda: PRODEN(epochs=1, network=_linear, random_state=0),
    }
    for name, make in refused.items():
        with pytest.raises(ParameterError) as error:
            make().fit(DATA.X, DATA.candidates)
        found[name] = str(error.value)
    # Every process looks at a folder of its own: who writes is seen from the files.
    own = folder / f"of-{rank}"
    own.mkdir()
    PRODEN(epochs=1, checkpoint=own / "training", **SHAPE).fit(DATA.X, DATA.candidates)
    dying = to_be_resumed(folder, callbacks=[Killed(5)] if rank == 1 else None)
    with pytest.raises(TrainingError) as error:
        dying.fit(DATA.X, DATA.candidates)
    return found | {"last words": str(error.value)}


def _resume(rank, folder):
    seen = []
    looks = SimpleNamespace(on_epoch_end=lambda training: seen.append(training.epoch))
    model = to_be_resumed(folder, callbacks=[looks]).fit(DATA.X, DATA.candidates)
    return {"epochs": seen, "losses": model.history_["loss"], "labels": model.disambiguate()}


def _linear(n_features, n_classes):
    import torch

    return torch.nn.Linear(n_features, n_classes)


@pytest.fixture(scope="module")
def of_three(tmp_path_factory):
    """Return what three processes have found, and the folder where they worked."""
    folder = tmp_path_factory.mktemp("processes")
    return run_in_group(3, _everything, folder, folder), folder


@pytest.mark.parametrize("case", CASES)
def test_a_training_goes_as_in_one_process(of_three, case):
    expected, found = fitted(case), of_three[0][0][case]
    assert found["histories"].keys() == expected["histories"].keys()
    for name, values in expected["histories"].items():
        np.testing.assert_allclose(
            found["histories"][name], values, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name
        )
    np.testing.assert_allclose(
        found["probabilities"], expected["probabilities"], atol=100 * TOLERANCE
    )
    assert np.mean(found["labels"] == expected["labels"]) >= 0.995


@pytest.mark.parametrize("case", CASES)
def test_all_processes_have_the_same_model(of_three, case):
    (first, _, third), _ = of_three
    np.testing.assert_array_equal(first[case]["probabilities"], third[case]["probabilities"])


def test_trainings_side_by_side_go_as_in_one_process(of_three):
    for found, expected in zip(of_three[0][0]["side by side"], fit_side_by_side(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=TOLERANCE)


def test_a_fit_alone_belongs_to_its_process(of_three):
    for seed in (0, 2):
        expected = PRODEN(epochs=1, **SHAPE | {"random_state": seed}).fit(DATA.X, DATA.candidates)
        found = of_three[0][seed]["alone"]
        np.testing.assert_array_equal(found, expected.predict_proba(DATA.X))


def test_what_differs_between_processes_is_refused_and_so_are_networks_of_the_user(of_three):
    said = of_three[0][0]
    assert "an integer as 'random_state'" in said["seed"]
    assert "Process 1 of 3 (they count from 0) has other ones" in said["seed"]
    assert "Networks of your own ('network') are trained by one process" in said["network"]


def test_only_the_first_process_writes(of_three):
    _, folder = of_three
    assert [len(list((folder / f"of-{rank}").iterdir())) for rank in range(3)] == [1, 0, 0]


def test_when_a_process_dies_the_others_say_so_and_end(of_three):
    (first, dead, third), _ = of_three
    assert dead is None
    for alive in (first, third):
        assert alive["last words"].startswith("Another process of this training has ended")
        assert "as many processes as you like" in alive["last words"]


def test_two_processes_go_on_from_the_checkpoint_of_three(of_three, tmp_path):
    _, folder = of_three
    expected = PRODEN(epochs=8, **SHAPE).fit(DATA.X, DATA.candidates)
    for found in run_in_group(2, _resume, tmp_path, folder):
        assert found["epochs"] == list(range(5, 9))
        np.testing.assert_allclose(found["losses"], expected.history_["loss"], rtol=TOLERANCE)
        assert np.mean(found["labels"] == expected.disambiguate()) >= 0.995
