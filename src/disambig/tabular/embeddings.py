"""Embeddings that come beside a table: checked, and left where they are."""

from typing import Any

import numpy as np

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows
from disambig._core.typing import AnyArray

_NUMBERS_AT_A_TIME = 4_000_000
# Sums and squares of numbers must stay below the largest double.
_LARGEST_NUMBER = 1e300
_EXAMPLE = "Give an array of numbers with a row for each row of the table, in the same order."


def check_embeddings(embeddings: Any, n_rows: int, name: str = "'embeddings'") -> AnyArray:
    """Return embeddings as an array of numbers, a row for each row of the table.

    A block of rows is looked at at a time, and nothing is copied, so an array that is mapped from a
    file stays there.
    """
    array: AnyArray = np.asanyarray(embeddings)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TableError(f"Embeddings are numbers. {name} holds {array.dtype}. {_EXAMPLE}")
    if array.ndim != 2 or not array.shape[1]:
        raise TableError(
            f"Embeddings have two dimensions. {name} has the shape {array.shape}. {_EXAMPLE}"
        )
    if len(array) != n_rows:
        raise TableError(
            f"Every row of the table needs an embedding. The table has {n_rows:,} rows, and {name} "
            f"has {len(array):,}. {_EXAMPLE}"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "f":
        _check_finite(array, name)
    return array


def check_planned_embeddings(embeddings: Any, n_rows: int, width: int) -> AnyArray | None:
    """Return the embeddings of new rows; refuse others than those that a model was trained with."""
    if embeddings is None:
        if width:
            raise TableError(
                f"The model was trained with embeddings: {width:,} numbers for each row. Give "
                "those of the new rows, made in the same way: --features FILE.npy (in Python "
                "embeddings=)."
            )
        return None
    if not width:
        raise TableError(
            "The model was trained without embeddings. Leave them out (--features, in Python "
            "embeddings=)."
        )
    array = check_embeddings(embeddings, n_rows)
    if array.shape[1] != width:
        raise TableError(
            f"The model was trained with embeddings of {width:,} numbers for each row. These have "
            f"{array.shape[1]:,}. Give those that were made in the same way."
        )
    return array


def _check_finite(array: AnyArray, name: str) -> None:
    at_a_time = max(1, _NUMBERS_AT_A_TIME // array.shape[1])
    largest = np.asarray(min(_LARGEST_NUMBER, float(np.finfo(array.dtype).max)), dtype=array.dtype)
    bad = np.zeros(len(array), dtype=bool)
    for start in range(0, len(array), at_a_time):
        block = array[start : start + at_a_time]
        # Comparisons are false for what is not a number, too.
        bad[start : start + at_a_time] = ~(np.abs(block) <= largest).all(axis=1)
    if bad.any():
        raise TableError(
            f"Embeddings must be finite, and at most {_LARGEST_NUMBER:g} in size. Those in {name} "
            f"are not: {describe_table_rows(bad)}. Make them again, or leave these rows out."
        )
