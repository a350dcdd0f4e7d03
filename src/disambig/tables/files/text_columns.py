"""Columns of text, filled piece by piece in as little memory as pandas can keep them."""

from typing import Any, Protocol

import numpy as np

from disambig._core.optional import import_extra
from disambig._core.typing import AnyArray

__all__ = ["TextColumn", "text_columns"]

# A column with more different texts than this has little to share.
_MOST_SHARED = 10_000


class TextColumn(Protocol):
    """A column that is being filled."""

    def append(self, cells: tuple[str, ...]) -> None:
        """Add cells at the end."""

    def finished(self) -> Any:
        """Return it as a series."""


def text_columns(count: int) -> list[TextColumn]:
    """Return empty columns, kept as pandas keeps text: by pyarrow where that is installed."""
    import pandas as pd  # slow to import

    dtype = pd.Series([""], dtype="str").dtype
    if getattr(dtype, "storage", None) == "pyarrow":
        return [_ArrowColumn(dtype) for _ in range(count)]
    return [_ObjectColumn(dtype) for _ in range(count)]


class _ArrowColumn:
    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._pyarrow = import_extra("pyarrow", extra="parquet")
        self._pieces: list[Any] = []

    def append(self, cells: tuple[str, ...]) -> None:
        self._pieces.append(self._pyarrow.array(cells, type=self._pyarrow.large_string()))

    def finished(self) -> Any:
        import pandas as pd  # see above

        return pd.Series(self._pyarrow.concat_arrays(self._pieces), dtype=self._dtype)


class _ObjectColumn:
    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._pieces: list[AnyArray] = []
        self._shared: dict[str, str] = {}

    def append(self, cells: tuple[str, ...]) -> None:
        # Equal texts are kept once, or a column of few words would take ten times its memory.
        if len(self._shared) < _MOST_SHARED:
            piece = np.fromiter(
                map(self._shared.setdefault, cells, cells), dtype=object, count=len(cells)
            )
        else:
            piece = np.array(cells, dtype=object)
        self._pieces.append(piece)

    def finished(self) -> Any:
        import pandas as pd  # see above

        return pd.Series(np.concatenate(self._pieces), dtype=self._dtype, copy=False)
