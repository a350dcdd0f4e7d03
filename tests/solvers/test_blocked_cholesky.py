import numpy as np
import pytest
from scipy.linalg import LinAlgError

from disambig.solvers import kernel_ridge as blocked_cholesky
from disambig.solvers.kernel_ridge import cholesky_in_place


def definite(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + np.eye(size)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 23])
def test_blocks_make_the_factor_of_numpy(size, monkeypatch):
    monkeypatch.setattr(blocked_cholesky, "_ROWS_IN_A_BLOCK", 4)
    matrix = definite(size)
    expected = np.linalg.cholesky(matrix)
    cholesky_in_place(matrix)
    np.testing.assert_allclose(np.tril(matrix), expected, rtol=1e-10, atol=1e-10)


def test_several_blocks_of_the_usual_size():
    size = 2 * blocked_cholesky._ROWS_IN_A_BLOCK + 100
    half = np.full((size, size), 0.5)
    half.flat[:: size + 1] = 2
    factor = half.copy()
    cholesky_in_place(factor)
    lower = np.tril(factor)
    np.testing.assert_allclose(lower @ lower.T, half, atol=1e-11)


def test_single_precision_stays_single():
    matrix = definite(30).astype(np.float32)
    expected = np.linalg.cholesky(matrix)
    cholesky_in_place(matrix)
    assert matrix.dtype == np.float32
    np.testing.assert_allclose(np.tril(matrix), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wrong", [0, 3, 9])  # in the first block, and in later ones
def test_an_indefinite_array_is_refused(wrong, monkeypatch):
    monkeypatch.setattr(blocked_cholesky, "_ROWS_IN_A_BLOCK", 4)
    matrix = np.eye(10)
    matrix[wrong, wrong] = -1
    with pytest.raises(LinAlgError):
        cholesky_in_place(matrix)
