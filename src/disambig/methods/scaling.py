"""Put features on a common scale, learned from the training rows only."""

import inspect
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray, BoolArray, Features, FloatArray, Sparse
from disambig.candidates.storage import with_short_indices

_KINDS = ("half", "standard", "global", "quantile", "none")
# Every feature is divided by this power of its standard deviation.
_POWERS = {"half": 0.5, "standard": 1.0, "global": 0.0}
_MOST_QUANTILES = 1000
# The normal score of rank 0 would be infinite.
_SMALLEST_RANK = 1e-7


class FeatureScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Put features on a common scale.

    Parameters
    ----------
    kind : {"half", "standard", "global", "quantile", "none"}, default="half"
        ``"standard"`` gives every feature mean 0 and variance 1. ``"global"`` gives every feature
        mean 0 and divides all of them by one number, their common root mean square, so that wide
        features stay wide. ``"half"`` is half-way between the two on a logarithmic scale: features
        are divided by the square root of their standard deviation, then by the common root mean
        square of the result. ``"quantile"`` replaces every value by the normal score of its rank;
        ``"none"`` leaves features alone.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        What is subtracted, except for ``"quantile"``.
    scale_ : ndarray of shape (n_features,)
        What the rest is divided by, except for ``"quantile"``.
    quantiles_ : ndarray of shape (n_quantiles, n_features)
        Values at evenly spaced ranks, for ``"quantile"`` only.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    Constant features, up to rounding, are divided by one before the common number is taken; their
    normal score is 0. Sparse features keep their zeros: nothing is subtracted, and the common root
    mean square is that of all their entries, zeros included. ``"quantile"`` needs dense features.

    Results are doubles. Sizes from 1e-300 to 1e300 neither overflow nor vanish in what is learned
    (a constant sparse feature, which is not centred, may be of size 1e150).

    Examples
    --------
    >>> from disambig.methods.scaling import FeatureScaler
    >>> X = [[1.0, 0.0], [3.0, 32.0]]
    >>> FeatureScaler(kind="standard").fit_transform(X).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    >>> FeatureScaler(kind="half").fit(X).scale_.round(2).tolist()
    [2.92, 11.66]
    """

    def __init__(self, kind: str = "half") -> None:
        self.kind = kind

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # the interface of transformers
        """Learn the scale of every feature.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Training features.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        check_choice("kind", self.kind, _KINDS)
        X = self._checked(X, reset=True)
        if self.kind == "quantile":
            self.quantiles_ = _quantiles(X)
        else:
            self.center_, self.scale_ = _center_and_scale(self.kind, X)
        return self

    def transform(self, X: Any) -> Features:
        """Return scaled features, dense or CSR as they came.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self, _learned_names(self.kind))
        X = self._checked(X, reset=False)
        if self.kind == "quantile":
            return _normal_scores(X, self.quantiles_)
        if sparse.issparse(X):
            return self._scaled_sparse(X)
        return (X - self.center_) / self.scale_

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return what was learned, by name: with ``kind``, all that ``from_arrays`` needs."""
        names = _learned_names(self.kind)
        check_is_fitted(self, names)
        return {name: getattr(self, name).copy() for name in names}

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, AnyArray]) -> Self:
        """Rebuild a fitted transformer that gives the same bits; names of features are not kept.

        Parameters
        ----------
        kind : str
            The kind it was fitted with.
        arrays : mapping of str to ndarray
            What ``to_arrays`` returned.
        """
        check_choice("kind", kind, _KINDS)
        scaler = cls(kind=kind)
        for name, array in _checked_arrays(kind, arrays).items():
            setattr(scaler, name, array)
            scaler.n_features_in_ = array.shape[-1]
        return scaler

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kind != "quantile"
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Features:
        if self.kind == "quantile" and sparse.issparse(X):
            raise ParameterError(
                "Scaling by 'quantile' needs dense features: a rank leaves no zeros. Got sparse "
                "features. Give X.toarray(), or choose another scaling."
            )
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)

    def _scaled_sparse(self, X: Sparse) -> Sparse:
        if self.center_.any():
            raise ParameterError(
                "Sparse features need a scaler that was fitted on sparse features. Got one fitted "
                "on dense features, which subtracts their mean. Give X.toarray(), or fit it on "
                "sparse features."
            )
        scaled = X.copy()
        scaled.data /= self.scale_[scaled.indices]
        return scaled


def check_scaling(scaling: Any, name: str = "scaling") -> None:
    """Refuse, under the name of the parameter, what is neither a known name nor a transformer."""
    if inspect.isclass(scaling):
        raise ParameterError(
            f"{name!r} must be a name or a transformer. Got the class {scaling.__name__}: "
            f"write {scaling.__name__}()."
        )
    if not hasattr(scaling, "transform"):
        check_choice(name, scaling, _KINDS)


def fit_scaler(scaling: Any, X: Features) -> Any:
    """Return a fitted transformer: a ``FeatureScaler`` by its kind, or a copy of the one given."""
    scaler = clone(scaling) if hasattr(scaling, "transform") else FeatureScaler(kind=scaling)
    return scaler.fit(X)


