"""How a training went, epoch by epoch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from disambig._core.typing import FloatArray

__all__ = ["History"]


class History(Mapping[str, FloatArray]):
    """Measures by name, one number an epoch: ``history["loss"]`` is an array.

    A measure that was not taken in an epoch is not a number there.

    Parameters
    ----------
    values : mapping of names to numbers, optional
        Measures to begin with, all of one length, as ``to_dict`` gives them.
    """

    def __init__(self, values: Mapping[str, Sequence[float]] | None = None) -> None:
        columns = dict(values or {})
        rows = zip(*columns.values(), strict=True)
        self._epochs = [
            dict(zip(columns, (float(value) for value in row), strict=True)) for row in rows
        ]

    def begin_epoch(self) -> None:
        """Make room for the measures of one more epoch."""
        self._epochs.append({})

    def note(self, name: str, value: float) -> None:
        """Set a measure of the last epoch."""
        self._epochs[-1][name] = float(value)

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self._names():
            raise KeyError(name)
        return np.array([epoch.get(name, math.nan) for epoch in self._epochs])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return f"History({self.n_epochs} epochs, {', '.join(self) or 'nothing measured'})"

    @property
    def n_epochs(self) -> int:
        """The number of epochs."""
        return len(self._epochs)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain lists by name."""
        return {name: self[name].tolist() for name in self}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row an epoch, epochs counted from 1."""
        import pandas as pd  # not needed for anything else, and slow to import

        index = pd.RangeIndex(1, self.n_epochs + 1, name="epoch")
        return pd.DataFrame({name: self[name] for name in self}, index=index)

    def _names(self) -> dict[str, None]:
        # A dict, because it keeps the order in which measures first came.
        return dict.fromkeys(name for epoch in self._epochs for name in epoch)
