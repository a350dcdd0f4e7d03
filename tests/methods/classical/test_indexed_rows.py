"""The methods that look up neighbours keep rows, and make the index of them again."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from disambig.methods import IPAL, PLKNN
from methods.classical.problems import random_problem

X, SETS, GENERATOR = random_problem(0)
NEW = GENERATOR.normal(size=(30, 3))
METHODS = [PLKNN(n_neighbors=5), IPAL(n_neighbors=5)]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("method", METHODS, ids=["plknn", "ipal"])
def test_a_copy_predicts_the_same_bits(method, copied):
    method = clone(method).fit(X, SETS)
    np.testing.assert_array_equal(copied(method).predict_proba(NEW), method.predict_proba(NEW))


@pytest.mark.parametrize("method", METHODS, ids=["plknn", "ipal"])
def test_no_tree_is_in_the_state_and_the_method_keeps_its_own(method):
    method = clone(method).fit(X, SETS)
    assert b"KDTree" not in pickle.dumps(method)
    assert "_index" not in method.__getstate__()
    assert method._index.n_samples_fit_ == len(X)


def test_rows_that_are_sparse_are_indexed_again():
    method = PLKNN(n_neighbors=5).fit(sparse.csr_array(X), SETS)
    copied = pickle.loads(pickle.dumps(method))
    np.testing.assert_array_equal(copied.predict_proba(NEW), method.predict_proba(NEW))


def test_a_method_that_is_not_fitted_has_nothing_to_index():
    assert pickle.loads(pickle.dumps(PLKNN(n_neighbors=3))).n_neighbors == 3
