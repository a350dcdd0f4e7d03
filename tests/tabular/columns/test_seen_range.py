import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils.estimator_checks import check_estimator

from disambig.tabular.columns.transformer import SeenRange


def test_a_value_further_out_than_any_that_was_seen_counts_as_the_furthest():
    seen = SeenRange().fit([[1.0, -3.0], [2.0, -3.0]])
    assert_array_equal(seen.transform([[5, 8], [1.5, -3], [0, -9]]), [[2, -3], [1.5, -3], [1, -3]])


def test_what_was_seen_stays_as_it_is():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert_array_equal(SeenRange().fit_transform(X), X)


@pytest.mark.filterwarnings("ignore")
def test_it_is_an_estimator_like_any_other():
    check_estimator(SeenRange())
