"""Whether the parts of a model fit together, seen before anybody relies on its predictions."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from disambig.tabular.columns.plan import ColumnPlan
from disambig.tabular.columns.transformer import transform_values, unseen_categories
from disambig.tabular.columns.values import column_values, value_names

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier
    from disambig.tabular.model.table_model import TableModel

__all__ = ["check_model"]

# Of sums of probabilities, in doubles or from networks in single precision.
_TOLERANCE = 1e-4
_UNKNOWN_CATEGORY = "a category that no column has"


def check_model(model: "TableModel") -> None:
    """Raise an exception, of whatever kind, unless a model can predict.

    Parameters
    ----------
    model : TableModel
        Whose parts may come from anywhere.
    """
    check_is_fitted(model.transformer)
    _check_transformer(model.transformer, model.plan)
    _check_method(model.method)
    _check_predictions(model)


def _check_transformer(transformer: Any, plan: ColumnPlan) -> None:
    names = [name for names in value_names(plan) for name in names]
    if list(transformer.feature_names_in_) != names:
        raise ValueError("the columns of its features are not those of its plan")
    for name, value in transformer.get_params().items():
        # Neither does our own have: a million processes, or words between the rows of a table.
        if name.split("__")[-1] in ("n_jobs", "verbose") and value:
            raise ValueError(f"its features are made with {name} = {value!r}")
    if "numbers" in transformer.named_transformers_:
        _check_range(transformer.named_transformers_["numbers"].named_steps["keep"])


def _check_range(seen: Any) -> None:
    # In another shape, they could do for as many rows as are tried here, and for no others.
    if not seen.low_.shape == seen.high_.shape == (seen.n_features_in_,):
        raise ValueError("its features do not have one range each")
    if not (np.isfinite([seen.low_, seen.high_]).all() and (seen.low_ <= seen.high_).all()):
        raise ValueError("the range of one of its features is none")


def _check_method(method: "PartialLabelClassifier") -> None:
    check_is_fitted(method)
    method._check_parameters()
    names = method.classes_.tolist()
    if method.classes_.ndim != 1 or len(set(names)) != len(names):
        raise ValueError("its labels are not distinct")
    confidence = method.candidate_confidence_
    if not sparse.issparse(confidence) or confidence.shape[1] != len(names):
        raise ValueError("its method has no confidences of its labels")
    # What follows takes memory for as many columns as are claimed here.
    for part in vars(method).values():
        if sparse.issparse(part) and part.shape[1] not in (len(names), method.n_features_in_):
            raise ValueError(f"a part of its method is for {part.shape[1]} labels")
        for count in (getattr(part, "n_classes", None), getattr(part, "n_classes_", None)):
            if count is not None and not 0 < count <= len(names):
                raise ValueError(f"a part of its method is for {count} labels")


def _check_predictions(model: "TableModel") -> None:
    """Predict two rows that nobody has seen: one of nothing but gaps, one of strange values."""
    gaps = pd.DataFrame({name: [None] for name in model.plan.names}, dtype=object)
    values = pd.DataFrame(
        {
            name: _with_strange_value(column)
            for name, column in column_values(gaps, model.plan).items()
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these rows are nobody's concern
        unseen_categories(model.transformer, values)
        n_features = transform_values(model.transformer, values).shape[1]
        if n_features != model.method.n_features_in_:
            raise ValueError(
                f"its method needs {model.method.n_features_in_} features, and gets {n_features}"
            )
        probabilities = model.probabilities_of(values)
    if probabilities.shape != (2, len(model.method.classes_)):
        raise ValueError("its method does not give one probability for each label")
    sums = probabilities.sum(axis=1)
    if not (probabilities.min() >= 0 and np.abs(sums - 1).max() <= _TOLERANCE):
        raise ValueError("its probabilities are none")


def _with_strange_value(column: "pd.Series[Any]") -> "pd.Series[Any]":
    strange: Any = _UNKNOWN_CATEGORY if column.dtype == object else 0.0
    return pd.Series([column.iloc[0], strange], dtype=column.dtype)
