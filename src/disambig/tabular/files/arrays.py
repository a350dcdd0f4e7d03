"""MATLAB and NumPy files: features, candidate sets and true labels as arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import io, sparse

from disambig._core.errors import CandidateError, DatasetFormatError, describe_rows
from disambig._core.typing import AnyArray, FloatArray, Sparse
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.files.content import FileContent


def read_mat(source: FileContent) -> PartialLabelDataset:
    """Read a ``.mat`` file (MATLAB 5 to 7.2); the classes are 0 to c - 1."""
    content = _load_mat(source)
    _check_holds(content, ("data", "partial_target"), source.name)
    X = as_features(content["data"], source.name)
    mask = _samples_in_rows(content["partial_target"], "partial_target", len(X), source.name)
    with _naming("partial_target", source.name):
        candidates = CandidateLabels.from_mask(mask)
    true_labels = None
    if "target" in content:
        truth = _samples_in_rows(content["target"], "target", len(X), source.name)
        true_labels = _read_truth(truth, candidates, source.name)
    return PartialLabelDataset(
        name=source.stem,
        X=X,
        candidates=candidates,
        true_labels=true_labels,
        feature_names=_numbered_names(X),
    )


def read_npz(source: FileContent) -> PartialLabelDataset:
    """Read an ``.npz`` file; arrays of Python objects are refused, so no code in it can run."""
    content = _load_npz(source)
    _check_holds(content, ("X", "candidates"), source.name)
    for name in ("classes", "true_labels", "feature_names"):
        if name in content and np.ndim(content[name]) != 1:
            raise DatasetFormatError(
                f"{name!r} in {source.name} needs to have one dimension. "
                f"Got the shape {np.shape(content[name])}."
            )
    X = as_features(content["X"], source.name)
    with _naming("candidates", source.name):
        candidates = CandidateLabels.from_mask(
            content["candidates"], content.get("classes"), weights=content.get("weights")
        )
    return PartialLabelDataset(
        name=source.stem,
        X=X,
        candidates=candidates,
        true_labels=content.get("true_labels"),
        feature_names=[str(name) for name in content.get("feature_names", _numbered_names(X))],
    )


def as_features(matrix: Any, name: str) -> FloatArray:
    """Return a dense array of finite floats with at least one row and one column.

    ``name`` is what messages call the file.
    """
    dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    if dense.ndim != 2 or 0 in dense.shape or dense.dtype.kind not in "biuf":
        raise DatasetFormatError(
            f"The features in {name} need to be a matrix of numbers with at least one row and one "
            f"column. Got the shape {dense.shape} and the type {dense.dtype}."
        )
    features = np.ascontiguousarray(dense, dtype=np.float64)
    bad = np.asarray(~np.isfinite(features).all(axis=1))
    if bad.any():
        raise DatasetFormatError(
            f"The features in {name} need to be finite. They are missing or infinite in "
            f"{describe_rows(bad)}. Fill them in, or drop those rows."
        )
    return features


def _numbered_names(X: FloatArray) -> list[str]:
    return [f"x{column}" for column in range(X.shape[1])]


def _load_mat(source: FileContent) -> dict[str, Any]:
    with source.open() as stream:
        try:
            content = io.loadmat(stream)
        except NotImplementedError:  # raised by SciPy for version 7.3 alone
            raise DatasetFormatError(
                f"{source.name} is a MATLAB 7.3 file. Save it in MATLAB by save(name, ..., '-v7')."
            ) from None
        except Exception as error:  # damaged files make SciPy raise anything
            raise DatasetFormatError(
                f"{source.name} is damaged or not a MATLAB file: {error}"
            ) from error
    return {name: value for name, value in content.items() if not name.startswith("__")}


def _load_npz(source: FileContent) -> dict[str, Any]:
    with source.open() as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except Exception as error:  # damaged files make NumPy and the decompressor raise anything
            raise DatasetFormatError(
                f"{source.name} is damaged, not a NumPy archive, or holds Python objects, which "
                f"are never loaded: {error}. Save plain arrays by numpy.savez_compressed."
            ) from error


def _check_holds(content: dict[str, Any], names: tuple[str, ...], file: str) -> None:
    if any(name not in content for name in names):
        needed = " and ".join(map(repr, names))
        found = ", ".join(content) or "nothing"
        raise DatasetFormatError(f"{file} needs arrays {needed}. It holds {found}.")


@contextmanager
def _naming(array: str, file: str) -> Iterator[None]:
    """Name the array and the file in an error about candidate sets."""
    try:
        yield
    except CandidateError as error:
        raise DatasetFormatError(f"{array!r} in {file}: {error}") from error


def _samples_in_rows(matrix: Any, name: str, n_samples: int, file: str) -> Sparse:
    if getattr(matrix, "ndim", 0) != 2 or matrix.shape[1] != n_samples:
        raise DatasetFormatError(
            f"{name!r} in {file} needs one column for each of the {n_samples} rows of 'data', and "
            f"one row for each label. Got the shape {getattr(matrix, 'shape', None)}."
        )
    if not sparse.issparse(matrix) and matrix.dtype.kind not in "biuf":
        raise DatasetFormatError(f"{name!r} in {file} needs numbers 0 and 1. Got {matrix.dtype}.")
    return sparse.csr_array(matrix.T)


def _read_truth(truth: Sparse, candidates: CandidateLabels, file: str) -> AnyArray:
    with _naming("target", file):
        labels = CandidateLabels.from_mask(truth, candidates.classes)
    several = labels.sizes > 1
    if several.any():
        raise DatasetFormatError(
            f"'target' in {file} needs one true label a sample. "
            f"Got more for {describe_rows(several)}."
        )
    _, columns = labels.pairs()
    return np.asarray(columns, dtype=np.int64)
