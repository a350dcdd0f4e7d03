"""Ordinary classifiers on columns of candidate sets."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from disambig._core.errors import ParameterError
from disambig.methods.ordinary import (
    OrdinaryModel,
    _copies,
    check_estimator,
    refuse_to_save,
    rows_of,
)

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(30, 2))
ROWS = np.repeat(np.arange(30), 2)
COLUMNS = GENERATOR.choice([1, 4, 6], size=60)
WEIGHTS = GENERATOR.uniform(0.1, 2, size=60)


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was fitted to; insists on labels from 0 without gaps, as XGBoost does."""

    def fit(self, X, y):
        assert sorted(set(y)) == list(range(len(set(y))))
        self.X_, self.y_ = X, y
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(set(self.y_))), 1 / len(set(self.y_)))


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_it_is_the_classifier_with_weights_on_repeated_rows(estimator):
    model = OrdinaryModel.train(estimator, X, ROWS, COLUMNS, WEIGHTS)
    plain = estimator or LogisticRegression(max_iter=1000)
    expected = plain.fit(X[ROWS], COLUMNS, sample_weight=WEIGHTS).predict_proba(X)
    found = model.probabilities(X, 8)
    np.testing.assert_allclose(found[:, [1, 4, 6]], expected)
    assert (found[:, [0, 2, 3, 5, 7]] == 0).all()


def test_the_last_step_of_a_pipeline_takes_the_weights():
    model = OrdinaryModel.train(
        make_pipeline(StandardScaler(), GaussianNB()), X, ROWS, COLUMNS, WEIGHTS
    )
    scaled = StandardScaler().fit(X[ROWS]).transform
    expected = GaussianNB().fit(scaled(X[ROWS]), COLUMNS, sample_weight=WEIGHTS)
    np.testing.assert_allclose(
        model.probabilities(X, 7)[:, [1, 4, 6]], expected.predict_proba(scaled(X))
    )


@pytest.mark.parametrize("pipeline", [False, True])
def test_rows_are_copied_for_a_classifier_without_weights(pipeline):
    estimator = make_pipeline(Recorder()) if pipeline else Recorder()
    model = OrdinaryModel.train(
        estimator, X, np.array([5, 6, 7]), np.array([2, 9, 9]), np.array([2.0, 1.0, 1.0])
    ).classifier
    fitted = model[-1] if pipeline else model
    np.testing.assert_array_equal(fitted.X_, X[[5] * 6 + [6] * 3 + [7] * 3])
    assert fitted.y_.tolist() == [0] * 6 + [1] * 6


def test_a_class_without_a_copy_has_no_probability():
    rows, columns = np.array([0, 1, 2]), np.array([0, 1, 3])
    for estimator in (Recorder(), KNeighborsClassifier(1)):
        weights = np.array([1.0, 0.001, 1.0])
        model = OrdinaryModel.train(estimator, X, rows, columns, weights)
        assert model.classes_.tolist() == [0, 3]
        assert (model.probabilities(X, 4)[:, [1, 2]] == 0).all()


def test_numbers_of_copies_are_near_weights():
    copies = _copies(WEIGHTS)
    assert abs(copies - 4 * WEIGHTS / WEIGHTS.mean()).max() <= 1
    assert copies.sum() == 4 * len(WEIGHTS)


def test_without_weights_nothing_is_copied():
    model = OrdinaryModel.train(Recorder(), X, ROWS, COLUMNS)
    assert len(model.classifier.y_) == len(ROWS)


def test_where_there_is_one_label_no_classifier_is_asked():
    model = OrdinaryModel.train(Recorder(), X, np.arange(30), np.full(30, 2))
    assert not hasattr(model.classifier, "X_")
    np.testing.assert_array_equal(model.probabilities(X, 4), np.tile([0, 0, 1, 0], (30, 1)))
    again = OrdinaryModel.from_arrays(model.coef_, model.intercept_, model.classes_)
    np.testing.assert_array_equal(again.probabilities(X, 4), model.probabilities(X, 4))


@pytest.mark.parametrize("columns", [COLUMNS, np.where(COLUMNS > 4, 4, COLUMNS)])
def test_logistic_regression_comes_back_from_its_arrays(columns):
    model = OrdinaryModel.train(None, X, ROWS, columns, WEIGHTS)
    again = OrdinaryModel.from_arrays(model.coef_, model.intercept_, model.classes_)
    np.testing.assert_array_equal(again.probabilities(X, 7), model.probabilities(X, 7))


def test_seeds_go_wherever_nobody_has_set_one():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3))
    for estimator in (pipeline, RandomForestClassifier(3)):
        one, same, other = (
            OrdinaryModel.train(estimator, X, ROWS, COLUMNS, WEIGHTS, seed).probabilities(X, 7)
            for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()
    seeded = OrdinaryModel.train(
        RandomForestClassifier(3, random_state=9), X, ROWS, COLUMNS, seed=1
    )
    assert seeded.classifier.random_state == 9
    assert pipeline[-1].random_state is None  # a copy was seeded


def test_some_rows_of_anything():
    rows = np.array([2, 0, 2])
    np.testing.assert_array_equal(rows_of(X, rows), X[rows])
    np.testing.assert_array_equal(rows_of(sparse.csr_array(X), rows).toarray(), X[rows])
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=[7, 8, 9])
    assert rows_of(frame, rows)["a"].tolist() == [3, 1, 3]
    assert rows_of(["x", "y", "z"], rows) == ["z", "x", "z"]


def test_a_list_of_texts_has_as_many_probabilities():
    model = OrdinaryModel(KNeighborsClassifier(), np.array([1]))
    assert model.probabilities(["one", "two"], 2).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("estimator", [LinearSVC(), RandomForestClassifier, "forest", 3])
def test_what_is_no_classifier_with_probabilities_is_refused(estimator):
    with pytest.raises(ParameterError, match=r"an instance of a classifier with predict_proba"):
        check_estimator(estimator)


def test_a_classifier_of_ones_own_is_not_written_to_a_file():
    refuse_to_save("Method", None)
    with pytest.raises(ParameterError, match="Got the estimator GaussianNB, which is code"):
        refuse_to_save("Method", GaussianNB())
