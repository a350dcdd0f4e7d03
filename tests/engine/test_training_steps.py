import math

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import TrainingData
from engine.plain_network import make_stack, plain_copies
from engine.plain_training import PlainModule, PlainTraining, believe_others, believe_prior
from engine.small_problems import (
    MEASURES,
    BelieveOthers,
    BelievePrior,
    dropping_module,
    make_problem,
    networks_of,
    trained,
)


def small_module(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, n_outputs)
    ).double()


# ---- what is learned


def test_the_first_step_by_hand():
    # Two rows, three classes, all weights zero: every class has a third. Row 0 is class 0 or 1
    # with a half each, row 1 is class 2. Gradients p - w are (-1/6, -1/6, 1/3) and (1/3, 1/3,
    # -2/3), the mean over rows of their products with the features 1 and 2 is (1/4, 1/4, -1/2),
    # and the mean of themselves (1/12, 1/12, -1/6). Adam's first step is the learning rate
    # against their signs.
    prior = sparse.csr_array([[0.5, 0.5, 0], [0, 0, 1]])
    networks = make_stack(1, 3, hidden=())
    with torch.no_grad():
        for value in networks.parameters():
            value.zero_()
    problem = TrainingData(np.array([[1.0], [2.0]]), prior, 0)
    training = trained(networks, [problem], epochs=1, learning_rate=0.1)
    expected = torch.tensor([[-0.1, -0.1, 0.1]], dtype=torch.float64)
    torch.testing.assert_close(networks.output.weight.detach()[0], expected, atol=1e-7, rtol=0)
    torch.testing.assert_close(networks.output.bias.detach()[0], expected, atol=1e-7, rtol=0)
    # One half and one half, or one, of -log(1/3).
    assert training.histories[0]["loss"] == pytest.approx(math.log(3))


def test_gradients_of_the_first_step_by_hand():
    # The same with a third row beside them, of which Adam's memory keeps a tenth.
    prior = sparse.csr_array([[0.5, 0.5, 0], [0, 0, 1], [0.25, 0.25, 0.5]])
    networks = make_stack(1, 3, hidden=())
    with torch.no_grad():
        for value in networks.parameters():
            value.zero_()
    problem = TrainingData(np.array([[1.0], [2.0], [4.0]]), prior, 0)
    training = trained(networks, [problem], epochs=1)
    products = [[-1 / 6, -1 / 6, 1 / 3], [2 / 3, 2 / 3, -4 / 3], [1 / 3, 1 / 3, -2 / 3]]
    expected = 0.1 * np.mean(products, axis=0)
    weights = [name for name, _ in networks.named_parameters()].index("output.weight")
    memory = training.state()[f"adam.mean.{weights}"]
    np.testing.assert_allclose(memory, [[expected]], rtol=1e-12)


@pytest.mark.parametrize("hidden", [(), (6,), (6, 5)], ids=str)
@pytest.mark.parametrize(
    ("rule", "believe"), [(BelievePrior(), believe_prior), (BelieveOthers(3), believe_others)]
)
def test_training_agrees_with_a_plain_loop(hidden, rule, believe):
    problem = make_problem(20)
    networks = networks_of(3, 4, hidden=hidden)
    copies = plain_copies(networks, batch_norm=True, dropout=0.5)
    plain = PlainTraining(copies, problem, believe, rule.share, batch_size=7, learning_rate=0.02)
    plain.run(4)
    training = trained(networks, [problem], rule, epochs=4, batch_size=7, learning_rate=0.02)
    for name, value in networks.named_parameters():
        for found, network in zip(value, plain.networks, strict=True):
            torch.testing.assert_close(
                found, network.parameters[name], rtol=1e-9, atol=1e-9, msg=name
            )
    for name in MEASURES:
        expected = [epoch[name] for epoch in plain.measures]
        np.testing.assert_allclose(training.histories[0][name], expected, atol=1e-9, err_msg=name)


