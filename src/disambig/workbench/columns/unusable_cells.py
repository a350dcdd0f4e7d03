"""Types of cells that no feature can be made of, refused with what to do instead."""

import datetime

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig.tables.wording import option

__all__ = ["LEAVE_OUT", "unusable"]

LEAVE_OUT = f"leave the column out: {option('ignore')}"
# What such cells are called, and what to do with them.
_UNUSABLE: dict[tuple[type, ...], tuple[str, str]] = {
    (list, tuple, dict, set, frozenset, np.ndarray, pd.Series): (
        "lists or mappings",
        "embeddings and other lists must be spread out, one number per column",
    ),
    (bytes, bytearray, memoryview): ("bytes", "turn them into text or numbers"),
    (complex, np.complexfloating): (
        "complex numbers",
        "give real and imaginary part as columns",
    ),
    (datetime.timedelta, np.timedelta64): (
        "time spans",
        "give them as numbers, such as seconds",
    ),
}


def unusable(name: object, kind: type, where: str = "") -> TableError:
    """Return the error that a column has cells of a type; ``where`` is the first of them."""
    what, advice = next(
        (words for types, words in _UNUSABLE.items() if issubclass(kind, types)),
        (f"cells of the type {kind.__name__}", "turn them into text or numbers"),
    )
    return TableError(
        f"A feature must be made of numbers, categories, booleans or dates. Column {name!r} holds "
        f"{what}{where}: {advice}, or {LEAVE_OUT}."
    )
