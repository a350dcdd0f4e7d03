import warnings

import numpy as np
import pytest
import torch
from sklearn.preprocessing import MinMaxScaler

from disambig import NCPDClassifier
from disambig._core.errors import ParameterError
from methods.ncpd.examples import EASY, NEW_X, X, Y, assert_same_bits, quick


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": 0}, "'hidden' must be an integer >= 1 or a list of them. Got 0"),
        ({"hidden": 2.5}, "'hidden' must be an integer >= 1 or a list of them. Got 2.5"),
        ({"hidden": None}, "'hidden' must be an integer >= 1 or a list of them. Got None"),
        ({"hidden": (16, 0)}, r"'hidden' must be an integer >= 1 or a list of them. Got \(16, 0\)"),
        (
            {"hidden": [16, "8"]},
            r"'hidden' must be an integer >= 1 or a list of them. Got \[16, '8'\]",
        ),
        ({"hidden": "16"}, "'hidden' must be an integer >= 1 or a list of them. Got '16'"),
        ({"hidden": ""}, "'hidden' must be an integer >= 1 or a list of them. Got ''"),
        ({"hidden": True}, "'hidden' must be an integer >= 1 or a list of them. Got True"),
        (
            {"hidden": np.array([16.0])},
            r"'hidden' must be an integer >= 1 or a list of them. Got array\(\[16.\]\)",
        ),
        ({"epochs": 0}, "'epochs' must be an integer >= 1. Got 0"),
        ({"epochs": 10.0}, "'epochs' must be an integer >= 1. Got 10.0"),
        ({"epochs": None}, "'epochs' must be an integer >= 1. Got None"),
        ({"ramp_epochs": 0}, "'ramp_epochs' must be an integer >= 1. Got 0"),
        ({"batch_size": 1}, "'batch_size' must be an integer >= 2. Got 1"),
        ({"learning_rate": -0.1}, "'learning_rate' must be a number >= 0. Got -0.1"),
        ({"learning_rate": float("nan")}, "'learning_rate' must be a number >= 0. Got nan"),
        ({"learning_rate": "fast"}, "'learning_rate' must be a number >= 0. Got 'fast'"),
        ({"decay": 1.5}, "'decay' must be a number from 0 to 1. Got 1.5"),
        ({"dropout": 1}, "'dropout' must be a number from 0 to 0.99. Got 1"),
        ({"dropout": -0.1}, "'dropout' must be a number from 0 to 0.99. Got -0.1"),
        ({"activation": "sigmoid"}, "'activation' must be one of .*'relu'.* Got 'sigmoid'"),
        ({"activation": None}, "'activation' must be one of .* Got None"),
        ({"batch_norm": 1}, "'batch_norm' must be True or False. Got 1"),
        ({"scaling": "max"}, "'scaling' must be one of 'half', .* Got 'max'"),
        ({"scaling": MinMaxScaler}, r"Got the class MinMaxScaler: write MinMaxScaler\(\)"),
        (
            {"n_networks": 1},
            "'n_networks' must be an integer >= 2, .* Got 1: for a single network give coop",
        ),
        ({"n_networks": 0}, "'n_networks' must be an integer >= 1. Got 0"),
        (
            {"n_networks": 0, "cooperation": False},
            "'n_networks' must be an integer >= 1. Got 0",
        ),
        ({"cooperation": "no"}, "'cooperation' must be True or False. Got 'no'"),
        ({"progressive": None}, "'progressive' must be True or False. Got None"),
        ({"network": "cnn"}, "'network' must be a function .* Got 'cnn'"),
        (
            {"early_stopping": 0, "validation": 0.2},
            "'early_stopping' must be an integer >= 1. Got 0",
        ),
        ({"early_stopping": 5}, "'early_stopping' needs rows to watch. Give 'validation'"),
        ({"checkpoint_every": 0}, "'checkpoint_every' must be an integer >= 1. Got 0"),
        ({"device": "gpu"}, "'device' must be 'auto' or a device of torch.* Got 'gpu'"),
        ({"device": None}, "'device' must be 'auto' or a device of torch.* Got None"),
        ({"random_state": -1}, "'random_state' must be None, an integer >= 0, .* Got -1"),
        ({"random_state": "x"}, "'random_state' must be None, an integer >= 0, .* Got 'x'"),
        ({"verbose": -1}, "'verbose' must be an integer >= 0. Got -1"),
        ({"verbose": "yes"}, "'verbose' must be an integer >= 0. Got 'yes'"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    method = quick(**parameters)
    with pytest.raises(ParameterError, match=message):
        method.fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"callbacks": 3}, "'callbacks' .* Got 3"),
        ({"callbacks": "abc"}, "'callbacks' must be a list of objects. Got 'abc'"),
        ({"callbacks": print}, "'callbacks' .* Got <built-in function print>"),
        ({"checkpoint": 3}, "'checkpoint' .* Got 3"),
    ],
)
def test_callbacks_and_checkpoints_of_the_wrong_type_are_refused_in_fit(parameters, message):
    method = quick(**parameters)
    with pytest.raises(ParameterError, match=message):
        method.fit(X, Y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_card_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match="device='cuda' is nothing that .*Use device='auto'"):
        quick(device="cuda").fit(X, Y)


