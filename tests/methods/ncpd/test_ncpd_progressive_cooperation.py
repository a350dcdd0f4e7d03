"""The rule as a whole, and what the training loop makes of it in corner cases."""

import copy
from math import log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ncpd_in_one_file import make_perceptron
from torch import nn
from torch.nn import functional

from disambig.engine.fast.stack import NetworkStack
from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.methods.ncpd import ProgressiveCooperation
from methods.ncpd.both_ways import (
    Data,
    Recording,
    as_perceptron,
    dealt_batches,
    groups_of,
    losses_and_predictions,
    random_data,
    random_sets,
    taught,
)

SELFISH = ProgressiveCooperation(ramp_epochs=100, cooperation=False, progressive=True)


def as_share(value):
    return torch.tensor([value], dtype=torch.float64)


def confidences(rule, probabilities, sets, share, weights=None, n_filler=0):
    """Return what networks with these probabilities of every row and class are taught."""
    groups = groups_of(sets, weights, n_filler)
    logits = torch.tensor([probabilities], dtype=torch.float64).log()
    losses, predicted = losses_and_predictions(logits, groups)
    found = taught(rule, losses, predicted, groups, share)
    return found.weights[0].tolist(), found.simple[0].tolist()


@pytest.mark.parametrize("share", [None, as_share(1.0)])
def test_a_group_whose_prediction_lies_outside_its_set_is_complicated_even_if_t_is_one(share):
    # Class 0 is predicted for both rows and is a candidate of the second only: its confidences are
    # .5 / .7 and .2 / .7.
    rows = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]
    weights, simple = confidences(SELFISH, [rows], [[1, 2], [0, 2]], share)
    assert simple == [[False, True]]
    np.testing.assert_allclose(weights[0], [[0.5, 0.5], [5 / 7, 2 / 7]], atol=1e-12)


def test_if_t_times_count_is_below_one_every_group_is_complicated():
    # 0.2 * 4 = 0.8 of a candidate, so that all groups get their weights: 1/2 and 1/2, 3/4 and 1/4.
    rows = [[0.9, 0.1], [0.8, 0.2]]
    weights, simple = confidences(
        SELFISH, [rows], [[0, 1], [0, 1]], as_share(0.2), [[1.0, 1.0], [3.0, 1.0]]
    )
    assert simple == [[False, False]]
    np.testing.assert_allclose(weights[0], [[0.5, 0.5], [0.75, 0.25]], atol=1e-12)


def test_in_a_batch_of_singletons_every_confidence_is_one():
    # Half of three losses is one, that of .8; the second row is predicted wrongly.
    rows = [[0.8, 0.2], [0.7, 0.3], [0.4, 0.6]]
    weights, simple = confidences(SELFISH, [rows], [[0], [1], [1]], as_share(0.5))
    assert simple == [[True, False, False]]
    assert weights == [[[1], [1], [1]]]


def test_rows_that_fill_up_are_never_simple_and_get_no_confidence():
    for progressive, share in [(True, as_share(0.5)), (True, None), (False, None)]:
        rule = ProgressiveCooperation(100, cooperation=True, progressive=progressive)
        rows = [[0.8, 0.2], [0.5, 0.5]]
        weights, simple = confidences(rule, [rows, rows], [[0, 1]], share, n_filler=1)
        assert simple == [[True, False], [True, False]]
        np.testing.assert_allclose(weights, [[[0.8, 0.2], [0, 0]]] * 2, atol=1e-12)


def test_each_network_ranks_its_own_losses_and_is_taught_by_the_other():
    # A quarter of four losses is one. The first network has it in its first row (.9), the second,
    # whose losses are all larger, in its second row (.6).
    first = [[0.9, 0.1], [0.8, 0.2]]
    second = [[0.55, 0.45], [0.6, 0.4]]
    rule = ProgressiveCooperation(100, cooperation=True, progressive=True)
    weights, simple = confidences(rule, [first, second], [[0, 1], [0, 1]], as_share(0.25))
    assert simple == [[True, False], [False, True]]
    expected = [[[0.5, 0.5], [0.6, 0.4]], [[0.9, 0.1], [0.5, 0.5]]]
    np.testing.assert_allclose(weights, expected, atol=1e-12)


def test_without_progress_eq_1_holds_even_for_predictions_outside_the_set():
    rule = ProgressiveCooperation(100, cooperation=False, progressive=False)
    weights, simple = confidences(rule, [[[0.5, 0.3, 0.2]]], [[1, 2]], None)
    assert simple == [[True]]
    np.testing.assert_allclose(weights, [[[0.6, 0.4]]], atol=1e-12)


