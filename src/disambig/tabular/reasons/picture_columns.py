"""Columns of pictures, compared by what the built-in descriptor says of every file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from disambig._core.errors import DisambigError
from disambig._core.typing import FloatArray, IntArray
from disambig.tabular.columns.cells import UnusableColumnError, distinct_strings, read_column
from disambig.tabular.described.describers import UnreadableCellError
from disambig.tabular.described.image_descriptor import BuiltInDescriptor
from disambig.tabular.described.image_files import read_image_file

# More would take minutes: a file takes some milliseconds.
_MOST_FILES = 5_000
# Standardized numbers of two rows at random are so far apart, squared; and a gap from a picture.
_OF_RANDOM_ROWS = 2.0


@dataclass(frozen=True, eq=False)
class PictureColumn:
    """Pictures as standardized numbers, a row for each row; NaN where there is none."""

    name: str
    numbers: FloatArray  # in single precision

    @classmethod
    def of(cls, name: str, described: FloatArray) -> Self:
        """Return pictures by what a descriptor said of them."""
        there = ~np.isnan(described).any(axis=1)
        mean, scale = described[there].mean(axis=0), described[there].std(axis=0)
        varying = np.flatnonzero(scale > 0)
        if not len(varying):  # one picture, again and again
            varying, scale = np.array([0]), np.ones_like(scale)
        numbers = (described - mean)[:, varying] / scale[varying]
        return cls(name, numbers.astype(np.float32))

    def take(self, rows: IntArray) -> Self:
        """Return the column of some rows."""
        return replace(self, numbers=self.numbers[rows])

    def apart(self, some: slice | IntArray, others: int | IntArray) -> FloatArray:
        """Return the mean squared difference of the numbers of rows and others."""
        ours, theirs = self.numbers[some], self.numbers[others]
        gaps, other_gaps = np.isnan(ours[..., 0]), np.isnan(theirs[..., 0])
        apart: FloatArray = np.where(
            gaps | other_gaps,
            _OF_RANDOM_ROWS * (gaps != other_gaps),
            np.square(ours - theirs).mean(axis=-1),
        )
        return apart


def picture_column(column: Any, folder: Path) -> PictureColumn | None:
    """Return the pictures that the cells of a column name, with paths that begin in a folder.

    None where there are very many, where none can be read, or where what reads them is missing.
    """
    try:
        codes, cells = distinct_strings(read_column(column))
    except UnusableColumnError:
        return None
    if len(cells) > _MOST_FILES:
        return None
    described = np.full((len(cells) + 1, BuiltInDescriptor.width), np.nan, dtype=np.float32)
    for place, cell in enumerate(cells):
        try:
            (said,) = BuiltInDescriptor().describe([read_image_file(folder, cell)])
        except UnreadableCellError:
            continue
        except DisambigError:  # Pillow is not installed
            return None
        if not isinstance(said, str):
            described[place] = said
    numbers = described[codes]
    return None if np.isnan(numbers).all() else PictureColumn.of(str(column.name), numbers)
