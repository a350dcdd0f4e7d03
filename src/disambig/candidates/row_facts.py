"""What is known of rows beside their sets: who comes together, and how much each of them counts."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.checks import as_list
from disambig.candidates.groups import Promise, group_numbers
from disambig.candidates.storage import rows_of


class RowFacts(NamedTuple):
    """Groups of rows, what these promise, and weights of rows; None where nothing was said.

    They belong to rows and not to classes, so every operation on the sets of the same rows keeps
    them, and selecting rows selects them too.
    """

    groups: IntArray | None = None
    promise: Promise | None = None
    weights: FloatArray | None = None

    def at(self, key: Any) -> Self:
        """Return the facts of the rows that a slice or an array of rows selects."""
        return self._replace(
            groups=None if self.groups is None else rows_of(self.groups, key),
            weights=None if self.weights is None else rows_of(self.weights, key),
        )

    def or_else(self, other: Self) -> Self:
        """Return these facts, and those of others where nothing was said."""
        groups = other if self.groups is None else self
        weights = other if self.weights is None else self
        return self._replace(groups=groups.groups, promise=groups.promise, weights=weights.weights)

    def read_only(self) -> Self:
        """Return the same arrays, which nobody can write to any more."""
        for array in (self.groups, self.weights):
            if array is not None:
                array.flags.writeable = False
        return self

    def same_as(self, other: Self) -> bool:
        """Return whether the same rows come together and count as much."""
        return (
            _same(_numbered(self.groups), _numbered(other.groups))
            and self.promise == other.promise
            and _same(self.weights, other.weights)
        )

    def in_words(self) -> str:
        """Return what to add to the description of sets."""
        grouped = "" if self.groups is None else f", {len(np.unique(self.groups))} groups"
        return grouped + ("" if self.weights is None else ", weighted rows")

    def fingerprint_parts(self) -> tuple[Any, ...]:
        """Return what tells these facts from others; nothing where nothing was said."""
        parts: tuple[Any, ...] = ()
        if self.groups is not None:
            promised = self.promise and (self.promise.kind, self.promise.strength)
            parts = (_numbered(self.groups), promised)
        return parts if self.weights is None else (*parts, "row_weights", self.weights)

    @property
    def nbytes(self) -> int:
        """Memory taken."""
        return sum(array.nbytes for array in (self.groups, self.weights) if array is not None)


def as_row_weights(weights: Iterable[float], n_rows: int) -> FloatArray:
    """Return weights of rows as a new array of finite numbers, none below zero, one above."""
    try:
        plain = weights if hasattr(weights, "__array__") else as_list(weights)
        array = np.array(plain, dtype=float)
    except (TypeError, ValueError):
        raise CandidateError(
            f"Weights of rows must be one number for each of the {n_rows} rows. Got {weights!r}."
        ) from None
    if array.shape != (n_rows,):
        raise CandidateError(
            f"Weights of rows must be one number for each of the {n_rows} rows. Got the shape "
            f"{array.shape}."
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise CandidateError(
            f"Weights of rows must be finite and not negative. Got {array[bad][0]:g} in "
            f"{describe_rows(bad)}. Give 0 to rows that should not count."
        )
    if not array.any():
        raise CandidateError(
            "The weights of rows are all zero: nothing could be learned. Leave them out to count "
            "every row the same."
        )
    return array


def _numbered(groups: IntArray | None) -> IntArray | None:
    # Whatever their numbers are: the same rows must come together.
    return None if groups is None else group_numbers(groups, len(groups))


def _same(left: Any, right: Any) -> bool:
    return left is right if left is None or right is None else np.array_equal(left, right)