def apply_scaler(scaler: Any, X: Features, *, unit_rows: bool = False) -> Features:
    """Return scaled features as an array of doubles: CSR where they came sparse, otherwise dense.

    With ``unit_rows`` every row is then divided by its length; a row of zeros stays one.
    """
    scaled = check_array(scaler.transform(X), accept_sparse="csr", dtype=np.float64)
    if sparse.issparse(scaled):
        scaled = _canonical(scaled) if sparse.issparse(X) else scaled.toarray()
    if not unit_rows:
        return scaled
    unit = normalize(scaled)
    if not sparse.issparse(unit):
        # scikit-learn leaves rows alone that are zero but for rounding: they have no direction.
        unit[row_norms(unit) < 0.5] = 0
    return unit


def _canonical(X: Sparse) -> Sparse:
    """Return a copy in which every entry is stored once, with indices that liblinear takes."""
    X = X.copy()
    X.sum_duplicates()
    return with_short_indices(X)


def _center_and_scale(kind: str, X: Features) -> tuple[FloatArray, FloatArray]:
    nothing, one = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if kind == "none":
        return nothing, one
    mean, deviation = _mean_and_deviation(X)
    # Where the mean stays, what is left to scale is the distance from zero.
    center, size = (nothing, np.hypot(mean, deviation)) if sparse.issparse(X) else (mean, deviation)
    scale = np.where(deviation > 0, deviation, one) ** _POWERS[kind]
    if kind != "standard":
        scale *= _root_mean_square(size / scale)
    return center, scale


def _mean_and_deviation(X: Features) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of every feature, 0 where it is constant."""
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        low, high = min_max_axis(X, axis=0)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    # Squares of values below one do not overflow, and powers of two change no digit.
    _, exponents = np.frexp(np.maximum(-low, high))
    if sparse.issparse(X):
        X.data = np.ldexp(X.data, -exponents[X.indices])
        mean, variance = mean_variance_axis(X, axis=0)
    else:
        X = np.ldexp(X, -exponents, order="C")  # one order of adding up, the same bits
        mean = X.mean(axis=0)
        X -= mean
        # Far from zero a mean is rounded by more than a small deviation can bear.
        rest = X.mean(axis=0)
        X -= rest
        mean, variance = mean + rest, np.square(X).mean(axis=0)
    deviation = np.where(_are_constant(low, high), 0, np.sqrt(variance))
    return np.ldexp(mean, exponents), np.ldexp(deviation, exponents)


def _are_constant(low: FloatArray, high: FloatArray) -> BoolArray:
    """Mark features whose lowest and highest value are the same up to rounding."""
    constant: BoolArray = high - low <= 4 * np.finfo(float).eps * np.maximum(-low, high)
    return constant


def _root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of values that are not negative; 1 where all are 0."""
    largest = values.max()
    return float(largest * np.sqrt(np.mean((values / largest) ** 2))) if largest > 0 else 1.0


def _quantiles(X: FloatArray) -> FloatArray:
    """Return the values of every feature at evenly spaced ranks."""
    n_rows = len(X)
    in_order = np.sort(X, axis=0)
    ranks = np.linspace(0, n_rows - 1, min(n_rows, _MOST_QUANTILES))
    below = np.minimum(ranks.astype(np.intp), max(n_rows - 2, 0))
    share = (ranks - below)[:, np.newaxis]
    low, high = in_order[below], in_order[np.minimum(below + 1, n_rows - 1)]
    # Two products, not low + share * (high - low), which may overflow; and a mean of equals may be
    # off by a rounding, where quantiles must not fall.
    between = np.where(low == high, low, (1 - share) * low + share * high)
    return np.maximum.accumulate(between, axis=0)


def _normal_scores(X: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return the normal score of every value's rank, as ``QuantileTransformer`` defines it.

    In a third of its time, and without the import of ``scipy.stats``.
    """
    low, high = quantiles[0], quantiles[-1]
    places = np.linspace(0, 1, len(quantiles))
    ranks = np.empty(X.shape)
    for feature, values in enumerate(X.T):
        known = quantiles[:, feature]
        # Among equal quantiles one side finds the first and the other the last: their mean.
        from_below = np.interp(values, known, places)
        from_above = np.interp(-values, -known[::-1], -places[::-1])
        ranks[:, feature] = (from_below - from_above) / 2
    # Values at the ends and beyond them rank like the ends.
    ranks[high <= X] = 1
    ranks[low >= X] = 0
    scores: FloatArray = ndtri(np.clip(ranks, _SMALLEST_RANK, 1 - _SMALLEST_RANK))
    scores[:, _are_constant(low, high)] = 0
    return scores


def _learned_names(kind: str) -> list[str]:
    return ["quantiles_"] if kind == "quantile" else ["center_", "scale_"]


def _checked_arrays(kind: str, arrays: Mapping[str, AnyArray]) -> dict[str, FloatArray]:
    """Return the learned arrays of one kind as doubles; refuse what no fit can have learned."""
    names = _learned_names(kind)
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
