"""Ours against the paper's text with rows really duplicated: the same numbers, step by step.

In double precision, without dropout, whose random numbers differ, and without batch norm:
duplicating rows changes the mean and the variance of a batch, unless all sets have one size, and
that case is compared too.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ncpd_in_one_file import (
    LiteralNCPD,
    MultiBirthGroups,
    disambiguate,
    exchanged,
    make_perceptron,
    weighted_loss,
)

from disambig.engine.fast.stack import NetworkStack
from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.methods.ncpd import ProgressiveCooperation, has_small_loss, reliable_candidates
from methods.ncpd.both_ways import (
    Data,
    Recording,
    as_perceptron,
    groups_of,
    losses_and_predictions,
    random_data,
    random_sets,
    random_weights,
    taught,
    train_literally,
)

EPOCHS, BATCH_SIZE = 5, 8
# 30 rows are four batches of 7 or 8, so 20 steps, and T is .06, .29, .73, 1, 1.
RAMP_EPOCHS = 4
assert_close = partial(torch.testing.assert_close, rtol=0, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 12),
    n_classes=st.integers(2, 8),
    n_networks=st.integers(1, 4),
    n_filler=st.integers(0, 3),
    share=st.one_of(st.floats(0, 1), st.just(1.0)),
    weighted=st.booleans(),
    progressive=st.booleans(),
    repeated=st.booleans(),
)
def test_confidences_in_one_batch_are_the_literal_ones(
    seed, n_rows, n_classes, n_networks, n_filler, share, weighted, progressive, repeated
):
    generator = np.random.default_rng(seed)
    sets = random_sets(generator, n_rows, n_classes)
    weights = random_weights(generator, sets) if weighted else None
    logits = torch.as_tensor(2 * generator.normal(size=(1, n_networks, n_rows, n_classes)))
    if repeated:
        # Rows in pairs with the same logits: losses that are equal to the last bit.
        logits = logits[:, :, torch.arange(n_rows) // 2]

    features = torch.zeros(n_rows, 1, dtype=torch.float64)
    batch = MultiBirthGroups(features, sets, weights).mini_batch(range(n_rows))
    literal = [
        disambiguate(own[batch.group], batch, share, progressive=progressive) for own in logits[0]
    ]

    groups = groups_of(sets, weights, n_filler)
    filler = torch.zeros(1, n_networks, n_filler, n_classes, dtype=torch.float64)
    losses, predicted = losses_and_predictions(torch.cat([logits, filler], 2), groups)
    inside = groups.mask[0, 0]
    on_device = torch.tensor([share], dtype=torch.float64)
    reliable = reliable_candidates(losses, predicted, on_device, groups.most_candidates)
    assert reliable[0][:, inside].tolist() == [own.reliable.tolist() for own in literal]

    for cooperation in {False, n_networks > 1}:
        rule = ProgressiveCooperation(RAMP_EPOCHS, cooperation, progressive)
        found = taught(rule, losses, predicted, groups, on_device)
        expected = [own.confidences for own in literal]
        if cooperation:
            expected = exchanged(expected)
        assert found.simple[0, :, :n_rows].tolist() == [own.simple.tolist() for own in literal]
        assert not found.simple[0, :, n_rows:].any()
        for network, confidences in enumerate(expected):
            ours = found.weights[0, network][inside]
            assert_close(ours, confidences)
            assert_close(
                (ours * losses[0, network][inside]).sum() / n_rows,
                weighted_loss(confidences, literal[network].losses, batch),
            )


@dataclass(frozen=True)
class Case:
    """A training that is run both ways."""

    cooperation: bool = True
    progressive: bool = True
    n_networks: int = 2
    hidden: tuple[int, ...] = (16,)
    batch_norm: bool = False
    epochs: int = EPOCHS
    ramp_epochs: int = RAMP_EPOCHS
    learning_rate: float = 0.01

    def rule(self):
        return ProgressiveCooperation(self.ramp_epochs, self.cooperation, self.progressive)

    def stack(self, data, n_problems=1):
        return NetworkStack(
            data.features.shape[1],
            data.n_classes,
            hidden=self.hidden,
            seeds=range(n_problems * self.n_networks),
            activation="relu",
            dropout=0.0,
            batch_norm=self.batch_norm,
            dtype=torch.float64,
        )

    def training(self, stack, problems, rule):
        settings = TrainingSettings(self.epochs, BATCH_SIZE, self.learning_rate)
        return Training(stack, problems, rule, settings)

    def literal(self, data, networks):
        return LiteralNCPD(
            networks,
            data.multi_birth_groups(),
            ramp_epochs=self.ramp_epochs,
            learning_rate=self.learning_rate,
            cooperation=self.cooperation,
            progressive=self.progressive,
        )


def train_both_ways(case: Case, *datas: Data, rule=None):
    """Train on one problem or several side by side, and compare everything; return what was seen.

    ``rule`` takes the place of ours: a broken one makes this fail.
    """
    stack = case.stack(datas[0], len(datas))
    of_problems = [
        [as_perceptron(stack, case.n_networks * problem + own) for own in range(case.n_networks)]
        for problem in range(len(datas))
    ]
    recording = Recording(case.rule() if rule is None else rule)
    problems = [data.problem(order_seed=7 + number) for number, data in enumerate(datas)]
    training = case.training(stack, problems, recording)
    training.run()
    for problem, (data, networks) in enumerate(zip(datas, of_problems, strict=True)):
        literal = case.literal(data, networks)
        n_rows = len(data.sets)
        steps = train_literally(literal, case.epochs, n_rows, 7 + problem, BATCH_SIZE)
        compare_steps(recording.steps, steps, problem)
        compare_histories(training.histories[problem], steps, case, n_rows)
        for own, network in enumerate(networks):
            trained = as_perceptron(stack, case.n_networks * problem + own)
            compare_parameters(trained, network)
    return recording.steps


def compare_steps(ours, literal, problem):
    assert len(ours) == len(literal)
    for seen, step in zip(ours, literal, strict=True):
        for network, (found, wanted) in enumerate(zip(step.found, step.taught, strict=True)):
            assert_close(seen.of_replicas(seen.losses, problem, network), found.losses.detach())
            simple = seen.of_groups(seen.simple, problem, network)
            assert simple.tolist() == found.simple.tolist()
            assert_close(seen.of_replicas(seen.weights, problem, network), wanted)
            loss = seen.of_replicas(seen.weights * seen.losses, problem, network)
            assert_close(loss.sum() / len(simple), step.losses[network])


def compare_histories(history, steps, case, n_rows):
    steps_per_epoch = len(steps) // case.epochs
    for epoch in range(case.epochs):
        of_epoch = steps[epoch * steps_per_epoch : (epoch + 1) * steps_per_epoch]
        simple = [own.simple.double().sum() for step in of_epoch for own in step.found]
        losses = [
            loss * len(own.simple)
            for step in of_epoch
            for loss, own in zip(step.losses, step.found, strict=True)
        ]
        count = n_rows * case.n_networks
        assert history["simple"][epoch] == pytest.approx(float(sum(simple)) / count, abs=1e-9)
        assert history["loss"][epoch] == pytest.approx(float(sum(losses)) / count, abs=1e-9)


def compare_parameters(ours, literal):
    literal_parameters = dict(literal.named_parameters())
    assert literal_parameters.keys() == dict(ours.named_parameters()).keys()
    for name, value in ours.named_parameters():
        assert_close(value, literal_parameters[name])


def assert_that_it_ranks(steps):
    """Show that a training has something to get wrong in each of the steps of Sec. 3.2."""
    ranked = [seen for seen in steps if seen.share is not None]
    assert all(0 < seen.share < 1 for seen in ranked)
    real = [seen.groups.mask.any(-1).expand_as(seen.simple) for seen in ranked]
    pairs = list(zip(ranked, real, strict=True))
    assert any((seen.simple & seen.groups.mask.any(-1)).any() for seen in ranked)
    assert any((~seen.simple & own).any() for seen, own in pairs)
    # Predicted inside the set, yet not among the smallest losses; and outside the set.
    assert any((seen.predicted.any(-1) & ~seen.simple).any() for seen in ranked)
    assert any((~seen.predicted.any(-1) & own).any() for seen, own in pairs)
    # What one network finds simple another does not.
    assert any((seen.simple[:, :1] != seen.simple[:, 1:]).any() for seen in ranked)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("progressive", [True, False])
@pytest.mark.parametrize("cooperation", [True, False])
@pytest.mark.parametrize(
    ("seed", "n_classes", "hidden", "n_networks"), [(0, 5, (16,), 2), (1, 3, (8, 6), 3)]
)
def test_twenty_steps_of_every_ablation_are_the_literal_ones(
    seed, n_classes, hidden, cooperation, progressive, n_networks, weighted
):
    data = random_data(seed, n_classes=n_classes, weighted=weighted)
    steps = train_both_ways(Case(cooperation, progressive, n_networks, hidden), data)
    assert len(steps) == 20
    # In double precision; where it is one, the engine says None and nothing is ranked.
    shares = [0.060054667895307945, 0.28650479686019009, 0.73161562894664175, None, None]
    in_each_epoch = [seen.share for seen in steps[::4]]
    assert in_each_epoch == pytest.approx(shares if progressive else [None] * 5, abs=1e-15)
    assert {1, n_classes} <= {len(own) for own in data.sets}
    # Batches of 7 were filled up to 8.
    assert any(not seen.groups.mask.any(-1).all() for seen in steps)
    if progressive:
        assert_that_it_ranks(steps)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(2, 40),
    n_classes=st.integers(2, 9),
    ramp_epochs=st.integers(1, 6),
    n_networks=st.integers(2, 4),
    weighted=st.booleans(),
)
def test_a_few_steps_of_any_shape_are_the_literal_ones(
    seed, n_rows, n_classes, ramp_epochs, n_networks, weighted
):
    data = random_data(seed, n_rows=n_rows, n_classes=n_classes, weighted=weighted)
    case = Case(n_networks=n_networks, hidden=(5,), epochs=2, ramp_epochs=ramp_epochs)
    train_both_ways(case, data)


def test_problems_side_by_side_are_each_the_same_as_alone():
    # 27 rows are batches of 6 or 7, filled up to the 8 of the other problem; another widest set.
    datas = random_data(0, weighted=True), random_data(1, n_rows=27, n_classes=5, set_size=2)
    steps = train_both_ways(Case(), *datas)
    assert_that_it_ranks(steps)


@pytest.mark.parametrize("progressive", [True, False])
def test_steps_are_the_literal_ones_where_losses_are_beyond_what_exp_can_hold(progressive):
    data = random_data(0, weighted=True)
    data = replace(data, features=data.features * 5000)
    # At rest: Adam turns the last bit of a gradient that should be zero into a step.
    steps = train_both_ways(Case(progressive=progressive, learning_rate=0.0), data)
    if progressive:
        assert_that_it_ranks(steps)
    # exp(-746) is zero, and there are groups of several in which every loss is above that. Their
    # prediction lies outside, so that Eq. 1 is for them only without progress.
    several = [seen.groups.mask.sum(-1) > 1 for seen in steps]
    smallest = [seen.losses.min(-1).values for seen in steps]
    assert any(
        (own[of_several.expand_as(own)] > 746).any()
        for own, of_several in zip(smallest, several, strict=True)
    )
    assert all(seen.weights.isfinite().all() for seen in steps)


@pytest.mark.parametrize("progressive", [True, False])
def test_steps_with_batch_norm_are_the_literal_ones_where_all_sets_have_one_size(progressive):
    # With three replicas of every row the mean and the variance of a batch are those of the rows.
    data = random_data(0, set_size=3, weighted=True)
    case = Case(progressive=progressive, hidden=(16, 8), batch_norm=True)
    steps = train_both_ways(case, data)
    if progressive:
        assert_that_it_ranks(steps)


def test_steps_with_batch_norm_are_others_where_sets_differ_in_size():
    # With copies a row counts as often in the mean of a batch as it has candidates.
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        train_both_ways(Case(batch_norm=True), random_data(0))


def test_modules_of_the_user_learn_what_the_literal_networks_learn():
    data = random_data(0, weighted=True)
    case = Case(n_networks=3)
    made = []

    def factory(n_features, n_classes):
        made.append(make_perceptron(n_features, (16,), n_classes, False, 0).double())
        return made[-1]

    first = ModuleStack(factory, 4, 5, seeds=range(3))
    copies = [make_perceptron(4, (16,), 5, False, 0).double() for _ in made]
    for copy, module in zip(copies, made, strict=True):
        copy.load_state_dict(module.state_dict())
    recording = Recording(case.rule())
    case.training(first, [data.problem(7)], recording).run()
    steps = train_literally(case.literal(data, copies), EPOCHS, 30, 7, BATCH_SIZE)
    compare_steps(recording.steps, steps, 0)
    for module, copy in zip(made, copies, strict=True):
        compare_parameters(module, copy)


class Broken(ProgressiveCooperation):
    """Our rule with one mistake in it: the comparison must notice each of them."""

    def selfish(self):
        """Return the same rule, in the same epoch, without cooperation."""
        rule = ProgressiveCooperation(self.ramp_epochs, False, self.progressive)
        rule.share = self.share
        return rule


class NotExchanged(Broken):
    def targets(self, batch):
        return self.selfish().targets(batch)


class MeanOfAllNetworks(Broken):
    def targets(self, batch):
        found = self.selfish().targets(batch)
        return found._replace(slots=found.slots.mean(1, keepdim=True).expand_as(found.slots))


class WeightsForgotten(Broken):
    def targets(self, batch):
        equal = batch.mask / batch.mask.sum(-1, keepdim=True).clamp(min=1)
        return super().targets(batch._replace(prior=equal.to(batch.losses.dtype)))


class NetworksRankedTogether(Broken):
    def targets(self, batch):
        predicted = batch.predicted
        if batch.phase:
            together = batch.losses.flatten(1, 2)
            most = batch.losses.shape[1] * batch.most_candidates
            small = has_small_loss(together, self.share, most).view_as(batch.losses)
            predicted = predicted & small
        return super().targets(batch._replace(predicted=predicted, phase=False))


class ClassesRankedInsteadOfCandidates(Broken):
    """Of 8 rows and 5 classes 40 losses, of which all but the candidates' are thought large."""

    def targets(self, batch):
        before = self.share
        n_losses = 5 * batch.mask.any(-1).sum()
        self.share = (self.share * n_losses / batch.mask.sum()).clamp(max=1)
        found = super().targets(batch)
        self.share = before
        return found


