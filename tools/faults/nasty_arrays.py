"""Features and candidate sets that are hard to fit, each made by a generator of random numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

ROWS, FEATURES, CLASSES = 36, 4, 3
TINY, HUGE = 5e-324, 1e300


@dataclass(frozen=True)
class Nasty:
    """Something to fit.

    Attributes
    ----------
    make : callable
        From a generator and the features of a plain problem, or its mask, to what is fitted.
    is_right : bool or None
        Whether it must be fitted, or must be refused; None where either is right, as long as the
        error says what is wrong.
    """

    make: Callable[[np.random.Generator, Any], Any]
    is_right: bool | None = True


def plain_features(draw: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """Return features by which classes can be told apart."""
    return draw.normal(size=(len(truth), FEATURES)) + truth[:, np.newaxis]


def plain_mask(draw: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """Return candidate sets with the truth and some other classes."""
    mask = draw.random((len(truth), CLASSES)) < 0.4
    mask[np.arange(len(truth)), truth] = True
    return mask


def _scaled(factor: Any) -> Nasty:
    return Nasty(lambda _, X: X * factor)


def _as(dtype: Any) -> Nasty:
    return Nasty(lambda _, X: (4 * X).astype(dtype))


def _with(value: Any, is_right: bool | None = False) -> Nasty:
    def make(draw: np.random.Generator, X: np.ndarray) -> np.ndarray:
        X = X.astype(object if isinstance(value, str) else float)
        X[draw.integers(len(X)), draw.integers(X.shape[1])] = value
        return X

    return Nasty(make, is_right)


def _read_only(_: np.random.Generator, array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _sparse(draw: np.random.Generator, X: np.ndarray) -> Any:
    return sparse.csr_array(X * (draw.random(X.shape) < 0.5))


def _long_indices(draw: np.random.Generator, X: np.ndarray) -> Any:
    matrix = _sparse(draw, X)
    matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    return matrix


def _stored_twice(_: np.random.Generator, X: np.ndarray) -> Any:
    rows, columns = np.indices(X.shape).reshape(2, -1)
    entries = (np.tile(X.ravel(), 2), (np.tile(rows, 2), np.tile(columns, 2)))
    return sparse.coo_array(entries, X.shape)


FEATURE_KINDS = {
    "plain": Nasty(lambda _, X: X),
    "one row": Nasty(lambda _, X: X[:1]),
    "two rows": Nasty(lambda _, X: X[:2]),
    "three rows": Nasty(lambda _, X: X[:3]),
    "one feature": Nasty(lambda _, X: X[:, :1]),
    "no features": Nasty(lambda _, X: X[:, :0], False),
    "no rows": Nasty(lambda _, X: X[:0], False),
    "more features than rows": Nasty(lambda draw, X: draw.normal(size=(len(X), 300))),
    "a constant feature": Nasty(lambda _, X: np.column_stack([X, np.full(len(X), 0.1)])),
    "a huge constant": Nasty(lambda _, X: np.column_stack([X, np.full(len(X), HUGE)])),
    "all equal": Nasty(lambda _, X: np.full_like(X, 0.1)),
    "zeros": Nasty(lambda _, X: np.zeros_like(X)),
    "negative zeros": Nasty(lambda _, X: -np.zeros_like(X)),
    "repeated rows": Nasty(lambda draw, X: X[draw.integers(4, size=len(X))]),
    "collinear": Nasty(lambda _, X: np.column_stack([X, X @ np.ones(X.shape[1]), 2 * X])),
    "ties": Nasty(lambda _, X: (X > 0).astype(float)),
    "one-hot": Nasty(lambda draw, X: np.eye(5)[draw.integers(5, size=len(X))]),
    "1e300": _scaled(HUGE),
    "1e150": _scaled(1e150),
    "1e-150": _scaled(1e-150),
    "1e-300": _scaled(1e-300),
    "denormal": _scaled(1e-310),
    "the smallest numbers": Nasty(lambda _, X: np.round(X) * TINY),
    "mixed scales": _scaled(np.array([1e-300, 1e-5, 1e5, 1e300])),
    "far from zero": Nasty(lambda _, X: X + 1e12),
    "last digits": Nasty(lambda _, X: 1 + np.round(X) * np.finfo(float).eps),
    "largest and smallest": Nasty(lambda _, X: np.where(X > 0, 1, -1) * np.finfo(float).max / 4),
    "an outlier of 1e200": _with(1e200, None),
    "an outlier of 1e20": _with(1e20, None),
    "NaN": _with(np.nan),
    "infinity": _with(np.inf),
    "minus infinity": _with(-np.inf),
    "a word": _with("word"),
    "None": Nasty(lambda _, X: [[None, *row[1:]] for row in X.tolist()], False),
    "too large an integer": Nasty(lambda _, X: [[10**400, *row[1:]] for row in X.tolist()], False),
    "int64": _as(np.int64),
    "int8": _as(np.int8),
    "uint8": Nasty(lambda _, X: np.abs(9 * X).astype(np.uint8)),
    "bool": Nasty(lambda _, X: X > 0),
    "float16": _as(np.float16),
    "float32": _as(np.float32),
    "long double": _as(np.longdouble),
    "big-endian": _as(">f8"),
    "complex": Nasty(lambda _, X: X + 1j, False),
    "dates": Nasty(lambda _, X: X.astype("datetime64[s]"), None),
    "objects": Nasty(lambda _, X: X.astype(object)),
    "lists": Nasty(lambda _, X: X.tolist()),
    "text of numbers": Nasty(lambda _, X: X.astype(str), None),
    "one dimension": Nasty(lambda _, X: X[:, 0], False),
    "three dimensions": Nasty(lambda _, X: X[:, :, np.newaxis], False),
    "Fortran order": Nasty(lambda _, X: np.asfortranarray(X)),
    "every other column": Nasty(lambda _, X: np.repeat(X, 2, axis=1)[:, ::2]),
    "backwards": Nasty(lambda _, X: X[::-1, ::-1]),
    "read-only": Nasty(_read_only),
    "one row for all": Nasty(lambda _, X: np.broadcast_to(X[0], X.shape)),
    "masked": Nasty(lambda _, X: np.ma.masked_array(X, X > 9)),
    "sparse": Nasty(_sparse, None),
    "sparse, long indices": Nasty(_long_indices, None),
    "sparse, stored twice": Nasty(_stored_twice, None),
    "sparse, nothing stored": Nasty(lambda _, X: sparse.csr_array(X.shape), None),
    "sparse columns": Nasty(lambda draw, X: _sparse(draw, X).tocsc(), None),
    "sparse, 1e300": Nasty(lambda draw, X: _sparse(draw, X) * HUGE, None),
    "sparse, 1e-300": Nasty(lambda draw, X: _sparse(draw, X) * 1e-300, None),
}


def _weights(change: Callable[[np.random.Generator, np.ndarray], np.ndarray]) -> Nasty:
    from disambig import CandidateLabels

    return Nasty(lambda draw, mask: CandidateLabels.from_mask(mask, weights=change(draw, mask)))


def _one(value: float) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    """Return what gives the first candidate of every row this weight, and all others one."""

    def make(_: np.random.Generator, mask: np.ndarray) -> np.ndarray:
        weights = mask.astype(float)
        weights[np.arange(len(mask)), mask.argmax(axis=1)] = value
        return weights

    return make


def _bad_weights(value: float) -> Nasty:
    return Nasty(_weights(_one(value)).make, False)


def _truth(mask: np.ndarray) -> np.ndarray:
    return mask.argmax(axis=1)


def set_kinds() -> dict[str, Nasty]:
    """Return kinds of candidate sets, made from a plain mask."""
    from disambig import CandidateLabels

    def empty_classes(_: np.random.Generator, mask: np.ndarray) -> Any:
        return CandidateLabels.from_mask(mask, ["a", "b", "c"]).with_classes([*"xyabczw"])

    def without_first(_: np.random.Generator, mask: np.ndarray) -> np.ndarray:
        return np.vstack([np.zeros_like(mask[:1]), mask[1:]])

    return {
        "plain": Nasty(lambda _, mask: mask),
        "everything": Nasty(lambda _, mask: np.ones_like(mask)),
        "one candidate": Nasty(lambda _, mask: _truth(mask)),
        "one class": Nasty(lambda _, mask: np.ones((len(mask), 1), dtype=bool)),
        "one class of three": Nasty(
            lambda _, mask: np.eye(3, dtype=bool)[np.zeros(len(mask), int)]
        ),
        "many classes": Nasty(lambda draw, mask: draw.random((len(mask), 60)) < 0.5),
        "empty classes": Nasty(empty_classes),
        "a class a row": Nasty(lambda _, mask: np.arange(len(mask))),
        "the same pair": Nasty(lambda _, mask: np.tile([True, True, False], (len(mask), 1))),
        "sparse mask": Nasty(lambda _, mask: sparse.csr_array(mask)),
        "sparse columns": Nasty(lambda _, mask: sparse.csc_matrix(mask)),
        "sparse entries": Nasty(lambda _, mask: sparse.coo_array(mask)),
        "read-only": Nasty(_read_only),
        "Fortran order": Nasty(lambda _, mask: np.asfortranarray(mask)),
        "backwards": Nasty(lambda _, mask: mask[:, ::-1]),
        "names": Nasty(lambda _, mask: np.array(["", "é\u202e", "x" * 300])[_truth(mask)]),
        "weights of 1e-300": _weights(_one(1e-300)),
        "weights of 1e300": _weights(_one(HUGE)),
        "the smallest weights": _weights(_one(TINY)),
        "small weights alone": _weights(lambda _, mask: mask * 1e-300),
        "smallest weights alone": _weights(lambda _, mask: mask * TINY),
        "huge weights alone": _weights(lambda _, mask: mask * HUGE),
        "weights of zero": Nasty(_weights(_one(0.0)).make, None),
        "mixed weights": _weights(lambda draw, mask: mask * 10.0 ** draw.integers(-300, 300, 3)),
        "weights of NaN": _bad_weights(np.nan),
        "infinite weights": _bad_weights(np.inf),
        "negative weights": _bad_weights(-1.0),
        "nothing": Nasty(lambda *_: None, False),
        "too few": Nasty(lambda _, mask: mask[1:], False),
        "an empty set": Nasty(without_first, False),
        "ones and zeros": Nasty(lambda _, mask: mask.astype(int), False),
        "NaN labels": Nasty(lambda _, mask: np.where(mask[:, 0], np.nan, 1.0), False),
        "numbers to regress on": Nasty(lambda draw, mask: draw.normal(size=len(mask)), False),
    }


def far_rows(X: np.ndarray) -> np.ndarray:
    """Return rows to predict: some that were trained on, and some far away from all of them."""
    rows = np.asarray(X[:6], dtype=np.float64)
    ones = np.ones((1, rows.shape[1]))
    sizes = (0.0, 1.0, -1e10, 1e20, 1e200, -1e200, 1e-300, TINY, np.finfo(float).max)
    mixed = np.where(np.arange(rows.shape[1]) % 2, 1e308, -1e308)[np.newaxis]
    return np.vstack([rows, *(size * ones for size in sizes), -np.finfo(float).max * ones, mixed])
