"""Read embedded datasets, and tables of numbers with a label column."""

import csv
import gzip
import io
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import DatasetFormatError, ParameterError, TableError, describe_rows
from disambig._core.fingerprint import check_file_digest
from disambig._core.messages import did_you_mean, join_names
from disambig._core.typing import BoolArray
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.card import DatasetCard
from disambig.tabular.files.arrays import as_features
from disambig.tabular.files.formats import read_table
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.table_cells import UNNAMED, texts_of


def read_embedded(card: DatasetCard, *, with_id: bool = False) -> PartialLabelDataset:
    """Read a dataset that comes with this package or scikit-learn.

    Its candidate sets hold the true label alone.
    """
    if with_id and card.identifier is None:
        raise ParameterError(
            f"{card.title} has no column that numbers the rows. Leave with_id=False."
        )
    if card.package == "scikit-learn":
        return _read_digits(card)
    folder = resources.files("disambig.datasets") / "embedded"
    content = gzip.decompress((folder / f"{card.name}.csv.gz").read_bytes())
    check_file_digest(content, card.hash, f"{card.name}.csv.gz", "Install the package again.")
    header, *rows = csv.reader(io.StringIO(content.decode("ascii")))
    keep = [column for column, name in enumerate(header[:-1]) if with_id or name != card.identifier]
    labels = [_as_label(row[-1]) for row in rows]
    return PartialLabelDataset(
        name=card.name,
        X=np.array([[float(row[column]) for column in keep] for row in rows]),
        candidates=CandidateLabels.from_labels(labels, classes=card.classes),
        true_labels=np.array(labels),
        feature_names=[header[column] for column in keep],
        card=card,
    )


def _read_digits(card: DatasetCard) -> PartialLabelDataset:
    from sklearn.datasets import load_digits  # slow to import, and needed here only

    found = load_digits()
    # Pixels and labels are whole numbers.
    content = np.column_stack([found.data, found.target]).astype("<i2").tobytes()
    check_file_digest(content, card.hash, "digits of scikit-learn", "Install it again.")
    return PartialLabelDataset(
        name=card.name,
        X=np.array(found.data),
        candidates=CandidateLabels.from_labels(found.target.tolist()),
        true_labels=np.array(found.target),
        feature_names=list(found.feature_names),
        card=card,
    )


def _as_label(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def read_labelled_table(
    path: Path,
    *,
    labels: str = "label",
    separator: str = "|",
    truth: str | None = None,
    group: str | None = None,
    max_memory: int | str | None = None,
) -> PartialLabelDataset:
    """Read a table in any format; columns other than labels must hold numbers.

    The column of labels holds strings or, where the format has them, lists of labels or mappings
    from label to weight. ``group`` names the column of groups; "runs", if no column has that name,
    means neighbouring rows with equal sets.
    """
    try:
        frame = read_table(path, max_memory=max_memory)
    except TableError as error:
        raise DatasetFormatError(str(error)) from error
    for column in (labels, truth):
        if column is not None and column not in frame.columns:
            raise DatasetFormatError(
                f"{path} needs a column {column!r}.{did_you_mean(column, frame.columns)} "
                f"It has {join_names(frame.columns)}."
            )
    if frame.columns[0].startswith(UNNAMED):
        raise DatasetFormatError(
            f"Every column of {path} besides the labels is a feature. The first one has no name, "
            f"or is called {frame.columns[0]!r}: an index, as pandas and R write it. Take it out "
            "of the file, or name it if it is a feature."
        )
    true_labels = None
    try:
        row_groups = RowGroups(group=group)
        reserved = [name for name in (labels, truth, row_groups.column(frame)) if name is not None]
        features = frame.drop(columns=reserved)
        X = as_features(_as_numbers(features, path), str(path))
        parsed = LabelColumns(columns=(labels,), separator=separator, literal=True).parse(frame)
        if truth is not None:
            true_labels = texts_of(frame[truth], what="true labels", literal=True)
    except TableError as error:
        raise DatasetFormatError(f"{path}: {error}") from error
    _check_filled(parsed.empty, labels, path, "a label")
    if truth is not None and true_labels is not None:
        blank = np.array([text is None for text in true_labels])
        _check_filled(blank, truth, path, "a true label")
        true_labels = true_labels.astype(str)
    try:
        candidates, _ = row_groups.put_on(parsed.candidates, frame)
    except TableError as error:
        raise DatasetFormatError(f"{path}: {error}") from error
    return PartialLabelDataset(
        name=path.stem,
        X=X,
        candidates=candidates,
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
