"""Steps and what is done before epochs, recorded as on a card, for every rule with a loss."""

import pytest
import torch

from disambig.datasets import make_partial_label_dataset
from disambig.engine import loss_step
from disambig.engine.loss_rule import LossRule
from engine.recorded import recorded
from methods.deep.test_every_method import NAMES, quick

# Whatever begins later than in the first epochs.
EARLY = {
    "alim": {"start_epoch": 1},
    "conformal_cleaning": {"warm_up_epochs": 1},
    "crosel": {"warm_up_epochs": 2, "threshold": 0.5},
    "valen": {"warmup_epochs": 1},
}
WITH_A_LOSS = [name for name in NAMES if isinstance(quick(name)._make_rule(), LossRule)]


def training_of(name):
    """Return a training of two problems, in which batches of the second one are filled up."""
    methods, plans = [], []
    for seed, n_rows in enumerate((60, 51)):
        data = make_partial_label_dataset(n_rows, 4, 3, average_candidates=1.8, random_state=seed)
        methods.append(quick(name, random_state=seed, epochs=4, **EARLY.get(name, {})))
        methods[-1].classes_ = data.candidates.classes
        plans.append(methods[-1]._plan(data.X, data.candidates))
    return methods[0]._training(plans)


def assert_same(found, expected):
    for name, value in expected.state().items():
        torch.testing.assert_close(found.state()[name], value, rtol=1e-4, atol=1e-5, msg=name)
    for one, other in zip(found.histories, expected.histories, strict=True):
        assert dict(one) == {name: pytest.approx(other[name], rel=1e-4) for name in other}


@pytest.mark.parametrize("name", WITH_A_LOSS)
def test_a_recorded_training_learns_what_one_step_by_step_does(name):
    expected, found = training_of(name), recorded(training_of(name))
    expected.run()
    found.run()
    assert found._loss_step.is_small
    assert_same(found, expected)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", ["papi", "valen"])
def test_it_makes_no_difference_how_many_steps_are_prepared_at_once(name, count, monkeypatch):
    expected = training_of(name)
    n_steps = expected._loss_step.n_ahead
    expected.run()
    # Of four steps, three and then one.
    numbers = loss_step._MOST_AHEAD["cpu"]
    while training_of(name)._loss_step.n_ahead > count:
        numbers = numbers * 3 // 4
        monkeypatch.setitem(loss_step._MOST_AHEAD, "cpu", numbers)
    for found in (training_of(name), recorded(training_of(name))):
        assert found._loss_step.n_ahead == count < n_steps == 4
        found.run()
        assert_same(found, expected)
