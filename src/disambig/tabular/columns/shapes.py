"""What numbers are beside their size: one value that many rows share, a heavy tail, a circle.

A forest finds these by itself. Networks, kernels and linear models, which see a distance from the
mean, do not: that it did not rain at all, that a company is ten times as large as another, that
December is next to January.
"""

import numpy as np

from disambig._core.typing import FloatArray, IntArray

# A column of fewer values has no tail, and nothing that one value stands out from.
_FEWEST_VALUES = 20
# A value that stands out: in this share of the cells, and so many times as often as any other.
_SMALLEST_SPIKE = 0.1
_TIMES_THE_NEXT = 5
# The skewness of an exponential distribution; that of the normal one is 0.
_HEAVY_TAIL = 2.0
_MOST_QUANTILES = 1000


def find_spikes(X: FloatArray) -> dict[int, float]:
    """Return the columns with a value that stands out, such as 0 millimetres of rain; NaN is a gap.

    It has a tenth of the cells, and five times as many as any other value.
    """
    n_present, n_distinct = _counts(X)
    n_repeated = n_present - n_distinct
    # Most columns are out already: a value that stands out is a repeated one.
    hopeful = (n_distinct >= _FEWEST_VALUES) & (n_repeated + 1 >= _SMALLEST_SPIKE * n_present)
    spikes = {}
    for column in np.flatnonzero(hopeful).tolist():
        present = X[~np.isnan(X[:, column]), column]
        values, counts = np.unique(present, return_counts=True)
        most = int(counts.argmax())
        next_most = np.delete(counts, most).max()
        enough = max(_SMALLEST_SPIKE * len(present), _TIMES_THE_NEXT * next_most)
        if counts[most] >= enough:
            spikes[column] = float(values[most])
    return spikes


def heavy_tails(X: FloatArray, standardised: FloatArray) -> IntArray:
    """Return the columns whose tail is as heavy as that of an exponential distribution, or heavier.

    ``X`` has NaN for gaps, ``standardised`` has them filled, so that large numbers cannot overflow.
    """
    skewness = np.abs((standardised**3).mean(axis=0))
    _, n_distinct = _counts(X)
    return np.flatnonzero((skewness > _HEAVY_TAIL) & (n_distinct >= _FEWEST_VALUES))


def quantiles_of(X: FloatArray) -> FloatArray:
    """Return the values of every column at evenly spaced ranks, those of gaps (NaN) left out."""
    ranks = np.linspace(0, 1, min(len(X), _MOST_QUANTILES))
    # A mean of equals may be off by a rounding, where quantiles must not fall.
    rising: FloatArray = np.maximum.accumulate(np.nanquantile(X, ranks, axis=0), axis=0)
    return rising


def on_circles(X: FloatArray, periods: FloatArray) -> FloatArray:
    """Return sine and cosine of every column, one pair after the other; they repeat by its period.

    A pair varies half as much as a standardised number: most parts of a date say little, and what
    says nothing must not outweigh the rest where rows are compared by their distance.
    """
    angles = 2 * np.pi * X / periods
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=2) / np.sqrt(2)
    side_by_side: FloatArray = pairs.reshape(len(X), -1)
    return side_by_side


def _counts(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return how many cells of every column are there, and how many different values."""
    in_order = np.sort(X, axis=0)  # gaps last
    n_present = (~np.isnan(in_order)).sum(axis=0)
    n_distinct = (in_order[1:] > in_order[:-1]).sum(axis=0) + (n_present > 0)
    return n_present, n_distinct
