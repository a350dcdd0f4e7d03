"""Saved networks predict the same in NumPy, and what NumPy cannot do is left to the method."""

import numpy as np
import pytest
import torch

from disambig import NCPDPlusClassifier
from disambig.methods import CC, PRODEN
from disambig.methods.networks.predictor import NetworkPredictor, read_predictor
from methods.instances import INSTANCES
from methods.ncpd.examples import NEW_X, X, Y, quick, rewrite


def read(path, method="ncpd", classes=None):
    return read_predictor(path, method, Y.classes if classes is None else np.array(classes))


@pytest.fixture
def path(tmp_path):
    quick().fit(X, Y).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "method",
    [
        quick(),
        quick(hidden=(16, 8), n_networks=3),
        quick(hidden=()),
        quick(batch_norm=False),
        quick(scaling="quantile"),
        quick(scaling="none", dropout=0.0),
        *(quick(activation=name) for name in ("gelu", "mish", "silu", "tanh")),
        NCPDPlusClassifier(
            select="none", second_view="quantile", hidden=8, epochs=3, ramp_epochs=1, random_state=0
        ),
        INSTANCES["ncpd_plus"],
        CC(hidden=8, epochs=3, random_state=0),
        PRODEN(hidden=8, epochs=3, random_state=0),
    ],
    ids=str,
)
def test_probabilities_are_those_of_torch_to_rounding(tmp_path, method):
    fitted = method.fit(X, Y)
    fitted.save(tmp_path / "model")
    predictor = read(tmp_path / "model", fitted.card.name)
    assert predictor.classes_.tolist() == fitted.classes_.tolist()
    far_away = np.vstack([NEW_X, 1e30 * NEW_X[:1]])
    expected = fitted.predict_proba(far_away)
    np.testing.assert_allclose(predictor.predict_proba(far_away), expected, atol=2e-6)
    assert predictor.predict_proba(NEW_X[:0]).shape == (0, len(fitted.classes_))


def test_many_rows_are_predicted_a_part_at_a_time(path, monkeypatch):
    together = read(path).predict_proba(X)
    monkeypatch.setattr("disambig.methods.networks.predictor._ROWS_AT_A_TIME", 7)
    np.testing.assert_allclose(read(path).predict_proba(X), together, atol=1e-6)


def test_other_networks_are_left_to_the_method(tmp_path):
    quick(network=torch.nn.Linear).fit(X, Y).save(tmp_path / "linear")
    assert read(tmp_path / "linear") is None


def test_a_method_without_networks_is_left_alone(tmp_path):
    INSTANCES["plknn"].fit(X, Y).save(tmp_path / "model")
    assert read(tmp_path / "model", "plknn") is None


def test_another_method_and_other_classes_are_for_the_method_to_refuse(path, tmp_path):
    assert isinstance(read(path), NetworkPredictor)
    assert read(path, method="cc") is None
    assert read(path, classes=["a", "b", "c"]) is None
    assert read(tmp_path / "gone") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": 10**12},
        {"n_features": 2},
        {"n_features": "3"},
        {"parameters": {}},
        {"parameters": {"activation": "sine"}},
        {"members": {"plain": {}}},
        {"selection": {}, "members": {}},
        {"selection": [1], "members": [1]},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit_is_for_the_method_to_refuse(path, changes):
    rewrite(path, lambda _, description: description.update(changes))
    assert read(path) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("networks.hidden.0.variance", lambda array: array * 0 - 1e-6),
        ("networks.hidden.0.bias", lambda array: array[..., :1]),
        ("networks.output.bias", lambda array: array[:1]),
        ("networks.output.bias", lambda array: array.long()),
        ("networks.hidden.0.weight", lambda array: array[:, :-1]),
        ("networks.output.weight", lambda array: array[:, :, :-1]),
        ("networks.output.bias", lambda array: array * float("nan")),
        ("views.0.scale_", lambda array: array * 0),
    ],
)
def test_arrays_that_do_not_fit_are_for_the_method_to_refuse(path, name, change):
    rewrite(path, lambda tensors, _: tensors.update({name: change(tensors[name]).contiguous()}))
    assert read(path) is None


def test_arrays_that_do_not_belong_are_for_the_method_to_refuse(path):
    rewrite(path, lambda tensors, _: tensors.update({"networks.other": torch.ones(3)}))
    assert read(path) is None


def test_networks_without_scales_take_no_memory(path):
    def without_scales(tensors, description):
        description["n_features"] = 10**12
        for name in [name for name in tensors if name.startswith("views.")]:
            del tensors[name]

    rewrite(path, without_scales)
    assert read(path) is None


def test_layers_of_different_numbers_of_networks_are_for_the_method_to_refuse(path):
    def one_output(tensors, _):
        for name in ("networks.output.weight", "networks.output.bias"):
            tensors[name] = tensors[name][:1].clone()

    rewrite(path, one_output)
    assert read(path) is None


@pytest.mark.parametrize("weights", [{"plain": 2.0}, {"plain": float("nan")}, {"another": 0.5}])
def test_weights_that_do_not_fit_are_for_the_method_to_refuse(tmp_path, weights):
    fitted = INSTANCES["ncpd_plus"].fit(X, Y)
    fitted.save(tmp_path / "model")

    def change(_, description):
        for name, weight in weights.items():
            description["selection"].setdefault(name, {})["weight"] = weight

    rewrite(tmp_path / "model", change)
    assert read(tmp_path / "model", "ncpd_plus") is None
