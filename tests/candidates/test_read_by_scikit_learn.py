"""scikit-learn may hand candidate sets on, and not read them as labels that are all right."""

import types

import numpy as np
import pytest
from sklearn import metrics
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
    check_cv,
    cross_val_score,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import resample
from sklearn.utils.multiclass import type_of_target

from disambig import CandidateLabels
from disambig._core.errors import CandidateError

MASK = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]] * 3, dtype=bool)
X = np.arange(24.0).reshape(12, 2)


@pytest.fixture
def sets():
    return CandidateLabels.from_mask(MASK)


def test_everybody_else_reads_a_mask(sets):
    np.testing.assert_array_equal(np.asarray(sets), MASK)
    np.testing.assert_array_equal(np.unique(sets, axis=0), np.unique(MASK, axis=0))
    np.testing.assert_array_equal(np.mean(sets, axis=0), MASK.mean(axis=0))


def test_rows_are_handed_on(sets):
    assert isinstance(check_cv(3, sets, classifier=True), KFold)
    assert len(resample(sets, n_samples=5, random_state=0)) == 5
    train, test = train_test_split(sets, stratify=sets, test_size=4, random_state=0)
    assert {frozenset(row) for row in test} == {frozenset(row) for row in sets}
    assert len(train) == 8
    StandardScaler().fit(X, sets)


@pytest.mark.parametrize(
    ("action", "name", "advice"),
    [
        (lambda y: metrics.accuracy_score(y, [0] * 12), "accuracy_score", "covering_rate_scorer"),
        (lambda y: metrics.log_loss(y, MASK / 2), "log_loss", "set_log_likelihood_scorer"),
        (lambda y: metrics.roc_auc_score(y, MASK / 2), "roc_auc_score", "approximated_accuracy"),
        (lambda y: RandomForestClassifier(2).fit(X, y), "RandomForestClassifier", "average their"),
        (lambda y: DecisionTreeClassifier().fit(X, y), "DecisionTreeClassifier", "disambiguate()"),
        (
            lambda y: OneVsRestClassifier(DecisionTreeClassifier()).fit(X, y),
            "OneVsRestClassifier",
            "a method of disambig",
        ),
        (lambda y: list(StratifiedKFold(2).split(X, y)), "StratifiedKFold", "Use KFold"),
        (lambda y: LabelEncoder().fit(y), "LabelEncoder", "disambiguate()"),
        (type_of_target, "type_of_target", "disambiguate()"),
    ],
)  # fmt: skip
def test_what_reads_them_as_labels_is_refused_by_name_with_what_to_do(sets, action, name, advice):
    with pytest.raises(CandidateError) as caught:
        action(sets)
    message = str(caught.value)
    assert message.startswith(f"{name} of scikit-learn would take all candidates of a row")
    assert advice in message


def test_what_users_compute_in_a_scorer_is_their_own(sets):
    def share_of_pairs(estimator, X, y):
        return np.asarray(y).sum() / len(estimator.classes_) / len(X)

    class Model(KNeighborsClassifier):
        def fit(self, X, y):
            return super().fit(X, np.asarray(y).argmax(axis=1))

    scores = cross_val_score(
        Model(1), X, sets, cv=KFold(3), scoring=share_of_pairs, error_score="raise"
    )
    np.testing.assert_allclose(scores, [7 / 8] * 3)


def test_a_caller_without_a_name_is_refused_too(sets):
    module = types.ModuleType("sklearn.somewhere")
    exec("def _private(y): return asarray(y)", module.__dict__ | (space := {}), space)
    space["_private"].__globals__.update(asarray=np.asarray, __name__="sklearn.somewhere")
    with pytest.raises(CandidateError, match="^A function of scikit-learn would"):
        space["_private"](sets)