@given(
    seed=st.integers(0, 10_000),
    n_problems=st.integers(1, 3),
    n_networks=st.integers(2, 4),
    share=st.one_of(st.none(), st.floats(0, 1)),
    cooperation=st.booleans(),
    progressive=st.booleans(),
)
def test_problems_side_by_side_do_not_meet(
    seed, n_problems, n_networks, share, cooperation, progressive
):
    generator = np.random.default_rng(seed)
    rule = ProgressiveCooperation(100, cooperation, progressive)
    share = None if share is None else as_share(share)
    # Every problem with another number of real rows, and a full set, so that all are one shape.
    problems = [
        groups_of([[0, 1, 2, 3], *random_sets(generator, 3 - fill, 4)], n_filler=fill)
        for fill in range(n_problems)
    ]
    groups = type(problems[0])(
        *(torch.cat([getattr(own, name) for own in problems]) for name in problems[0]._fields[:3]),
        max(own.most_candidates for own in problems),
    )
    # Losses of every problem on another scale: ranked together, one would have all the small ones.
    scale = np.array([3, 1, 0.3])[:n_problems, np.newaxis, np.newaxis, np.newaxis]
    logits = torch.as_tensor(scale * generator.normal(size=(n_problems, n_networks, 4, 4)))
    losses, predicted = losses_and_predictions(logits, groups)
    found = taught(rule, losses, predicted, groups, share)
    for number, own in enumerate(problems):
        one = slice(number, number + 1)
        alone = taught(rule, losses[one], predicted[one], own, share)
        assert found.simple[one].tolist() == alone.simple.tolist()
        torch.testing.assert_close(found.weights[one], alone.weights, rtol=0, atol=1e-15)


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(2, 6), st.booleans())
def test_not_ranking_is_the_same_as_ranking_with_a_share_of_one(seed, n_rows, n_classes, teach):
    generator = np.random.default_rng(seed)
    groups = groups_of(random_sets(generator, n_rows, n_classes), n_filler=2)
    logits = torch.as_tensor(generator.normal(size=(1, 2, n_rows + 2, n_classes)))
    losses, predicted = losses_and_predictions(logits, groups)
    rule = ProgressiveCooperation(100, teach, progressive=True)
    ranked = taught(rule, losses, predicted, groups, as_share(1.0))
    unranked = taught(rule, losses, predicted, groups, None)
    assert ranked.simple.tolist() == unranked.simple.tolist()
    assert ranked.weights.tolist() == unranked.weights.tolist()


def test_confidences_of_a_simple_group_outlive_probabilities_that_are_zero():
    # Logits 900, 100 and 0 with the last two as candidates: losses 800 and 900. Nothing is
    # predicted inside the set, so it takes "no progress" to see Eq. 1: 1 and exp(-100).
    logits = torch.tensor([[[[900.0, 100.0, 0.0], [900.0, 100.0, 100.0 - log(3)]]]])
    groups = groups_of([[1, 2], [1, 2]])
    losses, predicted = losses_and_predictions(logits.double(), groups)
    np.testing.assert_allclose(losses[0, 0], [[800, 900], [800, 800 + log(3)]], atol=1e-4)
    rule = ProgressiveCooperation(100, cooperation=False, progressive=False)
    weights = taught(rule, losses, predicted, groups, None).weights
    np.testing.assert_allclose(weights[0, 0], [[1, 0], [0.75, 0.25]], atol=1e-5)


@pytest.mark.parametrize("offset", [0, 30, 1000])
def test_losses_are_exact_wherever_the_logits_lie(offset):
    # A row that is nearly settled, in single precision: logits 0, -12, -14, -16 and the same number
    # added to all, which changes no probability. Candidates are the first two.
    # log(1 + exp(-12) + exp(-14) + exp(-16)) = 0.00000709, and 12 more.
    logits = torch.tensor([0.0, -12.0, -14.0, -16.0]) + offset

    def factory(n_features, n_classes):
        module = nn.Linear(n_features, n_classes)
        nn.init.zeros_(module.weight)
        module.bias = nn.Parameter(logits)
        return module

    recording = Recording(ProgressiveCooperation(1, cooperation=True, progressive=True))
    data = Data(np.zeros((2, 1)), [[0, 1], [0, 1]], None, n_classes=4)
    stack = ModuleStack(factory, 1, 4, seeds=[1, 2])
    Training(stack, [data.problem()], recording, TrainingSettings(1, 2, 0.01)).run()
    # Near 12, single precision has steps of 1e-6.
    expected = np.full((1, 2, 2, 2), [7.0882e-6, 12 + 7.0882e-6])
    np.testing.assert_allclose(recording.steps[0].losses[..., 0], expected[..., 0], atol=2e-7)
    np.testing.assert_allclose(recording.steps[0].losses[..., 1], expected[..., 1], atol=2e-6)


