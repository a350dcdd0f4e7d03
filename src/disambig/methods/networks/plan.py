"""What is settled before networks train: inputs, rows held out, seeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from disambig._core.array_file import take_part
from disambig._core.errors import ParameterError, describe_rows
from disambig._core.mapped_rows import MappedRows
from disambig._core.typing import Features, FloatArray
from disambig.engine.rule import TrainingData
from disambig.engine.training import Progress
from disambig.methods.feature_scales import LARGEST_INPUT
from disambig.methods.networks.scaled_rows import ScaledRows
from disambig.methods.networks.validation import ValidationMonitor
from disambig.methods.scaling import FeatureScaler, apply_scaler, fit_scaler


class FeatureViews:
    """Features scaled in one way or several, the results one after the other.

    Rows may be images, or anything else of more than one dimension. The first one has the features
    (the channels of an image), and all places of an image are scaled alike.

    Parameters
    ----------
    scalers : sequence of transformer
        Fitted on the same rows.
    row_shape : tuple of int, optional
        The shape of a row of more than one dimension, such as (1, 8, 8).
    """

    def __init__(self, scalers: Sequence[Any], row_shape: tuple[int, ...] | None = None) -> None:
        self.scalers = list(scalers)
        self.row_shape = row_shape

    @classmethod
    def fitted(cls, scalings: Sequence[Any], X: Features) -> Self:
        """Fit one view for each scaling, a kind of ``FeatureScaler`` or a transformer."""
        row_shape = _row_shape(X)
        if row_shape is not None:
            X = _places(X)
        return cls([fit_scaler(scaling, X) for scaling in scalings], row_shape)

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """The shape of a row of all views, one behind the other; None where it is a vector."""
        if self.row_shape is None:
            return None
        n_channels, *rest = self.row_shape
        return (len(self.scalers) * n_channels, *rest)

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        counts = {scaler.n_features_in_ for scaler in self.scalers}
        if len(counts) > 1:
            raise ValueError(f"all views need the same features, and there are {sorted(counts)}")
        return int(counts.pop())

    def transform(self, X: Features) -> FloatArray:
        """Return all views as networks take them: dense vectors, in memory of their own."""
        row_shape = _row_shape(X)
        if row_shape != self.row_shape:
            raise ParameterError(
                "Rows must have the shape of those that were trained on, "
                f"{self.row_shape or (self.n_features_in_,)}. Got "
                f"{row_shape or X.shape[1:]}."
            )
        rows = X if row_shape is None else _places(X)
        views = [apply_scaler(scaler, rows) for scaler in self.scalers]
        dense = [view.toarray() if sparse.issparse(view) else view for view in views]
        if row_shape is not None:
            dense = [_put_back(view, len(X), row_shape) for view in dense]
        features = dense[0] if len(dense) == 1 else np.hstack(dense)
        return np.require(features, requirements=["C", "W"])

    def inputs(self, X: Features) -> FloatArray | ScaledRows:
        """Return the same for rows to be trained on; refuse what would overflow.

        Rows on disk stay there, and are scaled when they are read.
        """
        if isinstance(X, MappedRows):
            on_disk = ScaledRows(X, self.transform)
            _refuse_too_large(on_disk.blocks())
            return on_disk
        features = self.transform(X)
        _refuse_too_large([features])
        return features

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return what was learned, by number of the view and name."""
        return {
            f"{number}.{name}": array
            for number, scaler in enumerate(self.scalers)
            for name, array in scaler.to_arrays().items()
        }

    @classmethod
    def from_arrays(
        cls,
        kinds: Sequence[str],
        arrays: dict[str, Any],
        row_shape: tuple[int, ...] | None = None,
    ) -> Self:
        """Rebuild views of these kinds from what ``to_arrays`` returned."""
        numbered = enumerate(kinds)
        return cls(
            [FeatureScaler.from_arrays(kind, take_part(arrays, str(n))) for n, kind in numbered],
            row_shape,
        )


def _refuse_too_large(inputs: Iterable[FloatArray]) -> None:
    too_large = np.concatenate([np.any(np.abs(some) > LARGEST_INPUT, axis=1) for some in inputs])
    if too_large.any():
        raise ParameterError(
            f"Features must be of size {LARGEST_INPUT:g} at most once they are scaled. Larger ones "
            f"in {describe_rows(too_large)}. Choose another 'scaling', or look at these rows."
        )


def _row_shape(X: Features) -> tuple[int, ...] | None:
    return tuple(X.shape[1:]) if X.ndim > 2 else None


def _places(X: FloatArray) -> FloatArray:
    """Return images as one row for each of their places, with a feature for each channel."""
    return np.moveaxis(X, 1, -1).reshape(-1, X.shape[1])


def _put_back(places: FloatArray, n_rows: int, row_shape: tuple[int, ...]) -> FloatArray:
    """Return what ``_places`` took apart, each image as one vector."""
    n_channels, *rest = row_shape
    return np.moveaxis(places.reshape(n_rows, *rest, n_channels), -1, 1).reshape(n_rows, -1)


class Start(NamedTuple):
    """What a training begins with, where it does not begin with nothing."""

    views: FeatureViews  # how features are scaled, learned from more rows than it trains on
    progress: Progress | None = None  # how far another training has come, to go on from


@dataclass(frozen=True)
class TrainingPlan:
    """The data of one training, ready for networks."""

    data: TrainingData  # the rows that are trained on
    n_classes: int
    views: FeatureViews  # what turned features into inputs of the networks
    monitor: ValidationMonitor | None  # watches the rows held out
    progress: Progress | None  # what to go on from
    seeds: list[int]  # of the order of the rows, of the split, and of every network
