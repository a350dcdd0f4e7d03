"""The same bits on any number of threads, for every method."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from disambig.datasets import make_partial_label_dataset
from methods.instances import INSTANCES


@pytest.fixture(scope="module")
def wide():
    """Return rows of which many are equally near, and products large enough to be shared."""
    made = make_partial_label_dataset(
        1500, 40, 8, average_candidates=2.0, overlap=0.4, random_state=0
    )
    X = made.X.copy()
    X[:, :20] = X[:, :20] > 0
    X[::3] = X[1::3]
    return X, made.candidates, made.true_labels


@pytest.mark.parametrize("name", INSTANCES)
def test_same_bits_on_one_and_on_three_threads(name, wide):
    X, y, truth = wide
    train = slice(0, 1100)  # more than one panel of the kernel methods' factor
    found = []
    for threads in (1, 3):
        with threadpool_limits(limits=threads):
            labels = truth[train] if name == "oracle" else y[train]
            method = clone(INSTANCES[name]).fit(X[train], labels)
            found.append((method.candidate_confidence_.toarray(), method.predict_proba(X)))
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)
