import dataclasses

import pytest

from disambig import NCPDPlusClassifier
from disambig._core.errors import ParameterError
from disambig.methods.ncpd_plus.selection import CONFIGURATIONS, Configuration
from methods.ncpd.examples import X, Y
from methods.ncpd_plus.plus_examples import quick_mix

every_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)


@every_configuration
@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 40, 100, 200])
def test_a_ramp_ends_before_the_training_does(name, epochs):
    found = CONFIGURATIONS[name].parameters(epochs)
    assert 1 <= found["ramp_epochs"] <= found["epochs"] <= epochs


def test_parameters_by_hand():
    configuration = Configuration(0.3, 0.1, "standard", "quantile", 0.5, prior_correction=0.7)
    assert configuration.parameters(40) == {
        "epochs": 20,
        "scaling": "standard",
        "second_view": "quantile",
        "swap_noise": 0.3,
        "prior_correction": 0.7,
        "ramp_epochs": 4,
    }


@every_configuration
def test_a_classifier_takes_all_that_a_configuration_says(name):
    method = NCPDPlusClassifier(select="none", **CONFIGURATIONS[name].parameters(10))
    assert method.fit(X[:4], Y[:4]).history_.n_epochs <= 10


def test_whatever_a_configuration_says_is_not_for_the_user_to_say():
    said = CONFIGURATIONS["noisy_views"].parameters(200)
    others = {**said, "scaling": "standard"}
    del others["epochs"]
    for name, value in others.items():
        with pytest.raises(ParameterError, match=f"select='auto' decides '{name}'"):
            quick_mix(**{name: value}).fit(X, Y)


def test_they_are_different_in_kind_and_cannot_be_changed():
    all_parameters = [CONFIGURATIONS[name].parameters(200) for name in CONFIGURATIONS]
    assert all(all_parameters.count(own) == 1 for own in all_parameters)
    with pytest.raises(dataclasses.FrozenInstanceError):
        CONFIGURATIONS["plain"].swap_noise = 0.5
