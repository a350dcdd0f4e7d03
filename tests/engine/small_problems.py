"""Small problems, networks and rules to train them by, and listeners."""

import numpy as np
import torch
from scipy import sparse
from torch import nn

from disambig.engine.problem import Problem
from disambig.engine.rule import Confidences
from disambig.engine.training import Training, TrainingSettings
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
    return Problem(features, prior, seed if order_seed is None else order_seed)


class Forgetful:
    """A rule that keeps nothing from one epoch to the next."""

    def begin_epoch(self, epoch):
        pass

    def state(self):
        return {}


class BelievePrior(Forgetful):
    """Train with what was believed before; nothing is simple, every loss counts."""

    def share(self, epoch):
        return 1.0

    def confidences(self, losses, predicted, groups, share):
        weights = groups.prior.expand_as(losses)
        return Confidences(weights, torch.zeros_like(predicted[..., 0]))


class BelieveOthers(Forgetful):
    """Train every network with what the others found; more counts as small with every epoch."""

    def __init__(self, n_epochs):
        self.n_epochs = n_epochs

    def share(self, epoch):
        return min(1.0, epoch / self.n_epochs)

    def confidences(self, losses, predicted, groups, share):
        simple = predicted.any(-1)
        if share is not None:
            simple = simple & (losses.amin(-1) < 3 * share)
        found = torch.where(simple.unsqueeze(-1), (-losses).softmax(-1), groups.prior)
        return Confidences(found.flip(1), simple)


class BelieveLess(BelieveOthers):
    """The more was found in the last epoch, the less is believed: a rule with a memory."""

    def __init__(self, n_epochs, n_classes=5, device="cpu"):
        super().__init__(n_epochs)
        self.found = torch.zeros(n_classes, device=device)
        self.less = torch.zeros(n_classes, device=device)
        self.begun = []

    def begin_epoch(self, epoch):
        self.begun.append(epoch)
        self.less.copy_(self.found / self.found.sum().clamp(min=1))
        self.found.zero_()

    def state(self):
        return {"found": self.found, "less": self.less}

    def confidences(self, losses, predicted, groups, share):
        weights, simple = super().confidences(losses, predicted, groups, share)
        self.found.index_add_(
            0, groups.columns.flatten(), weights.sum(1).flatten().to(self.found.dtype)
        )
        factors = (1 - self.less)[groups.columns] * groups.inside
        weights = weights * factors
        total = weights.sum(-1, keepdim=True)
        return Confidences(weights / total.masked_fill(total == 0, 1), simple)


def numbers_of(training):
    """Copies of everything that a training would go on from."""
    return {name: value.clone() for name, value in training.state().items()}


def settings(epochs=3, batch_size=8, learning_rate=0.01, noise_from=1):
    """What is not said is small."""
    return TrainingSettings(epochs, batch_size, learning_rate, noise_from=noise_from)


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
