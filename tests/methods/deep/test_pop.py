"""POP against a loop that writes it down, and what it may and may not remove."""

import numpy as np
import pytest
import torch

from disambig import PRODEN
from disambig._core.errors import ParameterError
from disambig.methods import POP
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, quick, weighted

# So high a threshold, and so soon, that a few epochs remove many candidates.
SOON = {"warmup_epochs": 3, "window": 2, "threshold": 0.6, "growth": 0.1}


class PlainPOP(PlainMethod):
    """Xu et al. (2023): PRODEN; sets lose the labels whose mean confidence is small."""

    def __init__(self, prior, warmup_epochs, window, threshold, growth):
        self.kept = torch.as_tensor(MASK).clone()
        self.confidences = torch.as_tensor(prior).clone()
        self.warmup, self.window = warmup_epochs, window
        self.threshold, self.growth = threshold, growth
        self.recorded, self.thresholds = [], []

    def losses(self, rows, networks, X):
        logits = networks[0](X[rows])
        losses = -(self.confidences[rows] * logits.log_softmax(1)).sum(1)
        inside = logits.detach().softmax(1) * self.kept[rows]
        self.confidences[rows] = inside / inside.sum(1, keepdim=True)
        return [losses]

    def begin_epoch(self, epoch, networks, X):
        done = epoch - 1
        if done:
            self.recorded.append(self.confidences.clone())
        if done >= self.warmup and done % self.window == 0:
            mean = torch.stack(self.recorded[-self.window :]).mean(0)
            small = mean / mean.max(1, keepdim=True).values < self.threshold
            removed = (self.kept & small).sum()
            self.kept &= ~small
            inside = mean * self.kept
            self.confidences = inside / inside.sum(1, keepdim=True)
            if removed < 1e-4 * MASK.size and self.threshold < 0.4:
                self.threshold *= 1 + self.growth
        self.thresholds.append(self.threshold)


@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("threshold", [0.6, 0.3, 1e-6])
def test_pop_agrees_with_a_plain_loop(threshold, with_weights):
    candidates = weighted()[0] if with_weights else DATA.candidates
    parameters = {**SOON, "threshold": threshold}
    plain = PlainPOP(candidates.prior().toarray(), **parameters)
    assert_agrees(POP, candidates, plain, epochs=8, **parameters)
    assert (plain.kept.sum() < MASK.sum()) == (threshold > 1e-6)
    # Sets are purified after epochs 4 and 6; nothing comes after 8.
    if threshold == 1e-6:
        assert plain.threshold == pytest.approx(threshold * 1.1**2)
    if threshold == 0.6:
        assert plain.threshold == threshold


def test_the_history_has_the_threshold_and_what_is_left():
    plain = PlainPOP(MASK / MASK.sum(1, keepdims=True), **SOON)
    history = quick(POP, epochs=8, **SOON).fit(DATA.X, DATA.candidates).history_
    left = history["candidates_left"]
    assert (left[:4] == 1).all()
    assert left[4] < 1
    assert (np.diff(left) <= 0).all()
    assert plain.threshold == history["threshold"][0]
    # A row of its most confident candidate alone is the end.
    assert left[-1] >= len(MASK) / MASK.sum()


def test_before_the_warm_up_ends_pop_is_proden():
    pop = quick(POP, warmup_epochs=5, window=5).fit(DATA.X, DATA.candidates)
    proden = quick(PRODEN).fit(DATA.X, DATA.candidates)
    np.testing.assert_array_equal(pop.predict_proba(DATA.X), proden.predict_proba(DATA.X))


def test_without_a_threshold_even_a_confidence_that_is_rounded_to_zero_removes_nothing():
    fitted = quick(
        POP, hidden=(), scaling="none", learning_rate=1.0, epochs=20, **{**SOON, "threshold": 0.0}
    ).fit(DATA.X * 100, DATA.candidates)
    # Too small for a number in single precision.
    assert (fitted.candidate_confidence_.toarray()[MASK] < 1e-45).any()
    assert (fitted.history_["candidates_left"] == 1).all()
    assert np.isfinite(fitted.history_["loss"]).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("warmup_epochs", 0, "an integer >= 1"),
        ("window", 0, "an integer >= 1"),
        ("threshold", 2, "a number from 0 to 1"),
        ("growth", -1, "a number >= 0"),
    ],
)
def test_wrong_parameters_are_refused(name, value, message):
    with pytest.raises(ParameterError, match=f"'{name}' must be {message}"):
        quick(POP, **{name: value}).fit(DATA.X, DATA.candidates)
