"""However features are stored, methods learn the same from them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer

from disambig.datasets import make_partial_label_dataset
from methods.instances import INSTANCES

DATA = make_partial_label_dataset(80, 6, 3, average_candidates=1.7, overlap=0.4, random_state=0)
X = np.where(np.abs(DATA.X) > 0.3, DATA.X, 0)
TAKING_SPARSE = [name for name, method in INSTANCES.items() if method.accepts_sparse]


def as_usual():
    return sparse.csr_array(X)


def with_long_indices():
    usual = as_usual()
    usual.indices, usual.indptr = (part.astype(np.int64) for part in (usual.indices, usual.indptr))
    return usual


def with_every_entry_in_two_halves():
    usual = as_usual()
    return sparse.csr_array(
        (np.repeat(usual.data / 2, 2), np.repeat(usual.indices, 2), 2 * usual.indptr), usual.shape
    )


def test_six_methods_and_the_references_take_sparse_features():
    assert {"clpl", "em", "lsbcmm", "m3pl", "plknn", "plsvm", "oracle"} <= set(TAKING_SPARSE)


@pytest.mark.parametrize("stored", [with_long_indices, with_every_entry_in_two_halves])
@pytest.mark.parametrize("name", [name for name in TAKING_SPARSE if INSTANCES[name].card.paper])
def test_how_entries_are_stored_does_not_matter(name, stored):
    method, features = clone(INSTANCES[name]), stored()
    expected = method.fit(as_usual(), DATA.candidates).predict_proba(as_usual())
    before = features.copy()
    found = method.fit(features, DATA.candidates).predict_proba(features)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert features.nnz == before.nnz  # what came is left as it was
    np.testing.assert_array_equal(features.data, before.data)


@pytest.mark.parametrize("name", ["aggd", "ipal", "sure"])
def test_a_scaler_that_makes_features_sparse_serves_dense_methods(name):
    bins = KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")
    found, expected = (
        clone(INSTANCES[name])
        .set_params(scaling=clone(bins).set_params(encode=encode))
        .fit(DATA.X, DATA.candidates)
        .predict_proba(DATA.X)
        for encode in ("onehot", "onehot-dense")
    )
    np.testing.assert_allclose(found, expected)
