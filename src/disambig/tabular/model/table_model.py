"""A model for tables: columns become features, features become labels."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from disambig._core.messages import join_names
from disambig._core.parameters import check_integer
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.tabular.columns.plan import ColumnPlan
from disambig.tabular.columns.transformer import (
    make_transformer,
    transform_values,
    unseen_categories,
)
from disambig.tabular.columns.values import column_values
from disambig.tabular.estimate import Estimate

__all__ = ["TableModel", "fit_model"]

_PROBABILITIES_AT_A_TIME = 4_000_000
# Of what people read; predict_proba gives all of them.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted method with what turns the columns of a table into its features.

    Attributes
    ----------
    plan : ColumnPlan
        Which columns are features, and what they hold.
    transformer : ColumnTransformer
        Fitted: fills in what is missing, scales numbers, spreads categories.
    method : PartialLabelClassifier
        Fitted on what the transformer gives.
    estimate : Estimate or None
        How good it is likely to be.
    """

    plan: ColumnPlan
    transformer: ColumnTransformer
    method: PartialLabelClassifier
    estimate: Estimate | None = None

    @property
    def classes(self) -> AnyArray:
        """The labels it can predict, in the column order of ``predict_proba``."""
        return self.method.classes_

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        """Return the probability of every label for every row of a table."""
        return self.probabilities_of(column_values(frame, self.plan))

    def predict(self, frame: pd.DataFrame, *, top: int = 1) -> pd.DataFrame:
        """Return the most probable label of every row, and the ``top`` next ones if asked.

        Parameters
        ----------
        frame : DataFrame
            A table with the columns of the training table; the order does not matter, and others
            are not looked at.
        top : int, default=1
            How many labels to name for a row.

        Returns
        -------
        predictions : DataFrame
            ``predicted_label`` and ``probability``, then ``label_2``, ``probability_2`` and so on.
        """
        return self.predictions_of(column_values(frame, self.plan), top=top)

    def predictions_of(self, values: pd.DataFrame, *, top: int = 1) -> pd.DataFrame:
        """Return the same for values that ``column_values`` made."""
        check_integer("top", top, minimum=1)
        count = min(top, len(self.classes))
        # Some rows at a time: a million rows of many classes would take gigabytes.
        parts = [
            _most_probable(self.probabilities_of(values.iloc[rows]), count)
            for rows in _slices(len(values), max(1, _PROBABILITIES_AT_A_TIME // len(self.classes)))
        ]
        columns = np.concatenate([part[0] for part in parts])
        shares = np.concatenate([part[1] for part in parts])
        result: dict[str, Any] = {}
        for place in range(count):
            label, share = _column_names(place)
            result[label] = self.classes[columns[:, place]]
            result[share] = shares[:, place].round(_DECIMALS)
        return pd.DataFrame(result)

    def probabilities_of(self, values: pd.DataFrame) -> FloatArray:
        """Return the same for values that ``column_values`` made."""
        return self.method.predict_proba(transform_values(self.transformer, values))

    def probabilities_per_network(self, values: pd.DataFrame) -> Sequence[FloatArray]:
        """Return the same for every network of the method; nothing where it has none."""
        ask = getattr(self.method, "predict_proba_per_network", None)
        if ask is None:
            return ()
        per_network: FloatArray = ask(transform_values(self.transformer, values))
        return list(per_network)

    def notices_on(self, values: pd.DataFrame) -> list[str]:
        """Return what a person should know about the predictions for such values."""
        unseen = unseen_categories(self.transformer, values)
        return [
            f"Column {name!r} has values that the training table did not have, which tell "
            f"nothing: {join_names(values)}."
            for name, values in unseen.items()
        ]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, from which nothing is ever unpickled.

        Parameters
        ----------
        folder : path
            A model that is there is replaced, anything else is left alone.
        """
        # Which knows this class.
        from disambig.tabular.model.model_folder import save_model

        save_model(self, folder)


def fit_model(
    values: pd.DataFrame,
    candidates: CandidateLabels,
    plan: ColumnPlan,
    method: PartialLabelClassifier,
) -> TableModel:
    """Fit a transformer and a copy of a method to values that ``column_values`` made."""
    transformer = make_transformer(plan)
    features = transformer.fit_transform(values)
    return TableModel(plan, transformer, clone(method).fit(features, candidates))


def _most_probable(probabilities: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    if count == 1:
        columns = probabilities.argmax(axis=1)[:, np.newaxis]
    else:
        # Stable, so that ties go to the first class, as in predict.
        columns = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    return columns, np.take_along_axis(probabilities, columns, axis=1)


def _column_names(place: int) -> tuple[str, str]:
    if place == 0:
        return "predicted_label", "probability"
    return f"label_{place + 1}", f"probability_{place + 1}"


def _slices(n_rows: int, at_a_time: int) -> list[slice]:
    return [slice(start, start + at_a_time) for start in range(0, n_rows, at_a_time)]
