"""Groups reach ``fit`` through what scikit-learn offers: folds, splits, pipelines, routing."""

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from disambig import PLKNN
from disambig.candidates import Promise
from disambig.datasets import make_photo_dataset
from disambig.methods.base import MethodCard
from disambig.metrics import covering_rate


class Listening(PLKNN):
    """Keeps the candidate sets of every fit in a list that all its copies share."""

    card: ClassVar[MethodCard] = MethodCard(name="listening", title="Keeps its sets")
    heard: ClassVar[list] = []

    def _fit(self, X, candidates):
        self.heard.append(candidates)
        return super()._fit(X, candidates)


@pytest.fixture
def heard():
    Listening.heard.clear()
    return Listening.heard


@pytest.fixture(scope="module")
def photos():
    return make_photo_dataset(20, 5, 4, promise="exclusive", random_state=0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def pieces(groups):
    """Return which rows come together, whatever numbers their groups have."""
    return {tuple(np.flatnonzero(groups == group).tolist()) for group in np.unique(groups)}


def assert_heard(heard, groups, folds, promise):
    """Check that every fit got the groups of its training rows."""
    assert len(heard) == len(folds)
    for sets, (train, _) in zip(heard, folds, strict=True):
        assert pieces(sets.groups) == pieces(groups[train])
        assert sets.promise == promise


def test_cross_val_score_deals_whole_groups_and_hands_them_on(photos, heard):
    X, y = photos.X, photos.candidates
    scores = cross_val_score(Listening(), X, y, groups=y.groups, cv=GroupKFold(4))
    assert np.isfinite(scores).all()
    folds = list(GroupKFold(4).split(X, groups=y.groups))
    assert_heard(heard, y.groups, folds, Promise("exclusive"))


def test_train_test_split_keeps_the_groups_of_rows(photos):
    y = photos.candidates
    rows = np.arange(len(y))
    y_train, y_test, train, test = train_test_split(y, rows, random_state=0)
    for part, numbers in ((y_train, train), (y_test, test)):
        np.testing.assert_array_equal(part.groups, y.groups[numbers])
        assert part.promise == Promise("exclusive")


def test_a_pipeline_hands_the_groups_of_its_sets_on(photos, heard):
    make_pipeline(StandardScaler(), Listening()).fit(photos.X, photos.candidates)
    (sets,) = heard
    np.testing.assert_array_equal(sets.groups, photos.candidates.groups)
    assert sets.promise == Promise("exclusive")


def test_groups_that_are_routed_to_fit_join_the_promise_of_the_sets(photos, heard, routing):
    X, y = photos.X, photos.candidates
    # Other groups than those of y, so that it is seen which of them arrive.
    groups = y.groups // 2
    method = Listening().set_fit_request(groups=True)
    cross_validate(method, X, y, params={"groups": groups}, cv=GroupKFold(4))
    folds = list(GroupKFold(4).split(X, groups=groups))
    assert_heard(heard, groups, folds, Promise("exclusive"))


def test_groups_are_routed_through_a_pipeline(photos, heard, routing):
    X, y = photos.X, photos.candidates.with_groups(None)
    groups = photos.candidates.groups
    steps = make_pipeline(StandardScaler(), Listening().set_fit_request(groups=True))
    # With routing, score of a pipeline asks its last step for a sample_weight.
    found = cross_validate(steps, X, y, params={"groups": groups}, cv=GroupKFold(4))
    folds = list(GroupKFold(4).split(X, groups=groups))
    plain = make_pipeline(StandardScaler(), PLKNN())
    expected = [
        covering_rate(y[test], plain.fit(X[train], y[train]).predict(X[test]))
        for train, test in folds
    ]
    np.testing.assert_allclose(found["test_score"], expected)
    assert_heard(heard, groups, folds, None)


def test_groups_that_are_not_asked_for_are_not_routed(photos, heard, routing):
    X, y = photos.X, photos.candidates.with_groups(None)
    method = Listening().set_fit_request(groups=False)
    groups = photos.candidates.groups
    cross_validate(method, X, y, params={"groups": groups}, cv=GroupKFold(4))
    assert [sets.groups for sets in heard] == [None] * 4


def test_a_grid_search_by_groups_finds_what_a_loop_finds(photos, routing):
    X, y = photos.X, photos.candidates
    method = PLKNN().set_fit_request(groups=True)
    grid = GridSearchCV(method, {"n_neighbors": [1, 5, 20]}, cv=GroupKFold(3), refit=False)
    grid.fit(X, y, groups=y.groups)
    expected = [
        np.mean(
            [
                PLKNN(n_neighbors=number).fit(X[train], y[train]).score(X[test], y[test])
                for train, test in GroupKFold(3).split(X, groups=y.groups)
            ]
        )
        for number in (1, 5, 20)
    ]
    np.testing.assert_allclose(grid.cv_results_["mean_test_score"], expected)
