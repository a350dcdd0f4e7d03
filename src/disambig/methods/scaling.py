"""Put features on a common scale, learned from the training rows only."""

import inspect
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_array

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_choice
from disambig._core.typing import Features

__all__ = ["apply_scaler", "check_scaling", "fit_scaler"]

_NAMES = ("standard", "none")


def check_scaling(scaling: Any) -> None:
    """Refuse what is neither a known name nor a transformer."""
    if inspect.isclass(scaling):
        raise ParameterError(
            f"'scaling' must be a name or a transformer. Got the class {scaling.__name__}: "
            f"write {scaling.__name__}()."
        )
    if not hasattr(scaling, "transform"):
        check_choice("scaling", scaling, _NAMES)


def fit_scaler(scaling: Any, X: Features) -> Any:
    """Return a fitted transformer: by name, or a copy of the one given.

    ``"standard"`` gives every feature mean 0 and variance 1 (sparse features keep their zeros, so
    their mean stays), ``"none"`` leaves features alone.
    """
    if hasattr(scaling, "transform"):
        return clone(scaling).fit(X)
    if scaling == "standard":
        return StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
    return FunctionTransformer().fit(X)


def apply_scaler(scaler: Any, X: Features) -> Features:
    """Return scaled features as a dense or CSR array of doubles, whatever the scaler gives."""
    return check_array(scaler.transform(X), accept_sparse="csr", dtype=np.float64)
