"""PRODEN and CC against loops that write their papers down, and what the base class gives them."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from disambig import CC, PRODEN, CandidateLabels, NCPDClassifier, NetworkClassifier
from disambig._core.errors import ModelFileError
from disambig.datasets import make_partial_label_dataset
from disambig.engine.history import History

DATA = make_partial_label_dataset(50, 4, 4, average_candidates=2.2, overlap=0.4, random_state=0)
MASK = DATA.candidates.to_mask()
METHODS = [PRODEN, CC]


def make_network(n_features, n_classes):
    """In double precision; one more of the same numbers for every call."""
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, 8), torch.nn.Tanh(), torch.nn.Linear(8, n_classes)
    ).double()


class Networks:
    """A callback that keeps the networks of a training, and the seed of its order."""

    def on_fit_start(self, training):
        self.first = [m.state_dict() for m in training.networks.members]
        self.first = {name: value.clone() for name, value in self.first[0].items()}
        self.batches = training._batches

    def on_fit_end(self, training):
        self.last = training.networks.members[0].state_dict()


def quick(method, **parameters):
    small = {"hidden": 8, "epochs": 5, "batch_size": 16, "learning_rate": 0.02, "device": "cpu"}
    return method(**{**small, "random_state": 0, **parameters})


def plain_loop(first, batches, loss_of_rows, epochs=5):
    """Train one network by autograd; return it and the mean loss of every epoch."""
    network = make_network(4, 4)
    network.load_state_dict(first)
    optimizer = torch.optim.Adam(network.parameters(), 0.02)
    X = torch.as_tensor(DATA.X)
    means = []
    for epoch in range(1, epochs + 1):
        losses = []
        for rows, real in zip(batches.rows_of(epoch)[:, 0], batches.real[:, 0], strict=True):
            rows = rows[real]
            loss = loss_of_rows(rows, network(X[rows]))
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
            losses += loss.tolist()
        means.append(np.mean(losses))
    return network, means


def proden_loss(mask, first_confidences):
    """Lv et al. (2020): cross-entropy with stored weights, which the same logits then replace."""
    weights = torch.as_tensor(first_confidences).clone()

    def loss_of_rows(rows, logits):
        losses = -(weights[rows] * logits.log_softmax(1)).sum(1)
        with torch.no_grad():
            weights[rows] = logits.masked_fill(~mask[rows], -torch.inf).softmax(1)
        return losses

    return loss_of_rows


def cc_loss(mask, weights=None):
    """Feng et al. (2020): minus the log of the probability of the set."""

    def loss_of_rows(rows, logits):
        probabilities = logits.softmax(1) * (mask[rows] if weights is None else weights[rows])
        return -probabilities.sum(1).log()

    return loss_of_rows


def assert_agrees(method, candidates, loss_of_rows):
    kept = Networks()
    fitted = quick(method, network=make_network, scaling="none", callbacks=[kept])
    fitted.fit(DATA.X, candidates)
    network, losses = plain_loop(kept.first, kept.batches, loss_of_rows)
    for name, value in network.state_dict().items():
        torch.testing.assert_close(kept.last[name], value, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.history_["loss"], losses, atol=1e-9)
    expected = network(torch.as_tensor(DATA.X)).softmax(1).detach().numpy()
    np.testing.assert_allclose(fitted.predict_proba(DATA.X), expected, atol=1e-9)
    inside = expected * candidates.to_mask()
    np.testing.assert_allclose(
        fitted.candidate_confidence_.toarray(), inside / inside.sum(1, keepdims=True), atol=1e-9
    )


def weighted():
    weights = np.random.default_rng(0).uniform(0.2, 3, MASK.shape) * MASK
    return CandidateLabels.from_mask(MASK, weights=weights), weights


@pytest.mark.parametrize("with_weights", [False, True])
def test_proden_agrees_with_a_plain_loop(with_weights):
    candidates = weighted()[0] if with_weights else DATA.candidates
    prior = candidates.prior().toarray()
    assert_agrees(PRODEN, candidates, proden_loss(torch.as_tensor(MASK), prior))


@pytest.mark.parametrize("with_weights", [False, True])
def test_cc_agrees_with_a_plain_loop(with_weights):
    candidates, weights = weighted() if with_weights else (DATA.candidates, MASK.astype(float))
    relative = torch.as_tensor(weights / weights.max(axis=1, keepdims=True))
    assert_agrees(CC, candidates, cc_loss(torch.as_tensor(MASK), relative))


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
    # Candidates of a row are its set, whatever is stored.
    rule = quick(PRODEN)._make_rule()
    assert rule.row_state()["confidences"].width is None
    fitted = quick(PRODEN, scaling="none", learning_rate=1.0, epochs=20).fit(
        DATA.X * 100, DATA.candidates
    )
    assert np.isfinite(fitted.history_["loss"]).all()


@pytest.mark.parametrize("method", METHODS)
def test_what_every_network_has_they_have_too(method, tmp_path):
    assert issubclass(method, NetworkClassifier)
    fitted = quick(method, validation=0.2, early_stopping=3, checkpoint=tmp_path / "checkpoint")
    fitted.fit(DATA.X, DATA.candidates)
    assert isinstance(fitted.history_, History)
    assert set(fitted.history_) == {
        "agreement", "loss", "covering_rate", "changed", "validation_covering_rate"
    }  # fmt: skip
    fitted.save(tmp_path / "model")
    again = method.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(again.predict_proba(DATA.X), fitted.predict_proba(DATA.X))


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_training_is_taken_up_with_the_state_of_its_rows(method, tmp_path):
    class Interruption:
        def on_epoch_end(self, training):
            if training.epoch == 3:
                raise KeyboardInterrupt

    path = tmp_path / "checkpoint"
    whole = quick(method, epochs=6).fit(DATA.X, DATA.candidates)
    parameters = {"epochs": 6, "checkpoint": path, "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        quick(method, callbacks=[Interruption()], **parameters).fit(DATA.X, DATA.candidates)
    resumed = quick(method, **parameters).fit(DATA.X, DATA.candidates)
    np.testing.assert_array_equal(resumed.predict_proba(DATA.X), whole.predict_proba(DATA.X))
    assert resumed.history_.to_dict() == whole.history_.to_dict()


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


def test_a_method_of_ones_own_may_have_more_parameters_and_leave_out_others(tmp_path):
    class Mine(NetworkClassifier):
        card = PRODEN.card

        def __init__(self, *, strength=1.0, hidden=16, epochs=5, random_state=0):
            self._store(locals())

        def _make_rule(self):
            return quick(CC)._make_rule()

    mine = clone(Mine(strength=2.0)).fit(DATA.X, DATA.candidates)
    assert (mine.strength, mine.batch_size, mine.device) == (2.0, 128, "auto")
    mine.save(tmp_path / "model")
    again = Mine.load(tmp_path / "model", device="cpu")
    assert (again.strength, again.device) == (2.0, "cpu")
    np.testing.assert_array_equal(again.predict_proba(DATA.X), mine.predict_proba(DATA.X))
