"""Rows chosen so that classes have long-tailed shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import ParameterError
from disambig.candidates import long_tailed

labels_of_rows = st.lists(st.integers(0, 6), min_size=1, max_size=80)
seeds = st.integers(0, 2**31)


@given(labels_of_rows, st.floats(1, 200), seeds)
def test_every_class_keeps_what_the_formula_says(labels, imbalance, seed):
    labels = np.array(labels)
    rows = long_tailed(labels, imbalance=imbalance, random_state=seed)
    assert rows.tolist() == sorted(set(rows.tolist()))
    classes, sizes = np.unique(labels, return_counts=True)
    order = sorted(range(len(classes)), key=lambda n: (-sizes[n], n))
    for place, number in enumerate(order):
        wanted = sizes.max() * imbalance ** (-place / max(len(classes) - 1, 1))
        expected = min(max(int(wanted + 1e-9), 1), sizes[number])
        assert (labels[rows] == classes[number]).sum() == expected


@given(labels_of_rows, seeds)
def test_without_imbalance_all_rows_stay(labels, seed):
    rows = long_tailed(labels, imbalance=1, random_state=seed)
    assert rows.tolist() == list(range(len(labels)))


def test_rows_follow_the_seed_and_are_drawn_from_everywhere():
    labels = np.arange(3000) % 3
    rows = long_tailed(labels, imbalance=4, random_state=0)
    np.testing.assert_array_equal(rows, long_tailed(labels, imbalance=4, random_state=0))
    assert rows.tolist() != long_tailed(labels, imbalance=4, random_state=1).tolist()
    rarest = rows[labels[rows] == 2]
    assert len(rarest) == 250
    # Each third of the rows has 83, with a standard deviation of 7.
    np.testing.assert_allclose(np.histogram(rarest, [0, 1000, 2000, 3000])[0], 83, atol=28)


def test_of_equally_frequent_classes_the_first_is_the_more_frequent():
    labels = ["b"] * 10 + ["a"] * 10
    kept = np.array(labels)[long_tailed(labels, imbalance=5, classes=["b", "a"], random_state=0)]
    assert ((kept == "b").sum(), (kept == "a").sum()) == (10, 2)
    # A class of nobody takes no place.
    rows = long_tailed(labels, imbalance=5, classes=["c", "b", "a"], random_state=0)
    assert len(rows) == 12


def test_no_rows_and_impossible_numbers():
    assert long_tailed([], classes=["a"]).tolist() == []
    with pytest.raises(ParameterError, match="'imbalance' must be"):
        long_tailed([0, 1], imbalance=0.5)
