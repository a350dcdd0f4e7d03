"""Rules with a loss of their own, against autograd through networks as a textbook writes them."""

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional

from disambig.engine import loss_step
from disambig.engine.batches import Batches
from disambig.engine.loss_rule import Drawn, Loss, LossRule, Outputs
from disambig.engine.module_stack import ModuleStack
from disambig.engine.rule import RowState, TrainingSettings
from disambig.engine.training import Training
from engine.plain_network import make_stack, normal
from engine.small_problems import make_problem

SETTINGS = TrainingSettings(epochs=3, batch_size=8, learning_rate=0.05)
AVERAGE = 0.9


class Everything(LossRule):
    """Uses all that a rule may ask for."""

    n_views = 1
    embedding = 3
    average = AVERAGE
    looks_after_step = True
    looks_at_all_rows = True

    def __init__(self, dtype=torch.float64):
        self.dtype = dtype

    def start(self, problems, device):
        n_classes = problems[0].prior.shape[1]
        kind = {"device": device, "dtype": self.dtype}
        start = torch.linspace(0.5, 1.5, n_classes, **kind)
        self.scale = torch.stack([start] * len(problems)).requires_grad_()
        self.shares = torch.zeros(len(problems), n_classes, **kind)

    def parameters(self):
        return [self.scale]

    def row_state(self):
        return {"confidences": RowState(), "last": RowState(width=1, initial=0.25)}

    def draw(self, features, is_real, steps):
        shift = steps[:, None, None, None].to(features.dtype).expand(-1, *features.shape[1:4]) / 10
        return Drawn([features.roll(1, -1)], {"shift": shift * is_real})

    def look_at_all_rows(self, batch):
        said = batch.seen.probabilities() * batch.is_real.unsqueeze(-1)
        self.shares.copy_(said.sum((1, 2)) / batch.is_real.sum((1, 2)).unsqueeze(1))
        return {"last": batch.state["last"] + self.shares[:, :1, None, None]}

    def loss(self, batch):
        target = batch.over_classes(batch.state["confidences"])
        scale = self.scale[:, None, None]
        rows = -(scale * target * batch.seen.log_probabilities()).sum(-1)
        (view,) = batch.views
        rows = rows + (view.probabilities() - batch.averaged[0].probabilities()).square().sum(-1)
        rows = rows + (batch.seen.embedding * view.embedding).sum(-1) * batch.state["last"][..., 0]
        rows = rows + (batch.averaged[1].embedding * batch.seen.embedding).sum(-1)
        rows = rows + batch.drawn["shift"] * batch.seen.logits[..., 0]
        rows = rows + (batch.seen.probabilities() * self.shares[:, None, None]).sum(-1)
        return Loss(rows, {"last": rows.detach().unsqueeze(-1)}, {"size": rows.detach().abs()})

    def after_step(self, batch):
        assert not batch.seen.logits.requires_grad
        return {"confidences": batch.in_slots(batch.among_candidates(batch.seen.logits))}


