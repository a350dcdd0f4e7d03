"""Put features on a common scale, learned from the training rows only."""

import inspect
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from disambig._core.errors import ParameterError, describe_rows
from disambig._core.mapped_rows import MappedRows, blocks_of
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray, BoolArray, Features, FloatArray, Sparse
from disambig.candidates.storage import with_short_indices
from disambig.methods.feature_scales import (
    KINDS,
    LARGEST_FEATURE,
    FeatureScale,
    learned_names,
    without_overflow,
)


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
    >>> from disambig import FeatureScaler
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
        return self._fit_weighted(X, None)

    def _fit_weighted(self, X: Any, row_weights: FloatArray | None) -> Self:
        check_choice("kind", self.kind, KINDS)
        X = self._checked(X, reset=True)
        self.__dict__.update(FeatureScale.fit(self.kind, X, row_weights).learned)
        return self

    def transform(self, X: Any) -> Features:
        """Return scaled features, dense or CSR as they came.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self, learned_names(self.kind))
        X = self._checked(X, reset=False)
        if sparse.issparse(X):
            return self._scaled_sparse(X)
        learned = {name: getattr(self, name) for name in learned_names(self.kind)}
        return FeatureScale(self.kind, learned).apply(X)

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return what was learned, by name: with ``kind``, all that ``from_arrays`` needs."""
        names = learned_names(self.kind)
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
        scale = FeatureScale.from_arrays(kind, arrays)
        scaler = cls(kind=kind)
        scaler.__dict__.update(scale.learned, n_features_in_=scale.n_features)
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
        if isinstance(X, MappedRows):  # whose numbers a method has checked, some at a time
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)

    def _scaled_sparse(self, X: Sparse) -> Sparse:
        if self.center_.any():
            raise ParameterError(
                "Sparse features need a scaler that was fitted on sparse features. Got one fitted "
                "on dense features, which subtracts their mean. Give X.toarray(), or fit it on "
                "sparse features."
            )
        scaled = X.copy()
        with np.errstate(over="ignore"):
            scaled.data /= self.scale_[scaled.indices]
        without_overflow(scaled.data)
        return scaled


def check_scaling(scaling: Any, name: str = "scaling") -> None:
    """Refuse, under the name of the parameter, what is neither a known name nor a transformer."""
    if inspect.isclass(scaling):
        raise ParameterError(
            f"{name!r} must be a name or a transformer. Got the class {scaling.__name__}: "
            f"write {scaling.__name__}()."
        )
    if not hasattr(scaling, "transform"):
        check_choice(name, scaling, KINDS)


def fit_scaler(scaling: Any, X: Features, row_weights: FloatArray | None = None) -> Any:
    """Return a fitted transformer: a ``FeatureScaler`` by its kind, or a copy of the one given.

    Weights of rows count where a transformer takes them.
    """
    scaler = clone(scaling) if hasattr(scaling, "transform") else FeatureScaler(kind=scaling)
    if isinstance(X, MappedRows) and not isinstance(scaler, FeatureScaler):
        X = np.asarray(X)  # what others learn from must be in memory
    if row_weights is None:
        scaler.fit(X)
    elif isinstance(scaler, FeatureScaler):
        scaler._fit_weighted(X, row_weights)
    elif has_fit_parameter(scaler, "sample_weight"):
        scaler.fit(X, sample_weight=row_weights)
    else:
        scaler.fit(X)
    # Other kinds bring all that they were fitted on to a common size.
    if not isinstance(scaler, FeatureScaler) or scaler.kind == "none" or sparse.issparse(X):
        scaled = (scaler.transform(block) for block in blocks_of(X))
        too_large = np.concatenate([_are_too_large(block) for block in scaled])
        if too_large.any():
            raise ParameterError(
                f"Features must be of size {LARGEST_FEATURE:g} at most once they are scaled. "
                f"Larger ones in {describe_rows(too_large)}. Choose another 'scaling', or look at "
                "these rows."
            )
    return scaler


def _are_too_large(scaled: Features) -> BoolArray:
    if sparse.issparse(scaled):
        scaled = scaled.tocsr()
        rows = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
        large = np.abs(scaled.data) > LARGEST_FEATURE
        return np.asarray(np.bincount(rows, large, minlength=scaled.shape[0]) > 0)
    return np.asarray((np.abs(np.asarray(scaled)) > np.float64(LARGEST_FEATURE)).any(axis=1))


def apply_scaler(scaler: Any, X: Features, *, unit_rows: bool = False) -> Features:
    """Return scaled features as an array of doubles: CSR where they came sparse, otherwise dense.

    With ``unit_rows`` every row is then divided by its length; a row of zeros stays one. A row
    further out than any that can be trained on is brought to the border.
    """
    scaled = check_array(scaler.transform(X), accept_sparse="csr", dtype=np.float64)
    if sparse.issparse(scaled):
        scaled = _canonical(scaled) if sparse.issparse(X) else scaled.toarray()
    if sparse.issparse(scaled):
        scaled.data = scaled.data.clip(-LARGEST_FEATURE, LARGEST_FEATURE)
    else:
        scaled = scaled.clip(-LARGEST_FEATURE, LARGEST_FEATURE)
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
