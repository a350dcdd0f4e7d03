"""Check class names, masks, weights and class probabilities."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, ParameterError, describe_rows
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray, Label, Sparse
from disambig.candidates.storage import Storage, checked_csr, group_maxima


def as_mask_matrix(mask: Any) -> Storage:
    """Return a boolean copy of ``mask``, CSR or dense; refuse values other than 0 and 1."""
    matrix = _as_matrix(mask, "A mask holds True/False, or 0 and 1,")
    values = matrix.data if sparse.issparse(matrix) else matrix
    if matrix.dtype != bool:
        fits = (values == 0) | (values == 1)
        if not fits.all():
            raise CandidateError(
                "A mask holds True/False, or 0 and 1, for every sample and class. Got the value "
                f"{values[~fits][0]}. Give weights through 'weights', not through the mask."
            )
    return matrix.astype(bool)


def check_no_empty_row(sizes: IntArray) -> None:
    """Refuse set sizes of zero."""
    empty = sizes == 0
    if empty.any():
        raise CandidateError(
            "Every sample needs at least one candidate label. "
            f"Got none for {describe_rows(empty)}. Drop those rows, or give them all classes."
        )


def as_weight_matrix(weights: Any, mask: Storage, classes: AnyArray) -> Storage:
    """Return ``weights`` as a matrix of floats; refuse weights that do not fit ``mask``."""
    if hasattr(weights, "columns"):
        names, columns = classes.tolist(), weights.columns
        weights = in_order_of(names, weights)
        if weights is None:
            raise CandidateError(
                f"The columns of the weights must be the classes, {', '.join(map(str, names))}. "
                f"Got {', '.join(map(str, columns))}. Rename them, or give an array."
            )
    matrix = _as_matrix(weights, "Weights are numbers").astype(float)
    if matrix.shape != mask.shape:
        raise CandidateError(
            f"Weights need the shape of the mask, {mask.shape}. Got {matrix.shape}. "
            "Give one weight for every sample and class, 0 outside the candidates."
        )
    csr = sparse.csr_array(matrix)
    bad = np.zeros(csr.shape[0], dtype=bool)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    bad[rows[~np.isfinite(csr.data) | (csr.data < 0)]] = True
    _refuse_rows(bad, "Weights must be finite and not negative", "Correct those weights.")
    outside = csr - csr.multiply(mask)
    outside.eliminate_zeros()
    _refuse_rows(
        np.diff(outside.indptr) > 0,
        "Only candidates may carry a weight",
        "Set the other weights to 0, or make those labels candidates.",
    )
    _refuse_rows(
        np.diff(csr.indptr) == 0,
        "Every sample needs a candidate with a weight above 0",
        "Give those rows equal weights if nothing is known about them.",
    )
    return csr


def check_weights_of_candidates(weights: Sparse) -> None:
    """Refuse weights, one for every candidate, that are not finite, negative, or zero in a row."""
    fits = np.isfinite(weights.data) & (weights.data >= 0)
    if not fits.all():
        rows = np.searchsorted(weights.indptr, np.flatnonzero(~fits), side="right") - 1
        bad = np.zeros(weights.shape[0], dtype=bool)
        bad[rows] = True
        _refuse_rows(bad, "Weights must be finite and not negative", "Correct those weights.")
    _refuse_rows(
        group_maxima(weights.data, weights.indptr[:-1]) == 0,
        "Every sample needs a candidate with a weight above 0",
        "Give those rows equal weights if nothing is known about them.",
    )


def in_order_of(classes: list[Any], frame: Any) -> Any:
    """Put the columns of a data frame that is named after the classes into their order.

    Return None where its columns have other names.
    """
    columns = as_list(frame.columns)
    if Counter(columns) != Counter(classes):
        return None
    position = {name: number for number, name in enumerate(columns)}
    return frame.iloc[:, [position[name] for name in classes]]


def _as_matrix(values: Any, what: str) -> Storage:
    """Return a numeric copy: CSR without stored zeros, or dense."""
    matrix = values if sparse.issparse(values) else _as_dense_array(values, what)
    if matrix.ndim != 2:
        raise CandidateError(
            f"{what} for every sample and class: a matrix, one row a sample and one column a "
            f"class. Got the shape {matrix.shape}. For plain labels use from_labels."
        )
    if matrix.dtype.kind not in "biuf":
        raise CandidateError(
            f"{what} for every sample and class. Got values of type {matrix.dtype}. "
            "Fill in what is missing, and convert the rest to numbers."
        )
    if sparse.issparse(matrix):
        matrix = checked_csr(matrix)
        # SciPy keeps repeated entries apart: add them up before looking at the values.
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def _as_dense_array(values: Any, what: str) -> AnyArray:
    try:
        array = np.array(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else "no" for row in values]
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), 0)
        raise CandidateError(
            f"{what} for every sample and class: every row needs the same number of columns, each "
            f"a single value. Row 0 has {lengths[0]} columns, "
            f"row {odd} has {lengths[odd]} columns. "
            "For rows that list their labels use from_sets."
        ) from None
    if array.dtype == object:
        # Columns of pandas' nullable types arrive as objects.
        try:
            return array.astype(float)
        except (TypeError, ValueError):
            return array
    return array


def _refuse_rows(bad: BoolArray, requirement: str, advice: str) -> None:
    if bad.any():
        raise CandidateError(f"{requirement}. This is not so for {describe_rows(bad)}. {advice}")


def as_list(values: Iterable[Any]) -> list[Any]:
    """Return a list of plain Python values (NumPy scalars compare and print less predictably)."""
    if isinstance(values, str | bytes):
        raise CandidateError(
            f"A collection of labels is needed. Got the string {values!r}. Write [{values!r}]."
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
    names = classes if isinstance(classes, range) else as_list(classes)
    if not names:
        raise CandidateError("At least one class is needed. Got none.")
    if isinstance(names, range):
        # There may be millions, and nothing can be wrong with any of them.
        array = np.arange(names.start, names.stop, names.step)
    else:
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
        where = "" if rows is None else f" in row {rows[first]}"
        more = len({values[position] for position in np.flatnonzero(unknown)}) - 1
        others = f", and {more} more unknown labels" if more else ""
        raise CandidateError(
            f"Every label must be one of the {len(classes)} classes. Got {values[first]!r}{where}"
            f"{others}. Add it to 'classes', or correct the label."
        )
    return columns


def check_hashable(labels: list[Any]) -> None:
    """Refuse what cannot be a label, such as a list."""
    for row, label in enumerate(labels):
        if not isinstance(label, Hashable):
            raise CandidateError(
                f"A label must be a string, a number or a tuple. Got {label!r} at position {row}. "
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
        # Large numbers would become floats, and strings would lose a zero byte at their end.
        if kept == names and type(kept[0]) is type(names[0]):
            return array
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def check_probabilities(
    probabilities: Any, classes: Iterable[Label]
) -> tuple[FloatArray, AnyArray]:
    """Return class probabilities and the names of their columns, checked."""
    names = as_class_array(classes)
    matrix = np.asarray(probabilities, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ParameterError(
            f"Probabilities need one column for each of the {len(names)} classes. "
            f"Got the shape {matrix.shape}. Name its columns in 'classes'."
        )
    bad = ~(np.isfinite(matrix) & (matrix >= 0)).all(axis=1)
    bad |= ~np.isclose(matrix.sum(axis=1), 1, atol=1e-4)
    if bad.any():
        raise ParameterError(
            "Probabilities must not be negative, and must sum to one in every row. They do not for "
            f"{describe_rows(bad)}. Give what predict_proba returns."
        )
    return matrix, names
