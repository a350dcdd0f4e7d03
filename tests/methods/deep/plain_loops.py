"""Methods as their papers write them, trained by autograd: what ours must equal."""

from dataclasses import replace

import numpy as np
import torch

from disambig import CandidateLabels
from disambig.datasets import make_partial_label_dataset

DATA = make_partial_label_dataset(50, 4, 4, average_candidates=2.2, overlap=0.4, random_state=0)
MASK = DATA.candidates.to_mask()
# Some sets of one, and some of all.
MASK[:3] = np.eye(4, dtype=bool)[DATA.true_labels[:3]]
MASK[3:6] = True
DATA = replace(DATA, candidates=CandidateLabels.from_mask(MASK))
EPOCHS, BATCH_SIZE, LEARNING_RATE = 5, 16, 0.02


def make_network(n_features, n_classes):
    """In double precision; one more of the same numbers for every call."""
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, 8), torch.nn.Tanh(), torch.nn.Linear(8, n_classes)
    ).double()


class Networks:
    """A callback that keeps the networks of a training, and the order of its rows."""

    def on_fit_start(self, training):
        self.first = [
            {name: value.clone() for name, value in module.state_dict().items()}
            for module in training.networks.members
        ]
        self.batches, self.rule = training._batches, training.rule

    def on_fit_end(self, training):
        self.last = [module.state_dict() for module in training.networks.members]


def quick(method, /, **parameters):
    small = {
        "hidden": 8,
        "epochs": EPOCHS,
        "batch_size": BATCH_SIZE,
        "learning_rate": LEARNING_RATE,
        "device": "cpu",
    }
    return method(**{**small, "random_state": 0, **parameters})


class PlainMethod:
    """A method for ``plain_loop``; ``networks`` are those that train, one for most methods."""

    def parameters(self):
        """Return tensors that are learned along with the networks."""
        return []

    def begin_epoch(self, epoch, networks, X):
        """Get ready for an epoch; they count from 1."""

    def losses(self, rows, networks, X):
        """Return the loss of every row, for each of the networks."""
        raise NotImplementedError

    def after_step(self, rows, networks, X):
        """Look at the same rows again."""


def plain_loop(first, batches, method, epochs=EPOCHS, n_kept=None):
    """Train by autograd; return the networks and the mean loss of every epoch."""
    networks = [make_network(4, 4) for _ in first]
    for network, state in zip(networks, first, strict=True):
        network.load_state_dict(state)
    parameters = [value for network in networks for value in network.parameters()]
    optimizer = torch.optim.Adam([*parameters, *method.parameters()], LEARNING_RATE)
    X = torch.as_tensor(DATA.X)
    means = []
    for epoch in range(1, epochs + 1):
        with torch.no_grad():
            method.begin_epoch(epoch, networks, X)
        seen = []
        for rows, real in zip(batches.rows_of(epoch)[:, 0], batches.real[:, 0], strict=True):
            rows = rows[real]
            losses = method.losses(rows, networks, X)
            optimizer.zero_grad()
            sum(loss.mean() for loss in losses).backward()
            optimizer.step()
            with torch.no_grad():
                method.after_step(rows, networks, X)
            seen += torch.stack(losses[:n_kept]).mean(0).tolist()
        means.append(np.mean(seen))
    return networks, means


def assert_agrees(method, candidates, plain, /, *, n_kept=None, atol=1e-8, **parameters):
    """Compare a method with a plain loop: weights, losses, probabilities and confidences.

    ``plain`` is a ``PlainMethod``, or a function that makes one of the rule of the training.
    """
    kept = Networks()
    fitted = quick(method, network=make_network, scaling="none", callbacks=[kept], **parameters)
    fitted.fit(DATA.X, candidates)
    if not isinstance(plain, PlainMethod):
        plain = plain(kept.rule)
    networks, losses = plain_loop(kept.first, kept.batches, plain, fitted.epochs, n_kept)
    for found, network in zip(kept.last, networks, strict=True):
        for name, value in network.state_dict().items():
            torch.testing.assert_close(found[name], value, rtol=0, atol=atol)
    np.testing.assert_allclose(fitted.history_["loss"], losses, atol=atol)
    said = [network(torch.as_tensor(DATA.X)).softmax(1).detach().numpy() for network in networks]
    said = said[:n_kept]
    np.testing.assert_allclose(fitted.predict_proba(DATA.X), np.mean(said, axis=0), atol=atol)
    inside = [one * candidates.to_mask() for one in said]
    expected = np.mean([one / one.sum(1, keepdims=True) for one in inside], axis=0)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), expected, atol=atol)


def weighted():
    """Return sets whose candidates have weights, and these."""
    weights = np.random.default_rng(0).uniform(0.2, 3, MASK.shape) * MASK
    return CandidateLabels.from_mask(MASK, weights=weights), weights
