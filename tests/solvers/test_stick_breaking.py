import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import expit

from disambig.solvers.stick_breaking import even_gates, gate_loss, shares_of_gates


def test_gates_by_hand():
    # The first takes a quarter, the second two thirds of the rest, the last what is left.
    np.testing.assert_allclose(shares_of_gates(np.log([[1 / 3, 2.0]])), [[1 / 4, 1 / 2, 1 / 4]])


@given(st.integers(0, 1000), st.integers(1, 6))
def test_gates_agree_with_a_product_and_sum_to_one(seed, n_components):
    scores = np.random.default_rng(seed).normal(0, 3, (5, n_components - 1))
    taken = np.column_stack([expit(scores), np.ones(5)])
    left = np.column_stack([np.ones(5), np.cumprod(1 - expit(scores), axis=1)])
    np.testing.assert_allclose(shares_of_gates(scores), taken * left, atol=1e-14)
    np.testing.assert_allclose(shares_of_gates(scores).sum(axis=1), 1)


def test_gates_stand_scores_of_any_size():
    shares = shares_of_gates(np.array([[1e4, -1e4], [-1e4, 1e4], [-1e4, -1e4]]))
    assert shares.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    loss, slope = gate_loss(shares)(np.array([[1e4, -1e4], [-1e4, 1e4], [-1e4, 1e4]]))
    assert loss == 1e4
    assert slope.tolist() == [[0, 0], [0, 0], [0, 1]]


def test_gates_begin_with_equal_shares():
    shares = shares_of_gates(even_gates(2, 5).scores(np.array([[3.0, -1.0]])))
    np.testing.assert_allclose(shares, np.full((1, 5), 0.2))


@given(st.integers(0, 1000))
def test_the_loss_of_the_gates_is_the_cross_entropy_of_their_shares(seed):
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.ones(4), 6)
    scores = generator.normal(size=(6, 3))
    loss_of_scores = gate_loss(shares)
    loss, _ = loss_of_scores(scores)
    assert loss == pytest.approx(-np.sum(shares * np.log(shares_of_gates(scores))))

    def flat_loss(flat):
        return loss_of_scores(flat.reshape(6, 3))[0]

    def flat_slope(flat):
        return loss_of_scores(flat.reshape(6, 3))[1].ravel()

    assert check_grad(flat_loss, flat_slope, scores.ravel()) < 1e-5