def test_training_of_modules_agrees_with_a_plain_loop():
    problem, rule = make_problem(20), BelieveOthers(3)
    networks = ModuleStack(small_module, 4, 5, seeds=(3, 4))
    copies = [small_module(4, 5) for _ in range(2)]
    for copy, module in zip(copies, networks.members, strict=True):
        copy.load_state_dict(module.state_dict())
    plain = PlainTraining(
        [PlainModule(copy) for copy in copies], problem, believe_others, rule.share, 7, 0.02
    )
    plain.run(4)
    training = trained(networks, [problem], rule, epochs=4, batch_size=7, learning_rate=0.02)
    for copy, module in zip(copies, networks.members, strict=True):
        expected = copy.state_dict()
        for name, value in module.state_dict().items():
            torch.testing.assert_close(value, expected[name], rtol=1e-9, atol=1e-9, msg=name)
    for name in MEASURES:
        expected = [epoch[name] for epoch in plain.measures]
        np.testing.assert_allclose(training.histories[0][name], expected, atol=1e-9, err_msg=name)


def test_modules_that_drop_units_learn_what_the_sets_say():
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=60)
    features = np.eye(3)[labels] * 5 + generator.normal(size=(60, 3))
    mask = np.eye(3)[labels]
    mask[np.arange(60), generator.integers(3, size=60)] = 1
    prior = sparse.csr_array(mask / mask.sum(axis=1, keepdims=True))
    networks = ModuleStack(dropping_module, 3, 3, seeds=(3, 4))
    problem = TrainingData(features, prior, 0)
    training = trained(networks, [problem], epochs=40, batch_size=20, learning_rate=0.02)
    losses = training.histories[0]["loss"]
    assert losses[-5:].mean() < losses[:5].mean()
    with torch.no_grad():
        predicted = networks.mean_probabilities(torch.as_tensor(features)).argmax(-1)
    assert (predicted.numpy() == labels).mean() > 0.85


