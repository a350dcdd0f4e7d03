"""Columns in which rows can be compared: how far two rows are apart in each, on a common scale."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import rankdata

from disambig._core.typing import AnyArray, FloatArray, IntArray, Sparse
from disambig.tabular.columns.text_features import Terms, readable
from disambig.tabular.columns.values import ColumnPlan, column_of_values
from disambig.tabular.reasons.picture_columns import PictureColumn

# Squared, two places drawn at random are so far apart: a gap is as far from any place.
_MEAN_SQUARE = 1 / 6
_MIDDLE = 0.5
# The beginning of a text does for comparing it: of many texts less, so that it takes seconds.
_MOST_LETTERS, _FEWEST_LETTERS = 2_000, 100
_MOST_LETTERS_OF_ALL = 30_000_000
_MOST_LETTERS_OF_WORD = 15  # of all words on average; above, there are no spaces between words


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers or dates by their place among all rows, from 0 to 1; NaN is a gap.

    Places, because they bear any scale and any outlier: 0.4 says that 40 % of the rows have less.
    """

    name: str
    places: FloatArray  # in single precision

    @classmethod
    def of(cls, name: str, numbers: FloatArray) -> Self:
        """Return the places of numbers; equal ones share the middle of theirs."""
        there = ~np.isnan(numbers)
        places = np.full(len(numbers), np.nan, dtype=np.float32)
        places[there] = (rankdata(numbers[there]) - _MIDDLE) / max(1, there.sum())
        return cls(name, places)

    def take(self, rows: IntArray) -> Self:
        """Return the column of some rows."""
        return replace(self, places=self.places[rows])

    def apart(self, some: slice | IntArray, others: int | IntArray) -> FloatArray:
        """Return how far rows are from others, squared."""
        return gap_aware_squares(self.places[some], self.places[others])


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Categories by their number; a gap is one of them."""

    name: str
    codes: IntArray

    @classmethod
    def of(cls, name: str, cells: AnyArray) -> Self:
        """Return the numbers of categories."""
        codes, _ = pd.factorize(cells, use_na_sentinel=False)
        return cls(name, codes.astype(np.int32))

    def take(self, rows: IntArray) -> Self:
        """Return the column of some rows."""
        return replace(self, codes=self.codes[rows])

    def apart(self, some: slice | IntArray, others: int | IntArray) -> FloatArray:
        """Return 1 where rows differ from others, and 0 where they do not."""
        differ: FloatArray = (self.codes[some] != self.codes[others]).astype(np.float32)
        return differ


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Texts by their words, the rarer the weightier: rows of TF-IDF of length 1, or 0 if empty."""

    name: str
    vectors: Sparse

    @classmethod
    def of(cls, name: str, texts: Sequence[str]) -> Self:
        """Return the words of texts; the pieces of words, where no spaces are between these."""
        most = max(_FEWEST_LETTERS, _MOST_LETTERS_OF_ALL // max(1, len(texts)))
        cleaned = [readable(text[: min(most, _MOST_LETTERS)]) for text in texts]
        n_words = sum(len(text.split()) for text in cleaned)
        spaced = sum(map(len, cleaned)) <= _MOST_LETTERS_OF_WORD * max(1, n_words)
        terms = Terms.fit("words" if spaced else "pieces", cleaned)
        return cls(name, sparse.csr_array(terms.transform(cleaned).astype(np.float32)))

    def take(self, rows: IntArray) -> Self:
        """Return the column of some rows."""
        return replace(self, vectors=self.vectors[rows])

    def apart(self, some: slice | IntArray, others: int | IntArray) -> FloatArray:
        """Return 1 less the cosine between rows and others; 0 between texts without any word."""
        vectors = self.vectors[some]
        n_words = np.diff(vectors.indptr)
        if isinstance(others, int):
            other = self.vectors[[others]]
            cosines = vectors @ other.toarray().ravel()
            n_other = np.diff(other.indptr)
        else:
            against = self.vectors[others]
            cosines = np.asarray((vectors * against).sum(axis=1)).ravel()
            n_other = np.diff(against.indptr)
        apart: FloatArray = np.where((n_words == 0) & (n_other == 0), 0, 1 - cosines)
        return apart.clip(0, 1)


ComparableColumn = NumberColumn | CategoryColumn | TextColumn | PictureColumn


def gap_aware_squares(some: FloatArray, others: FloatArray | float) -> FloatArray:
    """Return squared distances of places; two gaps are not apart, a gap is far from any place."""
    gaps, other_gaps = np.isnan(some), np.isnan(others)
    squares: FloatArray = np.where(
        gaps | other_gaps, _MEAN_SQUARE * (gaps != other_gaps), (some - others) ** 2
    )
    return squares


def comparable_columns(plan: ColumnPlan, values: pd.DataFrame) -> Iterator[ComparableColumn]:
    """Yield the columns of a plan as they can be compared; a date is one for each of its parts."""
    kinds = {column.name: column.kind for column in plan.columns}
    for name, column in column_of_values(plan).items():
        cells = values[name]
        match kinds[column]:
            case "category":
                yield CategoryColumn.of(name, cells.to_numpy(dtype=object))
            case "text":
                yield TextColumn.of(name, cells.tolist())
            case "boolean":
                yield CategoryColumn.of(name, cells.to_numpy(dtype=np.float64))
            case _:
                yield NumberColumn.of(name, cells.to_numpy(dtype=np.float64))
