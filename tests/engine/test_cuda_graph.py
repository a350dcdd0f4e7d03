import numpy as np
import pytest
import torch
from torch import nn

from disambig.engine.batches import Batches
from disambig.engine.device import choose_device, runs_kernels
from disambig.engine.fast.random import Dropout, SwapNoise
from disambig.engine.fast.stack import NetworkStack
from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from engine.plain_network import normal, rows_of_batch
from engine.small_problems import (
    BelieveLess,
    BelieveOthers,
    RememberProbabilities,
    SpreadOverClasses,
    make_problem,
    numbers_of,
)
from engine.test_loss_rule import Everything

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch finds no CUDA card on this machine"
)

SEEDS = (1, 2, 3, 4)
# 5 batches an epoch each, of 8 to 10 rows: batches are filled up.
PROBLEMS = [make_problem(45, seed=1), make_problem(41, seed=2)]


@pytest.fixture(autouse=True, params=["0", "1"], ids=["kernels of torch", "our kernels"])
def kernels_that_are_used(request, monkeypatch):
    monkeypatch.setenv("DISAMBIG_KERNELS", request.param)
    runs_kernels.cache_clear()
    yield
    runs_kernels.cache_clear()


def networks_of(seeds=SEEDS, hidden=(16,)):
    return NetworkStack(
        4, 5, hidden=hidden, seeds=seeds, activation="relu", dropout=0.5, batch_norm=True
    )


def modules_of(seeds=SEEDS):
    def factory(n_inputs, n_outputs):
        # No shift before batch norm: its gradient is nothing but rounding, which Adam blows up.
        return nn.Sequential(
            nn.Linear(n_inputs, 16, bias=False),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Linear(16, n_outputs),
        )

    return ModuleStack(factory, 4, 5, seeds=seeds)


def train(
    device="cuda",
    capture=True,
    fused=True,
    epochs=5,
    batch_size=10,
    problems=PROBLEMS,
    make=networks_of,
    rule=None,
):
    # All losses count as small from the third epoch on: both kinds of step are recorded.
    training = Training(
        make().to(device),
        problems,
        rule or BelieveOthers(3),
        TrainingSettings(epochs, batch_size, 1e-3, capture=capture, fused=fused),
    )
    training.run()
    return training


def noisy_training(device="cuda", capture=True, epochs=5, fused=True):
    # Noise begins before all losses count as small: three kinds of step are recorded.
    return Training(
        networks_of().to(device),
        PROBLEMS,
        BelieveLess(3),
        TrainingSettings(epochs, 10, 1e-3, capture=capture, fused=fused, noise_from=2),
        noise=SwapNoise(0.3, SEEDS),
    )


def assert_same(found, expected, tolerance):
    for name, value in expected.state().items():
        torch.testing.assert_close(
            found.state()[name].cpu(), value.cpu(), rtol=tolerance, atol=tolerance, msg=name
        )
    for one, other in zip(found.histories, expected.histories, strict=True):
        for name in other:
            np.testing.assert_allclose(one[name], other[name], atol=tolerance, err_msg=name)


def test_auto_is_the_card():
    assert choose_device("auto").type == "cuda"


@pytest.mark.parametrize("hidden", [(), (16,), (16, 8)], ids=str)
def test_recorded_steps_give_what_steps_one_by_one_give(hidden):
    def make():
        return networks_of(hidden=hidden)

    assert_same(train(make=make), train(make=make, capture=False), 1e-4)


@pytest.mark.parametrize("rule", [RememberProbabilities(), SpreadOverClasses()])
def test_state_of_rows_and_targets_over_classes_can_be_recorded(rule):
    found = train(rule=rule)
    assert_same(found, train(rule=rule, capture=False), 1e-4)
    assert_same(found, train("cpu", rule=rule), 1e-3)


@pytest.mark.parametrize("with_noise", [False, True])
def test_a_loss_with_all_abilities_can_be_recorded(with_noise):
    def loss_training(device, capture):
        networks = NetworkStack(
            4, 5, hidden=(16,), seeds=SEEDS[:2], activation="relu",
            dropout=0.5 if with_noise else 0.0, batch_norm=True, embedding=3,
        )  # fmt: skip
        settings = TrainingSettings(5, 10, 1e-3, capture=capture)
        rule = Everything(torch.float32)
        training = Training(networks.to(device), PROBLEMS, rule, settings)
        training.run()
        return training

    found = loss_training("cuda", capture=True)
    assert_same(found, loss_training("cuda", capture=False), 1e-4)
    assert_same(found, loss_training("cpu", capture=False), 1e-3)


@pytest.mark.parametrize("capture", [True, False])
def test_the_card_gives_what_the_processor_gives(capture):
    assert_same(train(capture=capture), train("cpu"), 1e-3)


@pytest.mark.parametrize("capture", [True, False])
def test_an_epoch_can_be_a_single_batch(capture):
    assert_same(train(capture=capture, batch_size=100), train("cpu", batch_size=100), 1e-3)