class Plain:
    """One problem and one network, by autograd and torch's Adam."""

    def __init__(self, stack, problem, number):
        names = dict(stack.named_parameters())
        self.parameters = {n: v[number].detach().clone().requires_grad_() for n, v in names.items()}
        self.averaged = {n: v.detach().clone() for n, v in self.parameters.items()}
        self.running = [torch.zeros(4).double(), torch.ones(6).double()]
        self.averaged_running = copy.deepcopy(self.running)
        self.features = torch.as_tensor(problem.features)
        self.prior = torch.as_tensor(problem.prior.toarray())
        self.confidences = self.prior.clone()
        self.last = torch.full((len(self.features),), 0.25, dtype=torch.float64)
        self.scale = torch.linspace(0.5, 1.5, self.prior.shape[1]).double().requires_grad_()
        every = [*self.parameters.values(), self.scale]
        self.adam = torch.optim.Adam(every, SETTINGS.learning_rate)
        n_rows = len(self.features)
        self.batches = Batches([n_rows], [problem.order_seed], 8, torch.device("cpu"))

    def outputs(self, features, parameters, running, *, training):
        if training:
            mean, variance = features.mean(0), None
            value = (features - mean) @ parameters["hidden.0.weight"]
            variance = value.square().mean(0)
            n = len(features)
            running[0].lerp_(mean.detach(), 0.1)
            running[1].lerp_(variance.detach() * n / (n - 1), 0.1)
        else:
            value, variance = (features - running[0]) @ parameters["hidden.0.weight"], running[1]
        gamma, bias = parameters["hidden.0.gamma"], parameters["hidden.0.bias"]
        value = (gamma * value / (variance + 1e-5).sqrt() + bias).relu()
        return [
            value @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]
            for name in ("output", "projection")
        ]

    def run(self):
        self.n_steps = 0
        for epoch in range(1, SETTINGS.epochs + 1):
            with torch.no_grad():
                logits, _ = self.outputs(
                    self.features, self.parameters, self.running, training=False
                )
            shares = logits.softmax(1).mean(0)
            self.last += shares[0]
            for rows in self.batches.rows_of(epoch)[:, 0]:
                self.step(rows[rows < len(self.features)], shares)

    def step(self, rows, shares):
        features = self.features[rows]
        both = torch.cat([features, features.roll(1, -1)])
        outputs = self.outputs(both, self.parameters, self.running, training=True)
        (seen, view), (ours, theirs) = (part.chunk(2) for part in outputs)
        with torch.no_grad():
            outputs = self.outputs(both, self.averaged, self.averaged_running, training=False)
        average, _ = outputs[0].chunk(2)
        _, average_embedding = outputs[1].chunk(2)
        loss = -(self.scale * self.confidences[rows] * seen.log_softmax(1)).sum(1)
        loss = loss + (view.softmax(1) - average.softmax(1)).square().sum(1)
        loss = loss + (ours * theirs).sum(1) * self.last[rows] + (average_embedding * ours).sum(1)
        loss = loss + self.n_steps / 10 * seen[:, 0] + (seen.softmax(1) * shares).sum(1)
        self.n_steps += 1
        self.adam.zero_grad()
        loss.mean().backward()
        self.adam.step()
        self.last[rows] = loss.detach()
        with torch.no_grad():
            for name, value in self.averaged.items():
                value.lerp_(self.parameters[name], 1 - AVERAGE)
            for value, present in zip(self.averaged_running, self.running, strict=True):
                value.lerp_(present, 1 - AVERAGE)
            logits, _ = self.outputs(both, self.parameters, self.running, training=True)
            inside = logits.chunk(2)[0].masked_fill(self.prior[rows] == 0, -torch.inf)
            self.confidences[rows] = inside.softmax(1)


@pytest.fixture(scope="module")
def trained():
    """Return a training of two problems of different size, and the same by plain means."""
    problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 19)]
    stack = make_stack(4, 5, seeds=(1, 2), batch_norm=True, embedding=3)
    plain = [Plain(stack, problem, number) for number, problem in enumerate(problems)]
    training = Training(stack, problems, Everything(), SETTINGS)
    training.run()
    for one in plain:
        one.run()
    return training, plain


def test_every_ability_equals_autograd_through_a_textbook_network(trained):
    training, plain = trained
    for number, one in enumerate(plain):
        for name, value in training.networks.named_parameters():
            expected = one.parameters[name].detach()
            torch.testing.assert_close(value[number].detach().view_as(expected), expected)
        torch.testing.assert_close(training.rule.scale[number].detach(), one.scale.detach())


def test_state_of_rows_is_kept_until_they_are_seen_again(trained):
    training, plain = trained
    state = training.state()
    last = state["rows.last"][0, :39, 0]
    torch.testing.assert_close(last, torch.cat([one.last for one in plain]))
    kept = torch.cat([one.confidences[one.prior > 0] for one in plain])
    torch.testing.assert_close(state["rows.confidences"][0, : len(kept)], kept)


def test_averaged_networks_follow(trained):
    training, plain = trained
    averaged = training._loss_step._averaged.state_dict()
    for number, one in enumerate(plain):
        for name, value in one.averaged.items():
            torch.testing.assert_close(averaged[name][number].view_as(value), value)


def test_what_is_kept_of_a_network_has_no_second_output(trained):
    training, _ = trained
    kept = training.networks.part(1, 1)
    assert "projection.weight" not in kept.state_dict()
    assert "projection.weight" in training.networks.part(1, 1, whole=True).state_dict()


