"""Random candidate sets, written as cells in every way and read back."""

import contextlib
import json

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from disambig import CandidateLabels
from disambig._core.errors import TableError
from disambig.tabular.labels.label_columns import LabelColumns

NAMES = ("ant", "bee", "cat 3", "dog", "e:f", "7")
labels = st.sampled_from(NAMES)
sets = st.lists(st.sets(labels, min_size=1), min_size=1, max_size=8)
weights = st.floats(0.001, 1e6)
weighted_sets = st.lists(st.dictionaries(labels, weights, min_size=1), min_size=1, max_size=8)
WITH_CLASSES = LabelColumns(classes=NAMES)


def table(cells):
    return pd.DataFrame({"label": pd.Series(list(cells), dtype=object)})


def in_order(rows):
    return CandidateLabels.from_sets(rows, classes=NAMES)


@settings(max_examples=30)
@given(sets, st.sampled_from(["|", " | ", "||"]))
def test_delimited_sets(rows, between):
    cells = [between.join(row) for row in rows]
    assert LabelColumns().parse(table(cells)).candidates == CandidateLabels.from_sets(rows)


@settings(max_examples=30)
@given(sets)
def test_sets_in_json(rows):
    cells = [json.dumps(sorted(row)) for row in rows]
    assert WITH_CLASSES.parse(table(cells)).candidates == in_order(rows)


@settings(max_examples=30)
@given(sets, st.sampled_from([list, tuple, set, frozenset, lambda row: np.array(sorted(row))]))
def test_sets_in_python(rows, kind):
    assert WITH_CLASSES.parse(table(map(kind, rows))).candidates == in_order(rows)


@settings(max_examples=30)
@given(sets, st.integers(0, 5))
def test_sets_over_several_columns(rows, seed):
    place = np.random.default_rng(seed)
    cells = [["", None, ""] for _ in rows]
    for row, members in enumerate(rows):
        for name in sorted(members):
            for column in set(place.integers(0, 3, 2).tolist()):
                cells[row][column] = f"{cells[row][column] or ''}|{name}"
    frame = pd.DataFrame(cells, columns=list("abc"))
    read = LabelColumns(columns=("a", "b", "c"), classes=NAMES).parse(frame)
    assert read.candidates == in_order(rows)


@settings(max_examples=30)
@given(st.lists(st.lists(labels, min_size=3, max_size=3), min_size=1, max_size=8))
def test_votes(rows):
    frame = pd.DataFrame(rows, columns=list("abc"))
    read = LabelColumns(columns=("a", "b", "c"), votes=True, classes=NAMES).parse(frame)
    counts = [{name: row.count(name) for name in row} for row in rows]
    assert read.candidates == in_order(counts)


@settings(max_examples=30)
@given(st.lists(st.sets(labels, min_size=1, max_size=len(NAMES) - 1), min_size=1, max_size=8))
def test_negative_sets(rows):
    cells = ["|".join(f"!{name}" for name in row) for row in rows]
    expected = CandidateLabels.from_excluded(rows, classes=NAMES)
    assert WITH_CLASSES.parse(table(cells)).candidates == expected


@settings(max_examples=30)
@given(sets, st.sets(labels))
def test_positive_labels_less_the_negative_ones(rows, ruled_out):
    cells = ["|".join([*row, *(f"!{name}" for name in ruled_out - row)]) for row in rows]
    assert WITH_CLASSES.parse(table(cells)).candidates == in_order(rows)


@settings(max_examples=30)
@given(weighted_sets)
def test_weights(rows):
    expected = in_order(rows)
    for cells in (
        ["|".join(f"{name}:{weight!r}" for name, weight in row.items()) for row in rows],
        [json.dumps(row) for row in rows],
        rows,
    ):
        assert WITH_CLASSES.parse(table(cells)).candidates == expected


@settings(max_examples=30)
@given(st.lists(st.text(), max_size=5), st.booleans(), st.sampled_from(["|", ":", "!", "0", " "]))
def test_arbitrary_texts_are_read_or_refused(cells, literal, separator):
    columns = LabelColumns(literal=literal, separator=separator)
    with contextlib.suppress(TableError):
        parsed = columns.parse(table(cells))
        assert isinstance(parsed.candidates, CandidateLabels)
        assert len(parsed.candidates) + parsed.empty.sum() == len(cells)
        assert len(parsed.candidates.to_sets()) == len(parsed.candidates)


signs = st.text(alphabet='ab01:!|.[]{}",\\ e-', max_size=12)


@settings(max_examples=30)
@given(st.lists(signs, max_size=4), st.lists(signs, max_size=4), st.booleans())
def test_texts_full_of_signs_are_read_or_refused(first, second, votes):
    rows = min(len(first), len(second))
    frame = pd.DataFrame({"a": first[:rows], "b": second[:rows]})
    columns = LabelColumns(columns=("a", "b"), votes=votes, empty="all")
    with contextlib.suppress(TableError):
        assert len(columns.parse(frame).candidates) == rows


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=30)
@given(st.lists(json_values, max_size=4), st.booleans())
def test_arbitrary_values_are_read_or_refused(cells, as_text):
    shown = [json.dumps(cell) for cell in cells] if as_text else cells
    with contextlib.suppress(TableError):
        assert isinstance(LabelColumns().parse(table(shown)).candidates, CandidateLabels)


@settings(max_examples=30)
@given(sets)
def test_what_was_read_can_be_written_chosen_and_asked(rows):
    candidates = WITH_CLASSES.parse(table("|".join(row) for row in rows)).candidates
    again = WITH_CLASSES.parse(table(candidates.to_strings())).candidates
    assert again == candidates
    chosen = candidates.choose(candidates.prior())
    assert candidates.contains(chosen).all()
