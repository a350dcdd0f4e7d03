"""What a method said about held-out rows, and how that is kept."""

import io
from dataclasses import dataclass
from typing import Self

import numpy as np

from disambig._core.typing import AnyArray, FloatArray, IntArray

__all__ = ["Predictions"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a method said about the held-out rows.

    Attributes
    ----------
    rows : ndarray of int
        Numbers of the rows in the dataset.
    predicted : ndarray of int
        Column of the predicted class.
    probability : ndarray of float
        How probable the method found it.
    classes : ndarray of str
        Names of the columns.
    """

    rows: IntArray
    predicted: IntArray
    probability: FloatArray
    classes: AnyArray

    @classmethod
    def from_probabilities(
        cls, rows: IntArray, probabilities: FloatArray, classes: AnyArray
    ) -> Self:
        """Keep the most probable class of every row."""
        predicted = probabilities.argmax(axis=1)
        return cls(
            rows=rows.astype(np.int32),
            predicted=predicted.astype(np.int32),
            probability=probabilities.max(axis=1).astype(np.float32),
            # As texts: an array of objects could only be pickled.
            classes=np.array([str(name) for name in classes.tolist()]),
        )

    def to_bytes(self) -> bytes:
        """Return them as a compressed NumPy archive."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **vars(self))
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read them back; nothing is unpickled."""
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return cls(**{name: archive[name] for name in archive.files})