def test_a_training_goes_on_where_it_broke_off():
    def make(epochs):
        stack = make_stack(4, 5, seeds=(1, 2), batch_norm=True, embedding=3, dropout=0.25)
        problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 19)]
        return Training(
            stack,
            problems,
            Everything(),
            TrainingSettings(epochs, batch_size=8, learning_rate=0.05),
        )

    whole, first = make(4), make(2)
    whole.run()
    first.run()
    second = make(4)
    second.resume({n: v.clone() for n, v in first.state().items()}, first.histories)
    second.run()
    for name, value in whole.state().items():
        torch.testing.assert_close(second.state()[name], value, rtol=0, atol=0)
    for one, other in zip(second.histories, whole.histories, strict=True):
        assert one.to_dict() == other.to_dict()


def test_a_problem_hands_on_from_a_stack_what_it_hands_on_alone():
    problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 17)]

    def train(seeds, problems):
        stack = make_stack(4, 5, seeds=seeds, batch_norm=True, embedding=3)
        training = Training(stack, problems, Everything(), SETTINGS)
        training.run()
        return training

    together = train((1, 2, 3, 4), problems)
    ends = [together.progress_of(number) for number in range(2)]
    for number, (problem, found) in enumerate(zip(problems, ends, strict=True)):
        alone = train((2 * number + 1, 2 * number + 2), [problem]).progress_of(0)
        assert found.learned.keys() == alone.learned.keys()
        for name, value in alone.learned.items():
            torch.testing.assert_close(found.learned[name], value, rtol=1e-9, atol=1e-9)
    # Averaged networks and the memory of what the rule learns are handed on, too.
    later = Training(
        make_stack(4, 5, seeds=(1, 2, 3, 4), batch_norm=True, embedding=3),
        problems,
        Everything(),
        SETTINGS,
    )
    later.go_on_from(ends)
    state = together.state()
    assert {n.partition(".")[0] for n in ends[0].learned} == {
        "networks", "adam", "averaged", "rule"
    }  # fmt: skip
    for name in ends[0].learned:
        torch.testing.assert_close(later.state()[name], state[name], rtol=0, atol=0)


class SeesOneTable(LossRule):
    """What is drawn, and what networks take, is the same memory for every step or network."""

    average = AVERAGE

    def draw(self, features, is_real, steps):
        self.shift = features.new_tensor([0.0, 0.5]).view(2, 1)
        return Drawn(others={"shift": self.shift.expand(len(steps), 1, 2, is_real.shape[-1])})

    def loss(self, batch):
        target = batch.over_classes(batch.prior)
        shifted = batch.seen.log_probabilities() + batch.averaged[0].log_probabilities()
        return Loss(-(target * shifted).sum(-1) * (1 + batch.drawn["shift"]))


def test_networks_of_one_table_learn_the_same_however_many_steps_are_prepared(monkeypatch):
    def train():
        training = Training(
            make_stack(4, 5, seeds=(1, 2)), [make_problem()], SeesOneTable(), SETTINGS
        )
        training.run()
        return training._loss_step.n_ahead, training.state()

    together, expected = train()
    monkeypatch.setitem(loss_step._MOST_AHEAD, "cpu", 1)
    one, found = train()
    assert together > one == 1
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=0)


def test_problems_with_views_and_dropout_learn_in_a_stack_what_each_learns_alone():
    problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 17)]

    def train(seeds, problems):
        stack = make_stack(4, 5, seeds=seeds, batch_norm=True, embedding=3, dropout=0.25)
        training = Training(stack, problems, Everything(), SETTINGS)
        training.run()
        return dict(training.networks.named_parameters())

    together = train((1, 2), problems)
    for number, problem in enumerate(problems):
        for name, value in train((number + 1,), [problem]).items():
            torch.testing.assert_close(together[name][number], value[0], rtol=1e-9, atol=1e-9)


