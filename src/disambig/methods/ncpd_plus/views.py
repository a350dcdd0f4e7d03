"""Several views of the same features, side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from disambig._core.typing import AnyArray, Features, FloatArray
from disambig.methods.scaling import FeatureScaler, apply_scaler, fit_scaler

__all__ = ["FeatureViews"]


class FeatureViews:
    """Features scaled in several ways, the results one after the other.

    Parameters
    ----------
    scalers : sequence of transformer
        Fitted on the same rows.
    """

    def __init__(self, scalers: Sequence[Any]) -> None:
        self.scalers = list(scalers)

    @classmethod
    def fitted(cls, scalings: Sequence[Any], X: Features) -> Self:
        """Fit one view for each scaling, a kind of ``FeatureScaler`` or a transformer."""
        return cls([fit_scaler(scaling, X) for scaling in scalings])

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        counts = {scaler.n_features_in_ for scaler in self.scalers}
        if len(counts) > 1:
            raise ValueError(f"all views need the same features, and there are {sorted(counts)}")
        return int(counts.pop())

    def transform(self, X: Features) -> FloatArray:
        """Return all views."""
        return np.hstack([apply_scaler(scaler, X) for scaler in self.scalers])

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return what was learned, by number of the view and name."""
        return {
            f"{number}.{name}": array
            for number, scaler in enumerate(self.scalers)
            for name, array in scaler.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, kinds: Sequence[str], arrays: Mapping[str, AnyArray]) -> Self:
        """Rebuild views of these kinds from what ``to_arrays`` returned."""
        scalers = []
        for number, kind in enumerate(kinds):
            prefix = f"{number}."
            own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            scalers.append(FeatureScaler.from_arrays(kind, own))
        return cls(scalers)
