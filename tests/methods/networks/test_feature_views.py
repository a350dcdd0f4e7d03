import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from disambig.methods.networks.plan import FeatureViews
from disambig.methods.scaling import FeatureScaler
from methods.ncpd.examples import NEW_X, X

KINDS = ("half", "standard", "global", "quantile", "none")


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_views_stand_side_by_side(first, second):
    views = FeatureViews.fitted([first, second], X)
    expected = [FeatureScaler(kind).fit(X).transform(NEW_X) for kind in (first, second)]
    np.testing.assert_array_equal(views.transform(NEW_X), np.hstack(expected))
    assert views.n_features_in_ == 4


@pytest.mark.parametrize("kinds", [("half", "quantile"), ("quantile", "quantile"), KINDS], ids=str)
def test_arrays_are_all_that_was_learned(kinds):
    views = FeatureViews.fitted(kinds, X)
    rebuilt = FeatureViews.from_arrays(kinds, views.to_arrays())
    np.testing.assert_array_equal(rebuilt.transform(NEW_X), views.transform(NEW_X))
    assert rebuilt.n_features_in_ == 4


def test_more_than_ten_views_keep_their_arrays_apart():
    kinds = ["half", "standard"] * 6
    views = FeatureViews.fitted(kinds, X)
    rebuilt = FeatureViews.from_arrays(kinds, views.to_arrays())
    np.testing.assert_array_equal(rebuilt.transform(NEW_X), views.transform(NEW_X))


def test_a_view_may_be_a_transformer_which_is_left_as_it_is():
    transformer = MinMaxScaler()
    views = FeatureViews.fitted(["half", transformer], X)
    expected = MinMaxScaler().fit(X).transform(NEW_X)
    np.testing.assert_allclose(views.transform(NEW_X)[:, 4:], expected)
    assert not hasattr(transformer, "scale_")


def test_views_of_other_features_do_not_go_together():
    views = FeatureViews([FeatureScaler("half").fit(X), FeatureScaler("half").fit(X[:, :3])])
    with pytest.raises(ValueError, match=r"all views need the same features, .* \[3, 4\]"):
        _ = views.n_features_in_
