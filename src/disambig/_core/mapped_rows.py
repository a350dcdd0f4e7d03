"""Rows of a table that stays on disk: read when they are asked for, some at a time."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from disambig._core.errors import ParameterError, describe_rows
from disambig._core.typing import AnyArray, Features, IntArray

# What a block of rows, or whatever is computed from one, may take in memory.
BLOCK_BYTES = 2**26
# How much of a mapped file is held before it is given back to the system; it counts by pages.
_HELD_BYTES = 2**30
_PAGE_BYTES = mmap.PAGESIZE


class MappedRows:
    """Rows of a memory-mapped array, all of them or a selection, that are never copied as a whole.

    Methods that train networks read the rows of a batch from it, and give what they would give for
    the same numbers in memory. ``fit`` and ``predict`` make one of a ``numpy.memmap`` by
    themselves. Make one yourself to select rows without copying them: ``MappedRows(X)[rows]``, or
    ``sklearn.model_selection.cross_val_score(method, MappedRows(X), y)``. A copy reads the same
    file, and a pickle holds its path and not its numbers.

    Parameters
    ----------
    array : numpy.memmap of floating-point numbers of shape (n_samples, n_features)
        What ``numpy.load(path, mmap_mode="r")`` returns. float32 in C order suits it best.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from disambig import MappedRows
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "features.npy")
    >>> np.save(path, np.arange(12, dtype="float32").reshape(4, 3))
    >>> rows = MappedRows(np.load(path, mmap_mode="r"))
    >>> rows[[3, 0]]
    MappedRows(2 rows, 3 features, float32)
    >>> np.asarray(rows[[3, 0]]).tolist()
    [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]]
    """

    def __init__(self, array: Any) -> None:
        if not is_mapped(array):
            shape = getattr(array, "shape", "no shape")
            raise ParameterError(
                "MappedRows needs a numpy.memmap of floating-point numbers with two dimensions, "
                f"such as numpy.load(path, mmap_mode='r'). Got {type(array).__name__} ({shape})."
            )
        self._file = array
        self._table: AnyArray = np.asarray(array)  # reads of a plain array are quicker
        self._rows: IntArray | range = range(len(array))
        self._read_bytes = 0

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """Return the rows of ``X`` where these stay on disk, or None where they are in memory."""
        if isinstance(X, cls):
            return X
        return cls(X) if is_mapped(X) else None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return len(self._rows), self._table.shape[1]

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers in the file."""
        return self._table.dtype

    @property
    def folder(self) -> Path | None:
        """Folder of the file, where that has a name."""
        name = getattr(self._file, "filename", None)
        return None if name is None else Path(os.fspath(name)).parent

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> "MappedRows":
        """Return the rows of a slice, of integers or of booleans; nothing is read."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn asks for rows
        chosen = MappedRows(self._file)
        chosen._rows = self._numbers(key)
        return chosen

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("Rows on disk can only be turned into an array by copying them.")
        return self.read(slice(None)).astype(self.dtype if dtype is None else dtype, copy=False)

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing in it changes, and the file may be larger than memory

    def __reduce__(self) -> tuple[Any, ...]:
        file = self._file
        if getattr(file, "filename", None) is None or file.base is not file._mmap:
            raise ParameterError(
                "Rows on disk go to another process by the path of their file. Got part of a map, "
                "or a file without a name. Map the whole file by numpy.load(path, mmap_mode='r'), "
                "and select rows of MappedRows."
            )
        order = "C" if file.flags.c_contiguous else "F"
        place = (os.fspath(file.filename), file.dtype, "r", file.offset, file.shape, order)
        return _opened_again, (place, self._rows)

    def __repr__(self) -> str:
        rows, features = self.shape
        return f"MappedRows({rows} rows, {features} features, {self.dtype})"

    def read(self, rows: Any) -> AnyArray:
        """Return rows in memory: an array of their own, in the type of the file."""
        numbers = self._numbers(rows)
        if isinstance(numbers, range) and numbers.step > 0:
            found = np.array(self._table[numbers.start : numbers.stop : numbers.step], order="C")
        else:
            found = self._table.take(numbers, axis=0)
        self._give_back(len(found))
        return found

    def _numbers(self, key: Any) -> IntArray | range:
        """Return the numbers in the file of the rows that a key selects."""
        if isinstance(key, slice):
            return self._rows[key]
        array = np.asarray(key)
        if array.dtype == bool and array.shape == (len(self),):
            array = np.flatnonzero(array)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            if array.size:
                raise IndexError(
                    "Rows are selected by a slice, or by a one-dimensional array of integers or of "
                    f"{len(self)} booleans. Got {key!r}."
                )
            array = np.empty(0, dtype=np.int64)
        missing = (array < -len(self)) | (array >= len(self))
        if missing.any():
            raise IndexError(f"There are {len(self)} rows. Got row {array[missing][0]}.")
        array = np.where(array < 0, array + len(self), array)
        if isinstance(self._rows, range):
            return array * self._rows.step + self._rows.start
        selected: IntArray = self._rows[array]
        return selected

    def _give_back(self, n_rows: int) -> None:
        """Count what was read; after much of it, let the system have the memory of its pages."""
        row_bytes = max(self._table.shape[1] * self._table.itemsize, _PAGE_BYTES)
        self._read_bytes += n_rows * row_bytes
        if self._table.nbytes > _HELD_BYTES and self._read_bytes > _HELD_BYTES:
            self._read_bytes = 0
            release(self._file)


def _opened_again(place: tuple[Any, ...], rows: IntArray | range) -> MappedRows:
    opened = MappedRows(np.memmap(*place))
    opened._rows = rows
    return opened


def is_mapped(X: Any) -> bool:
    """Return whether ``X`` is a table of numbers in a file: a memory map of two dimensions."""
    in_file = isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None
    return in_file and X.ndim == 2 and X.dtype.kind == "f"


def check_numbers(rows: MappedRows) -> None:
    """Refuse a table without rows or features, and numbers that are not finite."""
    if 0 in rows.shape:
        raise ParameterError(
            f"Features need at least one row and one column. Got the shape {rows.shape}."
        )
    bad = np.concatenate([~np.isfinite(block).all(axis=1) for block in blocks_of(rows)])
    if bad.any():
        raise ParameterError(
            f"Features must be finite numbers. Others in {describe_rows(bad)}. Fill in what is "
            "missing, or leave these rows out."
        )


def blocks_of(X: Features) -> Iterator[Features]:
    """Yield all rows, in memory: as they are if they are there, otherwise some at a time."""
    if not isinstance(X, MappedRows):
        yield X
        return
    n_rows = rows_in_block(X.shape[1])
    for start in range(0, len(X), n_rows):
        yield X.read(slice(start, start + n_rows))


def release(array: Any) -> None:
    """Let the system have the memory of a mapped array, which is read from its file again."""
    advise = getattr(getattr(array, "_mmap", None), "madvise", None)  # not on Windows
    # A private copy of pages would be lost.
    if advise is not None and array.mode != "c":
        advise(mmap.MADV_DONTNEED)


def rows_in_block(n_columns: int, item_bytes: int = 8) -> int:
    """Return how many rows of so many numbers a block has: 8,192, or fewer where they are long."""
    return max(1, min(8192, BLOCK_BYTES // max(1, n_columns * item_bytes)))
