"""Numbers kept within the range that was learned from."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from disambig._core.typing import FloatArray

__all__ = ["SeenRange"]


class SeenRange(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A value further out than any that was learned from counts as the furthest.

    What a model does out there is anybody's guess; and a column that was constant, such as the
    hour of dates without a time, has no scale by which to measure another value.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        The least and the greatest value of every column.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # the interface of transformers
        """Learn the range of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.
        y : None
            Ignored.
        """
        X = validate_data(self, X, dtype=np.float64)
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers, those beyond the range replaced by its end.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        kept: FloatArray = np.clip(X, self.low_, self.high_)
        return kept
