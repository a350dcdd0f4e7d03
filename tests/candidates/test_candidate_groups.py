import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from candidates.strategies import candidate_labels
from disambig import CandidateLabels
from disambig._core.errors import CandidateError, ParameterError
from disambig._core.fingerprint import fingerprint_of
from disambig.candidates import Promise
from disambig.candidates.groups import (
    deal_groups,
    deal_rows,
    group_numbers,
    hold_out_groups,
)
from disambig.candidates.target import without_weightless


@pytest.fixture
def birds():
    sets = ["robin|wren", "robin|wren", "tit", "tit|wren", "robin"]
    y = CandidateLabels.from_strings(sets)
    return y.with_groups(["b", "b", "a", "c", "c"], promise="cover", strength=0.8)


def test_groups_are_numbered_as_they_appear_and_cannot_be_changed(birds):
    assert birds.groups.tolist() == [0, 0, 1, 2, 2]
    assert birds.promise == Promise("cover", 0.8)
    with pytest.raises(ValueError, match="read-only"):
        birds.groups[0] = 5
    assert repr(birds).endswith("1.60 candidates on average, 3 groups)")
    plain = CandidateLabels.from_labels(["a", "b"])
    assert (plain.groups, plain.promise) == (None, None)


def test_groups_travel_through_slices_splits_and_pickles(birds):
    for key in ([3, 0, 4], np.array([3, 0, 4]), np.array([1, 0, 0, 1, 1], dtype=bool), slice(2, 5)):
        rows = np.arange(5)[key]
        assert birds[key].groups.tolist() == birds.groups[rows].tolist()
        assert birds[key].promise == birds.promise
    train, test = train_test_split(birds, test_size=2, random_state=0)
    assert sorted([*train.groups.tolist(), *test.groups.tolist()]) == [0, 0, 1, 2, 2]
    assert pickle.loads(pickle.dumps(birds)) == birds


def test_groups_travel_through_everything_that_makes_new_sets(birds):
    others = CandidateLabels.from_mask(np.ones(birds.shape, dtype=bool), birds.classes)
    made = [
        birds.restrict(["robin", "tit", "wren"]),
        birds.exclude([]),
        birds.intersect(others),
        others.intersect(birds),
        birds.union(others),
        birds.with_classes([*birds.classes, "owl"]),
        without_weightless(
            CandidateLabels(
                birds.to_mask(), weights=birds.to_mask() * [1, 0.5, 1], classes=birds.classes
            ).with_rows_of(birds)
        ),
    ]
    for sets in made:
        assert sets.groups.tolist() == birds.groups.tolist()
        assert sets.promise == birds.promise
    weights = birds.to_mask() * np.array([[0, 0, 1], [1, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]])
    light = CandidateLabels(birds.to_mask(), birds.classes, weights=weights).with_rows_of(birds)
    assert without_weightless(light).sizes.tolist() == [1, 2, 1, 1, 1]
    assert without_weightless(light).promise == birds.promise
    assert birds.with_groups(None).groups is None


def test_groups_of_other_samples_are_refused(birds):
    with pytest.raises(CandidateError, match="each of the 4 samples. Got 5"):
        birds[:4].with_rows_of(birds)


def test_sets_are_equal_where_the_same_rows_come_together(birds):
    assert birds == birds.with_groups([7, 7, 1, 0, 0], promise=birds.promise)
    assert birds != birds.with_groups([7, 7, 1, 1, 0], promise=birds.promise)
    assert birds != birds.with_groups(birds.groups)
    assert birds != birds.with_groups(None)


def test_a_fingerprint_knows_groups_and_is_the_old_one_without(birds):
    plain = birds.with_groups(None)
    names = [repr(name) for name in plain.classes.tolist()]
    assert plain.fingerprint_parts()[0] == names
    assert len(plain.fingerprint_parts()) == 4
    prints = [
        plain,
        birds,
        birds.with_groups(birds.groups),
        birds.with_groups(birds.groups, promise="cover"),
        birds.with_groups(birds.groups, promise="exclusive", strength=0.8),
        birds.with_groups([0, 1, 2, 3, 3], promise=birds.promise),
    ]
    assert len({fingerprint_of(sets) for sets in prints}) == len(prints)
    assert birds.nbytes > plain.nbytes


