"""Read a NumPy archive.

Its arrays are ``X`` and ``candidates`` (n x c, 0 and 1), and optionally ``classes``, ``weights``,
``true_labels`` and ``feature_names``.
"""

from pathlib import Path
from typing import Any

import numpy as np

from disambig._core.errors import DatasetFormatError
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.dataset import PartialLabelDataset
from disambig.datasets.readers.checks import as_features, candidates_of

__all__ = ["read_npz"]


def read_npz(path: Path) -> PartialLabelDataset:
    """Read an ``.npz`` file; arrays of Python objects are refused, so no code in it can run."""
    content = _load(path)
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


def _load(path: Path) -> dict[str, Any]:
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
