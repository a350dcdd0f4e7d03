"""ABS-GCE, ABS-MAE and LWS against loops that write their papers down."""

import numpy as np
import pytest
import torch

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.engine.rule import Batch
from disambig.methods import ABSGCE, ABSMAE, LWS
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, quick, weighted

with_and_without_weights = pytest.mark.parametrize("with_weights", [False, True])


def sets(with_weights):
    return weighted()[0] if with_weights else DATA.candidates


class PlainAverage(PlainMethod):
    """Lv et al. (2024): the mean over the candidates of a loss of one label."""

    def __init__(self, prior, loss_of_label):
        self.prior, self.loss_of_label = torch.as_tensor(prior), loss_of_label

    def losses(self, rows, networks, X):
        losses = self.loss_of_label(networks[0](X[rows]).softmax(1))
        return [(self.prior[rows] * losses).sum(1)]


def absolute_error(probabilities):
    """The distance of the probabilities from those of one label, for every label."""
    labels = torch.eye(probabilities.shape[1], dtype=probabilities.dtype)
    return (labels - probabilities.unsqueeze(1)).abs().sum(2)


@with_and_without_weights
@pytest.mark.parametrize("power", [0.7, 0.2])
def test_abs_gce_agrees_with_a_plain_loop(power, with_weights):
    candidates = sets(with_weights)
    plain = PlainAverage(candidates.prior().toarray(), lambda p: (1 - p**power) / power)
    assert_agrees(ABSGCE, candidates, plain, power=power)


@with_and_without_weights
def test_abs_mae_agrees_with_a_plain_loop(with_weights):
    candidates = sets(with_weights)
    assert_agrees(ABSMAE, candidates, PlainAverage(candidates.prior().toarray(), absolute_error))


def test_a_row_whose_candidates_all_seem_impossible_moves_nothing_and_breaks_nothing():
    # Powers of its probabilities are zero in any precision.
    logs = torch.tensor([[[[-200.0, -300.0, 0.0], [0.0, -200.0, -200.0]]]])
    columns = torch.tensor([[[[0, 1], [0, 0]]]])
    used = torch.tensor([[[[True, True], [True, False]]]])
    losses = (-logs.gather(-1, columns)).masked_fill(~used, torch.inf)
    batch = Batch(
        rows=torch.arange(2).view(1, 2), columns=columns, mask=used,
        prior=used / used.sum(-1, keepdim=True), most_candidates=3, log_probabilities=logs,
        losses=losses, predicted=torch.zeros_like(used), state={}, phase=None,
    )  # fmt: skip
    targets = ABSMAE()._make_rule().targets(batch)
    torch.testing.assert_close(targets.classes, torch.tensor([[[[0.0, 0, 0], [2, 0, 0]]]]))
    torch.testing.assert_close(targets.losses, torch.tensor([[[2.0, 0.0]]]))


class PlainLWS(PlainMethod):
    """Wen et al. (2021): weights of candidates and of other labels from after the step."""

    def __init__(self, relative, loss, leverage):
        self.mask = torch.as_tensor(MASK)
        self.relative = torch.as_tensor(relative)
        sizes = self.mask.sum(1, keepdim=True)
        shares = self.relative / self.relative.sum(1, keepdim=True)
        ones = torch.ones(self.mask.shape, dtype=torch.float64)
        self.weights = torch.where(self.mask, sizes * shares, ones) / self.mask.shape[1]
        self.loss, self.leverage = loss, leverage

    def losses(self, rows, networks, X):
        logits, mask = networks[0](X[rows]), self.mask[rows]
        if self.loss == "sigmoid":
            inside, outside = 1 / (1 + logits.exp()), 1 / (1 + (-logits).exp())
        else:
            inside, outside = -logits.softmax(1).log(), -(1 - logits.softmax(1)).log()
        losses = self.weights[rows] * (mask * inside + ~mask * self.leverage * outside)
        return [losses.sum(1)]

    def after_step(self, rows, networks, X):
        probabilities, mask = networks[0](X[rows]).softmax(1), self.mask[rows]
        inside = probabilities * mask * self.relative[rows]
        outside = probabilities * ~mask
        # A set of all labels leaves no others.
        outside_sum = outside.sum(1, keepdim=True).clamp(min=1e-300)
        self.weights[rows] = inside / inside.sum(1, keepdim=True) + outside / outside_sum


@with_and_without_weights
@pytest.mark.parametrize("leverage", [0.0, 2.0])
@pytest.mark.parametrize("loss", ["sigmoid", "cross_entropy"])
def test_lws_agrees_with_a_plain_loop(loss, leverage, with_weights):
    candidates, weights = weighted() if with_weights else (DATA.candidates, MASK.astype(float))
    plain = PlainLWS(weights / weights.max(1, keepdims=True), loss, leverage)
    assert_agrees(LWS, candidates, plain, loss=loss, leverage=leverage)


def test_the_cross_entropy_of_lws_stays_finite_where_probabilities_are_zero():
    fitted = quick(
        LWS, loss="cross_entropy", hidden=(), scaling="none", learning_rate=1.0, epochs=20
    )
    fitted.fit(DATA.X * 100, DATA.candidates)
    assert (fitted.predict_proba(DATA.X * 100) < 1e-45).any()
    assert np.isfinite(fitted.history_["loss"]).all()


def test_lws_learns_from_sets_that_only_say_what_a_row_is_not():
    truth = DATA.true_labels
    other = (truth + np.random.default_rng(0).integers(1, 4, len(truth))) % 4
    candidates = CandidateLabels.from_mask(np.arange(4) != other[:, np.newaxis])
    # Three labels in four would cover without learning.
    assert quick(LWS, epochs=40).fit(DATA.X, candidates).score(DATA.X, candidates) > 0.9


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        (ABSGCE, {"power": 0.0}, "'power' must be a number from 0.001 to 1"),
        (ABSGCE, {"power": 1.1}, "'power' must be a number from 0.001 to 1"),
        (LWS, {"leverage": -1}, "'leverage' must be a number >= 0"),
        (LWS, {"loss": "hinge"}, "'loss' must be"),
    ],
)
def test_wrong_parameters_are_refused(method, parameters, message):
    with pytest.raises(ParameterError, match=message):
        quick(method, **parameters).fit(DATA.X, DATA.candidates)
