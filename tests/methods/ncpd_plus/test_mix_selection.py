"""The configurations of a mix, and how they are weighed."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from disambig import CandidateLabels, NCPDPlusClassifier
from disambig._core.errors import ParameterError
from disambig.methods.ncpd_plus.members import Pace
from disambig.methods.ncpd_plus.selection import (
    CONFIGURATIONS,
    Configuration,
    ConfigurationScore,
    Selection,
    compare,
    mixture_weights,
)
from disambig.metrics import approximated_accuracy, covering_rate
from methods.ncpd.examples import X, Y
from methods.ncpd_plus.plus_examples import quick_mix

# ---- configurations


every_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)


@every_configuration
@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 40, 100, 200])
def test_a_ramp_ends_before_configurations_are_compared(name, epochs):
    assert 1 <= CONFIGURATIONS[name].parameters(epochs)["ramp_epochs"] <= epochs


def test_parameters_by_hand():
    configuration = Configuration(0.3, 0.1, "quantile", prior_correction=0.7)
    assert configuration.parameters(40) == {
        "second_view": "quantile",
        "swap_noise": 0.3,
        "prior_correction": 0.7,
        "ramp_epochs": 4,
    }


@every_configuration
def test_a_classifier_takes_all_that_a_configuration_says(name):
    parameters = CONFIGURATIONS[name].parameters(5)
    method = NCPDPlusClassifier(select="none", epochs=5, **parameters)
    assert method.fit(X[:4], Y[:4]).history_.n_epochs == 5


def test_whatever_a_configuration_says_is_not_for_the_user_to_say():
    for name, value in CONFIGURATIONS["noisy_views"].parameters(200).items():
        with pytest.raises(ParameterError, match=f"select='auto' decides '{name}'"):
            quick_mix(**{name: value}).fit(X, Y)


def test_they_are_different_in_kind_and_cannot_be_changed():
    all_parameters = [CONFIGURATIONS[name].parameters(200) for name in CONFIGURATIONS]
    assert all(all_parameters.count(own) == 1 for own in all_parameters)
    with pytest.raises(dataclasses.FrozenInstanceError):
        CONFIGURATIONS["plain"].swap_noise = 0.5


# ---- mixture weights


def random_masses(seed, n_models=3, n_rows=80):
    return np.random.default_rng(seed).beta(2, 1, size=(n_models, n_rows))


def log_likelihood(weights, masses, pseudo_rows):
    return np.log(weights @ masses).sum() + pseudo_rows * np.log(weights).sum()


@pytest.mark.parametrize("pseudo_rows", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("seed", range(4))
def test_weights_maximise_the_likelihood(seed, pseudo_rows):
    masses = random_masses(seed, n_models=2 + seed)
    best = minimize(
        lambda free: -log_likelihood(softmax(free), masses, pseudo_rows), np.zeros(len(masses))
    )
    found = mixture_weights(masses, pseudo_rows)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, softmax(best.x), atol=2e-3)
    assert log_likelihood(found, masses, pseudo_rows) == pytest.approx(-best.fun, abs=1e-3)


def test_a_model_that_is_clearly_better_gets_nearly_all():
    masses = np.array([np.full(500, 0.9), np.full(500, 0.2), np.full(500, 0.1)])
    weights = mixture_weights(masses, 2.0)
    assert weights[0] > 0.97
    assert weights[1] >= weights[2] > 0


def test_equal_models_weigh_the_same():
    masses = np.tile(random_masses(0, 1), (4, 1))
    np.testing.assert_allclose(mixture_weights(masses, 2.0), 0.25)


def test_models_that_complement_each_other_share_by_the_rows_they_explain():
    # The first explains 30 rows and the second 10: three to one.
    masses = np.full((2, 40), 1e-9)
    masses[0, :30] = masses[1, 30:] = 0.8
    np.testing.assert_allclose(mixture_weights(masses, 0.0), [0.75, 0.25], atol=1e-4)


def test_pseudo_rows_pull_to_equal_weights():
    masses = np.array([np.full(20, 0.9), np.full(20, 0.3)])
    found = [mixture_weights(masses, pseudo_rows)[0] for pseudo_rows in (0.1, 1, 10, 1000)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.98
    assert found[-1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("pseudo_rows", [0.0, 2.0])
def test_masses_of_zero_are_harmless(pseudo_rows):
    masses = random_masses(0)
    masses[:, 0] = 0  # a row that nobody explains
    masses[0, 1] = 0
    masses[2] = 0  # a model that explains nothing
    weights = mixture_weights(masses, pseudo_rows)
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)
    assert weights[2] == pytest.approx(pseudo_rows / (80 + 3 * pseudo_rows), abs=0.01)


def test_one_row_that_a_model_calls_impossible_does_not_decide_alone():
    masses = np.array([np.full(200, 0.9), np.full(200, 0.3)])
    masses[0, 0] = 0
    assert mixture_weights(masses, 2.0)[0] > 0.9


def test_masses_are_left_as_they_are():
    masses = np.zeros((2, 3))
    mixture_weights(masses, 1.0)
    assert not masses.any()


# ---- mix selection


def score(weight, log_mass=-1.0):
    return ConfigurationScore(weight, log_mass, covering_rate=0.5, approximated_accuracy=0.75)


def sets_and_probabilities(n_rows=60, n_classes=4):
    """Sets of two, and three models: one that knows, one that half knows, one that does not."""
    generator = np.random.default_rng(0)
    mask = np.zeros((n_rows, n_classes), dtype=bool)
    for row in mask:
        row[generator.choice(n_classes, 2, replace=False)] = True
    candidates = CandidateLabels.from_mask(mask, ["ant", "bee", "cow", "dog"])
    guess = generator.dirichlet(np.ones(n_classes), size=n_rows)
    said = {f"knows {share}": share * mask / 2 + (1 - share) * guess for share in (0.9, 0.5, 0.0)}
    return candidates, said


# Selection ---------------------------------------------------------------------------------------


def test_the_heaviest_comes_first():
    selection = Selection({"a": score(0.2), "b": score(0.7), "c": score(0.1)})
    assert list(selection) == ["b", "a", "c"]
    assert (selection.choice, selection.runner_up) == ("b", "a")
    assert len(selection) == 3
    assert selection["c"].weight == 0.1


def test_of_equal_weights_the_larger_mass_comes_first():
    selection = Selection(
        {"a": score(0.0, -3), "b": score(0.0, -2), "c": score(1.0, -9), "d": score(0.0, -2.5)}
    )
    assert list(selection) == ["c", "b", "d", "a"]


def test_weights_are_those_of_the_mix_only():
    selection = Selection({"a": score(0.0), "b": score(0.25), "c": score(0.75)})
    assert selection.weights == {"c": 0.75, "b": 0.25}
    assert list(selection.weights) == ["c", "b"]


def test_it_is_printed_as_a_table():
    selection = Selection(
        {
            "plain": ConfigurationScore(0.25, -0.5, 0.875, 0.6),
            "noisy_views": ConfigurationScore(0.75, -0.0625, 1.0, 0.8123),
        }
    )
    assert str(selection).splitlines() == [
        "             weight  log mass  covered  approx. acc.",
        "noisy_views    0.75    -0.062    1.000         0.812",
        "plain          0.25    -0.500    0.875         0.600",
    ]


# What it follows from ----------------------------------------------------------------------------


def test_what_says_most_of_the_sets_weighs_most():
    selection = compare(*sets_and_probabilities())
    assert selection.choice == "knows 0.9"
    assert selection.runner_up == "knows 0.5"
    masses = [selection[name].log_mass for name in selection]
    assert masses == sorted(masses, reverse=True)


def test_scores_are_those_of_the_metrics():
    candidates, said = sets_and_probabilities()
    selection = compare(candidates, said)
    assert set(selection) == set(said)
    mask = candidates.to_mask()
    for name, probabilities in said.items():
        inside = (probabilities * mask).sum(axis=1)
        found = selection[name]
        assert found.log_mass == pytest.approx(np.log(inside).mean())
        predicted = candidates.classes[probabilities.argmax(axis=1)]
        assert found.covering_rate == covering_rate(candidates, predicted)
        assert found.approximated_accuracy == approximated_accuracy(candidates, probabilities)


def test_weights_sum_to_one_and_small_ones_are_dropped():
    candidates, said = sets_and_probabilities()
    mask = candidates.to_mask()
    masses = np.array([(own * mask).sum(axis=1) for own in said.values()])
    raw = mixture_weights(masses, 2.0)
    assert raw[2] < 0.2 < raw[0]
    kept = np.where(raw < 0.2, 0, raw)
    selection = compare(candidates, said)
    found = [selection[name].weight for name in said]
    np.testing.assert_allclose(found, kept / kept.sum(), rtol=1e-9)
    assert sum(selection.weights.values()) == pytest.approx(1)
    assert "knows 0.0" not in selection.weights


def test_where_nobody_knows_more_all_weigh_the_same():
    candidates, said = sets_and_probabilities()
    same = dict.fromkeys("abc", said["knows 0.5"])
    assert compare(candidates, same).weights == pytest.approx(dict.fromkeys("abc", 1 / 3))


def test_a_model_that_is_certain_and_wrong_is_harmless():
    candidates, said = sets_and_probabilities()
    wrong = np.where(candidates.to_mask(), 0.0, 0.5)
    selection = compare(candidates, {"wrong": wrong, **said})
    assert np.isfinite([own.log_mass for own in selection.values()]).all()
    assert "wrong" not in selection.weights
    assert selection["wrong"].covering_rate == 0


def test_what_is_left_out_weighs_nothing_and_is_still_scored():
    candidates, said = sets_and_probabilities()
    whole = compare(candidates, said)
    found = compare(candidates, said, left_out=["knows 0.9"])
    assert found.choice == "knows 0.5"
    assert "knows 0.9" not in found.weights
    assert found["knows 0.9"].log_mass == whole["knows 0.9"].log_mass
    others = {name: own for name, own in said.items() if name != "knows 0.9"}
    assert found.weights == compare(candidates, others).weights
    assert compare(candidates, said, left_out=list(said)).weights == {}


def test_without_some_the_others_share_their_weight():
    scores = {
        name: ConfigurationScore(weight, -1.0, 0.5, 0.5)
        for name, weight in {"a": 0.5, "b": 0.3, "c": 0.2}.items()
    }
    selection = Selection(scores)
    assert selection.without([]).weights == selection.weights
    assert selection.without(["a"]).weights == pytest.approx({"b": 0.6, "c": 0.4})
    assert list(selection.without(["a"])) == ["b", "c", "a"]
    assert selection.without(["a", "b", "c"]).weights == {}
    replaced = selection.replaced_by("d")
    assert replaced.weights == {"d": 1.0}
    assert next(iter(replaced)) == replaced.choice == "d"
    assert set(replaced) == {"a", "b", "c", "d"}


# ---- pace


@pytest.mark.parametrize(
    ("epochs", "scouting", "by_members"),
    [
        (None, 30, (140, 112, 85)),
        (200, 70, (200, 200, 200)),
        (12, 4, (12, 12, 12)),
        (1, 1, (1, 1, 1)),
    ],
)
def test_pace_by_hand(epochs, scouting, by_members):
    pace = Pace.of(epochs)
    assert pace.scouting == scouting
    assert tuple(pace.epochs(count) for count in (1, 2, 3)) == by_members
