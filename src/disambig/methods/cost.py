"""How long a fit will take, known before it starts: from a small part of the work, measured."""

import math
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from disambig._core.parameters import make_generator
from disambig._core.typing import Features, IntArray
from disambig.candidates.labels import CandidateLabels

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

# What may be spent on an estimate: this share of the fit, and never more seconds than this.
MOST_OF_A_FIT = 0.05
MOST_SECONDS = 1.0
# A fit to parts of the rows begins with so many, or with this share of them if that is less.
_FIRST_ROWS = 64
_FIRST_SHARE = 1 / 8
# So many seconds nobody minds, however quick the fit.
_SMALL_CHANGE = 0.3
# No method here grows faster than the third power of the rows.
_MOST_GROWTH = 3.0
# Below this power, most of what was measured does not depend on the rows.
_FLAT = 0.5
# Rows of a matrix by which products are timed.
_PRODUCT = 384
# Numbers of rows, and the seconds of a fit to them; ever more.
Measured = list[tuple[int, float]]
# These belong to the fit that somebody waits for, not to one that is only measured.
_FOLLOWERS = {"callbacks": None, "checkpoint": None, "verbose": 0}


def estimate_fit_seconds(method: "PartialLabelClassifier", X: Any, y: Any) -> float:
    """Return about how many seconds a fit will take on this machine, before it starts.

    A small part of the work is done and measured: of a network method some training steps, of
    any other fits to a few of the rows, of which it is seen how they grow. That takes about a
    twentieth of the fit and seldom more than a second. The method is not changed and not fitted,
    and a fit after it gives the same bits. Early stopping is not foreseen: the estimate is for all
    epochs.

    Parameters
    ----------
    method : PartialLabelClassifier
        What is to be fitted.
    X : array-like of shape (n_samples, n_features)
        Features, as ``fit`` takes them.
    y : CandidateLabels, boolean mask, sparse mask, or plain labels
        Candidate sets, as ``fit`` takes them.

    See Also
    --------
    disambig.tabular.FitListener : Hears of the estimate for all models of a table.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.methods import estimate_fit_seconds
    >>> data = make_partial_label_dataset(500, 4, 3, random_state=0)
    >>> estimate_fit_seconds(PLKNN(), data.X, data.candidates) < 60
    True
    """
    probe: PartialLabelClassifier = without_followers(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will say it, about all rows
        X, candidates = probe._begin_fit(X, y)
        with probe._threads():
            return float(probe._estimate_seconds(X, candidates))


def without_followers(method: Any) -> Any:
    """Return an unfitted copy that nobody follows and that writes no files."""
    copy = clone(method)
    parameters = copy.get_params(deep=False)
    copy.set_params(**{n: value for n, value in _FOLLOWERS.items() if n in parameters})
    return copy


def seconds_by_growth(
    method: "PartialLabelClassifier", X: Features, candidates: CandidateLabels
) -> float:
    """Return the seconds of a fit, from fits to more and more of the rows."""

    def fit(rows: IntArray) -> None:
        copy = clone(method)
        of_rows = copy._begin_fit(X[rows], candidates[rows])
        copy._end_fit(of_rows[1], copy._fit(*of_rows))

    return extrapolated_seconds(fit, len(candidates), method._growth)


def extrapolated_seconds(
    fit: Callable[[IntArray], None], n_rows: int, power: int | None = None
) -> float:
    """Return the seconds that ``fit`` would take for all rows.

    Parameters
    ----------
    fit : callable
        Called with numbers of rows: more and more of them, as long as that is cheap beside the
        whole.
    n_rows : int
        Rows in all.
    power : int, optional
        The power of the rows that a large fit grows with, where that is known; 3 if a matrix of all
        rows is factored.
    """
    order = make_generator(0).permutation(n_rows)  # tables are often sorted
    size = max(1, min(_FIRST_ROWS, math.ceil(_FIRST_SHARE * n_rows)))
    product = _seconds_per_multiplication() if power == 3 else 0.0

    def whole(measured: Measured, count: int) -> float:
        if power is None or len(measured) < 3:
            return _by_growth(measured, count)
        return _by_known_power(measured, count, product)

    measured = [(size, _seconds(fit, order[:size]))]
    size = _larger(measured, n_rows)
    if size > measured[0][0] and measured[0][1] <= MOST_SECONDS / 2:
        # The first call of anything also loads what it needs. It counts only if it is alone.
        measured = [(size, _seconds(fit, order[:size]))]
    spent = measured[0][1]
    while True:
        estimate, size = whole(measured, n_rows), _larger(measured, n_rows)
        allowed = max(_SMALL_CHANGE, min(MOST_SECONDS, MOST_OF_A_FIT * estimate))
        if size == measured[-1][0] or spent + whole(measured, size) > allowed:
            return estimate
        measured.append((size, _seconds(fit, order[:size])))
        spent += measured[-1][1]


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


def _by_growth(measured: Measured, n_rows: int) -> float:
    """Return the seconds for so many rows, growing from the last fit as they have up to there."""
    size, last = measured[-1]
    if len(measured) == 1:
        return last * n_rows / size
    growth = _growth(measured)
    if growth >= 1:
        return last * (n_rows / size) ** min(growth, _MOST_GROWTH)
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
