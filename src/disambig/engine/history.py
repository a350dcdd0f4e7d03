"""How a training went, epoch by epoch."""

from typing import Any

import numpy as np

from disambig._core.typing import FloatArray

__all__ = ["History"]


class History:
    """Measures by name, one number an epoch: ``history["loss"]`` is an array.

    Parameters
    ----------
    values : dict of array-likes, optional
        Measures to begin with, all of one length.
    """

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self._values = {name: [float(v) for v in column] for name, column in (values or {}).items()}

    def append(self, measures: dict[str, float]) -> None:
        """Add the measures of one more epoch."""
        for name, value in measures.items():
            self._values.setdefault(name, []).append(float(value))

    def __getitem__(self, name: str) -> FloatArray:
        return np.asarray(self._values[name])

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        """Return the number of epochs."""
        return max((len(column) for column in self._values.values()), default=0)

    def __repr__(self) -> str:
        return f"History({len(self)} epochs of {', '.join(self._values)})"

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain lists by name."""
        return {name: list(column) for name, column in self._values.items()}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row an epoch, epochs counted from 1."""
        import pandas as pd  # not needed for anything else, and slow to import

        return pd.DataFrame(self._values, index=pd.RangeIndex(1, len(self) + 1, name="epoch"))
