"""Sparse rows as short dense ones: numbers and categories as they are, words by main directions.

For methods that cannot learn from sparse features, such as the words of texts.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from disambig._core.typing import AnyArray, FloatArray, IntArray, Sparse
from disambig.solvers.blocks import one_thread_each

# Directions beyond these say little about a text.
MOST_DIRECTIONS = 200
# Rows that directions are learned from, evenly spaced.
_MOST_ROWS = 20_000
_POWER_ITERATIONS = 3
# A column that more rows fill is a number beside the texts, not a word of them.
_FULL = 0.5
_MOST_MARKS = 200


@dataclass(frozen=True, eq=False)
class Reduction:
    """Which columns stay as they are, and the directions of the others (a truncated SVD)."""

    n_features: int
    kept: IntArray
    directions: FloatArray  # (n_directions, n_features - n_kept), in single precision

    @classmethod
    def fit(cls, X: Sparse) -> Self:
        """Learn from rows in CSR; the same bits on any number of threads."""
        # slow to import
        from sklearn.utils.extmath import randomized_svd

        kept = columns_beside_words(X)
        others = _columns_beside(X, kept)[:: -(-X.shape[0] // _MOST_ROWS)]
        n_directions = min(MOST_DIRECTIONS, *others.shape)
        if not n_directions:
            return cls(X.shape[1], kept, np.zeros((0, others.shape[1]), np.float32))
        with one_thread_each():
            _, _, directions = randomized_svd(
                others, n_directions, n_iter=_POWER_ITERATIONS, random_state=0
            )
        return cls(X.shape[1], kept, directions.astype(np.float32))

    @property
    def width(self) -> int:
        """Number of dense features."""
        return len(self.kept) + len(self.directions)

    def apply(self, X: Sparse) -> FloatArray:
        """Return dense rows: the columns that are kept, then places along the directions."""
        X = sparse.csr_array(X)
        along = _columns_beside(X, self.kept) @ self.directions.T.astype(np.float64)
        dense: FloatArray = np.hstack([X[:, self.kept].toarray(), along])
        return dense

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return what was learned, by name."""
        return {"kept": self.kept, "directions": self.directions}

    @classmethod
    def from_arrays(cls, n_features: int, arrays: dict[str, AnyArray]) -> Self:
        """Rebuild what gives the same bits; raise ``ValueError`` if it does not fit."""
        if set(arrays) != {"kept", "directions"}:
            raise ValueError("a reduction is made of the columns it keeps, and of directions")
        kept, directions = arrays["kept"], arrays["directions"]
        if (
            kept.dtype != np.int64
            or kept.ndim != 1
            or (np.diff(kept, prepend=-1) <= 0).any()
            or (kept >= n_features).any()
        ):
            raise ValueError("the columns that a reduction keeps must be some of all, in order")
        if directions.dtype != np.float32 or directions.shape[1:] != (n_features - len(kept),):
            raise ValueError("the directions of a reduction do not have its number of features")
        if not np.isfinite(directions).all():
            raise ValueError("the directions of a reduction must be finite")
        return cls(n_features, np.array(kept), np.array(directions))


def columns_beside_words(X: Sparse) -> IntArray:
    """Return the columns of a CSR array that do not count words of texts, as far as can be told.

    These are columns that more than half of the rows fill; and the most frequent of those that are
    1 wherever they are filled, such as the categories of a column.
    """
    filled = X.data != 0
    counts = np.bincount(X.indices[filled], minlength=X.shape[1])
    ones = np.bincount(X.indices[X.data == 1], minlength=X.shape[1])
    marks = np.flatnonzero((counts > 0) & (ones == counts))
    most_frequent = marks[np.argsort(-counts[marks], kind="stable")[:_MOST_MARKS]]
    columns: IntArray = np.union1d(np.flatnonzero(counts > _FULL * X.shape[0]), most_frequent)
    return columns


def _columns_beside(X: Sparse, kept: IntArray) -> Sparse:
    if not len(kept):
        return X
    others = np.ones(X.shape[1], dtype=bool)
    others[kept] = False
    return X[:, np.flatnonzero(others)]
