import pytest
import torch

from disambig.engine.history import History
from disambig.engine.module_stack import ModuleStack
from disambig.engine.training import Training
from engine.small_problems import (
    BelieveOthers,
    BelievePrior,
    Listener,
    OnlyAtTheStart,
    dropping_module,
    make_problem,
    networks_of,
    numbers_of,
    settings,
    trained,
)

every_kind_of_network = pytest.mark.parametrize(
    "make",
    [
        lambda: networks_of(1, 2),
        lambda: networks_of(1, 2, hidden=(6, 5), dtype=torch.float32),
        lambda: ModuleStack(dropping_module, 4, 5, seeds=(1, 2)),
    ],
    ids=["one layer", "two layers", "modules"],
)


@every_kind_of_network
def test_an_interrupted_training_goes_on_bit_for_bit(make):
    problem, rule = make_problem(20), BelieveOthers(4)
    whole = trained(make(), [problem], rule, epochs=6)
    half = trained(make(), [problem], rule, epochs=3)
    state, histories = numbers_of(half), [history.to_dict() for history in half.histories]
    networks = make()
    with torch.no_grad():
        for value in networks.parameters():
            value.add_(1)  # everything must come from the state
    resumed = Training(networks, [problem], rule, settings(epochs=6))
    resumed.resume(state, [History(values) for values in histories])
    assert resumed.epoch == 3
    resumed.run()
    assert resumed.epoch == 6
    assert resumed.histories[0].to_dict() == whole.histories[0].to_dict()
    assert resumed.state().keys() == whole.state().keys()
    for name, value in whole.state().items():
        assert torch.equal(resumed.state()[name], value), name


def test_a_training_can_be_taken_up_by_a_listener_at_the_start():
    problems, rule = [make_problem(20), make_problem(19)], BelieveOthers(4)
    whole = trained(networks_of(1, 2, 3, 4), problems, rule, epochs=4)
    half = trained(networks_of(1, 2, 3, 4), problems, rule, epochs=1)
    resume = OnlyAtTheStart(lambda training: training.resume(half.state(), half.histories))
    later = Listener()
    resumed = trained(networks_of(1, 2, 3, 4), problems, rule, [resume, later], epochs=4)
    assert later.heard == [("start", 1), ("epoch", 2), ("epoch", 3), ("epoch", 4), ("end", 4)]
    for name, value in whole.state().items():
        assert torch.equal(resumed.state()[name], value)


def test_a_training_that_was_done_is_not_trained_further():
    done = trained(networks_of(1, 2), [make_problem()])
    again = Training(networks_of(1, 2), [make_problem()], BelievePrior(), settings())
    again.resume(done.state(), done.histories)
    again.run()
    for name, value in done.state().items():
        assert torch.equal(again.state()[name], value)


def test_the_state_is_not_copied():
    training = Training(networks_of(1, 2), [make_problem()], BelievePrior(), settings())
    state = training.state()
    before = numbers_of(training)
    training.run()
    assert any(not torch.equal(value, before[name]) for name, value in state.items())
    for name, value in training.state().items():
        assert torch.equal(state[name], value)


def test_the_same_training_gives_the_same_bits():
    first, second = (trained(networks_of(1, 2), [make_problem()], BelieveOthers(3)) for _ in "ab")
    for name, value in first.state().items():
        assert torch.equal(second.state()[name], value)
