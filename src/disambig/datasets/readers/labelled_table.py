"""Read a table of numbers whose label column holds ``cat|dog``, or a list of labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import DatasetFormatError, TableError, describe_rows
from disambig._core.names import closest_name
from disambig._core.typing import AnyArray
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.dataset import PartialLabelDataset
from disambig.datasets.readers.checks import as_features, candidates_of
from disambig.tables.columns import listed
from disambig.tables.files.read import read_table_file
from disambig.tables.labels.distinct_cells import is_collection, text_of, texts_of

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
            suggestion = closest_name(column, frame.columns)
            hint = f" Did you mean {suggestion!r}?" if suggestion else ""
            raise DatasetFormatError(
                f"{path} needs a column {column!r}.{hint} It has {listed(frame.columns)}."
            )
    features = frame.drop(columns=[labels] if truth is None else [labels, truth])
    X = as_features(_as_numbers(features, path), path)
    with candidates_of(path, labels):
        sets = _read_candidates(frame[labels], separator)
    true_labels = None if truth is None else _read_truth(frame[truth], path)
    return PartialLabelDataset(
        name=path.stem,
        X=X,
        candidates=sets,
        true_labels=true_labels,
        feature_names=list(features.columns),
    )


def _read_candidates(column: Any, separator: str) -> CandidateLabels:
    # Labels are texts: a class is called 1 whether a file has it as a number or not.
    if any(map(is_collection, column)):
        return CandidateLabels.from_sets(_labels_in(cell) for cell in column)
    texts = [text or "" for text in texts_of(column, what="labels")]
    return CandidateLabels.from_strings(texts, separator=separator)


def _labels_in(cell: Any) -> list[str] | dict[str, float]:
    if isinstance(cell, Mapping):
        return {text: weight for label, weight in cell.items() if (text := text_of(label))}
    labels = cell if is_collection(cell) else [cell]
    return [text for label in labels if (text := text_of(label))]


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


def _read_truth(column: Any, path: Path) -> AnyArray:
    try:
        texts = texts_of(column, what="true labels")
    except TableError as error:
        raise DatasetFormatError(f"{path}: {error}") from error
    blank = np.array([text is None for text in texts])
    if blank.any():
        raise DatasetFormatError(
            f"Column {column.name!r} of {path} needs a true label in every row. "
            f"Got none for {describe_rows(blank)}. Fill it in, or drop those rows."
        )
    return texts.astype(str)
