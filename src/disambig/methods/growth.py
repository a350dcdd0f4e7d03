"""How long work on all rows takes, from work on some of them: measured, and how that grows."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from disambig._core.parameters import make_generator
from disambig._core.typing import IntArray

# What may be spent on an estimate: this share of the fit, and no more seconds than this, unless
# they are needed to know anything.
MOST_OF_A_FIT = 0.05
MOST_SECONDS = 1.0
_MOST_AT_FIRST = 3.0
# So many seconds nobody minds, however quick the fit.
_SMALL_CHANGE = 0.3
# Rows to begin with, or this share of them if that is less.
_FIRST_ROWS, _FIRST_SPARSE_ROWS = 64, 256
_ROWS_OF_A_CLASS = 2
_FIRST_SHARE = 1 / 8
# No method here grows faster than the third power of the rows.
_MOST_GROWTH = 3.0
# Below this power, most of what was measured does not depend on the rows.
_FLAT = 0.5
# Rows of a matrix by which products are timed.
_PRODUCT = 384

# Numbers of rows, and the seconds of a fit to them; ever more.
Measured = list[tuple[int, float]]


def extrapolated_seconds(
    fit: Callable[[IntArray], None],
    n_rows: int,
    *,
    n_classes: int = 2,
    power: int | None = None,
    is_sparse: bool = False,
) -> float:
    """Return the seconds that ``fit`` would take for all rows.

    Parameters
    ----------
    fit : callable
        Called with numbers of rows: more and more of them, as long as that is cheap beside the
        whole.
    n_rows : int
        Rows in all.
    n_classes : int, default=2
        Classes: with fewer rows than these a fit may take longer than with many.
    power : int, optional
        The power of the rows that a large fit grows with, where that is known; 3 if a matrix of all
        rows is factored.
    is_sparse : bool, default=False
        Whether features are sparse: few rows fill few of them, and say little of many rows.
    """
    order = make_generator(0).permutation(n_rows)  # tables are often sorted
    few = max(_FIRST_SPARSE_ROWS if is_sparse else _FIRST_ROWS, _ROWS_OF_A_CLASS * n_classes)
    size = max(1, min(few, math.ceil(_FIRST_SHARE * n_rows)))
    product = _seconds_per_multiplication() if power == 3 else 0.0

    def whole(measured: Measured, count: int) -> float:
        if power is None or len(measured) < 3:
            return _by_growth(measured, count, least) + product * count**3 / 6
        return _by_known_power(measured, count, product)

    least = 1.0  # what a single fit is taken to grow with
    measured = [(size, _seconds(fit, order[:size]))]
    larger = _larger(measured, n_rows)
    if measured[0][1] <= _allowed(whole(measured, n_rows), 1) and larger > size:
        # The first call of anything also loads what it needs. So it is not counted; but from there
        # on time has grown by what it seems to, or by more.
        size = larger
        measured.append((size, _seconds(fit, order[:size])))
        least = max(least, _growth(measured))
        del measured[0]
    spent = 0.0  # on more than the least that says anything
    while True:
        estimate, size = whole(measured, n_rows), _larger(measured, n_rows)
        allowed = _allowed(estimate, len(measured))
        if size == measured[-1][0] or spent + whole(measured, size) > allowed:
            return estimate
        measured.append((size, _seconds(fit, order[:size])))
        spent += measured[-1][1]


def _allowed(estimate: float, n_measured: int) -> float:
    """Return how many seconds may be spent on knowing better what is estimated so far."""
    share = MOST_OF_A_FIT * estimate
    if n_measured == 1 and estimate > MOST_SECONDS:
        # A single fit says nothing of how they grow.
        return max(MOST_SECONDS, min(_MOST_AT_FIRST, share))
    return max(_SMALL_CHANGE, min(MOST_SECONDS, share))


def _seconds(fit: Callable[[IntArray], None], rows: IntArray) -> float:
    start = time.perf_counter()
    fit(np.sort(rows))
    return time.perf_counter() - start


def _larger(measured: Measured, n_rows: int) -> int:
    """Return how many rows to fit to next: as many again, or more where that costs little more."""
    size = measured[-1][0]
    factor = 4 if len(measured) > 1 and _growth(measured) < _FLAT else 2
    return max(size, min(factor * size, n_rows // 2))


def _growth(measured: Measured) -> float:
    """Return the power of the rows that seconds have grown with."""
    # Over two steps, where there are as many: a single one is too easily disturbed.
    (before, first), (size, last) = measured[max(0, len(measured) - 3)], measured[-1]
    return math.log(last / first) / math.log(size / before)


def _by_growth(measured: Measured, n_rows: int, alone: float) -> float:
    """Return the seconds for so many rows, growing from the last fit as they have up to there.

    From a single fit they grow with the power ``alone``.
    """
    size, last = measured[-1]
    growth = _growth(measured) if len(measured) > 1 else alone
    if growth >= 1:
        return last * math.pow(n_rows / size, min(growth, _MOST_GROWTH))
    # Some of it does not depend on the rows; the rest grows with them.
    before, first = measured[max(0, len(measured) - 3)]
    return last + max(0.0, last - first) / (size - before) * (n_rows - size)


def _by_known_power(measured: Measured, n_rows: int, product: float) -> float:
    """Return the same from a constant, a part for every row, one for every pair, and one factoring.

    In small fits the last parts are small, and how these have grown says little of large ones.
    ``product`` are the seconds of a multiplication, where a matrix of all rows is factored.
    """
    from scipy.optimize import nnls  # slow to import

    sizes, seconds = np.array(measured).T
    rest = np.maximum(seconds - product * sizes**3 / 6, seconds / 10)
    parts = (sizes[:, np.newaxis] / n_rows) ** [0, 1, 2]
    # Each is off by about the same share of itself.
    shares, _ = nnls(parts / rest[:, np.newaxis], np.ones(len(rest)))
    return float(shares.sum()) + product * n_rows**3 / 6


def _seconds_per_multiplication() -> float:
    """Return what a multiplication in a matrix product takes."""
    matrix = np.ones((_PRODUCT, _PRODUCT))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - start)
    return min(seconds) / _PRODUCT**3


def seconds_of_fit(method: Any, X: Any, candidates: Any) -> float:
    """Return how long a fit takes, by doing it."""
    data = method._begin_fit(X, candidates)
    begin = time.perf_counter()
    method._fit(*data)
    return time.perf_counter() - begin
