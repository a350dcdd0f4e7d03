"""Columns become features: gaps filled, clipped to the range seen in training, scaled, encoded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field

from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.methods.feature_scales import FeatureScale
from disambig.tabular.columns.kinds import MOST_CATEGORIES
from disambig.tabular.columns.shapes import find_spikes, heavy_tails, on_circles, quantiles_of
from disambig.tabular.columns.values import ColumnPlan, Record, ValueNames

_SCALER = "scaler."
_RANKS = "ranks."
# A rank that nobody has reached would be infinitely far away, and the last ones are luck.
_LARGEST_SCORE = 3.0


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
    # Models of version 0.2.0 have none of these.
    circles: list[str] = Field(default_factory=list)  # parts of dates that are points on a circle
    tails: list[str] = Field(default_factory=list)  # numbers with a normal score beside them
    spikes: dict[str, float] = Field(default_factory=dict)  # numbers with a mark for this value


@dataclass(frozen=True, eq=False)
class FeatureTransformer:
    """Turns what ``column_values`` returns for a plan into features.

    Numbers, booleans and parts of dates have their median in place of what is missing, stay within
    what the rows of the fit held, and are scaled to mean 0 and variance 1, unless the method scales
    features itself. The parts of a date that begin again, such as the weekday, are points on a
    circle. A number with a heavy tail has the normal score of its rank beside it. Columns of 0 and
    1 say where a number has the one value that stands out in the rows of the fit, such as 0, and
    what was missing, if anything was there. Categories are columns of 0 and 1, what is missing
    being a category too; the rarer of more than ``MOST_CATEGORIES`` share a column.

    What a model does beyond the range that it has seen is anybody's guess; and a column that was
    constant, such as the hour of dates without a time, has no scale to measure another value by.
    """

    numbers: list[str]  # the names of values that are numbers
    medians: FloatArray  # of every number: what fills gaps
    low: FloatArray  # of every number: its range
    high: FloatArray
    periods: dict[str, float]  # of the parts of dates on a circle, as the state has them
    scale: FeatureScale | None  # of the numbers, where there are any
    ranks: FeatureScale | None  # of the numbers with heavy tails, where there are any
    state: TransformerState

    @classmethod
    def fit(
        cls, values: pd.DataFrame, plan: ColumnPlan, *, scaling: Literal["standard", "none"]
    ) -> Self:
        """Learn from what ``column_values`` returned for a plan; ``scaling`` is that of numbers."""
        names = ValueNames.of(plan)
        with_gaps = values[names.numbers].to_numpy(np.float64)
        missing = np.isnan(with_gaps)
        empty = missing.all(axis=0)
        medians = np.zeros(len(names.numbers))
        medians[~empty] = np.nanmedian(with_gaps[:, ~empty], axis=0)
        X = np.where(missing, medians, with_gaps)
        low, high = X.min(axis=0), X.max(axis=0)
        have_gaps = set(compress(names.numbers, missing.any(axis=0).tolist()))
        vary = set(compress(names.numbers, (low < high).tolist()))
        circles = [name for name in names.periods if name in vary]
        amounts = names.places(names.amounts)
        tails = _heavy_tails(with_gaps[:, amounts], X[:, amounts])
        spikes = find_spikes(with_gaps[:, amounts])
        state = TransformerState(
            scaling=scaling,
            # One column for a date: its parts are missing together.
            gaps=[name for name in names.marked if name in have_gaps],
            categories={
                name: CategoryCodes.seen(cells)
                for name, cells in zip(
                    names.categories, _cells(values, names.categories), strict=True
                )
            },
            circles=circles,
            tails=[names.amounts[place] for place in tails],
            spikes={names.amounts[place]: value for place, value in spikes.items()},
        )
        scale = FeatureScale.fit(scaling, X) if X.size else None
        ranks = None
        if tails:
            quantiles = quantiles_of(with_gaps[:, names.places(state.tails)])
            ranks = FeatureScale("quantile", {"quantiles_": quantiles})
        periods = {name: names.periods[name] for name in circles}
        return cls(names.numbers, medians, low, high, periods, scale, ranks, state)

    @property
    def categories(self) -> list[str]:
        """The names of values that are categories."""
        return list(self.state.categories)

    @property
    def n_features(self) -> int:
        """Number of features."""
        state = self.state
        # A point on a circle is two numbers.
        of_numbers = len(self.numbers) + len(state.circles) + len(state.tails)
        of_marks = len(state.spikes) + len(state.gaps)
        return of_numbers + of_marks + sum(codes.width for codes in state.categories.values())

    def transform(self, values: pd.DataFrame) -> FloatArray:
        """Return the features of rows: numbers, circles, scores, marks, categories."""
        features = np.zeros((len(values), self.n_features))
        column = 0
        for part in self._of_numbers(values) if self.numbers else ():
            features[:, column : column + part.shape[1]] = part
            column += part.shape[1]
        for codes, cells in self._categories_with_cells(values):
            places = codes.places(cells)
            rows = np.flatnonzero(places >= 0)
            features[rows, column + places[rows]] = 1
            column += codes.width
        return features

    def _of_numbers(self, values: pd.DataFrame) -> Iterator[AnyArray]:
        """Yield the features that are made of numbers, a few columns at a time."""
        state = self.state
        place_of = {name: place for place, name in enumerate(self.numbers)}
        X = values[self.numbers].to_numpy(np.float64)
        missing = np.isnan(X)
        X = np.clip(np.where(missing, self.medians, X), self.low, self.high)
        scaled = X if self.scale is None else self.scale.apply(X)
        circles = [place_of[name] for name in state.circles]
        yield np.delete(scaled, circles, axis=1) if circles else scaled
        if circles:
            yield on_circles(X[:, circles], np.array(list(self.periods.values())))
        if self.ranks is not None:
            scores = self.ranks.apply(X[:, [place_of[name] for name in state.tails]])
            yield np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)
        # Marks are not scaled: what is rare would outweigh everything else.
        spikes = [place_of[name] for name in state.spikes]
        yield (X[:, spikes] == list(state.spikes.values())) & ~missing[:, spikes]
        yield missing[:, [place_of[name] for name in state.gaps]]

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
        for prefix, scale in ((_SCALER, self.scale), (_RANKS, self.ranks)):
            if scale is not None:
                arrays |= {prefix + name: array for name, array in scale.learned.items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, plan: ColumnPlan, state: TransformerState, arrays: Mapping[str, AnyArray]
    ) -> Self:
        """Rebuild a transformer that gives the same bits; raise ``ValueError`` if it does not fit.

        ``plan`` is what it was fitted for; ``state`` and ``to_arrays`` gave the rest.
        """
        names = ValueNames.of(plan)
        _check_state(state, names)
        ranges = [arrays.get(name) for name in ("medians", "low", "high")]
        if any(
            array is None or array.dtype != np.float64 or array.shape != (len(names.numbers),)
            for array in ranges
        ):
            raise ValueError("every number needs a median and a range")
        medians, low, high = (np.array(array) for array in ranges)
        if not ((low <= medians) & (medians <= high)).all():
            raise ValueError("the range of a number does not hold its median")
        of_scaler, of_ranks = (_prefixed(arrays, prefix) for prefix in (_SCALER, _RANKS))
        if len(arrays) != len(ranges) + len(of_scaler) + len(of_ranks):
            raise ValueError("it has arrays that do not belong to a transformer")
        scale = _rebuilt(state.scaling, of_scaler, len(names.numbers), "number")
        ranks = _rebuilt("quantile", of_ranks, len(state.tails), "number with a heavy tail")
        periods = {name: names.periods[name] for name in state.circles}
        return cls(names.numbers, medians, low, high, periods, scale, ranks, state)


def _heavy_tails(with_gaps: FloatArray, filled: FloatArray) -> list[int]:
    if not filled.size:
        return []
    standardised = FeatureScale.fit("standard", filled).apply(filled)
    columns: list[int] = heavy_tails(with_gaps, standardised).tolist()
    return columns


def _check_state(state: TransformerState, names: ValueNames) -> None:
    """Raise ``ValueError`` if a state does not belong to a plan."""
    for some, known, what in (
        (state.gaps, names.marked, "gaps are marked of columns that are not numbers of the plan"),
        (state.circles, names.periods, "what is on a circle is not the part of a date"),
        (state.tails, names.amounts, "a heavy tail is that of a column that is not a number"),
        (list(state.spikes), names.amounts, "a value stands out in a column that is not a number"),
    ):
        if not set(some) <= set(known) or len(set(some)) < len(some):
            raise ValueError(what)
    if list(state.categories) != names.categories:
        raise ValueError("its categories are not those of its plan")
    for codes in state.categories.values():
        known_categories = [*codes.frequent, *codes.rare]
        if len(set(known_categories)) < len(known_categories):
            raise ValueError("a category is there twice")


def _rebuilt(
    kind: str, arrays: Mapping[str, AnyArray], n_columns: int, what: str
) -> FeatureScale | None:
    if not n_columns:
        if arrays:
            raise ValueError("nothing is to be scaled")
        return None
    scale = FeatureScale.from_arrays(kind, arrays)
    if scale.n_features != n_columns:
        raise ValueError(f"every {what} needs a scale")
    return scale


def _prefixed(arrays: Mapping[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def _cells(values: pd.DataFrame, names: list[str]) -> Iterator[list[str | None]]:
    """Yield the cells of columns of strings; all together, as pandas is slow with each."""
    return map(list, values[names].to_numpy(dtype=object).T)
