"""From the values of columns to the features that methods take: filled in, scaled, one-hot.

Only parts of scikit-learn, ``FeatureScaler`` and ``SeenRange``, so that a fitted transformer can be
written to a file and read without running code from it.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from disambig._core.typing import FloatArray
from disambig.methods.scaling import FeatureScaler
from disambig.workbench.columns.kinds import MOST_CATEGORIES
from disambig.workbench.columns.plan import ColumnPlan
from disambig.workbench.columns.seen_range import SeenRange
from disambig.workbench.columns.values import value_names

__all__ = ["make_transformer", "transform_values", "unseen_categories"]


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
