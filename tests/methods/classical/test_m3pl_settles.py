"""M3PL settles on the same labels in every order of the rows."""

import numpy as np
import pytest

from disambig import M3PL
from disambig.datasets import make_partial_label_dataset


def overlapping(seed):
    return make_partial_label_dataset(
        160, 6, 5, average_candidates=2.5, overlap=0.7, random_state=seed
    )


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_the_order_of_rows_does_not_matter_where_classes_overlap(seed):
    data = overlapping(seed)
    order = np.random.default_rng(seed).permutation(len(data.X))
    expected = M3PL().fit(data.X, data.candidates).predict_proba(data.X)
    found = M3PL().fit(data.X[order], data.candidates[order]).predict_proba(data.X)
    np.testing.assert_allclose(found, expected, atol=2e-3)
