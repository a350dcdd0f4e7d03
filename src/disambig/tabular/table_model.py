"""A model for tables: columns become features, and features become labels."""

import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from disambig._core.errors import warn_caller
from disambig._core.typing import Features, FloatArray
from disambig.candidates.groups import PromiseKind
from disambig.tabular.columns.transformer import FeatureTransformer
from disambig.tabular.columns.values import ColumnPlan, column_values
from disambig.tabular.columns.values_on_disk import Values, ValuesOnDisk
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.embeddings import check_planned_embeddings
from disambig.tabular.feature_cache import features_on_disk
from disambig.tabular.files.table_on_disk import TableOnDisk
from disambig.tabular.labels.label_columns import Labels
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.listener import FitListener
from disambig.tabular.model_folder import ModelParts, read_parts, write_parts
from disambig.tabular.new_rows import (
    NewRows,
    WhatToSay,
    predict_new_rows,
    read_new_rows,
    read_sets,
    unseen_notices,
)
from disambig.tabular.ranked_labels import POSSIBLE

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier


@dataclass(frozen=True, eq=False)
class TableModel(ModelParts):
    """A classifier fitted to a table, with the columns it uses and how they become features.

    Attributes
    ----------
    plan : ColumnPlan
        Which columns are features, and what they hold.
    transformer : FeatureTransformer
        Fitted: fills in missing values, scales numbers, one-hot encodes categories, counts words.
    classifier : PartialLabelClassifier
        Fitted to the features that the transformer makes.
    estimate : Estimate or None
        How well it predicts held-out rows; None if that was not estimated.
    calibration : Calibration or None
        What makes its probabilities mean what they say, learned from held-out rows.
    coverage : ConformalCalibration or None
        Which labels predictions list because they cannot be ruled out; None if they do not.
    bad_rows : int
        How many rows of the table were called bad by a person, so that it was not trained on them.

    See Also
    --------
    fit_table : Trains it.
    load_model : Reads it from a folder.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import fit_table
    >>> tables = example_tables()
    >>> frame = tables["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=0
    ... )
    >>> predicted = model.predict(tables["new-vehicles.csv"])
    >>> set(predicted["predicted_label"]) <= {"bus", "opel", "saab", "van"}
    True
    """

    def predict_proba(
        self,
        frame: pd.DataFrame,
        *,
        described: DescribedColumns | None = None,
        embeddings: Any = None,
    ) -> FloatArray:
        """Return the probability of every label for every row of a table."""
        values = column_values(frame, self.plan, described, embeddings=embeddings)
        return self.probabilities_of(values)

    def predict(
        self,
        frame: pd.DataFrame,
        *,
        top: int = 1,
        labels: Labels | None = None,
        group: str | None = None,
        promise: PromiseKind | None = None,
        promise_strength: float = DEFAULT_PROMISE_STRENGTH,
        described: DescribedColumns | None = None,
        embeddings: Any = None,
        listener: FitListener | None = None,
    ) -> pd.DataFrame:
        """Return the most probable label of every row, or the ``top`` most probable ones.

        New rows may come with candidate sets of their own (``labels``), and in groups: labels are
        then chosen from the row's set. Warns of categories that the training table did not have.

        Parameters
        ----------
        frame : DataFrame
            A table with the feature columns of the training table, in any order; other columns
            are ignored.
        top : int, default=1
            How many labels to return for each row.
        labels : str, sequence of str, LabelColumns or CandidateLabels, optional
            The column or columns of candidate labels of these rows, of labels that the model
            knows. By default every label of the model is possible in every row.
        group : str, optional
            Column that names the group of every row, or "runs"; as in ``fit_table``.
        promise : {"cover", "exclusive"}, optional
            What is known of every group as a whole; see ``disambig.candidates.Promise``.
        promise_strength : float, default=0.9
            Share of the groups for which the promise is believed.
        described : DescribedColumns, optional
            Where the images of these rows are, and where their numbers are kept.
        embeddings : array-like of shape (n_rows, n_numbers), optional
            Those of these rows, if the model was trained with some.
        listener : FitListener, optional
            Is told how far the images are read.

        Returns
        -------
        predictions : DataFrame
            ``predicted_label`` and ``probability``, then ``label_2``, ``probability_2`` and so on.
            With ``coverage`` also ``possible_labels``: those that cannot be ruled out, the most
            probable first. With ``labels`` all of them are candidates of the row, probabilities are
            those given its set and its group, and cells are empty where a set has fewer labels.
        """
        groups = RowGroups(group=group, promise=promise, promise_strength=promise_strength)
        rows = read_new_rows(
            self,
            frame,
            WhatToSay(top=top, labels=labels, groups=groups),
            described=described,
            embeddings=embeddings,
            listener=listener,
        )
        for notice in rows.notices:
            warn_caller(notice)
        return self._said_of(rows)

    def predict_blocks(
        self,
        table: TableOnDisk,
        *,
        top: int = 1,
        labels: Labels | None = None,
        embeddings: Any = None,
        listener: FitListener | None = None,
    ) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """Yield rows of a table on disk, some at a time, each with what ``predict`` says of them.

        Parameters
        ----------
        table : TableOnDisk
            A table with the feature columns of the training table.
        top : int, default=1
            How many labels to return for each row.
        labels : str, sequence of str, LabelColumns or CandidateLabels, optional
            The column or columns of candidate labels of these rows.
        embeddings : array-like of shape (n_rows, n_numbers), optional
            Those of all rows, if the model was trained with some; they may be mapped from a file.
        listener : FitListener, optional
            Is told how far the rows are.
        """
        listener = listener or FitListener()
        sets, notices = read_sets(self, table, WhatToSay(top=top, labels=labels))
        matrix = check_planned_embeddings(embeddings, len(table), self.plan.embeddings)
        values_on_disk = ValuesOnDisk(table, self.plan, embeddings=matrix)
        unseen: dict[str, set[str]] = {}
        for start, block in table.blocks():
            stop = start + len(block)
            values = values_on_disk.of_block(block, start)
            for name, new in self.transformer.unseen_categories(values).items():
                unseen.setdefault(name, set()).update(new)
            of_rows = None if sets is None else sets[start:stop]
            yield block, self._said_of(NewRows(values, of_rows, top, ()))
            listener.on_rows_done("Predicting", stop, len(table))
        for notice in (*notices, *unseen_notices(unseen)):
            warn_caller(notice)

    def _said_of(self, rows: NewRows) -> pd.DataFrame:
        (ranked,) = predict_new_rows(self, [rows])
        result = ranked.to_columns()
        possible = ranked.possible_cells()
        return pd.DataFrame(result if possible is None else result | {POSSIBLE: possible})

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder. Loading it never unpickles anything.

        Parameters
        ----------
        folder : path
            Where to write. An existing model is replaced once the new one is complete; anything
            else is refused.
        """
        write_parts(self, folder)


def untrained_model(
    plan: ColumnPlan,
    values: Values,
    classifier: "PartialLabelClassifier",
    listener: FitListener | None = None,
) -> tuple[TableModel, Features]:
    """Return a model whose transformer is fitted, and the features to fit its classifier on.

    Features are scaled once. Columns of a table have units of their own, so numbers are
    standardised here, columns of 0 and 1 are left alone, and the ``scaling`` of the classifier is
    set to "none". One whose ``scaling`` is another than its default does it by itself. Words of
    texts stay sparse features where the classifier takes such. Features of values on disk are kept
    in a file, and mapped from it.
    """
    scaling = classifier.get_params(deep=False).get("scaling", "none")
    parameter = inspect.signature(type(classifier)).parameters.get("scaling")
    by_default = isinstance(scaling, str) and parameter is not None and scaling == parameter.default
    if by_default:
        classifier.set_params(scaling="none")
    by_table = by_default or (isinstance(scaling, str) and scaling == "none")
    kind: Literal["standard", "none"] = "standard" if by_table else "none"
    transformer = FeatureTransformer.fit(
        values,
        plan,
        scaling=kind,
        sparse=classifier.accepts_sparse and not classifier.prefers_dense,
    )
    features: Features
    if isinstance(values, ValuesOnDisk):
        features = features_on_disk(transformer, values, listener)
    else:
        features = transformer.transform(values)
    return TableModel(plan, transformer, classifier), features


def load_model(folder: str | os.PathLike[str], *, only_predict: bool = False) -> TableModel:
    """Load the model in a folder. It is safe to load models from others: no code in it is run.

    Parameters
    ----------
    folder : path
        The folder that ``TableModel.save`` or ``disambig fit`` wrote.
    only_predict : bool, default=False
        Whether the model is used for predictions only. Networks are then computed in NumPy where
        possible, which saves the seconds that torch takes to import; their probabilities are the
        same up to rounding, in single precision.

    See Also
    --------
    TableModel : What it returns; its ``save`` wrote the folder.
    fit_table : Saves a model with ``out``.

    Examples
    --------
    >>> import tempfile
    >>> from disambig import fit_table, load_model
    >>> from disambig.datasets import example_tables
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fit_table(
    ...         frame,
    ...         method="plknn",
    ...         id="vehicle",
    ...         truth="checked",
    ...         out=f"{folder}/model",
    ...     )
    ...     model = load_model(f"{folder}/model")
    >>> type(model.classifier).__name__
    'PLKNN'
    """
    return TableModel(**vars(read_parts(folder, only_predict=only_predict)))
