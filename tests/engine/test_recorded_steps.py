"""What a graph on a card replays, played on the CPU: the same operations in the same memory."""

import pytest
import torch

from disambig.engine.fast.random import SwapNoise
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.methods import ncpd
from disambig.methods.ncpd import ProgressiveCooperation
from engine.recorded import recorded
from engine.small_problems import (
    BelieveLess,
    RememberProbabilities,
    SpreadOverClasses,
    make_problem,
    networks_of,
)

SEEDS = (1, 2, 3, 4)
# 5 batches an epoch each, of 8 to 10 rows: batches are filled up.
PROBLEMS = [make_problem(45, seed=1), make_problem(41, seed=2)]
SETTINGS = TrainingSettings(5, 10, 1e-2, decay=0.5, noise_from=2)


def training_of(rule, noise, **changes):
    noise = SwapNoise(0.3, SEEDS) if noise else None
    return Training(networks_of(*SEEDS, **changes), PROBLEMS, rule, SETTINGS, noise=noise)


@pytest.mark.parametrize("noise", [False, True], ids=["clean", "noisy"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"hidden": ()}, {"hidden": (6, 5)}, {"batch_norm": False, "activation": "tanh"}],
    ids=str,
)
@pytest.mark.parametrize(
    "make_rule",
    [
        lambda: ProgressiveCooperation(3, cooperation=True, progressive=True),
        lambda: BelieveLess(3),
        RememberProbabilities,
        SpreadOverClasses,
    ],
    ids=["NCPD", "memory", "state of rows", "all classes"],
)
def test_recorded_steps_give_what_steps_one_by_one_give(monkeypatch, make_rule, changes, noise):
    expected = training_of(make_rule(), noise, **changes)
    expected.run()
    # On the CPU NumPy sorts, which is not an operation of torch.
    monkeypatch.setattr(
        ncpd, "smallest", lambda losses, count: losses.topk(count, largest=False).values
    )
    found = recorded(training_of(make_rule(), noise, **changes))
    found.run()
    for name, value in expected.state().items():
        torch.testing.assert_close(found.state()[name], value, rtol=1e-6, atol=1e-8, msg=name)
    for one, other in zip(found.histories, expected.histories, strict=True):
        assert {name: pytest.approx(other[name]) for name in other} == dict(one)
