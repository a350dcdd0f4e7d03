"""Choose rows to ask about, one after the other, each for what the ones before have left over."""

from typing import NamedTuple

import numpy as np

from disambig._core.typing import BoolArray, FloatArray, IntArray, Sparse


class Chosen(NamedTuple):
    """Rows in the order in which they were chosen, and what their answers remove."""

    rows: IntArray
    by_answers: FloatArray  # errors in these rows
    nearby: FloatArray  # errors in other rows
    left: FloatArray  # errors expected in every row then


def choose_rows(
    doubt: FloatArray,
    explained: Sparse,
    seconds: FloatArray,
    *,
    may_ask: BoolArray,
    most_rows: int,
    most_seconds: float = np.inf,
) -> Chosen:
    """Return the rows whose answers remove most errors per second.

    An answer on row i removes all of the doubt that is left of it, and ``explained[i, j]``, from 0
    to 1, of what is left of row j. What is removed in all is a submodular function of the rows, so
    choosing the best one every time comes within 1 - 1/e of the best choice of so many rows (where
    all take as long). Stops where no doubt is left, and before the row that takes too long.
    """
    left = doubt.astype(float)
    by_row, by_other = explained.tocsr(), explained.tocsc()
    nearby = by_row @ left
    open_rows = may_ask.copy()
    rows: list[int] = []
    in_rows: list[float] = []
    in_others: list[float] = []
    while len(rows) < most_rows:
        rate = np.where(open_rows, (left + nearby) / seconds, 0)
        best = int(rate.argmax())
        if rate[best] <= 0 or seconds[best] > most_seconds:
            break
        most_seconds -= float(seconds[best])
        entries = slice(by_row.indptr[best], by_row.indptr[best + 1])
        others = by_row.indices[entries]
        removed = np.append(by_row.data[entries] * left[others], left[best])
        rows.append(best)
        in_rows.append(removed[-1])
        in_others.append(removed[:-1].sum())
        open_rows[best] = False
        for other, gone in zip([*others.tolist(), best], removed.tolist(), strict=True):
            left[other] -= gone
            column = slice(by_other.indptr[other], by_other.indptr[other + 1])
            nearby[by_other.indices[column]] -= by_other.data[column] * gone
        # Rounding may leave a little more or less than nothing.
        left[best] = 0
        np.maximum(nearby, 0, out=nearby)
    return Chosen(np.array(rows, dtype=np.int64), np.array(in_rows), np.array(in_others), left)
