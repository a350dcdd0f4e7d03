"""What a graph on a card replays, played on the CPU: the same operations in the same memory."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.step import Clock, ReplayedStep
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.methods import ncpd
from disambig.methods.ncpd import ProgressiveCooperation
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


class Recording(TorchDispatchMode):
    """Operations with the tensors that they read and write, as a graph keeps them."""

    def __init__(self):
        super().__init__()
        self._operations = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func is not torch.ops.aten._local_scalar_dense.default, "a graph knows no numbers"
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        read = {
            value.untyped_storage().data_ptr()
            for value in tree_leaves((args, kwargs))
            if isinstance(value, torch.Tensor)
        }
        # What is new must be written again; views and what was written in place are there.
        new = [
            (number, value)
            for number, value in enumerate(tree_leaves(result))
            if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() not in read
        ]
        self._operations.append((func, args, kwargs, new))
        return result

    def replay(self):
        for func, args, kwargs, new in self._operations:
            results = tree_leaves(func(*args, **kwargs))
            for number, value in new:
                value.copy_(results[number])


class RecordedStep(ReplayedStep):
    """Record as on a card, where a step that is recorded is not done."""

    def _record(self, step, kind):
        before = [tensor.clone() for tensor in self._state]
        recording = Recording()
        for attempt in range(2):
            if attempt:
                with recording:
                    step(kind)
            else:
                step(kind)
            for tensor, value in zip(self._state, before, strict=True):
                tensor.copy_(value)
        return recording


def training_of(rule, noise, **changes):
    noise = SwapNoise(0.3, SEEDS) if noise else None
    return Training(networks_of(*SEEDS, **changes), PROBLEMS, rule, SETTINGS, noise=noise)


def recorded(training):
    """The same training as it would be on a card."""
    rate = torch.tensor(SETTINGS.learning_rate, dtype=torch.float32)
    training._adam.learning_rate = rate
    training._clock = Clock(torch.device("cpu"))
    state = [*training.state().values(), *training._clock.on_device()]
    training._replayed = RecordedStep(state)
    return training


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