@pytest.mark.parametrize("device", ["mps", "xpu"])
def test_a_device_that_cannot_compute_is_refused(device):
    with pytest.raises(ParameterError, match=f"device='{device}'"):
        quick(device=device).fit(X, Y)


def test_what_is_wrong_is_said_when_fitting_and_not_before():
    assert quick(epochs=-3).get_params()["epochs"] == -3


@pytest.mark.parametrize("hidden", [[16], (16,), np.array([16]), np.int64(16)], ids=repr)
def test_one_hidden_layer_may_be_given_as_a_number_or_a_list(fitted, hidden):
    assert_same_bits(quick(hidden=hidden).fit(X, Y), fitted)


@pytest.mark.parametrize("verbose", [True, False, 0, 1])
def test_verbose_may_be_a_number_or_a_truth(fitted, verbose):
    assert_same_bits(quick(verbose=verbose).fit(X, Y), fitted)


def test_a_ramp_longer_than_the_training_is_warned_of():
    message = "Training ends after 6 epochs, .* from epoch 7 on. Give 'ramp_epochs' of half the ep"
    with pytest.warns(UserWarning, match=message) as caught:
        quick(epochs=6, ramp_epochs=7).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("parameters", [{"ramp_epochs": 6}, {"progressive": False}])
def test_a_ramp_that_comes_to_its_end_or_means_nothing_is_not_warned_of(parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(**{"epochs": 6, "ramp_epochs": 7, **parameters}).fit(X, Y)


@pytest.mark.parametrize("hidden", [(), (16,), (16, 8), (24, 16, 8)])
@pytest.mark.parametrize("batch_norm", [True, False])
def test_there_may_be_any_number_of_hidden_layers(hidden, batch_norm):
    method = quick(hidden=hidden, batch_norm=batch_norm, learning_rate=0.05, dropout=0.1, epochs=12)
    found = method.fit(EASY.X, EASY.candidates).predict(EASY.X)
    assert np.mean(found == EASY.true_labels) > 0.9


@pytest.mark.parametrize("activation", ["relu", "gelu", "mish", "silu", "tanh"])
def test_there_are_several_activations(activation, fitted):
    found = quick(activation=activation).fit(X, Y).predict_proba(NEW_X)
    assert np.isfinite(found).all()
    same = np.abs(found - fitted.predict_proba(NEW_X)).max() < 1e-6
    assert same == (activation == "relu")


@pytest.mark.parametrize(
    ("parameters", "n_networks"),
    [({}, 2), ({"n_networks": 3}, 3), ({"cooperation": False, "n_networks": 5}, 1)],
)
def test_as_many_networks_as_asked_for_and_one_without_cooperation(parameters, n_networks):
    fitted = quick(**parameters).fit(X, Y)
    assert fitted.predict_proba_per_network(X).shape == (n_networks, 60, 3)


def test_the_first_networks_begin_the_same_however_many_there_are():
    # Nothing is learned at a rate of zero.
    two, three = (quick(learning_rate=0, n_networks=count).fit(X, Y) for count in (2, 3))
    first_two = three.predict_proba_per_network(NEW_X)[:2]
    np.testing.assert_array_equal(first_two, two.predict_proba_per_network(NEW_X))


@pytest.mark.parametrize("scaling", ["half", "standard", "global", "quantile", MinMaxScaler()])
def test_features_are_scaled(scaling):
    moved = X * 50 + 1000
    found = quick(scaling=scaling).fit(moved, Y).predict_proba(moved)
    expected = quick(scaling=scaling).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-3)


# The plainest network that the paper allows -------------------------------------------------------


def test_from_paper_is_the_plainest_network_with_changes_on_top():
    plain = NCPDClassifier.from_paper(random_state=3, hidden=(16, 16))
    stated = {"n_networks": 2, "batch_size": 128, "ramp_epochs": 100}
    left_out = {"batch_norm": False, "dropout": 0.0, "decay": 0.0, "scaling": "standard"}
    changed = {"random_state": 3, "hidden": (16, 16)}
    parameters = plain.get_params()
    assert type(plain) is NCPDClassifier
    assert parameters | stated | left_out | changed == parameters
    assert NCPDClassifier.from_paper().hidden == 512


def test_from_paper_says_why_for_every_setting_that_a_training_depends_on():
    # The others say what is trained and watched, or where; the algorithm itself has its own page.
    other = {"cooperation", "progressive", "n_networks", "early_stopping"}
    settings = set(NCPDClassifier().get_params()) - NCPDClassifier._NOT_LEARNED_FROM - other
    for name in settings | {"scaling"}:
        assert f"``{name}=" in NCPDClassifier.from_paper.__doc__, name