class FillerRanked(Broken):
    def targets(self, batch):
        filler = ~batch.mask.any(-1, keepdim=True)
        ranked = batch.losses.masked_fill(filler, 1e6)
        predicted = batch.predicted
        if batch.phase:
            predicted = predicted & has_small_loss(ranked, self.share, ranked[0, 0].numel())
        return super().targets(batch._replace(predicted=predicted, phase=False))


class AnyPredictionWillDo(Broken):
    def targets(self, batch):
        return super().targets(batch._replace(predicted=batch.mask.expand_as(batch.losses)))


class PredictedAmongCandidates(Broken):
    def targets(self, batch):
        smallest = batch.losses == batch.losses.min(-1, keepdim=True).values
        return super().targets(batch._replace(predicted=smallest & batch.mask))


class AnyLossWillDo(Broken):
    def targets(self, batch):
        return super().targets(batch._replace(phase=False))


class EpochsCountedFromZero(Broken):
    def begin_epoch(self, epoch):
        return super().begin_epoch(epoch - 1)


@pytest.mark.parametrize("broken", Broken.__subclasses__())
def test_a_mistake_in_the_rule_is_noticed(broken):
    case = Case(n_networks=3)
    data = random_data(0, weighted=True)
    train_both_ways(case, data)
    with pytest.raises(AssertionError):
        train_both_ways(case, data, rule=broken(RAMP_EPOCHS, cooperation=True, progressive=True))
