"""Rows of more than one dimension, for networks of one's own."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from torch import nn

from disambig import NCPDClassifier, NCPDPlusClassifier
from disambig._core.errors import ModelFileError, ParameterError
from disambig.candidates import corrupt_controlled
from disambig.methods import estimate_fit_seconds, fit_many
from methods.ncpd.examples import Interruption, assert_same_bits, quick


def convolutional(shape, n_classes):
    """Make a small network for images of any shape."""
    n_channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(n_channels, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(8 * (height // 2) * (width // 2), n_classes),
    )


def from_vectors(shape):
    """Make the same network for images that come as vectors."""
    return lambda _, n_classes: nn.Sequential(
        nn.Unflatten(1, shape), *convolutional(shape, n_classes)
    )


class Digits:
    images, labels = load_digits().images[:, np.newaxis], load_digits().target
    train, test = np.split(np.random.default_rng(0).permutation(len(labels))[:900], [600])
    sets = corrupt_controlled(labels[train], p=0.8, r=2, random_state=0)


# Images of two channels that differ in size, and of sides that differ in length.
RANDOM = np.random.default_rng(0)
SMALL = RANDOM.normal(size=(40, 2, 4, 6)) * [[[[5.0]], [[0.1]]]] + [[[[3.0]], [[-70.0]]]]
KIND = RANDOM.integers(0, 3, 40)
SMALL[np.arange(40), 0, 0, KIND] += 40
SETS = corrupt_controlled(KIND, p=0.5, r=1, random_state=0)


def test_a_small_convolutional_network_beats_a_perceptron_on_digits():
    settings = {"epochs": 12, "ramp_epochs": 6, "batch_size": 50, "learning_rate": 0.004}
    settings |= {"random_state": 0, "device": "cpu"}
    right = {}
    for network, X in ((convolutional, Digits.images), (None, Digits.images.reshape(-1, 64))):
        model = NCPDClassifier(network=network, hidden=64, **settings)
        model.fit(X[Digits.train], Digits.sets)
        right[network] = model.score(X[Digits.test], Digits.labels[Digits.test])

    assert right[convolutional] > 0.92
    assert right[convolutional] > right[None]


def test_images_are_what_vectors_are_to_a_network_that_folds_them():
    images = quick(network=convolutional, scaling="none").fit(SMALL, SETS)
    vectors = quick(network=from_vectors(SMALL.shape[1:]), scaling="none")
    vectors.fit(SMALL.reshape(40, -1), SETS)

    found, expected = images.predict_proba(SMALL), vectors.predict_proba(SMALL.reshape(40, -1))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        images.candidate_confidence_.toarray(), vectors.candidate_confidence_.toarray()
    )


class Witness(nn.Module):
    """Remembers what it was asked about."""

    seen = None

    def __init__(self, shape, n_classes):
        super().__init__()
        self.last = nn.Linear(int(np.prod(shape)), n_classes)

    def forward(self, rows):
        if not self.training:
            type(self).seen = rows.numpy()
        return self.last(rows.flatten(1))


@pytest.mark.parametrize("scaling", ["none", "standard", "global"])
def test_all_places_of_a_channel_are_scaled_alike(scaling):
    quick(network=Witness, scaling=scaling).fit(SMALL, SETS).predict(SMALL)

    over = (0, 2, 3)
    centered = SMALL - SMALL.mean(axis=over, keepdims=True)
    expected = {
        "none": SMALL,
        "standard": centered / SMALL.std(axis=over, keepdims=True),
        "global": centered / np.sqrt(np.mean(centered**2)),
    }[scaling]
    assert Witness.seen.shape == SMALL.shape
    np.testing.assert_allclose(Witness.seen, expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def fitted():
    return quick(network=convolutional).fit(SMALL, SETS)


def test_images_of_any_type_are_read(fitted):
    expected = fitted.predict_proba(SMALL.astype(np.float32))

    for same in (torch.as_tensor(SMALL, dtype=torch.float32), SMALL.astype(np.float32).tolist()):
        np.testing.assert_allclose(fitted.predict_proba(same), expected, atol=1e-6)
    assert fitted.predict_proba_per_network(SMALL).shape == (2, 40, 3)


def test_a_model_of_images_is_saved_copied_and_cloned(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = NCPDClassifier.load(tmp_path / "model", network=convolutional, device="cpu")

    for same in (loaded, pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(SMALL, SETS)):
        assert_same_bits(same, fitted, rows=SMALL)
    with pytest.raises(ParameterError, match="need a network of your own"):
        clone(fitted).set_params(network=None).fit(SMALL, SETS)


def test_a_file_with_another_shape_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert content.count(b'row_shape\\": [2, 4, 6]') == 1
    for shape in (b"[2, 6, 6]", b"[1, 4, 6]", b"[2, 4, 0]", b"[2,4,-6]"):
        (tmp_path / "other").write_bytes(content.replace(b"[2, 4, 6]", shape.ljust(9)))
        with pytest.raises(ModelFileError):
            NCPDClassifier.load(tmp_path / "other", network=convolutional)


def test_an_interrupted_training_goes_on(tmp_path):
    settings = {"network": convolutional, "checkpoint_every": 1}
    whole = quick(**settings).fit(SMALL, SETS)
    path = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        quick(**settings, checkpoint=path, callbacks=[Interruption(1)]).fit(SMALL, SETS)

    assert_same_bits(quick(**settings, checkpoint=path).fit(SMALL, SETS), whole, rows=SMALL)


@pytest.mark.parametrize("validation", [0.25, (SMALL[:9], KIND[:9])], ids=["share", "pair"])
def test_rows_are_watched(validation):
    model = quick(network=convolutional, validation=validation).fit(SMALL, SETS)

    assert len(model.history_["validation_covering_rate"]) == model.history_.n_epochs


def test_scikit_learn_and_many_fits_take_images():
    method = quick(network=convolutional)

    rates = cross_val_score(method, SMALL, SETS, cv=2)
    many = list(fit_many(method, [(SMALL, SETS, 0), (SMALL[:20], SETS[:20], 1)]))

    assert len(rates) == 2
    for one, seed, rows in zip(many, (0, 1), (40, 20), strict=True):
        alone = quick(network=convolutional, random_state=seed).fit(SMALL[:rows], SETS[:rows])
        assert_same_bits(one, alone, rows=SMALL)
    assert estimate_fit_seconds(method, SMALL, SETS) > 0


def test_ncpd_plus_sees_both_of_its_views_as_channels():
    shapes = []

    def network(shape, n_classes):
        shapes.append(shape)
        return convolutional(shape, n_classes)

    settings = {"select": "none", "second_view": "standard", "epochs": 4, "ramp_epochs": 2}
    model = NCPDPlusClassifier(**settings, network=network, random_state=0, device="cpu")
    model.fit(SMALL, SETS)

    assert set(shapes) == {(4, 4, 6)}
    assert model.predict_proba(SMALL).shape == (40, 3)


@pytest.mark.filterwarnings("ignore:NCPD. leaves out of its mix")
def test_ncpd_plus_mixes_networks_for_images(tmp_path):
    model = NCPDPlusClassifier(network=convolutional, epochs=6, random_state=0, device="cpu")
    model.fit(SMALL, SETS).save(tmp_path / "model")
    loaded = NCPDPlusClassifier.load(tmp_path / "model", network=convolutional, device="cpu")

    np.testing.assert_array_equal(loaded.predict_proba(SMALL), model.predict_proba(SMALL))


def test_rows_of_another_shape_are_refused(fitted):
    for X in (SMALL.transpose(0, 1, 3, 2), SMALL[..., :5], SMALL[..., np.newaxis]):
        with pytest.raises(ParameterError, match=r"that were trained on, \(2, 4, 6\)"):
            fitted.predict(X)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(SMALL.reshape(40, -1))
    vectors = quick(network=nn.Linear).fit(SMALL.reshape(40, -1), SETS)
    with pytest.raises(ParameterError, match=r"trained on, \(48,\). Got \(48, 1\)"):
        vectors.predict(SMALL.reshape(40, 48, 1))


def test_images_without_a_network_for_them_are_refused():
    with pytest.raises(ParameterError, match="need a network of your own .*Got 4 dimensions"):
        quick().fit(SMALL, SETS)


def test_images_must_be_finite():
    holed = SMALL.copy()
    holed[3, 1, 2, 2] = np.nan

    with pytest.raises(ValueError, match="NaN"):
        quick(network=convolutional).fit(holed, SETS)
