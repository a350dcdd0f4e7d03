"""RECORDS and SoLar against loops that write their papers down."""

import numpy as np
import pytest
import torch

from disambig.engine.draws import beta_draws
from disambig.engine.views import shuffled, tabular_view
from disambig.methods import RECORDS, SoLar
from disambig.methods.networks.sinkhorn import reliable_rows, sinkhorn_labels
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, weighted


class PlainRECORDS(PlainMethod):
    """Hong et al. (2023): PRODEN, with a moving average of what is said divided out."""

    def __init__(self, prior, momentum):
        self.mask = torch.as_tensor(MASK)
        self.weights = torch.as_tensor(prior).clone()
        self.average = self.weights.mean(0)
        self.momentum = momentum

    def losses(self, rows, networks, X):
        logits = networks[0](X[rows])
        losses = -(self.weights[rows] * logits.log_softmax(1)).sum(1)
        said = logits.detach().softmax(1)
        self.average = self.momentum * self.average + (1 - self.momentum) * said.mean(0)
        ratios = said / (self.average + 1e-9) * self.mask[rows]
        self.weights[rows] = ratios / ratios.sum(1, keepdim=True)
        return [losses]


@pytest.mark.parametrize("momentum", [0.9, 0.3])
@pytest.mark.parametrize("with_weights", [False, True])
def test_records_agrees_with_a_plain_loop(with_weights, momentum):
    candidates = weighted()[0] if with_weights else DATA.candidates
    plain = PlainRECORDS(candidates.prior().toarray(), momentum)
    assert_agrees(RECORDS, candidates, plain, momentum=momentum)


def transport(inside, shares, power):
    """Return Sinkhorn's labels, in logarithms."""
    with np.errstate(divide="ignore"):
        logs = power * np.log(inside)
    u, v = np.zeros(len(inside)), np.zeros(len(shares))
    for _ in range(50):
        v = np.log(shares) - np.logaddexp.reduce(logs + u[:, np.newaxis], axis=0)
        u = -np.log(len(inside)) - np.logaddexp.reduce(logs + v, axis=1)
    return np.exp(logs + u[:, np.newaxis] + v) * len(inside)


class PlainSoLar(PlainMethod):
    """Wang et al. (2022): labels by optimal transport, of all rows before every epoch."""

    def __init__(self, prior, rule):
        self.mask = torch.as_tensor(MASK)
        self.weights = torch.as_tensor(prior).clone()
        self.shares = prior.mean(axis=0)
        self.rule = rule
        self.step = 0
        self.n_reliable = []

    def begin_epoch(self, epoch, networks, X):
        ramp = min(1, (epoch - 1) / 2)
        self.eta, rho = 0.9 * ramp, 0.2 + 0.6 * ramp
        self.labels = self.weights
        self.reliable = torch.zeros(len(X), dtype=torch.bool)
        if epoch == 1:
            return
        said = networks[0](X).softmax(1).numpy()
        best = (said * MASK).argmax(axis=1)
        speed = 0.1 if epoch - 1 <= 2 else 0.01
        found = np.bincount(best, minlength=4) / len(X)
        self.shares = (1 - speed) * self.shares + speed * found
        labels = transport(said * MASK, self.shares, 3)
        losses = -(labels * np.log(said)).sum(axis=1)
        for column in range(4):
            of_class = np.flatnonzero(labels.argmax(axis=1) == column)
            count = max(1, int(np.ceil(self.shares[column] * rho * len(X))))
            self.reliable[of_class[losses[of_class].argsort()][:count]] = True
        self.reliable[(labels * said).sum(axis=1) > 0.8] = True
        self.labels = torch.as_tensor(labels)
        self.n_reliable.append(int(self.reliable.sum()))

    def losses(self, rows, networks, X):
        (network,) = networks
        is_real, steps = torch.ones(1, 1, 1, len(rows), dtype=torch.bool), torch.tensor([self.step])
        of_partners, of_shares = self.rule._mixing_streams
        partners = shuffled(is_real, of_partners, 1, steps)[0, 0, 0]
        share = float(beta_draws(4.0, of_shares, (1, 1, 1), steps))
        share = max(share, 1 - share)
        view = tabular_view(X[rows][None, None, None], self.rule._view, steps)[0, 0, 0]
        self.step += 1
        logits = network(X[rows])
        by_confidences = -(self.weights[rows] * logits.log_softmax(1)).sum(1)
        self.weights[rows] = logits.detach().masked_fill(~self.mask[rows], -torch.inf).softmax(1)
        # The confidences that others are mixed with are those before this visit.
        labels, reliable = self.labels[rows], self.reliable[rows]
        if not reliable.any():
            return [by_confidences]
        targets = torch.where(reliable.unsqueeze(1), labels, self.before[rows])
        targets = share * targets + (1 - share) * targets[partners]
        mixed = share * X[rows] + (1 - share) * X[rows][partners]
        by_labels = -(labels * (logits.log_softmax(1) + network(view).log_softmax(1))).sum(1)
        by_labels = by_labels - (targets * network(mixed).log_softmax(1)).sum(1)
        n = len(rows)
        losses = torch.zeros(n, dtype=X.dtype)
        losses[reliable] = self.eta * by_labels[reliable] * n / reliable.sum()
        if not reliable.all():
            losses[~reliable] = (1 - self.eta) * by_confidences[~reliable] * n / (~reliable).sum()
        return [losses]

    def after_step(self, rows, networks, X):
        self.before[rows] = self.weights[rows]


