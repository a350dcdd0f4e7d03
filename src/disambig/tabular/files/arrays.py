"""MATLAB and NumPy files: features, candidate sets and true labels as arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from disambig._core.errors import CandidateError, DatasetFormatError, describe_rows
from disambig._core.typing import AnyArray, FloatArray, Sparse
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels

__all__ = ["as_features", "candidates_of", "read_mat", "read_npz"]


@contextmanager
def candidates_of(path: Path, variable: str) -> Iterator[None]:
    """Turn an error about candidate sets into one that names the file and the variable in it."""
    try:
        yield
    except CandidateError as error:
        raise DatasetFormatError(f"{variable!r} in {path}: {error}") from error


def as_features(matrix: Any, path: Path) -> FloatArray:
    """Return a dense array of finite floats with at least one row and one column."""
    dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    if dense.ndim != 2 or 0 in dense.shape or dense.dtype.kind not in "biuf":
        raise DatasetFormatError(
            f"The features in {path} need to be a matrix of numbers with at least one row and one "
            f"column. Got the shape {dense.shape} and the type {dense.dtype}."
        )
    features = np.ascontiguousarray(dense, dtype=np.float64)
    bad = np.asarray(~np.isfinite(features).all(axis=1))
    if bad.any():
        raise DatasetFormatError(
            f"The features in {path} need to be finite. They are missing or infinite in "
            f"{describe_rows(bad)}. Fill them in, or drop those rows."
        )
    return features


def read_mat(path: Path) -> PartialLabelDataset:
    """Read a ``.mat`` file (MATLAB 5 to 7.2); the classes are 0 to c - 1."""
    content = _load_mat(path)
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


def _load_mat(path: Path) -> dict[str, Any]:
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


def read_npz(path: Path) -> PartialLabelDataset:
    """Read an ``.npz`` file; arrays of Python objects are refused, so no code in it can run."""
    content = _load_npz(path)
    missing = [name for name in ("X", "candidates") if name not in content]
    if missing:
        found = ", ".join(content) or "nothing"
        raise DatasetFormatError(f"{path} needs arrays 'X' and 'candidates'. It holds {found}.")
    for name in ("classes", "true_labels", "feature_names"):
        if name in content and np.ndim(content[name]) != 1:
            raise DatasetFormatError(
                f"{name!r} in {path} needs to have one dimension. "
                f"Got the shape {np.shape(content[name])}."
            )
    X = as_features(content["X"], path)
    names = content.get("feature_names", [f"x{column}" for column in range(X.shape[1])])
    with candidates_of(path, "candidates"):
        sets = CandidateLabels.from_mask(
            content["candidates"], content.get("classes"), weights=content.get("weights")
        )
    return PartialLabelDataset(
        name=path.stem,
        X=X,
        candidates=sets,
        true_labels=content.get("true_labels"),
        feature_names=[str(name) for name in names],
    )


def _load_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    # NumPy meets damaged files with whatever its parser and the decompressor stumble over.
    except Exception as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise DatasetFormatError(
            f"{path} is damaged, no NumPy archive, or holds Python objects, which are never "
            f"loaded: {error}. Save plain arrays by numpy.savez_compressed."
        ) from error
