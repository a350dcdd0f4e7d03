"""PRODEN, CC and RC against loops that write their papers down; what the base class gives them."""

import numpy as np
import pytest
import torch

from disambig import CC, PRODEN, NCPDClassifier, NetworkClassifier
from disambig._core.errors import ModelFileError
from disambig.engine.rule import Batch
from disambig.methods import RC
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, quick, weighted


class PlainPRODEN(PlainMethod):
    """Lv et al. (2020): cross-entropy with stored weights, which the same logits then replace."""

    def __init__(self, prior):
        self.mask = torch.as_tensor(MASK)
        self.weights = torch.as_tensor(prior).clone()

    def losses(self, rows, networks, X):
        logits = networks[0](X[rows])
        losses = -(self.weights[rows] * logits.log_softmax(1)).sum(1)
        self.store(rows, logits.detach())
        return [losses]

    def store(self, rows, logits):
        self.weights[rows] = logits.masked_fill(~self.mask[rows], -torch.inf).softmax(1)


class PlainRC(PlainPRODEN):
    """Feng et al. (2020): the same, replaced by what the network says after the step."""

    def losses(self, rows, networks, X):
        return [-(self.weights[rows] * networks[0](X[rows]).log_softmax(1)).sum(1)]

    def after_step(self, rows, networks, X):
        self.store(rows, networks[0](X[rows]))


class PlainCC(PlainMethod):
    """Feng et al. (2020): minus the log of the probability of the set."""

    def __init__(self, relative_weights):
        self.weights = torch.as_tensor(relative_weights)

    def losses(self, rows, networks, X):
        probabilities = networks[0](X[rows]).softmax(1) * self.weights[rows]
        return [-probabilities.sum(1).log()]


@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize(("method", "plain"), [(PRODEN, PlainPRODEN), (RC, PlainRC)])
def test_they_agree_with_a_plain_loop(method, plain, with_weights):
    candidates = weighted()[0] if with_weights else DATA.candidates
    assert_agrees(method, candidates, plain(candidates.prior().toarray()))


@pytest.mark.parametrize("with_weights", [False, True])
def test_cc_agrees_with_a_plain_loop(with_weights):
    candidates, weights = weighted() if with_weights else (DATA.candidates, MASK.astype(float))
    assert_agrees(CC, candidates, PlainCC(weights / weights.max(axis=1, keepdims=True)))


def test_confidences_of_proden_follow_a_row_from_epoch_to_epoch():
    # At a rate of zero the network never changes: in the first epoch it learns from the prior, in
    # all others from its own probabilities, and the loss says so.
    fitted = quick(PRODEN, learning_rate=0.0, dropout=0.0, batch_norm=False).fit(
        DATA.X, DATA.candidates
    )
    said = fitted.predict_proba(DATA.X)
    inside = said * MASK
    for epoch, weights in enumerate([MASK / MASK.sum(1, keepdims=True), *[inside] * 4]):
        weights = weights / weights.sum(1, keepdims=True)
        expected = -(weights * np.log(said)).sum(1).mean()
        assert fitted.history_["loss"][epoch] == pytest.approx(expected, rel=1e-4)


def test_a_confidence_of_proden_that_was_zero_can_come_back():
    # What is stored says that only the first candidate is left; the network now says otherwise.
    losses = torch.tensor([[[[0.5, 0.5, np.inf]]]])
    used = torch.isfinite(losses)
    batch = Batch(
        rows=torch.zeros(1, 1, dtype=torch.long), columns=torch.tensor([[[[0, 1, 0]]]]), mask=used,
        prior=used / 2, most_candidates=2, log_probabilities=-losses, losses=losses,
        predicted=used, state={"confidences": torch.tensor([[[[1.0, 0.0, 0.0]]]])}, phase=None,
    )  # fmt: skip
    targets = PRODEN()._make_rule().targets(batch)
    torch.testing.assert_close(targets.slots, torch.tensor([[[[1.0, 0.0, 0.0]]]]))
    torch.testing.assert_close(targets.state["confidences"], torch.tensor([[[[0.5, 0.5, 0.0]]]]))


def test_files_of_another_method_are_refused(tmp_path):
    quick(CC, checkpoint=tmp_path / "checkpoint").fit(DATA.X, DATA.candidates).save(
        tmp_path / "model"
    )
    for other in (PRODEN, NCPDClassifier):
        with pytest.raises(ModelFileError, match="holds a model of the method 'cc'.*get_method"):
            other.load(tmp_path / "model")
    with pytest.raises(ModelFileError, match="belongs to"):
        quick(PRODEN, checkpoint=tmp_path / "checkpoint").fit(DATA.X, DATA.candidates)


def test_a_method_of_ones_own_is_a_rule_and_a_card():
    class Mine(NetworkClassifier):
        card = PRODEN.card

        def _make_rule(self):
            return quick(CC)._make_rule()

    mine = quick(Mine).fit(DATA.X, DATA.candidates)
    expected = quick(CC).fit(DATA.X, DATA.candidates)
    np.testing.assert_array_equal(mine.predict_proba(DATA.X), expected.predict_proba(DATA.X))
