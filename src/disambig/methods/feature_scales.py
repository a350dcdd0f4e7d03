"""How features are scaled: learned from rows, applied to rows, read back from a file.

In NumPy alone: a saved model predicts without the seconds that scikit-learn takes to import.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from disambig._core.errors import ParameterError
from disambig._core.mapped_rows import rows_in_block
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray, BoolArray, Features, FloatArray

KINDS = ("half", "standard", "global", "quantile", "none")
# For networks: squares and products of such features are still far below the largest float32.
LARGEST_INPUT = 1e12
# For all methods: squares and products of such features are still finite doubles.
LARGEST_FEATURE = 1e100
# Every feature is divided by this power of its standard deviation.
_POWERS = {"half": 0.5, "standard": 1.0, "global": 0.0}
_MOST_QUANTILES = 1000
# Most numbers of some features of all rows that are put in order at a time.
_MOST_IN_ORDER = 2**25
# A power of two far from the smallest double and below the largest.
_LARGE_EXPONENT = 900
# The normal score of rank 0 would be infinite.
SMALLEST_RANK = 1e-7


@dataclass(frozen=True, eq=False)
class FeatureScale:
    """What was learned about the scale of features; ``FeatureScaler`` says what the kinds are."""

    kind: str
    learned: dict[str, FloatArray]  # by name: center_ and scale_, or quantiles_

    @classmethod
    def fit(cls, kind: str, X: Features, row_weights: FloatArray | None = None) -> Self:
        """Learn from rows that count as much as their weights say: dense, CSR or on disk.

        A row of weight zero does not count; "quantile" counts all others the same. Rows on disk
        teach the same to the last bit as these rows in memory.
        """
        if row_weights is not None:
            counts = row_weights > 0
            X, row_weights = (X, row_weights) if counts.all() else (X[counts], row_weights[counts])
        if kind == "quantile":
            return cls(kind, {"quantiles_": _quantiles(X)})
        center, scale = _center_and_scale(kind, X, row_weights)
        return cls(kind, {"center_": center, "scale_": scale})

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, AnyArray]) -> Self:
        """Return the scale that arrays were taken from; refuse what no fit can have learned."""
        check_choice("kind", kind, KINDS)
        return cls(kind, _checked_arrays(kind, arrays))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(next(iter(self.learned.values())).shape[-1])

    def apply(self, X: FloatArray) -> FloatArray:
        """Return scaled features of dense rows."""
        if self.kind == "quantile":
            return _normal_scores(X, self.learned["quantiles_"])
        with np.errstate(over="ignore"):
            scaled = (X - self.learned["center_"]) / self.learned["scale_"]
        return without_overflow(scaled)


def without_overflow(scaled: FloatArray) -> FloatArray:
    """Return finite numbers: what has become infinite in scaling is as large as a double can be."""
    largest = np.finfo(np.float64).max
    finite: FloatArray = np.clip(scaled, -largest, largest, out=scaled)
    return finite


def _center_and_scale(
    kind: str, X: Features, row_weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    nothing, one = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if kind == "none":
        return nothing, one
    mean, deviation = _mean_and_deviation(X, row_weights)
    # Where the mean stays, what is left to scale is the distance from zero.
    center, size = (nothing, np.hypot(mean, deviation)) if sparse.issparse(X) else (mean, deviation)
    scale = np.where(deviation > 0, deviation, one) ** _POWERS[kind]
    if kind != "standard":
        scale *= _root_mean_square(size / scale)
    return center, scale


def _mean_and_deviation(
    X: Features, row_weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of every feature, 0 where it is constant."""
    if sparse.issparse(X):
        return _of_sparse(X, row_weights)
    low = np.min([block.min(axis=0) for block in _blocks(X)], axis=0)
    high = np.max([block.max(axis=0) for block in _blocks(X)], axis=0)
    # Squares of values below one do not overflow, and powers of two change no digit.
    _, exponents = np.frexp(np.maximum(-low, high))

    def mean_of(change: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return the mean of what becomes of the rows, one order of adding up for all."""
        total = np.zeros(X.shape[1])
        counted = 0.0
        start = 0
        for block in _blocks(X):
            values = change(np.ldexp(block, -exponents, order="C"))
            if row_weights is None:
                counted += len(values)
            else:
                weights = row_weights[start : start + len(values), np.newaxis]
                values, counted = values * weights, counted + float(weights.sum())
                start += len(values)
            # Row after row, as if all of them were added up at once.
            values[0] += total
            total = values.sum(axis=0)
        mean: FloatArray = total / counted
        return mean

    mean = mean_of(lambda values: values)
    # Far from zero a mean is rounded by more than a small deviation can bear.
    rest = mean_of(lambda values: values - mean)
    variance = mean_of(lambda values: np.square(values - mean - rest))
    deviation = np.where(are_constant(low, high), 0, np.sqrt(variance))
    return np.ldexp(mean + rest, exponents), np.ldexp(deviation, exponents)


def _of_sparse(X: Features, row_weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    # slow to import
    from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

    X = X.copy()
    X.sum_duplicates()
    low, high = min_max_axis(X, axis=0)
    _, exponents = np.frexp(np.maximum(-low, high))
    X.data = np.ldexp(X.data, -exponents[X.indices])
    mean, variance = mean_variance_axis(X, axis=0, weights=row_weights)
    deviation = np.where(are_constant(low, high), 0, np.sqrt(variance))
    return np.ldexp(mean, exponents), np.ldexp(deviation, exponents)


def _blocks(X: Features) -> Iterator[FloatArray]:
    """Yield dense rows as doubles, as many at a time whether they are in memory or on disk."""
    n_rows = rows_in_block(X.shape[1])
    for start in range(0, X.shape[0], n_rows):
        yield np.asarray(X[start : start + n_rows], dtype=np.float64)


def are_constant(low: FloatArray, high: FloatArray) -> BoolArray:
    """Mark features whose lowest and highest value are the same up to rounding."""
    constant: BoolArray = high - low <= 4 * np.finfo(float).eps * np.maximum(-low, high)
    return constant


def _root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of values that are not negative; 1 where all are 0."""
    largest = values.max()
    return float(largest * np.sqrt(np.mean((values / largest) ** 2))) if largest > 0 else 1.0


def _quantiles(X: FloatArray) -> FloatArray:
    """Return the values of every feature at evenly spaced ranks."""
    n_rows, n_features = X.shape
    ranks = np.linspace(0, n_rows - 1, min(n_rows, _MOST_QUANTILES))
    below = np.minimum(ranks.astype(np.intp), max(n_rows - 2, 0))
    share = (ranks - below)[:, np.newaxis]
    above = np.minimum(below + 1, n_rows - 1)
    low, high = np.empty((2, len(ranks), n_features))
    # Some features of all rows at a time: nothing else could be put in order exactly.
    width = max(1, _MOST_IN_ORDER // max(1, n_rows))
    for start in range(0, n_features, width):
        features = slice(start, start + width)
        in_order = np.concatenate([block[:, features].T for block in _blocks(X)], axis=1)
        in_order.sort(axis=1)
        low[:, features], high[:, features] = in_order.T[below], in_order.T[above]
    # Two products, not low + share * (high - low), which may overflow; and a mean of equals may be
    # off by a rounding, where quantiles must not fall.
    between = np.where(low == high, low, (1 - share) * low + share * high)
    return np.maximum.accumulate(between, axis=0)


def _normal_scores(X: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return the normal score of every value's rank, as ``QuantileTransformer`` defines it.

    In a third of its time.
    """
    low, high = quantiles[0], quantiles[-1]
    places = np.linspace(0, 1, len(quantiles))
    # In a large unit, or the slope between the smallest numbers that there are would be infinite.
    _, exponents = np.frexp(np.maximum(-low, high))
    exponents = _LARGE_EXPONENT - exponents
    quantiles = np.ldexp(quantiles, exponents)
    ranks = np.empty(X.shape)
    for feature, values in enumerate(np.ldexp(np.clip(X, low, high), exponents).T):
        known = quantiles[:, feature]
        # Among equal quantiles one side finds the first and the other the last: their mean.
        from_below = np.interp(values, known, places)
        from_above = np.interp(-values, -known[::-1], -places[::-1])
        ranks[:, feature] = (from_below - from_above) / 2
    # Values at the ends and beyond them rank like the ends.
    ranks[high <= X] = 1
    ranks[low >= X] = 0
    scores: FloatArray = ndtri(np.clip(ranks, SMALLEST_RANK, 1 - SMALLEST_RANK))
    scores[:, are_constant(low, high)] = 0
    return scores


def learned_names(kind: str) -> list[str]:
    """Return the names of what is learned."""
    return ["quantiles_"] if kind == "quantile" else ["center_", "scale_"]


def _checked_arrays(kind: str, arrays: Mapping[str, AnyArray]) -> dict[str, FloatArray]:
    """Return the learned arrays of one kind as doubles; refuse what no fit can have learned."""
    names = learned_names(kind)
    if set(arrays) != set(names):
        listed, got = (", ".join(map(repr, some)) for some in (names, sorted(arrays)))
        raise _damaged(f"The kind {kind!r} is rebuilt from {listed}", got or "nothing")
    dimensions = 2 if kind == "quantile" else 1
    learned: dict[str, FloatArray] = {}
    for name in names:
        array = np.asarray(arrays[name])
        if array.ndim != dimensions or array.size == 0 or array.dtype.kind not in "fiu":
            raise _damaged(
                f"{name!r} must hold numbers in {dimensions} dimension(s)",
                f"the shape {array.shape} of {array.dtype}",
            )
        if not np.isfinite(array).all():
            raise _damaged(f"{name!r} must be finite", f"{array[~np.isfinite(array)][0]}")
        learned[name] = array.astype(np.float64)
    if kind == "quantile":
        if (learned["quantiles_"][1:] < learned["quantiles_"][:-1]).any():
            raise _damaged("'quantiles_' must not fall from row to row", "values that do")
    elif learned["center_"].shape != learned["scale_"].shape:
        raise _damaged(
            "'center_' and 'scale_' must have one number for every feature",
            f"{learned['center_'].size} and {learned['scale_'].size}",
        )
    elif learned["scale_"].min() <= 0:
        raise _damaged("'scale_' must be above 0", f"{learned['scale_'].min()}")
    return learned


def _damaged(needed: str, came: str) -> ParameterError:
    return ParameterError(
        f"{needed}. Got {came}. Give what to_arrays returned, and the kind it was fitted with."
    )
