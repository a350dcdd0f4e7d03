"""Columns that give the label away: one alone says what all others together do not."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import sparse

from disambig._core.messages import join_names, option, percent, plural, quote_value
from disambig._core.typing import BoolArray, FloatArray, IntArray, Sparse
from disambig.candidates.groups import group_numbers
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.neighbours import nearest_among, points, standardized

_SEED = 0
_MOST_ROWS = 2_000
_MOST_COLUMNS = 200  # that are looked at one by one
_FEWEST_ROWS = 50  # held out, where the column says anything
_MOST_VALUES = 50  # a number may have, to be taken for a code
_FEWEST_SEEN = 3  # rows with a value, to learn it from
_AGREED = 0.9  # of them hold the same label
_N_BESIDE = 3  # rows on either side of a number, in its order
_N_NEIGHBOURS = 10
_SURE = 0.02  # share of errors of a column that gives the label away, at most
_TIMES_WORSE = 3  # all other columns are than it, at least
_WORSE_BY = 0.02


def leaking_columns(labelled: LabelledRows) -> Iterator[Finding]:
    """Report columns that alone predict the labels of held-out rows almost without an error.

    That is only said if the others together, by a vote of the most similar rows, are far worse: on
    an easy table many columns are that good. Errors are predictions outside the set, over what
    they would be if the label were always wrong.
    """
    rows, is_held_out = _sample(labelled)
    if labelled.values is None or is_held_out.sum() < _FEWEST_ROWS or labelled.n_occurring < 2:
        return
    candidates = labelled.candidates[rows]
    mask = candidates.to_sparse().astype(np.int32)
    values = labelled.values.iloc[rows]
    column_of = [labelled.column_of(value) for value in values.columns]
    told = np.zeros(len(rows), dtype=bool)
    errors: dict[str, float] = {}
    for place in promising_columns(values, mask).tolist():
        error, told_here = column_error(values.iloc[:, place], mask, is_held_out)
        name = column_of[place]
        if error <= _SURE and name is not None:
            errors[name] = max(error, errors.get(name, 0))
            told |= told_here
    others = [place for place, name in enumerate(column_of) if name not in errors]
    if not errors or not others:  # without others, they are the features of an easy table
        return
    rest = _error_of_neighbours(values.iloc[:, others], mask, ~is_held_out, told)
    if rest is not None and rest < max(_WORSE_BY, _TIMES_WORSE * max(errors.values())):
        return
    one = len(errors) == 1
    right = percent(1 - max(errors.values()))
    share = told.sum() / is_held_out.sum()
    held_out = "held-out rows" if share == 1 else f"{percent(share)} of the held-out rows"
    of_rest = (
        "" if rest is None
        else f", the other numbers and categories together {percent(max(0.0, 1 - rest))}"
    )  # fmt: skip
    yield Finding(
        "leaking_columns",
        f"{plural(len(errors), 'column')} may give the label away: "
        f"{join_names(map(quote_value, errors), longest=None)}. "
        f"{'Alone it' if one else 'Each alone'} predicts labels of {held_out} {right} "
        f"right{of_rest}.",
        f"If {'it was' if one else 'they were'} made from the labels, or after them, leave "
        f"{'it' if one else 'them'} out: {option('ignore')}. New rows will not have "
        f"{'it' if one else 'them'}.",
    )


def _sample(labelled: LabelledRows) -> tuple[IntArray, BoolArray]:
    """Return some rows, and which half of them is held out: whole groups where there are some."""
    generator = np.random.default_rng(_SEED)
    n_rows = len(labelled.candidates)
    rows = np.sort(generator.permutation(n_rows)[:_MOST_ROWS])
    groups = labelled.candidates.groups
    group = np.arange(n_rows) if groups is None else group_numbers(groups, n_rows)
    is_held_out: BoolArray = generator.random(int(group.max(initial=0)) + 1) < 0.5
    return rows, is_held_out[group[rows]]


def promising_columns(values: pd.DataFrame, mask: Sparse) -> IntArray:
    """Return the columns to look at: all, or of very many those that go with a label most."""
    if values.shape[1] <= _MOST_COLUMNS:
        return np.arange(values.shape[1])
    is_number = np.array([pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes])
    numbers = np.flatnonzero(is_number)
    labels = mask.toarray().astype(float)
    labels -= labels.mean(axis=0)
    together = np.abs(labels.T @ standardized(values.iloc[:, numbers].to_numpy(dtype=float)))
    strength = np.full(values.shape[1], np.inf)  # of strings, as many as there is room for
    strength[numbers] = together.max(axis=0, initial=0)
    return np.sort(np.argsort(-strength, kind="stable")[:_MOST_COLUMNS])


def column_error(
    column: "pd.Series[float]", mask: Sparse, is_held_out: BoolArray
) -> tuple[float, BoolArray]:
    """Return which held-out rows one column tells the label of, and for what share wrongly.

    The rule: of the other rows with the same value, or of a number with the nearest ones, the label
    that most sets hold. Left out are rows without a value, with one that was hardly seen, or with
    the only one whose rows do not agree, such as "unknown". The share is 1 where a column says
    little.
    """
    codes, found = pd.factorize(column)
    is_there = codes >= 0
    if len(found) > _MOST_VALUES and pd.api.types.is_numeric_dtype(column.dtype):
        told = is_there & is_held_out
        by_row = _rows_beside(column.to_numpy(dtype=float), is_there & ~is_held_out, told) @ mask
    else:
        seen = np.flatnonzero(is_there & ~is_held_out)
        n_seen = np.bincount(codes[seen], minlength=len(found))
        with_value = sparse.csr_array(
            (np.ones(len(seen), dtype=np.int32), (codes[seen], seen)),
            shape=(len(found), len(codes)),
        )
        by_value = with_value @ mask
        is_telling = n_seen >= _FEWEST_SEEN
        agree = by_value.max(axis=1).toarray().ravel() >= _AGREED * n_seen
        if (is_telling & ~agree).sum() == 1:  # a word for gaps
            is_telling &= agree
        told = is_there & is_held_out
        told[told] = is_telling[codes[told]]
        by_row = by_value[codes[told]]
    if told.sum() < _FEWEST_ROWS:
        return 1.0, told
    chosen = _most_frequent(by_row)
    if len(np.unique(chosen)) < 2:  # the same label, whatever the value
        return 1.0, told
    return _error(chosen, mask[told]), told


def _rows_beside(numbers: FloatArray, seen: BoolArray, told: BoolArray) -> Sparse:
    """Return which of the rows that were seen have the nearest numbers, for each one to be told."""
    rows = np.flatnonzero(seen)
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    place = np.searchsorted(numbers[rows], numbers[told])[:, np.newaxis]
    beside = place + np.arange(-_N_BESIDE, _N_BESIDE)
    is_one = (beside >= 0) & (beside < len(rows))
    which = np.broadcast_to(np.arange(len(place))[:, np.newaxis], beside.shape)[is_one]
    return sparse.csr_array(
        (np.ones(len(which), dtype=np.int32), (which, rows[beside[is_one]])),
        shape=(len(place), len(numbers)),
    )


def _most_frequent(counts: Sparse) -> IntArray:
    return np.asarray(sparse.csr_array(counts).argmax(axis=1)).ravel()


def _error_of_neighbours(
    values: pd.DataFrame, mask: Sparse, is_seen: BoolArray, is_told: BoolArray
) -> float | None:
    """Return the share of rows to be told whose label the most similar seen rows get wrong.

    None where the columns, such as texts, do not say which rows are similar.
    """
    where = points(values, np.arange(len(values)), np.random.default_rng(_SEED))
    if not where.shape[1]:
        return None
    seen, told = np.flatnonzero(is_seen), np.flatnonzero(is_told)
    count = min(_N_NEIGHBOURS, len(seen))
    near = nearest_among(where[seen], where[told], count)
    which = np.repeat(np.arange(len(told)), count)
    votes = sparse.csr_array(
        (np.ones(near.size, dtype=np.int32), (which, seen[near.ravel()])), (len(told), len(values))
    )
    return _error(_most_frequent(votes @ mask), mask[told])


def _error(chosen: IntArray, mask: Sparse) -> float:
    """Return the share of choices outside the sets, over that of labels that are always wrong.

    Of a row with s of c candidates, a wrong label is outside in c - s of c - 1 cases.
    """
    n_classes = mask.shape[1]
    outside = 1 - np.asarray(mask[np.arange(len(chosen)), chosen]).ravel()
    sizes = np.diff(mask.indptr)
    noticed = ((n_classes - sizes) / max(1, n_classes - 1)).mean()
    return float(min(1.0, outside.mean() / noticed)) if noticed > 0 else 1.0
