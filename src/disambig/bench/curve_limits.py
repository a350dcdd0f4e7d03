"""Which part of the scale curves are drawn on: what is far below the floor squeezes nothing."""

import math
from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np

from disambig.bench.run_table import Cells, Setting
from disambig.metrics import direction

__all__ = ["MOST_ARROW_ROWS", "ROW_OF_ARROWS", "corrupted_settings", "curve_limits", "mean_of"]

# Empty parts of the height above the highest and below the lowest point.
_MARGIN = 0.06
# Of the height between floor and best: so far below the floor a point has to be shown.
_NEAR = 0.5
# Of the height of a panel: a row of arrows. With more methods than rows, some share theirs.
ROW_OF_ARROWS = 0.07
MOST_ARROW_ROWS = 5


def corrupted_settings(cells: Cells) -> dict[str, Setting]:
    """Return the data that curves can be drawn of: with a share of corrupted rows."""
    return {data: own for data, own in cells.settings.items() if not math.isnan(own.p)}


def curve_limits(cells: Cells, places: Mapping[str, Setting]) -> dict[str, tuple[float, float]]:
    """Return the lower and upper end of the scale for every dataset that has a score."""
    limits = {}
    for dataset in {setting.dataset: None for setting in places.values()}:
        data = [own for own, setting in places.items() if setting.dataset == dataset]
        columns = cells.methods + cells.bounds
        means = _means(cells, data, columns)
        if means:
            low = _lowest_shown(means, _means(cells, data, cells.in_role("floor")), cells.metric)
            margin = _MARGIN * (max(means) - low) or 0.01
            top = max(means) + margin
            # Arrows have rows of their own, below the points.
            n_rows = sum(min(_means(cells, data, [name]), default=low) < low for name in columns)
            share = 1 - min(n_rows, MOST_ARROW_ROWS) * ROW_OF_ARROWS
            limits[dataset] = (top - (top - low + margin) / share, top)
    return limits


def mean_of(cells: Cells, data: str, method: str) -> float:
    """Return the mean over runs; NaN where none finished."""
    values = cells.values(data, method)
    return float(np.mean(values)) if len(values) else math.nan


def _lowest_shown(means: list[float], floors: list[float], metric: str) -> float:
    """Return the lowest point; without those far below the floor if that saves half the height."""
    lowest, highest = min(means), max(means)
    if not floors or direction(metric) < 0:
        return lowest
    floor = min(floors)
    near = min(mean for mean in means if mean >= floor - _NEAR * (highest - floor))
    return near if highest - near < (highest - lowest) / 2 else lowest


def _means(cells: Cells, data: Iterable[str], methods: Iterable[str]) -> list[float]:
    means = [mean_of(cells, own, method) for own, method in product(data, methods)]
    return [mean for mean in means if not math.isnan(mean)]
