"""VALEN against a loop that writes its paper down, and its parts against other ways to them."""

import numpy as np
import pytest
import torch
from scipy import integrate, special
from sklearn.metrics import pairwise_distances
from torch.distributions.dirichlet import _Dirichlet_backward
from torch.nn import functional

from disambig import PRODEN, CandidateLabels
from disambig._core.errors import ParameterError
from disambig.engine.draws import gamma_numbers, log_gamma_draws
from disambig.engine.rule import TrainingData
from disambig.methods import VALEN
from disambig.methods.deep.valen import LabelEnhancement, divergence_from_uniform
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, quick, weighted

SETTINGS = {
    "warmup_epochs": 2, "n_neighbors": 3, "kl_weight": 0.3, "encoder_weight": 2.0,
    "correction": 0.7,
}  # fmt: skip


class DrawnDirichlet(torch.autograd.Function):
    """A given draw with torch's gradient by the concentration."""

    @staticmethod
    def forward(ctx, concentration, draw):
        ctx.save_for_backward(concentration, draw)
        return draw

    @staticmethod
    def backward(ctx, gradient):
        concentration, draw = ctx.saved_tensors
        return _Dirichlet_backward(draw, concentration, gradient), None


class PlainVALEN(PlainMethod):
    """Xu et al. (2021), for one problem; only the numbers drawn come from the rule."""

    def __init__(self, prior, rule, scale=1.0):
        self.rule, self.n_steps, self.step = rule, 0, 0
        self.mask = torch.as_tensor(MASK)
        self.o = torch.as_tensor(prior).clone()
        self.decoder = [
            parameter.detach()[0, 0].clone().requires_grad_() for parameter in rule.first_decoder
        ]
        distances = pairwise_distances(DATA.X)
        np.fill_diagonal(distances, np.inf)
        adjacency = np.eye(len(DATA.X))
        for row, others in enumerate(distances.argsort(axis=1)[:, : SETTINGS["n_neighbors"]]):
            adjacency[row, others] = 1
        self.adjacency = torch.as_tensor(adjacency / adjacency.sum(1, keepdims=True))

    def parameters(self):
        return self.decoder

    def begin_epoch(self, epoch, networks, X):
        self.warming = epoch <= SETTINGS["warmup_epochs"]
        if epoch <= SETTINGS["warmup_epochs"] + 1:
            self.d = self.o.clone()

    def inside(self, values, rows):
        values = values * self.mask[rows]
        return values / values.sum(1, keepdim=True)

    def losses(self, rows, networks, X):
        x, y = X[rows], self.mask[rows].double()
        said, alpha = networks[0](x), networks[1](x)
        step, self.step = self.step, self.step + 1
        o = self.o[rows].clone()
        self.o[rows] = self.inside(said.detach().softmax(1), rows)
        if self.warming:
            # Adam sees a gradient of zero, as the card says.
            nothing = [0 * parameter.sum() for parameter in self.decoder]
            return [-(o * said.log_softmax(1)).sum(1), 0 * alpha.sum(1) + sum(nothing)]
        s = self.inside(alpha.softmax(1), rows) + 0.01
        numbers = gamma_numbers(self.rule._streams, (1, *s.shape), torch.tensor([step]))
        logs = log_gamma_draws(s, numbers[0, 0, 0])
        d = DrawnDirichlet.apply(s, logs.softmax(1).clamp(min=torch.finfo(s.dtype).tiny))
        w1, b1, w2, b2 = self.decoder
        x_hat = torch.relu(d @ w1 + b1) @ w2 + b2
        nearby = (d @ d.T).sigmoid().softmax(1)
        n = len(rows)
        rec = 0.01 * functional.mse_loss(x_hat, x)
        rec = rec + 0.01 * functional.binary_cross_entropy_with_logits(d, y)
        rec = rec + functional.mse_loss(nearby, self.adjacency[rows][:, rows])
        a = torch.exp(alpha / 4).clamp(0.01, 30)
        law, uniform = (
            torch.distributions.Dirichlet(concentration)
            for concentration in (a, torch.ones_like(a))
        )
        kl = torch.distributions.kl_divergence(law, uniform)
        of_labels = -(o * alpha.log_softmax(1)).sum(1)
        of_encoder = kl * SETTINGS["kl_weight"] + SETTINGS["encoder_weight"] * of_labels
        of_predictor = -(self.d[rows] * said.log_softmax(1)).sum(1)
        share = SETTINGS["correction"]
        self.d[rows] = share * self.inside(d.detach(), rows) + (1 - share) * o
        return [of_predictor, of_encoder + rec.expand(n)]


