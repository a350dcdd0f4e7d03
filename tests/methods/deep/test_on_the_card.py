"""Methods on networks on a CUDA card: recorded steps, stacks, and what the processor gives."""

from functools import partial

import numpy as np
import pytest
import torch

from disambig.methods import fit_many
from disambig.methods.networks import base
from methods.deep.plain_loops import DATA
from methods.deep.test_every_method import NAMES, quick

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch finds no CUDA card on this machine"
)


def fitted(name, device="cuda", rows=slice(None)):
    method = quick(name, device=device, learning_rate=0.002, epochs=12)
    return method.fit(DATA.X[rows], DATA.candidates[rows])


@pytest.mark.parametrize("name", NAMES)
def test_recorded_steps_give_what_steps_one_by_one_and_the_processor_give(name, monkeypatch):
    found = fitted(name).predict_proba(DATA.X)
    np.testing.assert_allclose(found, fitted(name, "cpu").predict_proba(DATA.X), atol=5e-3)
    one_by_one = partial(base.TrainingSettings, capture=False)
    monkeypatch.setattr(base, "TrainingSettings", one_by_one)
    np.testing.assert_allclose(found, fitted(name).predict_proba(DATA.X), atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_problems_in_a_stack_are_trained_like_each_alone(name):
    method = quick(name, learning_rate=0.002, device="cuda")
    parts = [slice(0, 40), slice(7, 50)]
    tasks = [(DATA.X[rows], DATA.candidates[rows], seed) for seed, rows in enumerate(parts)]
    for task, found in zip(tasks, fit_many(method, tasks), strict=True):
        (alone,) = fit_many(method, [task])
        np.testing.assert_allclose(
            found.predict_proba(DATA.X), alone.predict_proba(DATA.X), atol=2e-3
        )
