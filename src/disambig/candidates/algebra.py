"""Set algebra on masks with their class names and weights.

A candidate without a weight counts as one vote: that is what makes weighted and unweighted sets
combine. Whether a row became empty is checked by the constructor of ``CandidateLabels``.
"""

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError
from disambig._core.typing import BoolArray, Label, Sparse
from disambig.candidates.build import Parts
from disambig.candidates.classes import as_class_array, columns_of

__all__ = ["keep_columns", "parts_of_intersection", "parts_of_union", "put_on_classes"]


def keep_columns(parts: Parts, keep: BoolArray) -> Parts:
    """Drop the classes not marked in ``keep``, from the sets and from the list of classes."""
    weights = None if parts.weights is None else parts.weights[:, keep]
    return Parts(parts.mask[:, keep], parts.classes[keep], weights)


def put_on_classes(parts: Parts, classes: Iterable[Label]) -> Parts:
    """Use another list of classes; every label that is somebody's candidate must be in it."""
    names = as_class_array(classes)
    # A column without candidates may have no place in the new list: it is dropped.
    used = np.unique(parts.mask.indices)
    places = (used, columns_of(parts.classes[used], names))
    shape = (len(parts.classes), len(names))
    move = sparse.csr_array((np.ones(used.size, dtype=bool), places), shape=shape)
    weights = None if parts.weights is None else parts.weights @ move
    return Parts(parts.mask @ move, names, weights)


def parts_of_intersection(left: Parts, right: Parts) -> Parts:
    """Keep what both sides allow; weights multiply."""
    left, right = _on_common_classes(left, right)
    mask = left.mask.multiply(right.mask).astype(bool)
    if left.weights is None and right.weights is None:
        return Parts(mask, left.classes)
    product = _votes(left).multiply(_votes(right))
    return Parts(mask, left.classes, product)


def parts_of_union(left: Parts, right: Parts) -> Parts:
    """Keep what either side allows; weights add up."""
    left, right = _on_common_classes(left, right)
    mask = left.mask + right.mask
    if left.weights is None and right.weights is None:
        return Parts(mask, left.classes)
    return Parts(mask, left.classes, _votes(left) + _votes(right))


def _on_common_classes(left: Parts, right: Parts) -> tuple[Parts, Parts]:
    if left.mask.shape[0] != right.mask.shape[0]:
        raise CandidateError(
            "Both sides need the same number of samples. "
            f"Got {left.mask.shape[0]} and {right.mask.shape[0]}."
        )
    names = list(dict.fromkeys([*left.classes.tolist(), *right.classes.tolist()]))
    return put_on_classes(left, names), put_on_classes(right, names)


def _votes(parts: Parts) -> Sparse:
    return parts.mask.astype(float) if parts.weights is None else parts.weights