class Remembered(LabelEnhancement):
    """Remembers what its decoder was at first."""

    def start(self, problems, device):
        super().start(problems, device)
        self.first_decoder = [parameter.detach().clone() for parameter in self.parameters()]


@pytest.fixture(autouse=True)
def _remember(monkeypatch):
    monkeypatch.setattr("disambig.methods.deep.valen.LabelEnhancement", Remembered)


@pytest.mark.parametrize("with_weights", [False, True])
def test_it_agrees_with_a_plain_loop(with_weights):
    candidates = weighted()[0] if with_weights else DATA.candidates
    prior = candidates.prior().toarray()
    rules = []

    def plain(rule):
        rules.append(rule)
        return PlainVALEN(prior, rule)

    assert_agrees(VALEN, candidates, plain, n_kept=1, **SETTINGS)
    (rule,) = rules
    for found, first in zip(rule.parameters(), rule.first_decoder, strict=True):
        assert not torch.allclose(found, first)


def test_the_divergence_is_that_of_the_densities():
    # Over two classes a Dirichlet distribution is a beta distribution.
    one, other = np.exp(0.75), np.exp(-0.5)

    def log_density(x):
        powers = special.xlogy(one - 1, x) + special.xlog1py(other - 1, -x)
        return powers - special.betaln(one, other)

    expected, _ = integrate.quad(lambda x: np.exp(log_density(x)) * log_density(x), 0, 1)
    encoded = torch.tensor([[3.0, -2.0]], dtype=torch.float64)
    assert divergence_from_uniform(encoded).item() == pytest.approx(expected, rel=1e-6)


def test_no_gradient_of_the_divergence_is_infinite():
    encoded = torch.tensor([[4000.0, -4000.0, 1.0]], requires_grad=True)
    divergence_from_uniform(encoded).sum().backward()
    assert torch.isfinite(encoded.grad).all()
    assert encoded.grad[0, :2].tolist() == [0, 0]


def test_the_graph_has_the_nearest_rows_of_the_same_problem():
    X = np.array([[0.0], [1.0], [2.5], [10.0]])
    problems = [TrainingData(X[:n], np.eye(n), seed) for seed, n in enumerate((4, 2))]
    for one in problems:
        object.__setattr__(one, "prior", np.ones((len(one.features), 3)))
    rule = LabelEnhancement(0, 2, 0.01, 20.0, 1.0)
    rule.start(problems, torch.device("cpu"))
    expected = [
        [0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1], [4, 5, -1], [5, 4, -1], [-1, -1, -1]
    ]  # fmt: skip
    assert rule._neighbors.tolist() == expected
    # Row 5 is the last real one of the second batch; 6 fills up.
    rows = torch.tensor([[3, 1, 0], [5, 4, 6]])
    found = rule._adjacency(rows, torch.zeros(1))[:, 0] * 6
    first = [[2, 2, 0], [0, 2, 2], [0, 2, 2]]
    assert found.round().tolist() == [first, [[3, 3, 0], [3, 3, 0], [0, 0, 0]]]


def test_until_the_warm_up_ends_it_is_proden():
    same = {"epochs": 4, "dropout": 0.25}
    warm = quick(VALEN, warmup_epochs=4, **same).fit(DATA.X, DATA.candidates)
    proden = quick(PRODEN, **same).fit(DATA.X, DATA.candidates)
    np.testing.assert_allclose(warm.predict_proba(DATA.X), proden.predict_proba(DATA.X), atol=1e-5)
    after = quick(VALEN, warmup_epochs=2, **same).fit(DATA.X, DATA.candidates)
    assert not np.allclose(after.predict_proba(DATA.X), proden.predict_proba(DATA.X), atol=1e-3)


def test_sets_of_one_and_full_sets_train():
    mask = np.ones((50, 4), dtype=bool)
    mask[:25] = False
    mask[np.arange(25), np.arange(25) % 3] = True  # nobody's but the full sets' is class 3
    fitted = quick(VALEN, warmup_epochs=1).fit(DATA.X, CandidateLabels.from_mask(mask))
    assert np.isfinite(fitted.history_["loss"]).all()
    confidence = fitted.candidate_confidence_.toarray()
    np.testing.assert_array_equal(confidence[:25] > 0, mask[:25])


@pytest.mark.parametrize(
    ("name", "value"),
    [("warmup_epochs", -1), ("n_neighbors", 0), ("kl_weight", -1), ("encoder_weight", "a"),
     ("correction", 1.5)],
)  # fmt: skip
def test_parameters_are_checked(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' must be"):
        quick(VALEN, **{name: value}).fit(DATA.X, DATA.candidates)
