"""Read a CSV or TSV whose label column reads ``cat|dog``."""

from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import DatasetFormatError, describe_rows
from disambig._core.names import closest_name
from disambig._core.typing import AnyArray
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.dataset import PartialLabelDataset
from disambig.datasets.readers.checks import as_features, candidates_of

__all__ = ["read_delimited"]


def read_delimited(
    path: Path, *, labels: str = "label", separator: str = "|", truth: str | None = None
) -> PartialLabelDataset:
    """Read a CSV (or, by its suffix, TSV) file; all other columns are features, and numbers.

    Parameters
    ----------
    path : Path
        The file.
    labels : str, default="label"
        The column with the candidate labels.
    separator : str, default="|"
        What stands between two labels.
    truth : str, optional
        The column with the true label, for evaluation.
    """
    frame = _load(path)
    for column in (labels, truth):
        if column is not None and column not in frame.columns:
            suggestion = closest_name(column, frame.columns)
            hint = f" Did you mean {suggestion!r}?" if suggestion else ""
            raise DatasetFormatError(
                f"{path} needs a column {column!r}.{hint} It has {', '.join(frame.columns)}."
            )
    features = frame.drop(columns=[labels] if truth is None else [labels, truth])
    X = as_features(_as_numbers(features, path), path)
    with candidates_of(path, labels):
        sets = CandidateLabels.from_strings(frame[labels], separator=separator)
    true_labels = None if truth is None else _read_truth(frame[truth], path)
    return PartialLabelDataset(
        name=path.stem,
        X=X,
        candidates=sets,
        true_labels=true_labels,
        feature_names=[str(name) for name in features.columns],
    )


def _load(path: Path) -> Any:
    import pandas as pd  # slow to import, and needed here only

    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        # As text: a label 01 must stay 01, and 'NA' may be the name of a class.
        frame = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DatasetFormatError(f"{path} is no readable table: {error}") from error
    # pandas takes the first column for names of the rows if the header is one column short.
    if not isinstance(frame.index, pd.RangeIndex):
        raise DatasetFormatError(
            f"{path} needs a name for every column. Its rows have more columns than its header, "
            f"which has {', '.join(frame.columns)}."
        )
    return frame


def _as_numbers(features: Any, path: Path) -> Any:
    import pandas as pd  # see above

    columns = {}
    for name in features.columns:
        try:
            columns[name] = pd.to_numeric(features[name])
        except ValueError as error:
            raise DatasetFormatError(
                f"Every column of {path} but the labels needs numbers. Column {name!r}: {error}."
            ) from None
    return pd.DataFrame(columns).to_numpy()


def _read_truth(column: Any, path: Path) -> AnyArray:
    labels: AnyArray = column.str.strip().to_numpy(dtype=str)
    blank = np.asarray(labels == "")
    if blank.any():
        raise DatasetFormatError(
            f"Column {column.name!r} of {path} needs a true label in every row. "
            f"Got none for {describe_rows(blank)}. Fill it in, or drop those rows."
        )
    return labels