def test_measures_by_hand_for_a_tiny_case():
    # Two networks without hidden layers that see one feature of ones: logits are their shifts.
    networks = make_stack(1, 3, hidden=(), seeds=(1, 2))
    shifts = np.log([[[0.5, 0.3, 0.2]], [[0.1, 0.6, 0.3]]])
    with torch.no_grad():
        networks.output.weight.zero_()
        networks.output.bias.copy_(torch.as_tensor(shifts))
    prior = sparse.csr_array([[0.25, 0.75, 0], [0.5, 0, 0.5], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    problem = TrainingData(np.zeros((4, 1)), prior, 0)
    history = trained(networks, [problem], epochs=2, learning_rate=1e-12).histories[0]
    log = np.log
    losses = [
        -(0.25 * log(0.5) + 0.75 * log(0.3)),
        -(0.5 * log(0.5) + 0.5 * log(0.2)),
        -log(0.2),
        -(log(0.5) + log(0.3) + log(0.2)) / 3,
        -(0.25 * log(0.1) + 0.75 * log(0.6)),
        -(0.5 * log(0.1) + 0.5 * log(0.3)),
        -log(0.3),
        -(log(0.1) + log(0.6) + log(0.3)) / 3,
    ]
    assert history["loss"] == pytest.approx([np.mean(losses)] * 2)
    # The first predicts 0, the second 1: 3 and 2 of the 4 sets have it. They never agree.
    assert history["covering_rate"].tolist() == [5 / 8] * 2
    assert history["agreement"].tolist() == [0, 0]
    # Nothing was chosen before the first epoch, and nothing moves at this learning rate.
    assert history["changed"].tolist() == [1, 0]
    assert history["simple"].tolist() == [0, 0]
    assert history["T"].tolist() == [1, 1]


def test_a_label_counts_as_changed_when_the_networks_together_come_to_another():
    # Row 0 begins with class 0 by a hair, and everything speaks for class 1; row 1 has no choice.
    prior = sparse.csr_array([[0.01, 0.99], [0, 1]])
    networks = make_stack(2, 2, hidden=(), seeds=(1, 2))
    with torch.no_grad():
        networks.output.weight.zero_()
        networks.output.bias.copy_(torch.tensor([1e-3, 0]).expand(2, 1, 2))
    problem = TrainingData(np.eye(2), prior, 0)
    history = trained(networks, [problem], epochs=4, learning_rate=0.1).histories[0]
    assert history["changed"].tolist() == [1, 0.5, 0, 0]


class AlternateSimple(BelievePrior):
    """Half of the rows of a batch are simple for the first network, none for the second."""

    def targets(self, batch):
        targets = super().targets(batch)
        targets.measures["simple"][:, 0, ::2] = 1
        return targets


def test_a_measure_of_the_rule_is_a_mean_over_networks_and_real_rows():
    # 8 rows in two batches of 4; the problem beside has 7, in batches of 3 and 4.
    problems = [make_problem(8), make_problem(7)]
    training = trained(networks_of(1, 2, 3, 4), problems, AlternateSimple(), batch_size=4)
    assert training.measures["simple"].tolist() == pytest.approx([4 / 16, 4 / 14])


def test_features_and_candidates_are_left_as_they_are():
    problem = make_problem(20)
    trained(networks_of(1, 2), [problem])
    np.testing.assert_array_equal(problem.features, make_problem(20).features)
    assert (problem.prior != make_problem(20).prior).nnz == 0


def test_a_single_row_can_be_trained_on():
    problem = make_problem(1)
    training = trained(networks_of(1, 2), [problem])
    assert np.isfinite(training.histories[0]["loss"]).all()


# ---- what a rule sees


class Watching(BelieveOthers):
    """Keeps what it was called with."""

    def __init__(self, n_epochs):
        super().__init__(n_epochs)
        self.calls = []

    def targets(self, batch):
        self.calls.append(batch._replace(log_probabilities=batch.log_probabilities.clone()))
        return super().targets(batch)


def test_a_rule_sees_rows_and_losses_of_the_candidates_and_which_are_predicted():
    problems = [make_problem(9, seed=seed) for seed in range(2)]
    networks = networks_of(1, 2, 3, 4, batch_norm=False, dropout=0)
    with torch.no_grad():
        logits = [
            networks.infer(torch.as_tensor(problem.features)).view(2, 2, 9, 5)[number]
            for number, problem in enumerate(problems)
        ]
    rule = Watching(1)
    trained(networks, problems, rule, epochs=1, batch_size=9)
    (batch,) = rule.calls
    losses, predicted = batch.losses, batch.predicted
    assert losses.shape == predicted.shape == (2, 2, 9, batch.columns.shape[-1])
    for number, (problem, of_problem) in enumerate(zip(problems, logits, strict=True)):
        dense = problem.prior.toarray()
        rows = (batch.rows[number] - 9 * number).tolist()
        assert sorted(rows) == list(range(9))
        for place, row in enumerate(rows):
            inside = batch.mask[number, 0, place]
            columns = batch.columns[number, 0, place][inside].tolist()
            prior = batch.prior[number, 0, place][inside].numpy()
            assert np.flatnonzero(dense[row]).tolist() == columns
            np.testing.assert_allclose(dense[row, columns], prior)
            log_probabilities = of_problem[:, row].log_softmax(-1)
            torch.testing.assert_close(batch.log_probabilities[number, :, place], log_probabilities)
            torch.testing.assert_close(
                losses[number, :, place][:, inside], -log_probabilities[:, columns]
            )
            assert (losses[number, :, place][:, ~inside] == torch.inf).all()
            for network in range(2):
                label = int(log_probabilities[network].argmax())
                is_label = [column == label for column in columns]
                assert predicted[number, network, place][inside].tolist() == is_label
                assert not predicted[number, network, place][~inside].any()


def test_a_rule_sees_its_phase_and_the_history_its_measures():
    rule = Watching(3)
    training = trained(networks_of(1, 2), [make_problem(20)], rule, epochs=4, batch_size=10)
    assert [batch.phase for batch in rule.calls] == ["some"] * 4 + ["all"] * 4
    assert training.histories[0]["T"] == pytest.approx([1 / 3, 2 / 3, 1, 1])
