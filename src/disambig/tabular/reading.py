"""``read_table``: whatever people keep data in, as one table."""

import os
from itertools import pairwise
from pathlib import Path

import pandas as pd

from disambig._core.errors import DatasetNotFoundError, TableError
from disambig._core.messages import join_names
from disambig.candidates.dataset import PartialLabelDataset
from disambig.tabular.files.arrays import read_mat, read_npz
from disambig.tabular.files.table_file import read_table_file

__all__ = ["read_table"]

_ARRAYS = {".mat": read_mat, ".npz": read_npz}
_LABEL, _TRUTH = "label", "truth"


def read_table(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # as people call it
    delimiter: str | None = None,
    encoding: str | None = None,
    with_truth: bool = False,
) -> pd.DataFrame:
    """Read a table from a file.

    Parameters
    ----------
    source : path
        A ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.xlsx``, ``.mat`` or ``.npz`` file, or
        ``"-"`` for standard input. Cells of a text file stay the texts they are. The arrays of a
        ``.mat`` or ``.npz`` become columns of features and a column ``label`` with lists of labels.
    format : str, optional
        The format, where the name of the file does not tell.
    delimiter : str, optional
        What stands between two cells of a text file.
    encoding : str, optional
        Of a text file; UTF-8 by default.
    with_truth : bool, default=False
        Add a column ``truth`` with the true labels, where a ``.mat`` or ``.npz`` holds them.
    """
    path = Path(source)
    read_arrays = _ARRAYS.get(path.suffix.lower()) if format is None else None
    if read_arrays is None:
        return read_table_file(source, format=format, delimiter=delimiter, encoding=encoding)
    if delimiter is not None or encoding is not None:
        raise TableError(f"A delimiter or an encoding is for text files. {path} holds arrays.")
    if not path.is_file():
        raise DatasetNotFoundError(f"There is no file {path}. Check the path.")
    return _as_table(read_arrays(path), with_truth=with_truth)


def _as_table(dataset: PartialLabelDataset, *, with_truth: bool) -> pd.DataFrame:
    frame = pd.DataFrame(dataset.X, columns=dataset.feature_names)
    added = {_LABEL: _cells(dataset)}
    if with_truth and dataset.true_labels is not None:
        # Labels are texts in a table.
        added[_TRUTH] = [str(label) for label in dataset.true_labels.tolist()]
    taken = [name for name in added if name in frame.columns]
    repeated = frame.columns[frame.columns.duplicated()].tolist()
    if taken or repeated:
        raise TableError(
            f"The features of {dataset.name} need names of their own, and other ones than "
            f"{join_names(added)}. Got {join_names(taken or repeated)}. Rename them in the file."
        )
    return frame.assign(**added)


def _cells(dataset: PartialLabelDataset) -> list[object]:
    """Return the labels of every row as a list, or with weights as a mapping."""
    candidates = dataset.candidates
    _, columns = candidates.pairs()
    names = [str(name) for name in candidates.classes[columns].tolist()]
    ends = [*candidates.starts.tolist(), len(names)]
    rows = [slice(start, end) for start, end in pairwise(ends)]
    if candidates.weights is None:
        return [names[row] for row in rows]
    weights = candidates.values_of(candidates.weights).tolist()
    return [dict(zip(names[row], weights[row], strict=True)) for row in rows]