@given(candidate_labels())
def test_runs_are_neighbours_with_equal_sets(candidates):
    sets = candidates.to_sets()
    runs = candidates.with_groups("runs").groups
    assert [a == b for a, b in pairwise(runs)] == [a == b for a, b in pairwise(sets)]


@pytest.mark.parametrize(
    ("groups", "promise", "message"),
    [
        (["a"], None, r"a group for each of the 5 rows\. Got 1"),
        ([1, 2, None, 4, 5], None, r"Every row needs a group\. None for 1 sample.*row 2"),
        ([1, 2, 3, 4, [5]], None, r"named by a string.* Got \[5\] in row 4"),
        ([1, 2, (3, []), 4, 5], None, r"named by a string.* Got \(3, \[\]\) in row 2"),
        (5, None, "a group for each row. Got 5"),
        ("pictures", None, "'groups' must be.*'runs'"),
        (None, "cover", "A promise is about groups"),
        ([1, 1, 2, 2, 2], "covers", "'promise' must be one of"),
        ([1, 1, 2, 2, 2], 0.9, "'promise' must be one of.* Got 0.9"),
    ],
)
def test_what_is_no_group_is_refused(birds, groups, promise, message):
    with pytest.raises((CandidateError, ParameterError), match=message):
        birds.with_groups(groups, promise=promise)


def test_without_groups_every_row_is_one():
    assert group_numbers(None, 3).tolist() == [0, 1, 2]


def test_a_strength_is_a_share():
    with pytest.raises(ParameterError, match="strength"):
        Promise("cover", 1.5)


def test_a_column_of_a_frame_names_groups(birds):
    frame = pd.DataFrame({"photo": ["x", "y", "y", "y", "x"]})
    assert birds.with_groups(frame["photo"]).groups.tolist() == [0, 1, 1, 1, 0]


@given(st.lists(st.integers(0, 12), min_size=5, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_folds_hold_whole_groups_and_none_is_empty(groups, n_folds, seed):
    groups = np.array(groups)
    n_groups = len(np.unique(groups))
    if n_groups < n_folds:
        with pytest.raises(ParameterError, match=f"{n_folds} folds .* Got {n_groups}"):
            deal_groups(groups, n_folds, seed)
        return
    folds = deal_groups(groups, n_folds, seed)
    assert set(folds) == set(range(n_folds))
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
    # No fold is larger than the smallest one and a group together.
    sizes = np.bincount(folds)
    assert sizes.max() - sizes.min() <= np.bincount(group_numbers(groups, len(groups))).max()
    np.testing.assert_array_equal(folds, deal_groups(groups, n_folds, seed))


def test_another_seed_deals_other_folds():
    groups = np.repeat(np.arange(30), 4)
    assert (deal_groups(groups, 5, 0) != deal_groups(groups, 5, 1)).any()
    assert (deal_rows(120, None, 5, 0) != deal_rows(120, None, 5, 1)).any()


def test_rows_are_dealt_evenly_and_with_their_groups_where_they_have_some():
    folds = deal_rows(23, None, 5, 0)
    assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]
    assert (np.diff(folds) < 0).sum() > 5  # not in the order of the rows
    np.testing.assert_array_equal(folds, deal_rows(23, None, 5, 0))
    groups = np.repeat(np.arange(10), 3)
    np.testing.assert_array_equal(deal_rows(30, groups, 4, 7), deal_groups(groups, 4, 7))


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.floats(0.01, 0.99))
def test_a_share_is_held_out_in_whole_groups(groups, share):
    groups = np.array(groups)
    if len(set(groups.tolist())) < 2:
        with pytest.raises(ParameterError, match="two groups or more"):
            hold_out_groups(groups, share, 0)
        return
    held_out = hold_out_groups(groups, share, 0)
    assert 0 < held_out.sum() < len(groups)
    assert all(len(set(held_out[groups == group])) == 1 for group in set(groups))
    largest = np.bincount(group_numbers(groups, len(groups))).max()
    assert abs(held_out.sum() - share * len(groups)) <= largest


@pytest.mark.parametrize("sizes", [[90, 10], [98, 1, 1], [51, 30, 19]])
def test_a_group_of_most_rows_is_not_held_out(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for seed in range(10):
        assert not hold_out_groups(groups, 0.2, seed)[0]