def stack_of_ours(n_features, n_classes):
    return NetworkStack(
        n_features,
        n_classes,
        hidden=(16,),
        seeds=[1, 2],
        activation="relu",
        dropout=0.0,
        batch_norm=False,
        dtype=torch.float64,
    )


def test_singletons_are_learned_as_in_supervised_learning():
    data = random_data(0, n_rows=30, set_size=1, weighted=True)
    stack = stack_of_ours(4, 5)
    networks = [as_perceptron(stack, number) for number in range(2)]
    rule = ProgressiveCooperation(4, cooperation=True, progressive=True)
    Training(stack, [data.problem(3)], rule, TrainingSettings(5, 8, 0.01)).run()
    features = torch.as_tensor(data.features)
    labels = torch.tensor([own[0] for own in data.sets])
    for number, network in enumerate(networks):
        adam = torch.optim.Adam(network.parameters(), 0.01)
        for epoch in range(1, 6):
            for rows in dealt_batches(30, 3, 8, epoch):
                adam.zero_grad()
                functional.cross_entropy(network(features[rows]), labels[rows]).backward()
                adam.step()
        trained = as_perceptron(stack, number).parameters()
        for ours, theirs in zip(trained, network.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)


def test_confidences_are_constants_for_the_gradient():
    data = random_data(0, n_rows=20)
    modules = []

    def factory(n_features, n_classes):
        modules.append(make_perceptron(n_features, (6,), n_classes, False, 0).double())
        return modules[-1]

    stack = ModuleStack(factory, 4, 5, seeds=[1])
    before = copy.deepcopy(modules[0])
    # Its own confidences in every group: where a gradient could leak, if it did.
    recording = Recording(ProgressiveCooperation(100, cooperation=False, progressive=False))
    Training(stack, [data.problem()], recording, TrainingSettings(1, 20, 0.01)).run()
    assert [seen.weights.requires_grad for seen in recording.steps] == [False]

    log_probabilities = before(torch.as_tensor(data.features)).log_softmax(-1)
    mask = torch.as_tensor(data.candidates.to_mask())
    eq_1 = log_probabilities.masked_fill(~mask, -torch.inf).softmax(-1)
    right = gradients_of(before, -(eq_1.detach() * log_probabilities).sum() / 20)
    wrong = gradients_of(before, -(eq_1 * log_probabilities).sum() / 20)
    found = [parameter.grad for parameter in modules[0].parameters()]
    for ours, expected in zip(found, right, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    gaps = [(ours - leaked).abs().max() for ours, leaked in zip(found, wrong, strict=True)]
    assert max(gaps) > 0.01


def gradients_of(network: nn.Module, loss: torch.Tensor):
    return torch.autograd.grad(loss, list(network.parameters()), retain_graph=True)


def test_the_gradient_that_is_written_out_is_that_of_the_loss_with_constants():
    data = random_data(1, n_rows=20, weighted=True)
    stack = stack_of_ours(4, 5)
    networks = [as_perceptron(stack, number) for number in range(2)]
    # In its 60th of 100 epochs T is exp(-0.8) = .45: some groups are simple.
    recording = Recording(ProgressiveCooperation(100, cooperation=True, progressive=True))
    recording.begin_epoch = lambda epoch: recording.rule.begin_epoch(60)
    Training(stack, [data.problem()], recording, TrainingSettings(1, 20, 0.01)).run()
    (seen,) = recording.steps
    assert seen.simple.any()
    assert not seen.simple.all()
    rows = dealt_batches(20, 0, 20, epoch=1)[0]
    for number, network in enumerate(networks):
        log_probabilities = network(torch.as_tensor(data.features[rows])).log_softmax(-1)
        losses = -log_probabilities.gather(1, seen.groups.columns[0, 0])
        constants = seen.weights[0, number].masked_fill(~seen.groups.mask[0, 0], 0)
        expected = gradients_of(network, (constants * losses).sum() / 20)
        layers = [*stack.hidden, stack.output]
        ours = [
            grad for own in layers for grad in (own.weight.grad[number].T, own.bias.grad[number, 0])
        ]
        for found, wanted in zip(ours, expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
