"""Class names: what may be one, their order, and the column each one stands for."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from disambig._core.errors import CandidateError
from disambig._core.typing import AnyArray, IntArray, Label

__all__ = [
    "as_class_array",
    "as_list",
    "check_hashable",
    "columns_of",
    "first_repeated",
    "infer_classes",
    "is_missing",
    "known_columns_of",
]


def as_list(values: Iterable[Any]) -> list[Any]:
    """Return a list of plain Python values (NumPy scalars compare and print less predictably)."""
    if isinstance(values, str | bytes):
        raise CandidateError(
            f"A collection of labels is needed. Got the text {values!r}. Write [{values!r}]."
        )
    if hasattr(values, "columns") or getattr(values, "ndim", 1) == 0:
        raise CandidateError(
            f"One column of labels is needed. Got a {type(values).__name__} of the shape "
            f"{getattr(values, 'shape', ())}. Select the column."
        )
    # NumPy's dates stay what they are: as plain values some would be bare numbers.
    is_array_of_dates = isinstance(values, np.ndarray) and values.dtype.kind in "mM"
    if hasattr(values, "tolist") and not is_array_of_dates:
        return list(values.tolist())
    return [
        value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value
        for value in values
    ]


def is_missing(label: Any) -> bool:
    """Tell whether ``label`` is None, NaN or another marker of a missing value."""
    if label is None:
        return True
    try:
        # NaN and NaT differ from themselves; pandas.NA refuses to say and raises.
        return bool(label != label)
    except TypeError:
        return True


def first_repeated(values: Iterable[Hashable]) -> Any:
    """Return the first value that is there more than once, or None."""
    return next((value for value, count in Counter(values).items() if count > 1), None)


def as_class_array(classes: Iterable[Label]) -> AnyArray:
    """Return class names as a read-only one-dimensional array, in the order given."""
    names = as_list(classes)
    if not names:
        raise CandidateError("At least one class is needed. Got none.")
    _check_names(names)
    repeated = first_repeated(names)
    if repeated is not None:
        raise CandidateError(
            f"Every class may be named once. Got {repeated!r} more than once. "
            "Remove the repetition."
        )
    array = _to_array(names)
    array.flags.writeable = False
    return array


def infer_classes(labels: Iterable[Label]) -> AnyArray:
    """Return the distinct labels in ascending order, as class names."""
    distinct = list(set(labels))
    _check_names(distinct)
    try:
        ordered = sorted(distinct)  # type: ignore[type-var]  # TypeError is the answer we handle
    except TypeError:
        types = sorted({type(label).__name__ for label in distinct})
        raise CandidateError(
            f"Class names must be sortable among themselves. Got the types {', '.join(types)}. "
            "Convert the labels to one type, or give 'classes' in the order you want."
        ) from None
    return as_class_array(ordered)


def known_columns_of(labels: Iterable[Label], classes: AnyArray) -> IntArray:
    """Return the column of every label, and -1 for a label that is not a class."""
    column = {name: position for position, name in enumerate(classes.tolist())}
    values = as_list(labels)
    check_hashable(values)
    return np.fromiter((column.get(label, -1) for label in values), np.int64, count=len(values))


def columns_of(
    labels: Iterable[Label], classes: AnyArray, rows: IntArray | None = None
) -> IntArray:
    """Return the column of every label; refuse a label that is not a class.

    ``rows`` tells the row each label belongs to, for the error.
    """
    values = as_list(labels)
    columns = known_columns_of(values, classes)
    unknown = columns < 0
    if unknown.any():
        first = int(np.flatnonzero(unknown)[0])
        place = "" if rows is None else f" in row {rows[first]}"
        raise CandidateError(
            f"Every label must be one of the {len(classes)} classes. Got {values[first]!r}{place}"
            f"{_and_others(values, unknown)}. Add it to 'classes', or correct the label."
        )
    return columns


def _and_others(values: list[Any], unknown: AnyArray) -> str:
    distinct = {values[position] for position in np.flatnonzero(unknown)}
    return f", and {len(distinct) - 1} more unknown labels" if len(distinct) > 1 else ""


def check_hashable(labels: list[Any]) -> None:
    """Refuse what cannot be a label, such as a list."""
    for row, label in enumerate(labels):
        if not isinstance(label, Hashable):
            raise CandidateError(
                f"A label is one text, number or tuple. Got {label!r} in place {row}. "
                "For rows that list their labels use from_sets."
            )


def _check_names(names: list[Any]) -> None:
    check_hashable(names)
    if any(is_missing(name) for name in names):
        raise CandidateError(
            "A label may not be missing (None or NaN). Drop such rows, or give them all classes."
        )


def _to_array(names: list[Hashable]) -> AnyArray:
    # NumPy would turn a mixture of types into strings and tuples into a matrix.
    if len({type(name) for name in names}) == 1 and isinstance(names[0], bool | int | float | str):
        array = np.asarray(names)
        kept = array.tolist()
        # Large numbers would become floats, and texts would lose a zero byte at their end.
        if kept == names and type(kept[0]) is type(names[0]):
            return array
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
