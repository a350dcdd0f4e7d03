"""Make candidate sets from many kinds of input, and combine them."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError
from disambig._core.messages import plural
from disambig._core.parameters import check_integer
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray, Label, Sparse
from disambig.candidates.checks import (
    as_class_array,
    as_list,
    check_hashable,
    check_no_empty_row,
    columns_of,
    first_repeated,
    infer_classes,
    is_missing,
)
from disambig.candidates.taxonomy import as_collection, leaves_of_nodes


class Parts(NamedTuple):
    """What ``CandidateLabels`` is made of."""

    mask: Any  # a sparse or dense boolean matrix
    classes: AnyArray
    weights: Sparse | None = None


def parts_from_sets(sets: Iterable[Iterable[Label]], classes: Iterable[Label] | None) -> Parts:
    """Read one collection of labels per row; mappings from label to weight carry weights."""
    rows = list(sets)
    weighted = [isinstance(row, Mapping) for row in rows]
    if any(weighted) and not all(weighted):
        raise CandidateError(
            "Give weights for every row or for none. Some rows map labels to weights, "
            f"row {weighted.index(False)} does not. Write it as {{label: 1}}."
        )
    distinct = _distinct_labels(rows)
    check_no_empty_row(np.fromiter(map(len, distinct), np.int64, count=len(rows)))
    row_of, labels = _flatten(distinct)
    names = infer_classes(labels) if classes is None else as_class_array(classes)
    columns = columns_of(labels, names, row_of)
    shape = (len(rows), len(names))
    mask = _csr(np.ones(len(columns), dtype=bool), row_of, columns, shape)
    if not any(weighted):
        return Parts(mask, names)
    return Parts(mask, names, _csr(_flat_weights(distinct), row_of, columns, shape))


def parts_from_strings(
    strings: Iterable[str], separator: str, classes: Iterable[Label] | None
) -> Parts:
    """Split ``"cat|dog"`` into labels, trim spaces, and skip what is blank."""
    if not isinstance(separator, str) or not separator:
        raise CandidateError(
            f"The separator must be a string of at least one character. Got {separator!r}."
        )
    column = as_list(strings)
    for row, text in enumerate(column):
        if not isinstance(text, str):
            raise CandidateError(
                f"Every row must be a string such as 'cat{separator}dog'. Row {row} is {text!r}. "
                "Drop rows without labels; use from_labels for labels that are not strings."
            )
    pieces = ([piece.strip() for piece in text.split(separator)] for text in column)
    return parts_from_sets(([piece for piece in row if piece] for row in pieces), classes)


def parts_from_labels(labels: Iterable[Label], classes: Iterable[Label] | None) -> Parts:
    """Read plain labels: every row has exactly one candidate."""
    values = as_list(labels)
    rows = np.arange(len(values))
    check_hashable(values)
    _check_labels(values, rows)
    names = infer_classes(values) if classes is None else as_class_array(classes)
    columns = columns_of(values, names, rows)
    mask = _csr(np.ones(len(values), dtype=bool), rows, columns, (len(values), len(names)))
    return Parts(mask, names)


def parts_from_excluded(excluded: Iterable[Any], classes: Iterable[Label]) -> Parts:
    """Read what a row is *not*: one label, or a collection of them; every other class stays."""
    names = as_class_array(classes)
    rows = _distinct_labels([as_collection(row) for row in as_list(excluded)])
    row_of, labels = _flatten(rows)
    mask = np.ones((len(rows), len(names)), dtype=bool)
    mask[row_of, columns_of(labels, names, row_of)] = False
    return Parts(mask, names)


def parts_from_annotations(
    items: Iterable[Hashable],
    annotators: Iterable[Hashable],
    labels: Iterable[Label],
    *,
    min_votes: int,
    order: Iterable[Hashable] | None,
    classes: Iterable[Label] | None,
) -> Parts:
    """Count the annotators behind each label of each item; keep labels with enough votes."""
    check_integer("min_votes", min_votes, minimum=1)
    item_list, annotator_list, label_list = as_list(items), as_list(annotators), as_list(labels)
    if not len(item_list) == len(annotator_list) == len(label_list):
        raise CandidateError(
            "Items, annotators and labels are three columns of one table. Got lengths "
            f"{len(item_list)}, {len(annotator_list)} and {len(label_list)}."
        )
    check_hashable(label_list)
    _check_labels(label_list, np.arange(len(label_list)))
    for name, column in (("item", item_list), ("annotator", annotator_list)):
        check_hashable(column)
        missing = next((row for row, value in enumerate(column) if is_missing(value)), None)
        if missing is not None:
            raise CandidateError(
                f"Every annotation needs an item and an annotator. Row {missing} has no {name}. "
                "Drop it, or fill it in."
            )
    row_names = list(dict.fromkeys(item_list)) if order is None else as_list(order)
    repeated = first_repeated(row_names)
    if repeated is not None:
        raise CandidateError(
            f"'order' names every item once. Got {repeated!r} more than once. "
            "Remove the repetition."
        )
    row_of_item = {item: row for row, item in enumerate(row_names)}
    unknown = next((item for item in item_list if item not in row_of_item), None)
    if unknown is not None:
        raise CandidateError(
            f"Every annotated item must be in 'order'. Item {unknown!r} is not. "
            "Add it, or drop its annotations."
        )
    names = infer_classes(label_list) if classes is None else as_class_array(classes)
    # An annotator who gives the same label to the same item twice still has one vote.
    votes = list(dict.fromkeys(zip(item_list, annotator_list, label_list, strict=True)))
    rows = np.fromiter((row_of_item[item] for item, _, _ in votes), np.int64, count=len(votes))
    columns = columns_of([label for _, _, label in votes], names, rows)
    counts = _csr(np.ones(len(votes)), rows, columns, (len(row_names), len(names)))
    counts.data[counts.data < min_votes] = 0
    counts.eliminate_zeros()
    silent = np.flatnonzero(np.diff(counts.indptr) == 0)
    if silent.size:
        raise CandidateError(
            f"Every item needs a label with at least {min_votes} votes. "
            f"{plural(silent.size, 'item')} {'has' if silent.size == 1 else 'have'} none, the "
            f"first is {row_names[silent[0]]!r}. Lower 'min_votes', or drop those items."
        )
    return Parts(counts.astype(bool), names, counts)


def parts_from_taxonomy(
    nodes: Iterable[Any],
    children: Mapping[Label, Collection[Label]],
    classes: Iterable[Label] | None,
) -> Parts:
    """Read a node (or several) per row; an inner node stands for all the leaves below it."""
    leaves_below = leaves_of_nodes(children)
    rows = [as_collection(row) for row in as_list(nodes)]
    for row, row_nodes in enumerate(rows):
        check_hashable(list(row_nodes))
        unknown = next((node for node in row_nodes if node not in leaves_below), None)
        if unknown is not None:
            raise CandidateError(
                f"Every node must be in the taxonomy. Row {row} names {unknown!r}. "
                "Add it as a child of its parent, or correct the label."
            )
    sets = [set().union(*(leaves_below[node] for node in row_nodes)) for row_nodes in rows]
    leaves = set(chain.from_iterable(leaves_below.values()))
    return parts_from_sets(sets, infer_classes(leaves) if classes is None else classes)


def _distinct_labels(rows: list[Any]) -> list[Mapping[Label, Any]]:
    """Return each row as a mapping whose keys are its labels, in order, each once."""
    distinct: list[Mapping[Label, Any]] = []
    for number, row in enumerate(rows):
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise CandidateError(
                f"Every row must be a collection of labels. Row {number} is {row!r}. Write "
                f"[{row!r}], or use from_labels for plain labels and from_strings for strings "
                "such as 'cat|dog'."
            )
        try:
            distinct.append(row if isinstance(row, Mapping) else dict.fromkeys(row))
        except TypeError:
            raise CandidateError(
                "A label must be hashable, as strings, numbers and tuples are. "
                f"Row {number} is {row!r}."
            ) from None
    return distinct


def _flatten(rows: list[Mapping[Label, Any]]) -> tuple[IntArray, list[Label]]:
    """Return the labels of all rows one after the other, and the row each one is in."""
    row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    labels = as_list(chain.from_iterable(rows))
    _check_labels(labels, row_of)
    return row_of, labels


def _check_labels(labels: list[Label], rows: IntArray) -> None:
    for position, label in enumerate(labels):
        if is_missing(label):
            raise CandidateError(
                f"A label may not be missing (None or NaN). Got {label!r} in row {rows[position]}. "
                "Drop such rows, or give them all classes."
            )


def _flat_weights(rows: list[Mapping[Label, Any]]) -> FloatArray:
    for number, row in enumerate(rows):
        if not all(isinstance(weight, Real) for weight in row.values()):
            raise CandidateError(
                f"Every weight must be a number. Row {number} is {dict(row)!r}. Correct it."
            )
    return np.fromiter(chain.from_iterable(row.values() for row in rows), dtype=float)


def _csr(values: AnyArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Sparse:
    return sparse.csr_array((values, (rows, columns)), shape=shape)


def keep_columns(parts: Parts, keep: BoolArray) -> Parts:
    """Drop the classes not marked in ``keep``, from the sets and from the list of classes."""
    weights = None if parts.weights is None else parts.weights[:, keep]
    return Parts(parts.mask[:, keep], parts.classes[keep], weights)


def put_on_classes(parts: Parts, classes: Iterable[Label]) -> Parts:
    """Use another list of classes; all candidates must be in it."""
    names = as_class_array(classes)
    # A class that is never a candidate may be missing from the new list: it is dropped.
    used = np.unique(parts.mask.indices)
    old_and_new = (used, columns_of(parts.classes[used], names))
    shape = (len(parts.classes), len(names))
    move = sparse.csr_array((np.ones(used.size, dtype=bool), old_and_new), shape=shape)
    weights = None if parts.weights is None else parts.weights @ move
    return Parts(parts.mask @ move, names, weights)


def parts_of_intersection(left: Parts, right: Parts) -> Parts:
    """Keep what both sides allow; weights multiply."""
    left, right = _on_common_classes(left, right)
    mask = left.mask.multiply(right.mask).astype(bool)
    if left.weights is None and right.weights is None:
        return Parts(mask, left.classes)
    product = _votes(left).multiply(_votes(right))
    return Parts(mask, left.classes, product)


def parts_of_union(left: Parts, right: Parts) -> Parts:
    """Keep what either side allows; weights add up."""
    left, right = _on_common_classes(left, right)
    mask = left.mask + right.mask
    if left.weights is None and right.weights is None:
        return Parts(mask, left.classes)
    return Parts(mask, left.classes, _votes(left) + _votes(right))


def _on_common_classes(left: Parts, right: Parts) -> tuple[Parts, Parts]:
    if left.mask.shape[0] != right.mask.shape[0]:
        raise CandidateError(
            "Both sides need the same number of samples. "
            f"Got {left.mask.shape[0]} and {right.mask.shape[0]}."
        )
    names = list(dict.fromkeys([*left.classes.tolist(), *right.classes.tolist()]))
    return put_on_classes(left, names), put_on_classes(right, names)


def _votes(parts: Parts) -> Sparse:
    return parts.mask.astype(float) if parts.weights is None else parts.weights
