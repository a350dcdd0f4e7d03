"""Rows on disk as networks take them: scaled when they are read, the same bits as in memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from disambig._core.mapped_rows import MappedRows, rows_in_block
from disambig._core.typing import FloatArray


class ScaledRows:
    """Scaled features of rows that stay on disk.

    They are scaled anew for every batch. That takes less time than a step of training, and no
    second file as large as the first.

    Parameters
    ----------
    rows : MappedRows
        Features as they came.
    scale : callable
        Turns some of them into inputs of networks, each row by itself.
    """

    def __init__(self, rows: MappedRows, scale: Callable[[Any], FloatArray]) -> None:
        self._rows = rows
        self._scale = scale
        self.shape = (len(rows), scale(rows.read(slice(1))).shape[1])

    @property
    def folder(self) -> Path | None:
        """Folder of the file that they are read from."""
        return self._rows.folder

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, rows: Any) -> FloatArray:
        """Return some rows, scaled: a slice of them, or those of these numbers."""
        return self._scale(self._rows.read(rows))

    def blocks(self) -> Iterator[FloatArray]:
        """Yield all rows, some at a time."""
        n_rows = rows_in_block(self.shape[1])
        for start in range(0, len(self), n_rows):
            yield self.read(slice(start, start + n_rows))
