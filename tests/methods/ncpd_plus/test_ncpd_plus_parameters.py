import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler

from disambig import NCPDClassifier, NCPDPlusClassifier
from disambig._core.errors import ParameterError
from methods.ncpd.examples import X, Y, assert_same_bits
from methods.ncpd_plus.plus_examples import quick_mix, quick_single


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"select": "best"}, "'select' must be one of 'auto', 'none'. Got 'best'"),
        ({"select": None}, "'select' must be one of 'auto', 'none'. Got None"),
        ({"select": True}, "'select' must be one of 'auto', 'none'. Got True"),
        ({"swap_noise": -0.1}, "'swap_noise' must be a number from 0 to 1. Got -0.1"),
        ({"swap_noise": 1.1}, "'swap_noise' must be a number from 0 to 1. Got 1.1"),
        ({"swap_noise": "some"}, "'swap_noise' must be a number from 0 to 1. Got 'some'"),
        ({"swap_noise": float("nan")}, "'swap_noise' must be a number from 0 to 1. Got nan"),
        ({"noise_from": 0}, "'noise_from' must be an integer >= 1. Got 0"),
        ({"noise_from": 1.5}, "'noise_from' must be an integer >= 1. Got 1.5"),
        ({"prior_correction": -1}, "'prior_correction' must be a number from 0 to 10. Got -1"),
        ({"prior_correction": None}, "'prior_correction' must be a number from 0 to 10. Got None"),
        ({"guard": 1}, "'guard' must be True or False. Got 1"),
        ({"guard": None}, "'guard' must be True or False. Got None"),
        ({"second_view": "max"}, "'second_view' must be one of 'half', .* Got 'max'"),
        ({"second_view": MinMaxScaler}, r"Got the class MinMaxScaler: write MinMaxScaler\(\)"),
        ({"epochs": 0}, "'epochs' must be an integer >= 1. Got 0"),
        ({"n_networks": 1}, "'n_networks' must be an integer >= 2, .* Got 1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [quick_mix, quick_single])
def test_bad_parameters_are_refused_in_fit(make, parameters, message):
    with pytest.raises(ParameterError, match=message):
        make(**parameters).fit(X, Y)


@pytest.mark.parametrize("number", [np.float16, np.float32, np.int64, Fraction])
def test_numbers_may_be_of_any_type(number):
    parts = {"swap_noise": 1, "prior_correction": 1}
    expected = quick_single(**parts).fit(X, Y)
    found = quick_single(**{name: number(value) for name, value in parts.items()}).fit(X, Y)
    assert_same_bits(found, expected)


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"decay": 0.5}, "decay=0.5"),
        ({"ramp_epochs": 10}, "ramp_epochs=10"),
        ({"second_view": "quantile"}, "second_view='quantile'"),
        ({"second_view": MinMaxScaler()}, r"second_view=MinMaxScaler\(\)"),
        ({"swap_noise": 0.1}, "swap_noise=0.1"),
        ({"noise_from": 2}, "noise_from=2"),
        ({"prior_correction": 0.5}, "prior_correction=0.5"),
    ],
    ids=str,
)
def test_what_the_data_decide_is_not_decided_twice(parameters, shown):
    (name,) = parameters
    message = f"select='auto' decides '{name}'. Got {shown}: leave it out, or say select='none'"
    with pytest.raises(ParameterError, match=message):
        quick_mix(**parameters).fit(X, Y)
    quick_single(**parameters, epochs=2, guard=False)._check_parameters()


@pytest.mark.parametrize(
    "parameters",
    [{"ramp_epochs": 100, "scaling": "half", "second_view": None}, {"swap_noise": 0}],
    ids=str,
)
def test_what_is_said_as_it_is_anyway_is_allowed(mix, parameters):
    found = quick_mix(**parameters).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(found, mix.predict_proba(X))


def test_early_stopping_is_for_one_training():
    message = "'early_stopping' follows one training, and select='auto' runs several"
    with pytest.raises(ParameterError, match=message):
        quick_mix(validation=0.2, early_stopping=3).fit(X, Y)
    stopped = quick_single(validation=(X, np.ones((60, 3), bool)), early_stopping=2).fit(X, Y)
    assert stopped.history_.n_epochs == 3


@pytest.mark.parametrize(
    "random_state", [None, np.random.default_rng(0), np.random.SeedSequence(0)], ids=type
)
def test_a_checkpoint_of_a_mix_needs_an_integer_as_seed(tmp_path, random_state):
    message = "'checkpoint' with select='auto' needs an integer as 'random_state'"
    with pytest.raises(ParameterError, match=message):
        quick_mix(checkpoint=tmp_path / "run", random_state=random_state).fit(X, Y)
    assert not list(tmp_path.iterdir())


def test_a_mix_warns_of_no_ramp():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick_mix(epochs=1).fit(X, Y)


def test_a_ramp_of_ones_own_that_is_too_long_is_warned_of():
    with pytest.warns(UserWarning, match="Training ends after 12 epochs") as caught:
        quick_single(ramp_epochs=13).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]


def test_it_has_all_parameters_of_ncpd_and_its_own_size_and_pace():
    ours, theirs = NCPDPlusClassifier().get_params(), NCPDClassifier().get_params()
    others = {name for name, value in theirs.items() if ours[name] != value}
    assert others == {"dropout", "epochs", "hidden", "learning_rate"}
    assert set(ours) - set(theirs) == {
        "select", "second_view", "swap_noise", "noise_from", "prior_correction", "guard",
        "miss_rate",
    }  # fmt: skip


def test_a_copy_has_the_same_parameters():
    method = quick_single(swap_noise=0.3, noise_from=4, prior_correction=0.2, guard=False)
    assert clone(method).get_params() == method.get_params()


def test_one_configuration_is_trained_as_long_as_ncpd_unless_somebody_says_otherwise():
    fitted = quick_single(epochs=None, hidden=2, ramp_epochs=100).fit(X[:8], Y[:8])
    assert fitted.history_.n_epochs == NCPDClassifier().epochs == 200
