from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig.tabular.audit import duplicates
from disambig.tabular.audit.duplicates import find_repeated_rows


def marks(features, sets):
    values = pd.DataFrame({"f": features})
    found = find_repeated_rows(values, CandidateLabels.from_sets(sets))
    return found.differing.tolist(), found.contradicting.tolist()


def test_rows_with_features_of_their_own_are_not_marked():
    assert marks([1.0, 2.0], [["a"], ["b"]]) == ([False, False], [False, False])


def test_the_same_features_with_the_same_set_are_fine():
    assert marks([1.0, 1.0], [["a", "b"], ["b", "a"]]) == ([False, False], [False, False])


def test_sets_that_overlap_differ_and_do_not_contradict():
    differing, contradicting = marks([1.0, 2.0, 1.0], [["a", "b"], ["c"], ["b"]])
    assert differing == [True, False, True]
    assert not any(contradicting)


def test_sets_without_a_common_label_contradict():
    differing, contradicting = marks([2.0, 1.0, 2.0], [["a", "b"], ["c"], ["c"]])
    assert contradicting == [True, False, True]
    assert not any(differing)


def test_three_sets_that_overlap_in_pairs_only_contradict():
    _, contradicting = marks([1.0] * 3, [["a", "b"], ["b", "c"], ["a", "c"]])
    assert all(contradicting)


@pytest.mark.parametrize(
    "features",
    [
        [np.nan, -np.nan],
        [0.0, -0.0],
        np.array([None, None], dtype=object),
        np.array(["x", "x"], dtype=object),
    ],
)
def test_equal_values_are_equal_whatever_their_bits(features):
    assert marks(features, [["a"], ["b"]])[1] == [True, True]


@pytest.mark.parametrize("others", [["x", "y"], ["x", None], ["", None]])
def test_texts_that_differ_are_different_features(others):
    assert marks(np.array(others, dtype=object), [["a"], ["b"]])[1] == [False, False]


def test_swapped_values_are_different_features():
    values = pd.DataFrame({"f": [1.0, 2.0], "g": [2.0, 1.0]})
    found = find_repeated_rows(values, CandidateLabels.from_labels(["a", "b"]))
    assert not found.contradicting.any()


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 10_000])
def test_it_agrees_with_a_loop(rows_at_a_time, monkeypatch):
    monkeypatch.setattr(duplicates, "_ROWS_AT_A_TIME", rows_at_a_time)
    rng = np.random.default_rng(0)
    values = pd.DataFrame(rng.integers(0, 3, size=(120, 4)).astype(float), columns=list("abcd"))
    mask = rng.random((120, 3)) < 0.6
    mask[~mask.any(axis=1), 0] = True
    found = find_repeated_rows(values, CandidateLabels.from_mask(mask))
    groups = defaultdict(list)
    for row, features in enumerate(values.itertuples(index=False)):
        groups[tuple(features)].append(row)
    differing, contradicting = np.zeros(120, dtype=bool), np.zeros(120, dtype=bool)
    for rows in groups.values():
        common = mask[rows].all(axis=0).any()
        same = (mask[rows] == mask[rows[0]]).all()
        differing[rows], contradicting[rows] = common and not same, not common
    assert differing.any()
    assert contradicting.any()
    np.testing.assert_array_equal(found.differing, differing)
    np.testing.assert_array_equal(found.contradicting, contradicting)