@pytest.mark.parametrize("with_weights", [False, True])
def test_solar_agrees_with_a_plain_loop(with_weights):
    candidates = weighted()[0] if with_weights else DATA.candidates
    prior = candidates.prior().toarray()
    made = []

    def plain(rule):
        made.append(PlainSoLar(prior, rule))
        made[0].before = made[0].weights.clone()
        return made[0]

    parameters = {"warm_up_epochs": 2, "estimation_epochs": 2, "threshold": 0.8}
    assert_agrees(SoLar, candidates, plain, **parameters)
    # Some rows learn from labels, and others do not.
    assert 0 < made[0].n_reliable[0] < len(MASK)


def sinkhorn_alone(inside, shares, power):
    """Return labels of one problem."""
    inside, shares = (torch.as_tensor(part, dtype=torch.float64)[None] for part in (inside, shares))
    counts = torch.tensor([[inside.shape[1]]]).double()
    return sinkhorn_labels(inside, shares, power, counts)[0].numpy()


def reliable_alone(labels, said, shares, share, threshold):
    """Return which rows of one problem are reliable."""
    counts = torch.tensor([[len(labels)]]).double()
    parts = labels[None], said[None], torch.tensor([shares], dtype=torch.float64)
    return reliable_rows(*parts, share, threshold, counts)[0].tolist()


def test_labels_of_sinkhorn_give_every_row_and_class_its_share():
    generator = np.random.default_rng(0)
    inside = generator.dirichlet(np.ones(3), 200)
    shares = np.array([0.7, 0.25, 0.05])
    labels = sinkhorn_alone(inside, shares, 1.0)
    np.testing.assert_allclose(labels.sum(axis=1), 1)
    np.testing.assert_allclose(labels.mean(axis=0), shares, rtol=1e-6)
    np.testing.assert_allclose(labels, transport(inside, shares, 1.0), rtol=1e-9)


def test_labels_of_sinkhorn_stay_in_the_candidate_sets():
    # Sets of one, a full set, a class of nobody; probabilities whose powers vanish.
    inside = torch.tensor(
        [[1e-200, 0, 0, 0], [0, 0.3, 0, 0], [1e-150, 1e-160, 0.2, 0]], dtype=torch.float64
    )
    labels = sinkhorn_alone(inside, [0.4, 0.5, 0.1, 0], 3.0)
    np.testing.assert_allclose(labels.sum(axis=1), 1)
    np.testing.assert_array_equal((labels > 0)[:2], inside[:2] > 0)
    assert (labels[:, 3] == 0).all()


def test_reliable_rows_are_the_easiest_of_every_class():
    said = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6]]).double()
    labels = torch.tensor([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]).double()
    shares = [0.5, 0.5]
    found = reliable_alone(labels, said, shares, 0.4, 1.0)  # ceil(5 * 0.5 * 0.4) = 1 each
    assert found == [True, False, False, True, False]
    assert reliable_alone(labels, said, shares, 0.8, 1.0) == [True, False, True, True, True]
    # A class that should have no rows keeps one; sure rows come besides.
    found = reliable_alone(labels, said, [0.0, 1.0], 0.2, 0.65)
    assert found == [True, False, True, True, False]


def test_problems_are_labelled_side_by_side_as_each_alone():
    generator = np.random.default_rng(0)
    sizes, shares = [6, 4], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]
    said = [torch.as_tensor(generator.dirichlet(np.ones(3), size)) for size in sizes]
    counts = torch.tensor(sizes).double().unsqueeze(1)
    together = torch.nn.utils.rnn.pad_sequence(said, batch_first=True)
    labels = sinkhorn_labels(together, torch.tensor(shares, dtype=torch.float64), 2.0, counts)
    found = reliable_rows(
        labels, together, torch.tensor(shares, dtype=torch.float64), 0.5, 0.8, counts
    )
    assert not labels[1, 4:].any()
    assert not found[1, 4:].any()
    for number, size in enumerate(sizes):
        alone = sinkhorn_alone(said[number], shares[number], 2.0)
        np.testing.assert_allclose(labels[number, :size], alone, rtol=1e-12)
        expected = reliable_alone(torch.as_tensor(alone), said[number], shares[number], 0.5, 0.8)
        assert found[number, :size].tolist() == expected
