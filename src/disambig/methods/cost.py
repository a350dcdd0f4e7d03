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
# What is spent in any case, so that quick fits are not judged by one that was quicker still.
_SMALL_CHANGE = 0.02
# Nothing grows more slowly than the rows, and no method here faster than their third power.
_LEAST_GROWTH, _MOST_GROWTH = 1.0, 3.0
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

    return extrapolated_seconds(fit, len(candidates))


def extrapolated_seconds(fit: Callable[[IntArray], None], n_rows: int) -> float:
    """Return the seconds that ``fit`` would take for all rows, numbers from 0 to ``n_rows``.

    It is called with more and more of them, twice as many every time, as long as that is cheap
    beside the whole.
    """
    order = make_generator(0).permutation(n_rows)  # tables are often sorted
    size = max(1, min(_FIRST_ROWS, math.ceil(_FIRST_SHARE * n_rows)))
    spent = _seconds(fit, order[:size])
    # The first call of anything also loads what it needs.
    again = spent if spent > MOST_SECONDS else _seconds(fit, order[:size])
    measured = [(size, min(spent, again))]
    spent += again
    while True:
        whole = _extrapolated(measured, n_rows)
        size = 2 * size
        allowed = max(_SMALL_CHANGE, min(MOST_SECONDS, MOST_OF_A_FIT * whole))
        if size > n_rows // 2 or spent + _extrapolated(measured, size) > allowed:
            return whole
        measured.append((size, _seconds(fit, order[:size])))
        spent += measured[-1][1]


def _seconds(fit: Callable[[IntArray], None], rows: IntArray) -> float:
    start = time.perf_counter()
    fit(np.sort(rows))
    return time.perf_counter() - start


def _extrapolated(measured: list[tuple[int, float]], n_rows: int) -> float:
    """Return the seconds for so many rows, growing from the last as it has grown up to there."""
    size, seconds = measured[-1]
    growth = _LEAST_GROWTH
    if len(measured) > 1:
        # Over two doublings, where there are that many: a single one is too easily disturbed.
        before, seconds_before = measured[max(0, len(measured) - 3)]
        growth = math.log(seconds / seconds_before) / math.log(size / before)
    return seconds * (n_rows / size) ** min(max(growth, _LEAST_GROWTH), _MOST_GROWTH)
