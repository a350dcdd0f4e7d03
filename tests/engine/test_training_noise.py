"""What networks learn where they see noisy features, and where rules remember."""

import pytest
import torch

from disambig.engine.fast.random import SwapNoise
from disambig.engine.history import History
from disambig.engine.module_stack import ModuleStack
from disambig.engine.training import Training
from engine.plain_network import plain_copies, rows_of_batch
from engine.plain_training import PlainTraining, believe_others
from engine.small_problems import (
    BelieveLess,
    BelieveOthers,
    BelievePrior,
    Listener,
    dropping_module,
    make_problem,
    networks_of,
    numbers_of,
    settings,
    trained,
)

SEEDS = (3, 4)


def noise_of(*seeds, share=0.4):
    return SwapNoise(share, seeds or SEEDS)


def assert_same_numbers(found, expected):
    assert found.state().keys() == expected.state().keys()
    for name, value in expected.state().items():
        assert torch.equal(found.state()[name], value), name
    for one, other in zip(found.histories, expected.histories, strict=True):
        assert one.to_dict() == other.to_dict()


class PlainNoisyTraining(PlainTraining):
    """Beliefs from the rows as they are, gradients by autograd from rows with noise."""

    def __init__(self, *arguments, noise_from=1, **options):
        super().__init__(*arguments, **options)
        self.noise_from = noise_from

    def _learned_logits(self, rows, clean):
        if self.n_steps // self.batches.n_steps + 1 < self.noise_from:
            return clean
        features = self.features[rows].unsqueeze(0)
        real = rows_of_batch([len(rows)], len(rows))
        return [
            network.logits(
                noise_of(network.seed)(features, real, self.n_steps)[0], step=self.n_steps
            )
            for network in self.networks
        ]


@pytest.mark.parametrize("hidden", [(), (6,), (6, 5)], ids=str)
@pytest.mark.parametrize("noise_from", [1, 3])
def test_beliefs_come_from_the_rows_as_they_are_and_gradients_from_noisy_ones(hidden, noise_from):
    problem, rule = make_problem(20), BelieveOthers(3)
    networks = networks_of(*SEEDS, hidden=hidden)
    copies = plain_copies(networks, batch_norm=True, dropout=0.5)
    plain = PlainNoisyTraining(
        copies, problem, believe_others, rule.share, 7, 0.02, noise_from=noise_from
    )
    plain.run(4)
    options = {"epochs": 4, "batch_size": 7, "learning_rate": 0.02, "noise_from": noise_from}
    training = trained(networks, [problem], rule, noise=noise_of(), **options)
    for name, value in networks.named_parameters():
        for found, network in zip(value, plain.networks, strict=True):
            torch.testing.assert_close(
                found, network.parameters[name], rtol=1e-9, atol=1e-9, msg=name
            )
    # What is measured is measured without noise.
    for name in ("loss", "covering_rate", "agreement", "simple", "changed"):
        expected = [epoch[name] for epoch in plain.measures]
        assert training.histories[0][name] == pytest.approx(expected, abs=1e-9)


class LossesSeen(BelievePrior):
    """Keeps the losses of every step."""

    def __init__(self):
        self.losses = []

    def targets(self, batch):
        self.losses.append(batch.losses.clone())
        return super().targets(batch)


def test_a_rule_sees_the_losses_of_the_rows_as_they_are():
    seen = []
    # At a rate of zero nothing is learned: noise alone would make a difference.
    for noise in (None, noise_of(share=1.0)):
        rule = LossesSeen()
        trained(networks_of(*SEEDS), [make_problem(20)], rule, noise=noise, learning_rate=0.0)
        seen.append(rule.losses)
    assert len(seen[0]) == len(seen[1]) == 9
    for clean, noisy in zip(*seen, strict=True):
        assert torch.equal(clean, noisy)


def states_after_every_epoch(**options):
    states = []
    listener = Listener(lambda training: states.append(numbers_of(training)))
    trained(networks_of(*SEEDS), [make_problem(20)], listeners=[listener], epochs=4, **options)
    return states


