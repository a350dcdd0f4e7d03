"""Where a cleaned table is doubtful: errors by pair of labels, and those that a review leaves."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from disambig._core.typing import FloatArray, IntArray, Sparse
from disambig.tabular.cleaned_table import CleanedTable

# Nobody reads on after so many; of a thousand labels there are half a million pairs.
_MOST_PAIRS = 100


@dataclass(frozen=True)
class DoubtfulPair:
    """Two labels, one of which may have been chosen where the other is right.

    Attributes
    ----------
    labels : tuple of two str
        The labels, in the order of the classes.
    errors : float
        Expected errors: rows in which one of them was chosen and the other is right.
    n_rows : int
        Rows in which one of them was chosen and the other is possible.
    """

    labels: tuple[str, str]
    errors: float
    n_rows: int


@dataclass(frozen=True, eq=False)
class Doubt:
    """How many labels are expected to be wrong, where they are, and how many a review leaves.

    All of it goes by the confidences: a label of confidence c is wrong with probability 1 - c.

    Attributes
    ----------
    by_label : sparse array of shape (n_classes, n_classes)
        Expected errors by the chosen label (row) and the candidate that is right (column).
    pairs : tuple of DoubtfulPair
        Pairs of labels with the most expected errors, most first.
    n_pairs : int
        How many pairs of labels have any.
    outside : float
        Expected errors in which none of the candidates is right.
    left : ndarray of shape (n_samples + 1,)
        Expected errors after none, one, two, ... rows were settled correctly, in the order of
        ``review_order``.
    n_marked : int
        Rows marked for a second look, which come first in that order.
    """

    by_label: Sparse
    pairs: tuple[DoubtfulPair, ...]
    n_pairs: int
    outside: float
    left: FloatArray
    n_marked: int

    @property
    def errors(self) -> float:
        """How many of the chosen labels are expected to be wrong."""
        return float(self.left[0])

    @property
    def left_at_end(self) -> float:
        """Expected errors once all rows marked for a second look are settled correctly."""
        return float(self.left[self.n_marked])


def find_doubt(rows: CleanedTable) -> Doubt:
    """Return where the expected errors of a cleaned table are, going by its confidences."""
    row_of_pair, columns = rows.candidates.pairs()
    chosen = rows.chosen[row_of_pair]
    # Confidence of a candidate that was not chosen is the probability of one kind of error.
    is_error = (columns != chosen) & (rows.confidences > 0)
    by_label = sparse.csr_array(
        (rows.confidences[is_error], (chosen[is_error], columns[is_error])),
        shape=(len(rows.candidates.classes),) * 2,
    )
    pairs = sparse.triu(by_label + by_label.T, k=1).tocoo()
    ones = np.ones(np.count_nonzero(is_error), dtype=np.int64)
    counts = sparse.csr_array((ones, (chosen[is_error], columns[is_error])), by_label.shape)
    most = np.argsort(-pairs.data, kind="stable")[:_MOST_PAIRS]
    names = rows.candidates.classes
    left = errors_left(rows.confidence, review_order(rows))
    return Doubt(
        by_label=by_label,
        pairs=tuple(
            DoubtfulPair(
                (str(names[a]), str(names[b])), float(errors), int(counts[a, b] + counts[b, a])
            )
            for a, b, errors in zip(pairs.row[most], pairs.col[most], pairs.data[most], strict=True)
        ),
        n_pairs=pairs.nnz,
        outside=max(0.0, float(left[0] - by_label.sum())),
        left=left,
        n_marked=int(rows.second_look.sum()),
    )


def review_order(rows: CleanedTable) -> IntArray:
    """Return all rows in the order of a review: those marked for a second look, then the others.

    The least sure come first in both parts.
    """
    order: IntArray = np.lexsort((rows.confidence, ~rows.second_look))
    return order


def errors_left(confidence: FloatArray, order: IntArray) -> FloatArray:
    """Return how many errors are expected after none, one, two, ... rows were settled correctly."""
    doubt = (1 - confidence[order]).clip(0)
    left: FloatArray = np.append(np.cumsum(doubt[::-1])[::-1], 0.0)
    return left
