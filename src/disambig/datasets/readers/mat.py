"""Read the ``.mat`` layout in which partial-label data is handed around.

``data`` is n x d; ``partial_target`` and, if the truth is known, ``target`` are c x n, holding 0
and 1, sparse or dense.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from disambig._core.errors import DatasetFormatError, describe_rows
from disambig._core.typing import AnyArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.dataset import PartialLabelDataset
from disambig.datasets.readers.checks import as_features, candidates_of

__all__ = ["read_mat"]


def read_mat(path: Path) -> PartialLabelDataset:
    """Read a ``.mat`` file (MATLAB 5 to 7.2); the classes are 0 to c - 1."""
    content = _load(path)
    X = as_features(_variable(content, "data", path), path)
    candidates = _variable(content, "partial_target", path)
    mask = _samples_in_rows(candidates, "partial_target", len(X), path)
    with candidates_of(path, "partial_target"):
        sets = CandidateLabels.from_mask(mask)
    true_labels = None
    if "target" in content:
        truth = _samples_in_rows(content["target"], "target", len(X), path)
        true_labels = _read_truth(truth, sets, path)
    return PartialLabelDataset(
        name=path.stem,
        X=X,
        candidates=sets,
        true_labels=true_labels,
        feature_names=[f"x{column}" for column in range(X.shape[1])],
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content: dict[str, Any] = io.loadmat(file)
    except NotImplementedError:  # what SciPy says of version 7.3 alone
        raise DatasetFormatError(
            f"{path} is a MATLAB 7.3 file. Save it in MATLAB by save(name, ..., '-v7')."
        ) from None
    # SciPy meets damaged files with whatever its parser stumbles over.
    except Exception as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise DatasetFormatError(f"{path} is damaged or no MATLAB file: {error}") from error
    return content


def _variable(content: dict[str, Any], name: str, path: Path) -> Any:
    if name not in content:
        found = ", ".join(key for key in content if not key.startswith("__")) or "nothing"
        raise DatasetFormatError(f"{path} needs a variable {name!r}. It holds {found}.")
    return content[name]


def _samples_in_rows(matrix: Any, name: str, n_samples: int, path: Path) -> Sparse:
    if getattr(matrix, "ndim", 0) != 2 or matrix.shape[1] != n_samples:
        raise DatasetFormatError(
            f"{name!r} in {path} needs one column for each of the {n_samples} rows of 'data', and "
            f"one row for each label. Got the shape {getattr(matrix, 'shape', None)}."
        )
    if not sparse.issparse(matrix) and matrix.dtype.kind not in "biuf":
        raise DatasetFormatError(f"{name!r} in {path} needs numbers 0 and 1. Got {matrix.dtype}.")
    return sparse.csr_array(matrix.T)


def _read_truth(truth: Sparse, candidates: CandidateLabels, path: Path) -> AnyArray:
    with candidates_of(path, "target"):
        labels = CandidateLabels.from_mask(truth, candidates.classes)
    several = labels.sizes > 1
    if several.any():
        raise DatasetFormatError(
            f"'target' in {path} needs one true label a sample. "
            f"Got more for {describe_rows(several)}."
        )
    _, columns = labels.pairs()
    return np.asarray(columns, dtype=np.int64)
