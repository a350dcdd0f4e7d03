"""Ordinary classifiers of scikit-learn's kind, trained on columns of candidate sets."""

import inspect
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from disambig._core.errors import ParameterError
from disambig._core.typing import FloatArray, IntArray

# Copies of a row of average weight, for a classifier that takes no weights.
_COPIES = 4


def check_estimator(estimator: Any) -> None:
    """Refuse a parameter ``estimator`` that is neither None nor a classifier."""
    is_classifier = hasattr(estimator, "predict_proba") and not inspect.isclass(estimator)
    if estimator is not None and not is_classifier:
        raise ParameterError(
            "'estimator' must be an instance of a classifier with predict_proba, such as "
            f"RandomForestClassifier(). Got {estimator!r} instead."
        )


def refuse_to_save(method: str, estimator: Any) -> None:
    """Refuse to write a model whose classifier is somebody's own."""
    if estimator is not None:
        raise ParameterError(
            f"{method} can be saved with the classifier that it has by default. Got the estimator "
            f"{type(estimator).__name__}, which is code."
        )


class OrdinaryModel:
    """A fitted classifier, and the columns of the candidate sets that it tells apart.

    Parameters
    ----------
    classifier : object
        Fitted to the numbers of these columns, 0 and up; never asked where there is only one.
    classes_ : ndarray of int of shape (labels,)
        The columns that it has met in training.
    """

    def __init__(self, classifier: Any, classes_: IntArray) -> None:
        self.classifier = classifier
        self.classes_ = classes_

    @classmethod
    def train(
        cls,
        estimator: Any,
        X: Any,
        rows: IntArray,
        columns: IntArray,
        weights: FloatArray | None = None,
        seed: int | None = None,
    ) -> Self:
        """Train a copy of ``estimator`` on the labels ``columns`` of ``rows``.

        A row may stand there more than once. Without an estimator it is logistic regression. The
        seed is for every ``random_state`` of the estimator, or of a step of it, that is None.
        """
        model = LogisticRegression(max_iter=1000) if estimator is None else clone(estimator)
        weight_name = _weight_parameter(model)
        given = {}
        if weights is not None and weight_name is not None:
            given = {weight_name: weights}
        elif weights is not None:
            copies = _copies(weights)
            rows, columns = np.repeat(rows, copies), np.repeat(columns, copies)
        # Numbers without gaps, which XGBoost asks for.
        labels, codes = np.unique(columns, return_inverse=True)
        if len(labels) == 1:  # nothing to learn, and no classifier that would
            return cls(_logistic(np.empty((0, np.shape(X)[-1])), np.empty(0)), labels)
        if seed is not None:
            _set_seed(model, seed)
        model.fit(rows_of(X, rows), codes, **given)
        return cls(model, labels)

    @classmethod
    def from_arrays(cls, coef_: FloatArray, intercept_: FloatArray, classes_: IntArray) -> Self:
        """Rebuild a logistic regression."""
        return cls(_logistic(coef_, intercept_), classes_)

    @property
    def coef_(self) -> FloatArray:
        """Of logistic regression."""
        coefficients: FloatArray = self.classifier.coef_
        return coefficients

    @property
    def intercept_(self) -> FloatArray:
        """Of logistic regression."""
        intercepts: FloatArray = self.classifier.intercept_
        return intercepts

    def probabilities(self, X: Any, n_classes: int) -> FloatArray:
        """Return the probabilities of all columns; those that it has not met have none."""
        probabilities = np.zeros((len(X) if isinstance(X, list) else X.shape[0], n_classes))
        one = len(self.classes_) == 1
        probabilities[:, self.classes_] = 1 if one else self.classifier.predict_proba(X)
        return probabilities


def _logistic(coef_: FloatArray, intercept_: FloatArray) -> LogisticRegression:
    model = LogisticRegression(max_iter=1000)
    model.coef_, model.intercept_ = coef_, intercept_
    model.classes_ = np.arange(max(len(coef_), 2))  # two classes share one line of coefficients
    model.n_features_in_ = coef_.shape[1]
    return model


def _set_seed(model: Any, seed: int) -> None:
    """Seed an estimator and what it is made of, where nobody has."""
    unseeded = {
        name: seed
        for name, value in model.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    model.set_params(**unseeded)


def _weight_parameter(model: Any) -> str | None:
    """Return the parameter of ``fit`` that takes weights of rows, if there is one."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def _copies(weights: FloatArray) -> IntArray:
    """Return how often every row is to be repeated, so that numbers of copies are near weights."""
    running = np.cumsum(weights) * (_COPIES / weights.mean())
    copies: IntArray = np.diff(np.floor(running + 0.5), prepend=0).astype(np.int64)
    return copies


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a sparse array, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[row] for row in rows] if isinstance(X, list) else X[rows]
