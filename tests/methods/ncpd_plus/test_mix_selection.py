import numpy as np
import pytest

from disambig import CandidateLabels
from disambig.methods.ncpd_plus.selection import (
    ConfigurationScore,
    Selection,
    compare,
    mixture_weights,
)
from disambig.metrics import approximated_accuracy, covering_rate


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
    assert raw[2] < 0.1 < raw[0]
    kept = np.where(raw < 0.1, 0, raw)
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
