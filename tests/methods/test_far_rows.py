"""Rows whose numbers are too large to compute with, for every method: predicted, or refused."""

import numpy as np
import pytest
from sklearn.base import clone

from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from methods.instances import INSTANCES

LARGEST = np.finfo(float).max
DATA = make_partial_label_dataset(40, 2, 3, overlap=0.2, random_state=0)


def labels_for(name):
    return DATA.true_labels if name == "oracle" else DATA.candidates


@pytest.mark.parametrize("name", INSTANCES)
def test_rows_far_from_all_others_are_predicted(name):
    # By features of size 1e-300, the scaled ones overflow.
    fitted = clone(INSTANCES[name]).fit(DATA.X * [1.0, 1e-300], labels_for(name))
    sizes = np.array([1e20, 1e200, LARGEST])[:, np.newaxis]
    directions = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 1]])[:, np.newaxis, np.newaxis]
    far = (directions * sizes).reshape(-1, 2)
    probabilities = fitted.predict_proba(far)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "name", [name for name, method in INSTANCES.items() if "scaling" in method.get_params()]
)
def test_features_too_large_to_compute_with_are_refused_in_fit(name):
    X = DATA.X.copy()
    X[7, 1] = 1e200
    method = clone(INSTANCES[name]).set_params(scaling="none")
    with pytest.raises(ParameterError, match=r"at most once they are scaled.*row 7"):
        method.fit(X, labels_for(name))


def test_an_integer_larger_than_any_double_is_refused_in_fit_and_in_predict():
    rows = [[10**400, 1.0], [0, 1.0]]
    method = clone(INSTANCES["plknn"])
    with pytest.raises(ParameterError, match=r"numbers below 1.8e308"):
        method.fit(rows, ["a", "b"])
    method.fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    with pytest.raises(ParameterError, match=r"numbers below 1.8e308"):
        method.predict(rows)