@pytest.mark.parametrize("noise_from", [1, 3, 5])
def test_noise_begins_in_the_epoch_that_was_said(noise_from):
    clean = states_after_every_epoch()
    noisy = states_after_every_epoch(noise=noise_of(), noise_from=noise_from)
    same = [
        all(torch.equal(value, one[name]) for name, value in other.items())
        for one, other in zip(noisy, clean, strict=True)
    ]
    assert same == [epoch < noise_from for epoch in (1, 2, 3, 4)]


def test_modules_learn_from_noise_too():
    clean, noisy = (
        trained(ModuleStack(dropping_module, 4, 5, seeds=SEEDS), [make_problem(20)], noise=noise)
        for noise in (None, noise_of())
    )
    # The first losses are seen before anything is learned.
    assert clean.histories[0]["loss"][-1] != noisy.histories[0]["loss"][-1]


def test_problems_side_by_side_have_the_noise_they_have_alone():
    # Of 19 rows one batch is filled up.
    problems = [make_problem(20, seed=1), make_problem(19, seed=2)]
    together = trained(
        networks_of(1, 2, 3, 4), problems, BelieveOthers(2), noise=noise_of(1, 2, 3, 4)
    )
    for number, problem in enumerate(problems):
        pair = (2 * number + 1, 2 * number + 2)
        alone = trained(networks_of(*pair), [problem], BelieveOthers(2), noise=noise_of(*pair))
        found = together.networks.part(2 * number, 2).state_dict()
        for name, value in alone.networks.state_dict().items():
            torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-9)


# ---- rules that remember


def test_a_rule_is_told_of_every_epoch_before_it_begins():
    rule = BelieveLess(3)
    heard = []
    listener = Listener(lambda training: heard.append((training.epoch, [*rule.begun])))
    trained(networks_of(*SEEDS), [make_problem(20)], rule, [listener])
    assert heard == [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])]


def test_the_memory_of_a_rule_is_part_of_the_state():
    rule = BelieveLess(3)
    training = trained(networks_of(*SEEDS), [make_problem(20)], rule)
    assert training.state()["rule.found"] is rule.found
    assert training.state()["rule.less"] is rule.less
    # 20 rows with a confidence of one each, for two networks.
    assert rule.found.sum().item() == pytest.approx(40, abs=1e-4)


@pytest.mark.parametrize("done", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "make",
    [lambda: networks_of(*SEEDS), lambda: ModuleStack(dropping_module, 4, 5, seeds=SEEDS)],
    ids=["perceptrons", "modules"],
)
def test_a_training_with_noise_and_a_memory_goes_on_bit_for_bit(make, done):
    problem, options = make_problem(20), {"epochs": 6, "noise_from": 3}
    whole = trained(make(), [problem], BelieveLess(4), noise=noise_of(), **options)
    half = trained(
        make(), [problem], BelieveLess(4), noise=noise_of(), **options | {"epochs": done}
    )
    resumed = Training(make(), [problem], BelieveLess(4), settings(**options), noise=noise_of())
    resumed.resume(numbers_of(half), [History(half.histories[0].to_dict())])
    resumed.run()
    assert_same_numbers(resumed, whole)


# ---- choices


def test_chosen_slots_are_those_of_the_last_epoch():
    # Networks that say the same of every row: the class with the largest shift is chosen.
    problems = [make_problem(7, seed=1), make_problem(6, seed=2)]
    networks = networks_of(1, 2, 3, 4, hidden=())
    with torch.no_grad():
        networks.output.weight.zero_()
        networks.output.bias.copy_(torch.tensor([0.0, 3.0, 1.0, 4.0, 2.0]).expand(4, 1, 5))
    training = trained(networks, problems, learning_rate=0.0, batch_size=4)
    best_first = [3, 1, 4, 2, 0]
    for problem, found in zip(problems, training.chosen_slots(), strict=True):
        for row, place in enumerate(found.tolist()):
            candidates = problem.prior[[row]].indices.tolist()
            assert candidates[place] == next(c for c in best_first if c in candidates)


def test_chosen_slots_are_copies_and_nothing_is_chosen_before_the_first_epoch():
    training = Training(networks_of(*SEEDS), [make_problem(20)], BelievePrior(), settings())
    before = training.chosen_slots()
    assert [places.tolist() for places in before] == [[-1] * 20]
    training.run()
    assert [places.tolist() for places in before] == [[-1] * 20]
    assert (training.chosen_slots()[0] >= 0).all()
