import dataclasses
import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from disambig.engine import device as device_module
from disambig.engine import loss
from disambig.engine import training as training_module
from disambig.engine.device import runs_kernels
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import NetworkStack
from disambig.engine.fused_step import can_be_fused
from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.methods.ncpd import has_small_loss
from engine.plain_network import normal
from engine.small_problems import (
    BelieveLess,
    BelieveOthers,
    RememberProbabilities,
    SpreadOverClasses,
    dropping_module,
    make_problem,
)

SEEDS = (1, 2, 3, 4)
SETTINGS = TrainingSettings(2, 20, 1e-2, noise_from=2)


def networks_of(n_features=4, n_classes=5, **changes):
    usual = {"hidden": (16,), "activation": "relu", "dropout": 0.5, "batch_norm": True}
    return NetworkStack(n_features, n_classes, seeds=SEEDS, **(usual | changes))


@pytest.mark.parametrize(
    ("changes", "covered"),
    [
        ({}, True),
        ({"dropout": 0.0}, True),
        ({"n_features": 100}, True),
        ({"n_classes": 513}, False),
        ({"hidden": ()}, False),
        ({"hidden": (16, 8)}, False),
        ({"activation": "tanh"}, False),
        ({"batch_norm": False}, False),
        ({"dtype": torch.float64}, False),
    ],
    ids=str,
)
def test_kernels_cover_one_normalised_hidden_layer(changes, covered):
    assert can_be_fused(networks_of(**changes), 128, 5) is covered


@pytest.mark.parametrize(("n_rows", "n_slots"), [(257, 5), (128, 257)])
def test_kernels_cover_batches_that_a_program_can_hold(n_rows, n_slots):
    assert not can_be_fused(networks_of(), n_rows, n_slots)


def test_nothing_is_fused_away_from_a_card():
    assert Training(networks_of(), [make_problem()], BelieveOthers(2), SETTINGS)._fused is None


def test_nothing_is_fused_where_the_settings_say_so(monkeypatch):
    monkeypatch.setattr(training_module, "runs_kernels", lambda device: True)
    unfused = dataclasses.replace(SETTINGS, fused=False)
    assert Training(networks_of(), [make_problem()], BelieveOthers(2), unfused)._fused is None


@pytest.mark.parametrize(
    ("switch", "capability", "hip", "triton", "compiler", "expected"),
    [
        (None, (9, 0), None, True, True, True),
        (None, (8, 6), None, True, True, False),
        (None, (12, 0), None, True, True, False),
        ("1", (8, 6), None, True, True, True),
        ("0", (9, 0), None, True, True, False),
        ("1", (7, 5), None, True, True, False),
        ("1", (9, 0), "6.0", True, True, False),
        ("1", (9, 0), None, False, True, False),
        (None, (9, 0), None, True, False, False),
    ],
    ids=[
        "known card",
        "card before",
        "card after",
        "asked for",
        "switched off",
        "old card",
        "another maker",
        "no Triton",
        "no compiler",
    ],
)
def test_kernels_run_on_the_cards_they_were_measured_on_and_where_somebody_asks_for_them(
    switch, capability, hip, triton, compiler, expected, monkeypatch
):
    for name in ("DISAMBIG_KERNELS", "CC"):
        monkeypatch.delenv(name, raising=False)
    if switch is not None:
        monkeypatch.setenv("DISAMBIG_KERNELS", switch)
    monkeypatch.setattr(device_module, "which", lambda name: "/bin/cc" if compiler else None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(device_module, "find_spec", lambda name: object() if triton else None)
    assert runs_kernels.__wrapped__(torch.device("cuda")) is expected


def test_networks_of_the_user_are_not_fused():
    assert not can_be_fused(ModuleStack(dropping_module, 4, 5, seeds=SEEDS), 128, 5)


# Triton looks at this when it is first imported.
interpreted = pytest.mark.skipif(
    find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") != "1",
    reason="runs with Triton, NumPy below 2.4 and TRITON_INTERPRET=1",
)


@pytest.fixture
def card(monkeypatch):
    """Let the processor pass for a card."""
    monkeypatch.setattr(training_module, "runs_kernels", lambda device: True)


def trained(problems, rule, *, fused, noise=None, **changes):
    n_features, n_classes = problems[0].features.shape[1], problems[0].prior.shape[1]
    training = Training(
        networks_of(n_features, n_classes, **changes),
        problems,
        rule,
        dataclasses.replace(SETTINGS, fused=fused),
        noise=None if noise is None else SwapNoise(noise, SEEDS),
    )
    assert (training._fused is not None) == fused
    if fused:
        # As on a card.
        training._adam.learning_rate = torch.tensor(1e-2)
    training.run()
    return training


@interpreted
@pytest.mark.parametrize(
    ("shape", "rule", "changes"),
    [
        ((7, 5), BelieveOthers, {}),
        ((70, 37), BelieveOthers, {"hidden": (40,)}),
        ((7, 5), BelieveOthers, {"dropout": 0.0}),
        ((33, 2), BelieveLess, {"noise": 0.3, "dropout": 0.3}),
        ((7, 5), lambda epochs: RememberProbabilities(), {}),
        ((7, 5), lambda epochs: SpreadOverClasses(), {"noise": 0.3}),
    ],
    ids=["plain", "wide", "nothing dropped", "noise", "row weights", "classes"],
)
def test_interpreted_kernels_give_what_the_layers_give(shape, rule, changes, card):
    # Two batches an epoch of 18 to 20 rows, which are filled up.
    problems = [make_problem(rows, *shape, seed=rows) for rows in (39, 37)]
    expected = trained(problems, rule(2), fused=False, **changes)
    found = trained(problems, rule(2), fused=True, **changes)
    for name, value in expected.state().items():
        torch.testing.assert_close(found.state()[name], value, rtol=1e-4, atol=1e-4, msg=name)
    for one, other in zip(found.histories, expected.histories, strict=True):
        for name in other:
            np.testing.assert_allclose(one[name], other[name], atol=1e-4, err_msg=name)


@interpreted
@pytest.mark.parametrize(("n_rows", "n_slots"), [(40, 3), (128, 7)])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.77, 0.999, 1.0])
def test_losses_are_ranked_as_without_kernels(n_rows, n_slots, share, card):
    losses = normal(3, 2, n_rows, n_slots, dtype=torch.float32).round(decimals=1)
    losses[normal(*losses.shape, seed=1) > 0.5] = torch.inf
    share = torch.tensor([share], dtype=torch.float64)
    # In double precision nothing runs on a card.
    expected = has_small_loss(losses.double(), share, n_rows * n_slots)
    assert torch.equal(loss.ranked_on_card(losses, share), expected)
