"""Read what a method accepts as ``y`` as candidate sets."""

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import Label
from disambig.candidates.checks import as_list, is_missing
from disambig.candidates.labels import CandidateLabels

_INFINITE = (float("inf"), float("-inf"))
_COLLECTIONS = (set, frozenset, dict, list, tuple, np.ndarray)


def as_candidates(y: Any, *, classes: Iterable[Label] | None = None) -> CandidateLabels:
    """Convert ``y`` to candidate sets.

    Parameters
    ----------
    y : CandidateLabels, boolean mask, sparse mask, or plain labels
        A boolean matrix (dense, sparse, or a data frame) is a mask; a one-dimensional array holds
        plain labels, so that every set has one member. A matrix of integers 0 and 1 could be
        either and is refused.
    classes : iterable of labels, optional
        Names of the columns of a mask, if it has none.

    See Also
    --------
    CandidateLabels : Its constructors read sets, strings, votes and more.

    Examples
    --------
    >>> import numpy as np
    >>> from disambig.candidates import as_candidates
    >>> mask = np.array([[True, True, False], [False, False, True]])
    >>> as_candidates(mask, classes=["cat", "dog", "fox"]).to_strings()
    ['cat|dog', 'fox']
    >>> as_candidates(["dog", "cat"]).to_strings()
    ['dog', 'cat']
    """
    if isinstance(y, CandidateLabels):
        return y
    if sparse.issparse(y):
        return CandidateLabels.from_mask(y, classes)
    _refuse_nested(y)
    array = np.asarray(y)
    if array.ndim == 2:
        # Columns of pandas' nullable types arrive as objects; a single one holds plain labels.
        if array.dtype == bool or (array.dtype == object and array.shape[1] > 1):
            return CandidateLabels.from_mask(y, None if hasattr(y, "columns") else classes)
        if array.shape[1] > 1 and array.dtype.kind in "iuf" and np.isin(array, (0, 1)).all():
            raise CandidateError(
                f"'y' is a matrix of 0 and 1 of shape {array.shape}, which could be a mask of "
                "candidates or several outputs. Say that it is a mask: "
                "y = CandidateLabels.from_mask(y)."
            )
    return CandidateLabels.from_labels(_plain_labels(y))


def _plain_labels(y: Any) -> list[Any]:
    # Imported here, because scikit-learn is slow to import.
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    # Arrays would turn nullable types into floats, and mixed types into strings.
    keeps_types = isinstance(y, list | tuple) or getattr(y, "ndim", 0) == 1
    labels = as_list(y) if keeps_types else column_or_1d(y, warn=True).tolist()
    missing = np.array([is_missing(label) or label in _INFINITE for label in labels], dtype=bool)
    if missing.any():
        raise CandidateError(
            f"Input y contains NaN, None or infinity for {describe_rows(missing)}. "
            "Drop such rows, or give them all classes."
        )
    if all(isinstance(label, float) for label in labels):
        check_classification_targets(np.array(labels))
    delimited = np.array([isinstance(label, str) and "|" in label for label in labels], dtype=bool)
    if delimited.any():
        raise CandidateError(
            f"The label {labels[int(delimited.argmax())]!r} has a '|' in it, as have "
            f"{describe_rows(delimited)}. If it stands between several labels, say "
            "y = CandidateLabels.from_strings(y). If it is part of the name of a class, say "
            "y = CandidateLabels.from_labels(y)."
        )
    return labels


def without_weightless(candidates: CandidateLabels) -> CandidateLabels:
    """Return the sets without candidates of weight zero, which are ruled out."""
    weights = candidates.weights
    if weights is None or (candidates.values_of(weights) > 0).all():
        return candidates
    left = CandidateLabels.from_mask(weights > 0, candidates.classes, weights=weights)
    return left.with_rows_of(candidates)


def _refuse_nested(y: Any) -> None:
    """Refuse rows that are collections, unless ``y`` is a list of lists of 0 and 1."""
    is_column_of_objects = getattr(y, "ndim", 1) == 1 and getattr(y, "dtype", "O") == "O"
    if not isinstance(y, Iterable) or not is_column_of_objects:
        return
    rows = list(y)
    collection = next((row for row in rows if isinstance(row, _COLLECTIONS)), None)
    if collection is not None and not (isinstance(y, list | tuple) and _is_matrix_of_bits(rows)):
        raise CandidateError(
            f"'y' seems to hold one collection of labels per sample, such as {collection!r}. "
            "Say how to read it: y = CandidateLabels.from_sets(y)."
        )


def _is_matrix_of_bits(rows: list[Any]) -> bool:
    return all(
        isinstance(row, list | tuple | np.ndarray)
        and len(row) == len(rows[0])
        and all(isinstance(value, Real | np.bool_) and value in (0, 1) for value in row)
        for row in rows
    )