def test_weights_of_candidates_are_relative_to_the_largest_of_the_row():
    seen = []

    class Looks(Cross):
        def loss(self, batch):
            seen.append((batch.rows, batch.is_real, batch.log_weights()))
            return super().loss(batch)

    problem = make_problem(20, seed=3)
    settings = TrainingSettings(epochs=1, batch_size=7, learning_rate=0.05)
    Training(make_stack(4, 5), [problem], Looks(), settings).run()
    prior = problem.prior.toarray()
    relative = np.where(prior > 0, prior, 1) / np.where(prior > 0, prior.max(1, keepdims=True), 1)
    for rows, is_real, found in seen:
        expected = torch.as_tensor(np.log(relative))[rows[0][is_real[0, 0]]]
        torch.testing.assert_close(found[0, 0][is_real[0, 0]], expected)
        assert torch.isfinite(found).all()


class Cross(LossRule):
    """The cross-entropy with the prior."""

    def loss(self, batch):
        return Loss(-(batch.over_classes(batch.prior) * batch.seen.log_probabilities()).sum(-1))


def test_filler_rows_may_hold_anything_finite():
    class Likelihood(LossRule):
        def loss(self, batch):
            inside = batch.among_candidates(batch.seen.logits)
            outside = batch.among_others(batch.seen.logits)
            return Loss((outside * batch.seen.log_probabilities()).sum(-1) - inside.amax(-1))

    problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 17)]
    training = Training(make_stack(4, 5, seeds=(1, 2)), problems, Likelihood(), SETTINGS)
    training.run()
    assert all(np.isfinite(history["loss"]).all() for history in training.histories)


def test_a_row_counts_as_much_as_its_weight():
    problem = make_problem(20)
    weights = np.arange(20) / 10
    stack = make_stack(4, 5)
    before = {name: value.detach().clone() for name, value in stack.named_parameters()}
    settings = TrainingSettings(epochs=1, batch_size=20, learning_rate=0.05)
    data = type(problem)(problem.features, problem.prior, 0, row_weights=weights)
    training = Training(stack, [data], Cross(), settings)
    training.run()
    parameters = {name: value[0].clone().requires_grad_() for name, value in before.items()}
    hidden = (torch.as_tensor(problem.features) @ parameters["hidden.0.weight"]).add(
        parameters["hidden.0.bias"]
    )
    logits = hidden.relu() @ parameters["output.weight"] + parameters["output.bias"]
    losses = functional.cross_entropy(
        logits, torch.as_tensor(problem.prior.toarray()), reduction="none"
    )
    (losses * torch.as_tensor(weights)).mean().backward()
    for name, value in stack.named_parameters():
        gradient = parameters[name].grad
        expected = before[name][0] - 0.05 * gradient / (gradient.abs() + 1e-8)
        torch.testing.assert_close(value[0].detach(), expected)


def test_helpers_learn_and_are_not_measured():
    class Beside(LossRule):
        """The second network learns the opposite of the first one."""

        def loss(self, batch):
            rows = Cross().loss(batch).rows
            return Loss(rows * torch.tensor([1, -1])[: rows.shape[1], None], measures={"m": rows})

    def train(seeds, n_helpers):
        stack = make_stack(4, 5, seeds=seeds)
        problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 19)]
        training = Training(stack, problems, Beside(), SETTINGS, n_helpers=n_helpers)
        training.run()
        return training

    helped, alone = train((1, 2, 3, 4), 1), train((1, 3), 0)
    assert alone.rule.dtype == torch.float64
    for one, other in zip(helped.histories, alone.histories, strict=True):
        assert one["agreement"].tolist() == [1, 1, 1]
        for name in other:
            np.testing.assert_allclose(one[name], other[name], atol=1e-12)
    rows = torch.as_tensor(make_problem().features)
    torch.testing.assert_close(
        helped.mean_probabilities(rows), alone.networks.infer(rows)[0].softmax(-1)
    )
    assert not torch.allclose(*helped.networks.infer(rows)[:2])


