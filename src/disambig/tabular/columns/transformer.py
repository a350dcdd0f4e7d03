"""Columns become features: encoded, clipped to the range seen in training, scaled."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from disambig._core.typing import FloatArray
from disambig.methods.scaling import FeatureScaler
from disambig.tabular.columns.kinds import MOST_CATEGORIES
from disambig.tabular.columns.plan import ColumnPlan
from disambig.tabular.columns.values import value_names

__all__ = ["SeenRange", "make_transformer", "transform_values", "unseen_categories"]


class SeenRange(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A value further out than any that was learned from counts as the furthest.

    What a model does out there is anybody's guess; and a column that was constant, such as the
    hour of dates without a time, has no scale by which to measure another value.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        The least and the greatest value of every column.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # the interface of transformers
        """Learn the range of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.
        y : None
            Ignored.
        """
        X = validate_data(self, X, dtype=np.float64)
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers, those beyond the range replaced by its end.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        kept: FloatArray = np.clip(X, self.low_, self.high_)
        return kept


def make_transformer(plan: ColumnPlan) -> ColumnTransformer:
    """Return an unfitted transformer of what ``column_values`` returns for a plan.

    Numbers, booleans and parts of dates have their median in place of what is missing, stay within
    what the rows of the fit held, and are scaled to mean 0 and variance 1. A column of 0 and 1 says
    what was missing, if anything was in the rows of the fit. Categories are one-hot, what is
    missing being a category too; the rarer of more than ``MOST_CATEGORIES`` share a column.
    """
    names = list(zip(plan.columns, value_names(plan), strict=True))
    numbers = [name for column, some in names if column.kind != "category" for name in some]
    # One indicator for a date: its parts are missing together.
    first = [some[0] for column, some in names if column.kind != "category"]
    categories = [name for column, some in names if column.kind == "category" for name in some]
    parts: list[tuple[str, Any, list[str]]] = []
    if numbers:
        parts.append(("numbers", _numbers(), numbers))
        # Beside the scaled numbers: scaled itself, what is rarely missing would outweigh them all.
        parts.append(("missing", MissingIndicator(error_on_new=False), first))
    if categories:
        parts.append(("categories", _categories(), categories))
    # Said here, so that a global setting of scikit-learn does not turn features into data frames.
    return ColumnTransformer(parts, sparse_threshold=0).set_output(transform="default")


def transform_values(transformer: ColumnTransformer, values: Any) -> FloatArray:
    """Return the features of rows, without scikit-learn's warning on categories it has not seen."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Found unknown categories", category=UserWarning)
        return np.asarray(transformer.transform(values), dtype=np.float64)


def unseen_categories(transformer: ColumnTransformer, values: Any) -> dict[str, list[str]]:
    """Return the categories that a fitted transformer has not seen, by column, sorted."""
    if "categories" not in transformer.named_transformers_:
        return {}
    encoder = transformer.named_transformers_["categories"]
    unseen = {
        name: sorted(set(values[name].dropna().unique()) - set(seen))
        for name, seen in zip(encoder.feature_names_in_, encoder.categories_, strict=True)
    }
    return {name: new for name, new in unseen.items() if new}


def _numbers() -> Pipeline:
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    scaler = FeatureScaler(kind="standard")
    return Pipeline([("fill", imputer), ("keep", SeenRange()), ("scale", scaler)])


def _categories() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_CATEGORIES,
        sparse_output=False,
        dtype=np.float64,
    )
