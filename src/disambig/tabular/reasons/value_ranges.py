"""Where the values of a row lie among those of each label, and how much they tell labels apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from disambig._core.typing import FloatArray, IntArray
from disambig.tabular.reasons.arranged_rows import ArrangedRows

# Places of so many of all rows on either side are near.
_NEAR = 0.15
# Rows that stand for what is not known of a label: few rows of it tell little.
_UNKNOWN = 10
# Of the rows of a label.
_MOST = 2_000
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class LabelRange:
    """Where the middle 90 % and 50 % of the sure rows of a label lie in a column."""

    label: int
    low: float
    quarter: float
    middle: float
    three_quarters: float
    high: float
    rows: int

    @classmethod
    def of(cls, label: int, quantiles: FloatArray, rows: int) -> Self:
        """Return the range of a label, by the quantiles of so many rows."""
        low, quarter, middle, three_quarters, high = quantiles.tolist()
        return cls(label, low, quarter, middle, three_quarters, high, rows)


@dataclass(frozen=True)
class ValueRange:
    """A number or date of a row, and the ranges of labels, as places from 0 to 1 among all rows."""

    column: str
    at: float | None  # None for a gap
    telling: float
    labels: tuple[LabelRange, ...]


@dataclass(frozen=True)
class LabelShare:
    """The share of the sure rows of a label that have a value."""

    label: int
    share: float
    rows: int


@dataclass(frozen=True)
class ValueShare:
    """A category of a row, and how many rows of each label have it."""

    column: str
    telling: float
    labels: tuple[LabelShare, ...]


def value_ranges(rows: ArrangedRows, row: int, labels: Sequence[int]) -> list[ValueRange]:
    """Return the numbers of a row among those of some labels, the most telling first.

    ``telling`` is how much a value alone tells the labels apart, from 0 to 1: 1 less the entropy of
    the labels given the value, where before all were equally likely, as a share of the largest
    possible. The likelihood of a value is the share of the label's rows that have one near it.
    """
    if not rows.number_names:
        return []
    at = rows.numbers[rows.place[row]]
    of_labels = {
        label: rows.numbers[places]
        for label in labels
        if len(places := _places_of(rows, label, besides=row))
    }
    near = [_share_near(found, at) for found in of_labels.values()]
    telling = _telling(near, [len(found) for found in of_labels.values()], len(at))
    ranges = {label: _quantiles(found) for label, found in of_labels.items()}
    found_ranges = [
        ValueRange(
            name,
            None if np.isnan(at[place]) else float(at[place]),
            float(telling[place]),
            tuple(
                LabelRange.of(label, quantiles[:, place], int(counts[place]))
                for label, (quantiles, counts) in ranges.items()
                if counts[place]
            ),
        )
        for place, name in enumerate(rows.number_names)
    ]
    return sorted(found_ranges, key=lambda one: -one.telling)


def value_shares(rows: ArrangedRows, row: int, labels: Sequence[int]) -> list[ValueShare]:
    """Return the categories of a row and how frequent each is among labels, most telling first."""
    shares = []
    places = {label: _places_of(rows, label, besides=row) for label in labels}
    places = {label: found for label, found in places.items() if len(found)}
    sizes = [len(found) for found in places.values()]
    for column in rows.categories:
        code = column.codes[rows.place[row]]
        of_labels = {
            label: float((column.codes[found] == code).mean()) for label, found in places.items()
        }
        telling = _telling([np.array([share]) for share in of_labels.values()], sizes, 1)
        found = tuple(
            LabelShare(label, share, size)
            for (label, share), size in zip(of_labels.items(), sizes, strict=True)
        )
        shares.append(ValueShare(column.name, float(telling[0]), found))
    return sorted(shares, key=lambda one: -one.telling)


def _places_of(rows: ArrangedRows, label: int, *, besides: int) -> IntArray:
    """Return where the sure rows of a label are, of evenly spaced ones if they are many.

    The row that is looked at is not among them: it would say that it is like itself.
    """
    where = rows.sure.of(label)
    places = np.arange(where.start, where.stop, max(1, -(-(where.stop - where.start) // _MOST)))
    kept: IntArray = places[rows.sure.rows[places] != besides]
    return kept


def _share_near(places: FloatArray, at: FloatArray) -> FloatArray:
    """Return the share of rows near a value, by column; a gap is near gaps only."""
    is_near = np.where(np.isnan(at), np.isnan(places), np.abs(places - at) <= _NEAR)
    share: FloatArray = is_near.mean(axis=0)
    return share


def _telling(shares: Sequence[FloatArray], sizes: Sequence[int], n_columns: int) -> FloatArray:
    """Return how much values tell labels apart, by the shares of their rows that have them."""
    if len(shares) < 2:
        return np.zeros(n_columns)
    counts = np.array(sizes, dtype=np.float64)[:, np.newaxis]
    found = np.array(shares)
    pooled = found.mean(axis=0)
    likelihoods = (found * counts + pooled * _UNKNOWN) / (counts + _UNKNOWN)
    total = likelihoods.sum(axis=0)
    posterior = np.where(total > 0, likelihoods / np.where(total > 0, total, 1), 1 / len(shares))
    logarithms = np.log(np.where(posterior > 0, posterior, 1))
    entropy = -(posterior * logarithms).sum(axis=0)
    telling: FloatArray = np.clip(1 - entropy / np.log(len(shares)), 0, 1)
    return telling


def _quantiles(places: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return quantiles of every column without its gaps, and how many values it has."""
    # Gaps come last; a function that leaves them out takes many times as long.
    rising = np.sort(places, axis=0)
    counts = (~np.isnan(rising)).sum(axis=0)
    exact = np.multiply.outer(_QUANTILES, np.maximum(counts - 1, 0))
    below = np.floor(exact).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(counts - 1, 0))
    lower, upper = (np.take_along_axis(rising, part, axis=0) for part in (below, above))
    quantiles: FloatArray = lower + (upper - lower) * (exact - below)
    return quantiles, counts
