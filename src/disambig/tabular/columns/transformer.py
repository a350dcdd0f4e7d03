"""Columns become features: gaps filled, clipped to the range seen in training, scaled, encoded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field

from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.methods.feature_scales import FeatureScale
from disambig.tabular.columns.kinds import MOST_CATEGORIES
from disambig.tabular.columns.values import ColumnPlan, Record, value_names

_SCALER = "scaler."


class CategoryCodes(Record):
    """The categories of a column that were seen in training; None is a gap.

    Each of the ``frequent`` has a column of its own; all ``rare`` ones share one, the last.
    """

    frequent: list[str | None]
    rare: list[str | None] = Field(default_factory=list)

    @classmethod
    def seen(cls, cells: Sequence[str | None]) -> Self:
        """Return the categories of a column in alphabetical order, a gap last."""
        counts = Counter(cells)
        gaps = counts.pop(None, 0)
        names: list[str | None] = [*sorted(name for name in counts if name is not None)]
        sizes = [counts[name] for name in names]
        if gaps:
            names.append(None)
            sizes.append(gaps)
        if len(names) <= MOST_CATEGORIES:
            return cls(frequent=names)
        # Stable, so that of equally rare ones the last in the alphabet stay.
        by_size = np.argsort(sizes, kind="stable")
        frequent = set(by_size[-(MOST_CATEGORIES - 1) :].tolist())
        return cls(
            frequent=[name for place, name in enumerate(names) if place in frequent],
            rare=[name for place, name in enumerate(names) if place not in frequent],
        )

    @property
    def width(self) -> int:
        """Number of columns of 0 and 1."""
        return len(self.frequent) + bool(self.rare)

    def places(self, cells: Sequence[str | None]) -> IntArray:
        """Return which of these columns is 1 in every row; -1 where none is."""
        shared = len(self.frequent)
        place_of = {name: place for place, name in enumerate(self.frequent)}
        place_of |= dict.fromkeys(self.rare, shared)
        # What was not seen counts as rare, where anything is.
        unseen = shared if self.rare else -1
        return np.fromiter((place_of.get(cell, unseen) for cell in cells), np.intp, len(cells))

    def unseen(self, cells: Sequence[str | None]) -> list[str]:
        """Return the categories of a column that were not seen, sorted."""
        return sorted(
            cell for cell in set(cells) - {*self.frequent, *self.rare} if cell is not None
        )


class TransformerState(Record):
    """What is not a number of what a transformer has learned, as JSON takes it."""

    scaling: Literal["standard", "none"]
    gaps: list[str]  # numbers with a column of 0 and 1 for their gaps
    categories: dict[str, CategoryCodes]


@dataclass(frozen=True, eq=False)
class FeatureTransformer:
    """Turns what ``column_values`` returns for a plan into features.

    Numbers, booleans and parts of dates have their median in place of what is missing, stay within
    what the rows of the fit held, and are scaled to mean 0 and variance 1, unless the method scales
    features itself. A column of 0 and 1 says what was missing, if anything was in the rows of the
    fit. Categories are columns of 0 and 1, what is missing being a category too; the rarer of more
    than ``MOST_CATEGORIES`` share a column.

    What a model does beyond the range that it has seen is anybody's guess; and a column that was
    constant, such as the hour of dates without a time, has no scale to measure another value by.
    """

    numbers: list[str]  # the names of values that are numbers
    medians: FloatArray  # of every number: what fills gaps
    low: FloatArray  # of every number: its range
    high: FloatArray
    scale: FeatureScale | None  # of the numbers, where there are any
    state: TransformerState

    @classmethod
    def fit(
        cls, values: pd.DataFrame, plan: ColumnPlan, *, scaling: Literal["standard", "none"]
    ) -> Self:
        """Learn from what ``column_values`` returned for a plan; ``scaling`` is that of numbers."""
        numbers, marked, categories = _value_names(plan)
        X = values[numbers].to_numpy(np.float64)
        missing = np.isnan(X)
        empty = missing.all(axis=0)
        medians = np.zeros(len(numbers))
        medians[~empty] = np.nanmedian(X[:, ~empty], axis=0)
        X = np.where(missing, medians, X)
        low, high = X.min(axis=0), X.max(axis=0)
        with_gaps = set(compress(numbers, missing.any(axis=0).tolist()))
        state = TransformerState(
            scaling=scaling,
            # One column for a date: its parts are missing together.
            gaps=[name for name in marked if name in with_gaps],
            categories={
                name: CategoryCodes.seen(cells)
                for name, cells in zip(categories, _cells(values, categories), strict=True)
            },
        )
        scale = FeatureScale.fit(scaling, X) if X.size else None
        return cls(numbers, medians, low, high, scale, state)

    @property
    def categories(self) -> list[str]:
        """The names of values that are categories."""
        return list(self.state.categories)

    @property
    def n_features(self) -> int:
        """Number of features."""
        of_categories = sum(codes.width for codes in self.state.categories.values())
        return len(self.numbers) + len(self.state.gaps) + of_categories

    def transform(self, values: pd.DataFrame) -> FloatArray:
        """Return the features of rows: numbers, marks of gaps, categories."""
        features = np.zeros((len(values), self.n_features))
        column = len(self.numbers)
        if column:
            X = values[self.numbers].to_numpy(np.float64)
            missing = np.isnan(X)
            X = np.clip(np.where(missing, self.medians, X), self.low, self.high)
            features[:, :column] = X if self.scale is None else self.scale.apply(X)
            # Not scaled: what is rarely missing would outweigh everything else.
            place_of = {name: place for place, name in enumerate(self.numbers)}
            n_gaps = len(self.state.gaps)
            features[:, column : column + n_gaps] = missing[
                :, [place_of[n] for n in self.state.gaps]
            ]
            column += n_gaps
        for codes, cells in self._categories_with_cells(values):
            places = codes.places(cells)
            rows = np.flatnonzero(places >= 0)
            features[rows, column + places[rows]] = 1
            column += codes.width
        return features

    def unseen_categories(self, values: pd.DataFrame) -> dict[str, list[str]]:
        """Return the categories that were not seen in training, by column, sorted."""
        unseen = [codes.unseen(cells) for codes, cells in self._categories_with_cells(values)]
        return {name: new for name, new in zip(self.categories, unseen, strict=True) if new}

    def _categories_with_cells(
        self, values: pd.DataFrame
    ) -> Iterator[tuple[CategoryCodes, list[str | None]]]:
        codes = self.state.categories.values()
        return zip(codes, _cells(values, self.categories), strict=True)

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return the numbers that were learned, by name; ``state`` is the rest."""
        arrays = {"medians": self.medians, "low": self.low, "high": self.high}
        if self.scale is not None:
            arrays |= {_SCALER + name: array for name, array in self.scale.learned.items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, plan: ColumnPlan, state: TransformerState, arrays: Mapping[str, AnyArray]
    ) -> Self:
        """Rebuild a transformer that gives the same bits; raise ``ValueError`` if it does not fit.

        ``plan`` is what it was fitted for; ``state`` and ``to_arrays`` gave the rest.
        """
        numbers, marked, categories = _value_names(plan)
        if not set(state.gaps) <= set(marked) or len(set(state.gaps)) < len(state.gaps):
            raise ValueError("gaps are marked of columns that are not numbers of the plan")
        if list(state.categories) != categories:
            raise ValueError("its categories are not those of its plan")
        for codes in state.categories.values():
            known = [*codes.frequent, *codes.rare]
            if len(set(known)) < len(known):
                raise ValueError("a category is there twice")
        ranges = [arrays.get(name) for name in ("medians", "low", "high")]
        if any(
            array is None or array.dtype != np.float64 or array.shape != (len(numbers),)
            for array in ranges
        ):
            raise ValueError("every number needs a median and a range")
        medians, low, high = (np.array(array) for array in ranges)
        if not ((low <= medians) & (medians <= high)).all():
            raise ValueError("the range of a number does not hold its median")
        of_scaler = {n.removeprefix(_SCALER): a for n, a in arrays.items() if n.startswith(_SCALER)}
        if len(arrays) != len(ranges) + len(of_scaler):
            raise ValueError("it has arrays that do not belong to a transformer")
        if not numbers:
            if of_scaler:
                raise ValueError("nothing is to be scaled")
            return cls(numbers, medians, low, high, None, state)
        scale = FeatureScale.from_arrays(state.scaling, of_scaler)
        if scale.n_features != len(numbers):
            raise ValueError("every number needs a scale")
        return cls(numbers, medians, low, high, scale, state)


def _cells(values: pd.DataFrame, names: list[str]) -> Iterator[list[str | None]]:
    """Yield the cells of columns of strings; all together, as pandas is slow with each."""
    return map(list, values[names].to_numpy(dtype=object).T)


def _value_names(plan: ColumnPlan) -> tuple[list[str], list[str], list[str]]:
    """Return the values that are numbers, those that may have a mark for gaps, and categories."""
    named: Sequence[tuple[Any, list[str]]] = list(zip(plan.columns, value_names(plan), strict=True))
    numbers = [name for column, names in named if column.kind != "category" for name in names]
    marked = [names[0] for column, names in named if column.kind != "category"]
    categories = [names[0] for column, names in named if column.kind == "category"]
    return numbers, marked, categories
