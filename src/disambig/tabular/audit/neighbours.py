"""Rows as points on a common scale, and the nearest of them; without the import of scikit-learn."""

import numpy as np
import pandas as pd

from disambig._core.typing import FloatArray, IntArray

_MOST_COLUMNS = 64
_MOST_CATEGORIES = 20  # of a column; texts have more, and say nothing by being equal
_NUMBERS_AT_A_TIME = 10_000_000


def number_points(
    values: pd.DataFrame, rows: IntArray, generator: np.random.Generator
) -> FloatArray:
    """Return the numbers in rows on a common scale, of some columns if there are many."""
    is_number = [pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes]
    places = np.sort(generator.permutation(np.flatnonzero(is_number))[:_MOST_COLUMNS])
    points = standardized(values.iloc[rows, places].to_numpy(dtype=float))
    return points[:, points.any(axis=0)].astype(np.float32)


def standardized(columns: FloatArray) -> FloatArray:
    """Return columns with mean 0 and variance 1; gaps become 0, and columns that do not vary."""
    is_there = np.isfinite(columns)
    columns = np.where(is_there, columns, 0)
    largest = np.abs(columns).max(axis=0, initial=0)
    columns /= np.where(largest > 0, largest, 1)  # so that no square is too large
    n_there = np.maximum(is_there.sum(axis=0), 1)
    columns = np.where(is_there, columns - columns.sum(axis=0) / n_there, 0)
    scale = np.sqrt(np.square(columns).sum(axis=0) / n_there)
    return np.asarray(columns / np.where(scale > 0, scale, 1))


def points(values: pd.DataFrame, rows: IntArray, generator: np.random.Generator) -> FloatArray:
    """Return numbers and categories in rows; of a category, values that differ are apart by 1."""
    parts = [number_points(values, rows, generator)]
    others = [not pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes]
    for place in generator.permutation(np.flatnonzero(others))[:_MOST_COLUMNS].tolist():
        codes, found = pd.factorize(values.iloc[rows, place], use_na_sentinel=False)
        if 1 < len(found) <= _MOST_CATEGORIES:
            parts.append(np.eye(len(found), dtype=np.float32)[codes] / np.float32(2**0.5))
    return np.hstack(parts)


def are_all_in_points(values: pd.DataFrame) -> bool:
    """Tell whether points hold all columns: there are no texts, and not too many columns."""
    is_number = [pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes]
    others = [place for place, number in enumerate(is_number) if not number]
    return max(sum(is_number), len(others)) <= _MOST_COLUMNS and all(
        values.iloc[:, place].nunique(dropna=False) <= _MOST_CATEGORIES for place in others
    )


def nearest(points: FloatArray, some: IntArray, count: int) -> tuple[IntArray, FloatArray]:
    """Return the other rows nearest to each of some rows, nearest first, and how far away."""
    found = nearest_among(points, points[some], count, leave_out=some)
    distances = np.empty(found.shape)
    width = max(1, _NUMBERS_AT_A_TIME // (count * max(1, points.shape[1])))
    for start in range(0, len(some), width):
        part = slice(start, start + width)
        # Once more, because differences of large numbers are not exact.
        between = points[found[part]].astype(float) - points[some[part], np.newaxis]
        distances[part] = np.sqrt(np.square(between).sum(axis=2))
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(distances, order, axis=1)


def nearest_among(
    points: FloatArray, queries: FloatArray, count: int, *, leave_out: IntArray | None = None
) -> IntArray:
    """Return the points nearest to every query, in no order; ``leave_out`` has one for each."""
    lengths = np.square(points).sum(axis=1)
    found = np.empty((len(queries), count), dtype=np.int64)
    width = max(1, _NUMBERS_AT_A_TIME // len(points))
    for start in range(0, len(queries), width):
        part = slice(start, start + width)
        # Without the squared length of the query, which is the same for all points.
        apart = lengths - 2 * queries[part] @ points.T
        if leave_out is not None:
            apart[np.arange(len(apart)), leave_out[part]] = np.inf
        found[part] = np.argpartition(apart, count - 1, axis=1)[:, :count]
    return found
