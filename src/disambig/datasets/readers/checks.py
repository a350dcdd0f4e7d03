"""What every reader asks of a file, and errors that name it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, DatasetFormatError, describe_rows
from disambig._core.typing import FloatArray

__all__ = ["as_features", "candidates_of"]


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
