"""Read a table of numbers whose label column holds ``cat|dog``, or a list of labels."""

from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import DatasetFormatError, TableError, describe_rows
from disambig._core.names import did_you_mean
from disambig._core.typing import BoolArray
from disambig.datasets.dataset import PartialLabelDataset
from disambig.datasets.readers.checks import as_features
from disambig.tables.files.read import read_table_file
from disambig.tables.labels.distinct_cells import texts_of
from disambig.tables.labels.label_columns import LabelColumns
from disambig.tables.wording import listed

__all__ = ["read_labelled_table"]


def read_labelled_table(
    path: Path, *, labels: str = "label", separator: str = "|", truth: str | None = None
) -> PartialLabelDataset:
    """Read a table in any format; all other columns are features, and numbers.

    Parameters
    ----------
    path : Path
        The file.
    labels : str, default="label"
        The column with the candidate labels: texts or, where the format has them, lists of labels
        or mappings from label to weight.
    separator : str, default="|"
        What stands between two labels in a text.
    truth : str, optional
        The column with the true label, for evaluation.
    """
    try:
        frame = read_table_file(path)
    except TableError as error:
        raise DatasetFormatError(str(error)) from error
    for column in (labels, truth):
        if column is not None and column not in frame.columns:
            raise DatasetFormatError(
                f"{path} needs a column {column!r}.{did_you_mean(column, frame.columns)} "
                f"It has {listed(frame.columns)}."
            )
    features = frame.drop(columns=[labels] if truth is None else [labels, truth])
    X = as_features(_as_numbers(features, path), path)
    true_labels = None
    try:
        said = LabelColumns(columns=(labels,), separator=separator, literal=True).parse(frame)
        if truth is not None:
            true_labels = texts_of(frame[truth], what="true labels", literal=True)
    except TableError as error:
        raise DatasetFormatError(f"{path}: {error}") from error
    _check_filled(said.empty, labels, path, "a label")
    if truth is not None and true_labels is not None:
        blank = np.array([text is None for text in true_labels])
        _check_filled(blank, truth, path, "a true label")
        true_labels = true_labels.astype(str)
    return PartialLabelDataset(
        name=path.stem,
        X=X,
        candidates=said.candidates,
        true_labels=true_labels,
        feature_names=list(features.columns),
    )


def _as_numbers(features: Any, path: Path) -> Any:
    import pandas as pd  # slow to import, and needed here only

    columns = {}
    for name in features.columns:
        try:
            if features[name].dtype.kind in "mM":
                raise ValueError("it holds times, not numbers")
            columns[name] = pd.to_numeric(features[name]).astype(np.float64)
        except (ValueError, TypeError) as error:
            raise DatasetFormatError(
                f"Every column of {path} but the labels needs numbers. Column {name!r}: {error}."
            ) from None
    return pd.DataFrame(columns).to_numpy()


def _check_filled(blank: BoolArray, column: str, path: Path, what: str) -> None:
    if blank.any():
        raise DatasetFormatError(
            f"Column {column!r} of {path} needs {what} in every row. "
            f"Got none for {describe_rows(blank)}. Fill it in, or drop those rows."
        )
