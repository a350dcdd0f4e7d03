import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from torch import nn

from disambig import NCPDClassifier
from disambig._core.errors import ModelFileError, ParameterError
from disambig.candidates import corrupt_controlled
from disambig.methods import fit_many
from methods.ncpd.examples import Interruption, X, Y, assert_same_bits, quick


def convolutional(n_features, n_classes):
    """Make a small network for images of 8 by 8."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(96, n_classes),
    )


def linear(n_features, n_classes):
    return nn.Linear(n_features, n_classes)


def with_dropout(n_features, n_classes):
    return nn.Sequential(
        nn.Linear(n_features, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), linear(8, n_classes)
    )


def always(module):
    return lambda *_: module


class Digits:
    images, labels = load_digits(return_X_y=True)
    train, test = np.split(np.random.default_rng(0).permutation(len(labels))[:900], [600])
    read, unread = images[train], images[test]
    sets = corrupt_controlled(labels[train], p=0.8, r=2, random_state=0)


def reading(**parameters):
    fixed = {"network": convolutional, "epochs": 8, "ramp_epochs": 4, "batch_size": 50}
    return quick(**fixed, learning_rate=0.004, scaling="global", **parameters)


@pytest.fixture(scope="module")
def reader():
    return reading().fit(Digits.read, Digits.sets)


# A network for images ----------------------------------------------------------------------------


def test_a_convolutional_network_learns_to_read_from_candidate_sets(reader):
    assert np.mean(reader.predict(Digits.unread) == Digits.labels[Digits.test]) > 0.88
    assert np.mean(reader.disambiguate() == Digits.labels[Digits.train]) > 0.9


def test_it_has_all_that_other_networks_have(reader):
    probabilities = reader.predict_proba_per_network(Digits.unread)
    assert probabilities.shape == (2, 300, 10)
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, atol=1e-6)
    np.testing.assert_allclose(reader.predict_proba(Digits.unread), probabilities.mean(axis=0))
    inside = reader.predict_proba_per_network(Digits.read) * Digits.sets.to_mask()
    expected = (inside / inside.sum(axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(reader.candidate_confidence_.toarray(), expected, atol=1e-9)
    assert reader.history_.n_epochs == 8


def test_it_is_saved_without_its_code_and_comes_back_with_it(tmp_path, reader):
    reader.save(tmp_path / "model")
    loaded = NCPDClassifier.load(tmp_path / "model", network=convolutional, device="cpu")
    assert_same_bits(loaded, reader, rows=Digits.unread)
    assert loaded.network is convolutional


def test_it_can_be_pickled(reader):
    assert_same_bits(pickle.loads(pickle.dumps(reader)), reader, rows=Digits.unread)


# Any module --------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", [linear, with_dropout, nn.Linear])
def test_same_seed_same_bits(network):
    first, second = (quick(network=network).fit(X, Y) for _ in range(2))
    assert_same_bits(first, second)
    other = quick(network=network, random_state=1).fit(X, Y).predict_proba(X)
    assert np.abs(other - first.predict_proba(X)).max() > 1e-3


def test_every_network_begins_with_weights_of_its_own():
    fitted = quick(network=linear, learning_rate=0).fit(X, Y)
    first, second = fitted.predict_proba_per_network(X)
    assert np.abs(first - second).max() > 1e-3


def test_torchs_random_numbers_are_left_as_they_were():
    torch.manual_seed(5)
    before = torch.get_rng_state().tolist()
    fitted = quick(network=with_dropout).fit(X, Y)
    fitted.predict(X)
    assert torch.get_rng_state().tolist() == before
    torch.manual_seed(6)
    assert_same_bits(quick(network=with_dropout).fit(X, Y), fitted)


def test_what_a_module_draws_is_new_in_every_step_and_network():
    drawn = []

    class Drawing(nn.Linear):
        def forward(self, rows):
            if self.training:
                drawn.append(torch.rand(()).item())
            return super().forward(rows)

    quick(network=Drawing).fit(X, Y)
    assert len(set(drawn)) == len(drawn) == 2 * 2 * 6  # networks, batches, epochs


def test_it_is_called_once_for_every_network_with_features_and_classes():
    calls = []

    def network(*shape):
        calls.append(shape)
        return linear(*shape)

    quick(network=network, n_networks=3).fit(X, Y)
    assert calls == [(4, 3), (4, 3), (4, 3)]


def test_normalisation_and_dropout_rest_when_predicting():
    fitted = quick(network=with_dropout).fit(X, Y)
    one_by_one = np.vstack([fitted.predict_proba(row[np.newaxis]) for row in X])
    np.testing.assert_allclose(one_by_one, fitted.predict_proba(X), atol=1e-6)


def test_the_parameters_of_the_usual_networks_mean_nothing():
    assert_same_bits(
        quick(network=linear, hidden=99, dropout=0, activation="tanh", batch_norm=False).fit(X, Y),
        quick(network=linear).fit(X, Y),
    )


def test_modules_of_double_precision_are_trained_in_it():
    fitted = quick(network=lambda *shape: with_dropout(*shape).double()).fit(X, Y)
    assert np.isfinite(fitted.predict_proba(X)).all()


@pytest.mark.parametrize("n_rows", [2, 3, 33])
def test_modules_that_normalise_never_meet_a_single_row(n_rows):
    fitted = quick(network=with_dropout, batch_size=2).fit(X[:n_rows], Y[:n_rows])
    assert np.isfinite(fitted.predict_proba(X)).all()


@pytest.mark.parametrize("batch_size", [7, 13, 15, 16, 30, 60])
def test_every_row_is_seen_once_in_every_epoch(batch_size):
    # That many rows: one divided by one part of them, in single precision, may be less than them.
    seen = []

    class Witness(nn.Linear):
        def forward(self, rows):
            if self.training:
                seen.append(rows)
            return super().forward(rows)

    method = quick(network=Witness, cooperation=False, batch_size=batch_size, scaling="none")
    method.set_params(epochs=3).fit(X, Y)
    rows = torch.cat(seen).numpy().reshape(3, 60, 4)
    expected = np.sort(X.astype(np.float32), axis=0)
    for of_epoch in rows:
        np.testing.assert_array_equal(np.sort(of_epoch, axis=0), expected)


def test_part_of_a_module_may_be_frozen():
    def frozen(n_features, n_classes):
        module = with_dropout(n_features, n_classes)
        module[0].requires_grad_(requires_grad=False)
        return module

    fitted = quick(network=frozen).fit(X, Y)
    begun = quick(network=frozen, epochs=1, ramp_epochs=1, learning_rate=0).fit(X, Y)
    for trained, first in zip(fitted._networks.members, begun._networks.members, strict=True):
        np.testing.assert_array_equal(trained[0].weight.numpy(), first[0].weight.numpy())
        assert not np.array_equal(trained[4].weight.detach().numpy(), first[4].weight.detach())


def test_it_goes_on_after_an_interruption(tmp_path):
    parameters = {"network": with_dropout, "validation": 0.2, "early_stopping": 4}
    checkpoint = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        quick(**parameters, **checkpoint, callbacks=[Interruption(3)]).fit(X, Y)
    resumed = quick(**parameters, **checkpoint).fit(X, Y)
    assert_same_bits(resumed, quick(**parameters).fit(X, Y))


def test_it_does_not_go_on_with_a_network_of_other_layers(tmp_path):
    # Their numbers have the same names and shapes.
    def made_with(activation):
        return lambda *shape: nn.Sequential(linear(shape[0], 8), activation, linear(8, shape[1]))

    checkpoint = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 1}
    relu, tanh = made_with(nn.ReLU()), made_with(nn.Tanh())
    quick(network=relu, **checkpoint).fit(X, Y)
    with pytest.raises(ModelFileError, match="other data or with other parameters. Delete it"):
        quick(network=tanh, **checkpoint).fit(X, Y)
    quick(network=made_with(nn.ReLU()), **checkpoint).fit(X, Y)


def test_fitting_many_gives_what_fitting_each_gives():
    method = quick(network=with_dropout)
    tasks = [(X, Y, 1), (X[:41], Y[:41], 2)]
    for at_once in (1, None, 2):
        for found, (features, sets, seed) in zip(
            fit_many(method, tasks, at_once=at_once), tasks, strict=True
        ):
            alone = quick(network=with_dropout, random_state=seed).fit(features, sets)
            assert_same_bits(found, alone)


def test_a_clone_makes_the_same_networks():
    method = quick(network=with_dropout)
    assert clone(method).network is with_dropout
    assert_same_bits(clone(method).fit(X, Y), method.fit(X, Y))


# What is refused ---------------------------------------------------------------------------------


def test_networks_of_the_user_are_not_loaded_without_their_code(tmp_path):
    quick(network=linear).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ParameterError, match=r"Give the function that makes them: load\(path, net"):
        NCPDClassifier.load(tmp_path / "model")


@pytest.mark.parametrize("network", [with_dropout, lambda *_: nn.Linear(4, 5)])
def test_another_network_at_loading_is_refused(tmp_path, network):
    quick(network=linear).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="what it says does not fit together"):
        NCPDClassifier.load(tmp_path / "model", network=network)


def test_a_network_is_refused_where_none_was_used(tmp_path):
    quick().fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="what it says does not fit together"):
        NCPDClassifier.load(tmp_path / "model", network=linear)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (lambda *_: None, "'network' must return a new torch.nn.Module .* Got None"),
        (lambda *_: nn.Linear, "'network' must return a new torch.nn.Module .* Got <class"),
        (lambda *_: nn.Linear(4, 5), r"logits of shape \(30, 3\) for 30 rows .* Got \(30, 5\)"),
        (lambda *_: nn.LSTM(4, 3), r"logits of shape \(30, 3\) .* Got tuple"),
        (
            lambda *_: nn.Sequential(linear(4, 3), nn.Unflatten(1, (3, 1))),
            r"logits of shape \(30, 3\) .* Got \(30, 3, 1\)",
        ),
    ],
)
def test_what_does_not_give_logits_is_refused(network, message):
    with pytest.raises(ParameterError, match=message):
        quick(network=network).fit(X, Y)


@pytest.mark.parametrize(
    "network",
    [
        nn.Linear(4, 3),
        lambda *_: nn.Flatten(),
        always(nn.Linear(4, 3)),
    ],
    ids=["a module", "no parameters", "always the same"],
)
def test_what_cannot_be_trained_as_several_networks_is_refused(network):
    with pytest.raises(ParameterError, match="'network' must"):
        quick(network=network).fit(X, Y)


class Masked(nn.Module):
    """With a buffer that is not finite, as modules for text have."""

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = nn.Linear(n_features, n_classes)
        self.register_buffer("mask", torch.full((3, 3), -torch.inf).triu(1))

    def forward(self, rows):
        return self.linear(rows)


def test_numbers_of_a_module_need_not_be_finite(tmp_path):
    fitted = quick(network=Masked).fit(X, Y)
    with pytest.raises(KeyboardInterrupt):
        quick(network=Masked, checkpoint=tmp_path / "a", checkpoint_every=1,
              callbacks=[Interruption(2)]).fit(X, Y)  # fmt: skip
    assert_same_bits(quick(network=Masked, checkpoint=tmp_path / "a").fit(X, Y), fitted)
    fitted.save(tmp_path / "b")
    assert_same_bits(NCPDClassifier.load(tmp_path / "b", network=Masked), fitted)


def test_networks_that_share_a_layer_are_refused():
    shared = nn.Linear(4, 8)
    with pytest.raises(ParameterError, match="Got the same one twice"):
        quick(network=lambda _, c: nn.Sequential(shared, nn.Linear(8, c))).fit(X, Y)


def test_logits_without_a_gradient_are_refused():
    class Detached(nn.Linear):
        def forward(self, rows):
            return super().forward(rows).detach()

    with pytest.raises(ParameterError, match="Got logits without a gradient"):
        quick(network=Detached).fit(X, Y)
