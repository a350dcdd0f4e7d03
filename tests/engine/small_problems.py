"""Small problems, networks and rules to train them by, and listeners."""

import numpy as np
import torch
from scipy import sparse
from torch import nn

from disambig.engine.rule import RowState, Rule, Targets, TrainingData, TrainingSettings
from disambig.engine.training import Training
from engine.plain_network import make_stack

MEASURES = {"T", "loss", "simple", "covering_rate", "agreement", "changed"}


def make_problem(n_rows=20, n_features=4, n_classes=5, seed=0, order_seed=None):
    """Rows at random, each with one to all of the classes and a confidence in each."""
    generator = np.random.default_rng(seed)
    mask = generator.random((n_rows, n_classes)) < 0.4
    mask[np.arange(n_rows), generator.integers(n_classes, size=n_rows)] = True
    mask[0] = True
    weights = mask * generator.uniform(0.5, 2, mask.shape)
    prior = sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))
    features = generator.normal(size=(n_rows, n_features))
    return TrainingData(features, prior, seed if order_seed is None else order_seed)


class BelievePrior(Rule):
    """Train with what was believed before; nothing is simple."""

    def targets(self, batch):
        weights = batch.prior.expand_as(batch.losses)
        return Targets(slots=weights, measures={"simple": torch.zeros_like(weights[..., 0])})

    def share(self, epoch):
        return 1.0

    def measures(self):
        return {"T": 1.0}


class BelieveOthers(Rule):
    """Train every network with what the others found; more counts as small with every epoch."""

    def __init__(self, n_epochs):
        self.n_epochs = n_epochs

    def start(self, problems, device):
        self.limit = torch.ones(1, dtype=torch.float64, device=device)

    def share(self, epoch):
        return min(1.0, epoch / self.n_epochs)

    def begin_epoch(self, epoch):
        self.epoch = epoch
        self.limit.fill_(3 * self.share(epoch))
        return "some" if self.share(epoch) < 1 else "all"

    def measures(self):
        return {"T": self.share(self.epoch)}

    def targets(self, batch):
        simple = batch.predicted.any(-1)
        if batch.phase == "some":
            simple = simple & (batch.losses.amin(-1) < self.limit)
        found = torch.where(simple.unsqueeze(-1), (-batch.losses).softmax(-1), batch.prior)
        return Targets(slots=found.flip(1), measures={"simple": simple})


class BelieveLess(BelieveOthers):
    """The more was found in the last epoch, the less is believed: a rule with a memory."""

    def start(self, problems, device):
        super().start(problems, device)
        self.found = torch.zeros(problems[0].prior.shape[1], device=device)
        self.less = torch.zeros_like(self.found)
        self.begun = []

    def begin_epoch(self, epoch):
        self.begun.append(epoch)
        self.less.copy_(self.found / self.found.sum().clamp(min=1))
        self.found.zero_()
        return super().begin_epoch(epoch)

    def state(self):
        return {"found": self.found, "less": self.less}

    def targets(self, batch):
        targets = super().targets(batch)
        weights = targets.slots
        self.found.index_add_(
            0, batch.columns.flatten(), weights.sum(1).flatten().to(self.found.dtype)
        )
        factors = (1 - self.less)[batch.columns] * batch.mask
        weights = weights * factors
        total = weights.sum(-1, keepdim=True)
        return targets._replace(slots=weights / total.masked_fill(total == 0, 1))


class RememberProbabilities(Rule):
    """Train with what was said of a row when it was last seen, and weigh rows by their visits."""

    def row_state(self):
        return {"said": RowState(), "visits": RowState(width=2, initial=1.0)}

    def targets(self, batch):
        return Targets(
            slots=batch.state["said"],
            row_weights=1 / batch.state["visits"][..., 0].clamp(min=1),
            state={
                "said": batch.candidate_probabilities(),
                "visits": batch.state["visits"] + 1,
            },
        )


class SpreadOverClasses(Rule):
    """Targets over all classes: what the candidates are believed, and a little for the others."""

    def targets(self, batch):
        targets = torch.full_like(batch.log_probabilities, 0.1)
        columns = batch.columns.expand_as(batch.losses)
        targets.scatter_add_(-1, columns, batch.prior.expand_as(batch.losses))
        confidence = batch.log_probabilities.amax(-1).exp()
        return Targets(classes=targets, row_weights=confidence, measures={"sure": confidence})


def numbers_of(training):
    """Copies of everything that a training would go on from."""
    return {name: value.clone() for name, value in training.state().items()}


def settings(epochs=3, batch_size=8, learning_rate=0.01, **others):
    """What is not said is small."""
    return TrainingSettings(epochs, batch_size, learning_rate, **others)


def networks_of(*seeds, n_outputs=5, **changes):
    """A stack with all that perceptrons can have."""
    usual = {"hidden": (6,), "batch_norm": True, "dropout": 0.5}
    return make_stack(n_outputs=n_outputs, seeds=seeds, **(usual | changes))


def dropping_module(n_inputs, n_outputs):
    """The same as a user would write it."""
    return nn.Sequential(
        nn.Linear(n_inputs, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(), nn.Linear(6, n_outputs)
    ).double()


def trained(networks, problems, rule=None, listeners=(), noise=None, **changes):
    """A training that has come to its end."""
    rule = rule or BelievePrior()
    training = Training(networks, problems, rule, settings(**changes), listeners, noise=noise)
    training.run()
    return training


class Listener:
    """Writes down what it hears, and does something at the end of every epoch if told to."""

    def __init__(self, act=lambda training: None):
        self.heard = []
        self.act = act

    def on_fit_start(self, training):
        self.heard.append(("start", training.epoch))

    def on_epoch_end(self, training):
        self.heard.append(("epoch", training.epoch))
        self.act(training)

    def on_fit_end(self, training):
        self.heard.append(("end", training.epoch))


class OnlyAtTheStart:
    """Does something when training begins."""

    def __init__(self, act):
        self.on_fit_start = act
