"""What methods share that look up neighbours among the training rows."""

from typing import Any

from sklearn.neighbors import NearestNeighbors

from disambig._core.typing import Features
from disambig.methods.base import PartialLabelClassifier
from disambig.solvers.neighbors import index_of_rows

__all__ = ["IndexedRows"]


class IndexedRows(PartialLabelClassifier):
    """A method that keeps training rows and an index of them.

    The index is made of the rows alone, so a copy of the method, or a file with it, does without
    and makes it again. A tree out of a file could lead its search beyond the end of an array.
    """

    _rows: Features
    _index: NearestNeighbors

    def _keep_rows(self, rows: Features) -> None:
        self._rows = rows
        self._index = index_of_rows(rows)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_rows" in state:
            self._keep_rows(self._rows)