@pytest.mark.parametrize("rule", [None, RememberProbabilities(), SpreadOverClasses()])
def test_steps_of_our_kernels_give_what_those_of_torch_give(rule):
    found = train(rule=rule)
    assert (found._fused is not None) == runs_kernels(torch.device("cuda"))
    assert_same(found, train(rule=rule, fused=False), 1e-4)


def test_noisy_steps_of_our_kernels_give_what_those_of_torch_give():
    found, expected = noisy_training(), noisy_training(fused=False)
    found.run()
    expected.run()
    assert_same(found, expected, 1e-4)


def test_the_same_training_gives_the_same_bits():
    found, again = train(), train()
    for name, value in found.state().items():
        assert torch.equal(again.state()[name], value), name


def test_an_interrupted_training_goes_on_as_if_nothing_had_been():
    whole, half = train(epochs=5), train(epochs=2)
    settings = TrainingSettings(5, 10, 1e-3)
    resumed = Training(networks_of().to("cuda"), PROBLEMS, BelieveOthers(3), settings)
    resumed.resume(numbers_of(half), half.histories)
    resumed.run()
    assert_same(resumed, whole, 1e-5)


def test_a_training_on_the_card_can_be_resumed_by_the_processor():
    half = train(epochs=2)
    settings = TrainingSettings(5, 10, 1e-3)
    resumed = Training(networks_of(), PROBLEMS, BelieveOthers(3), settings)
    resumed.resume({name: value.cpu() for name, value in numbers_of(half).items()}, half.histories)
    resumed.run()
    assert_same(resumed, train("cpu"), 1e-3)


def test_problems_side_by_side_are_trained_like_each_alone():
    together = train()
    for number, problem in enumerate(PROBLEMS):
        pair = SEEDS[2 * number : 2 * number + 2]
        alone = train(problems=[problem], make=lambda pair=pair: networks_of(pair))
        found = together.networks.part(2 * number, 2).state_dict()
        for name, value in alone.networks.state_dict().items():
            torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-4)


def test_two_trainings_of_one_kind_do_not_disturb_each_other():
    settings = TrainingSettings(5, 10, 1e-3)
    first, second = (
        Training(networks_of().to("cuda"), PROBLEMS, BelieveOthers(3), settings) for _ in range(2)
    )
    first.run()
    second.run()
    assert_same(second, first, 1e-6)


def test_modules_are_trained_on_the_card():
    assert_same(train(make=modules_of), train("cpu", make=modules_of), 1e-3)


@pytest.mark.parametrize("make", [networks_of, modules_of])
def test_global_generators_are_left_as_they_were(make):
    before, on_card = torch.get_rng_state(), torch.cuda.get_rng_state()
    train(make=make, epochs=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.cuda.get_rng_state(), on_card)


def test_inference_on_the_card_gives_what_the_processor_gives():
    networks = train().networks
    part = networks.part(1, 2)
    features = torch.as_tensor(PROBLEMS[0].features, dtype=torch.float32)
    assert next(part.parameters()).device.type == "cuda"
    with torch.no_grad():
        on_card = part.infer(features.to("cuda"))
        expected = part.to("cpu").infer(features)
    torch.testing.assert_close(on_card.cpu(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_recorded_steps_with_noise_and_a_rule_that_remembers_are_those_one_by_one(device):
    found, expected = noisy_training(), noisy_training(device, capture=False)
    found.run()
    expected.run()
    assert_same(found, expected, 1e-3)


def test_an_interrupted_training_with_noise_and_a_memory_goes_on():
    whole, half, resumed = noisy_training(), noisy_training(epochs=2), noisy_training()
    whole.run()
    half.run()
    resumed.resume(numbers_of(half), half.histories)
    resumed.run()
    assert_same(resumed, whole, 1e-4)


def test_noise_is_the_same_on_the_card_and_on_the_processor():
    features, rows = normal(4, 40, 7, dtype=torch.float32), rows_of_batch([40, 31, 2, 1], 40)
    expected = SwapNoise(0.3, SEEDS)(features, rows, 3)
    on_card = type(rows)(*(value.to("cuda") for value in rows))
    step = torch.tensor([3], device="cuda")
    found = SwapNoise(0.3, SEEDS)(features.to("cuda"), on_card, step)
    assert torch.equal(found.cpu(), expected)


def test_random_bits_are_the_same_on_the_card_and_on_the_processor():
    step = torch.tensor([3])
    expected = Dropout(0.3, 7, SEEDS, 1)(40, step)
    found = Dropout(0.3, 7, SEEDS, 1).to("cuda")(40, step.to("cuda"))
    assert torch.equal(found.cpu(), expected)
    orders = [Batches([50], [7], 10, torch.device(name)).rows_of(2) for name in ("cuda", "cpu")]
    assert torch.equal(orders[0].cpu(), orders[1])