def test_networks_may_leave_the_views_to_their_averages():
    class Strange(Cross):
        """Has a view that would change every normalisation."""

        n_views = 1
        learns_from_views = False
        average = AVERAGE

        def draw(self, features, is_real, steps):
            return Drawn([features * 100 + 1])

        def loss(self, batch):
            assert batch.views == ()
            of_features, of_view = (one.logits for one in batch.averaged)
            assert of_features.shape == of_view.shape == batch.seen.logits.shape
            assert not torch.allclose(of_features, of_view)
            return super().loss(batch)

    def train(rule):
        stack = make_stack(4, 5, seeds=(1, 2), batch_norm=True)
        problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 19)]
        training = Training(stack, problems, rule, SETTINGS)
        training.run()
        return stack.state_dict()

    expected = train(Cross())
    for name, value in train(Strange()).items():
        torch.testing.assert_close(value, expected[name])


def test_networks_of_the_user_are_averaged_and_what_they_count_is_copied():
    def network(n_features, n_classes):
        hidden = torch.nn.BatchNorm1d(n_features)
        return torch.nn.Sequential(hidden, torch.nn.Linear(n_features, n_classes)).double()

    class Averaged(Cross):
        average = AVERAGE

    stack = ModuleStack(network, 4, 5, seeds=(0,))
    # A batch an epoch.
    settings = TrainingSettings(epochs=1, batch_size=20, learning_rate=0.05)
    before = {name: value.clone() for name, value in stack.state_dict().items()}
    training = Training(stack, [make_problem()], Averaged(), settings)
    training.run()
    after = stack.state_dict()
    assert after["members.0.0.num_batches_tracked"] == 1
    for name, first in before.items():
        expected = after[name]
        if first.is_floating_point():
            expected = AVERAGE * first + (1 - AVERAGE) * after[name]
        torch.testing.assert_close(training.state()[f"averaged.{name}"], expected)


def test_rules_must_return_what_they_announce():
    class Forgetful(Cross):
        def row_state(self):
            return {"confidences": RowState()}

    with pytest.raises(
        ValueError, match=r"state that row_state names: \['confidences'\]. Got \[\]"
    ):
        Training(make_stack(4, 5), [make_problem()], Forgetful(), SETTINGS).run()

    class Blind(Cross):
        n_views = 2

    with pytest.raises(ValueError, match="n_views = 2 views. Got 0"):
        Training(make_stack(4, 5), [make_problem()], Blind(), SETTINGS).run()


@pytest.mark.parametrize("scale", [0.1, 3, 300])
def test_the_probability_of_another_class_is_precise_where_one_is_certain(scale):
    logits = (normal(6, 5, seed=1) * scale).requires_grad_()
    found = Outputs(logits).log_complements()
    # By leaving out one class after the other.
    others = [torch.cat([logits[:, :j], logits[:, j + 1 :]], 1).logsumexp(1) for j in range(5)]
    expected = torch.stack(others, 1) - logits.logsumexp(1, keepdim=True)
    torch.testing.assert_close(found, expected)
    weights = normal(6, 5, seed=2)
    gradients = [
        torch.autograd.grad((weights * value).sum(), logits, retain_graph=True)[0]
        for value in (found, expected)
    ]
    torch.testing.assert_close(*gradients)


def test_a_single_class_leaves_nothing_to_another_and_no_gradient_is_lost():
    logits = torch.zeros(2, 1, requires_grad=True)
    found = Outputs(logits).log_complements()
    assert (found < -1e37).all()
    (found * 0).sum().backward()
    assert torch.equal(logits.grad, torch.zeros(2, 1))


def test_a_mean_may_be_over_some_rows_only():
    seen = []

    class Some(Cross):
        def loss(self, batch):
            chosen = batch.rows.unsqueeze(1) % 3 == 0
            seen.append((batch.mean_over(chosen), chosen & batch.is_real, batch.is_real))
            assert not batch.mean_over(chosen & ~chosen).any()
            return super().loss(batch)

    problems = [make_problem(n_rows, seed=n_rows) for n_rows in (20, 17)]
    Training(make_stack(4, 5, seeds=(1, 2)), problems, Some(), SETTINGS).run()
    for weights, chosen, real in seen:
        values = torch.randn(chosen.shape, generator=torch.Generator().manual_seed(0)).double()
        for problem in range(2):
            of_problem = real[problem, 0]
            found = (weights * values)[problem, 0][of_problem].mean()
            expected = values[problem, 0][chosen[problem, 0]].mean().nan_to_num(0)
            torch.testing.assert_close(found, expected)
