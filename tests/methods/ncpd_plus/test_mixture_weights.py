import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from disambig.methods.ncpd_plus.selection import mixture_weights


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
