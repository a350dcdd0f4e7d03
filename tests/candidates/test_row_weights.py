"""Weights of rows travel with the sets, as groups do."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from disambig import CandidateLabels
from disambig._core.errors import CandidateError
from disambig._core.fingerprint import fingerprint_of
from disambig.candidates import leave_out_truth
from disambig.candidates.target import without_weightless


@pytest.fixture
def plain():
    return CandidateLabels.from_strings(["robin|wren", "robin|wren", "tit", "tit|wren", "robin"])


@pytest.fixture
def birds(plain):
    return plain.with_row_weights([1, 0.5, 0, 3, 2])


def test_weights_of_rows_are_a_copy_and_cannot_be_changed(plain):
    given = np.array([1.0, 0.5, 0.0, 3.0, 2.0])
    birds = plain.with_row_weights(given)
    given[0] = 9
    assert birds.row_weights.tolist() == [1, 0.5, 0, 3, 2]
    with pytest.raises(ValueError, match="read-only"):
        birds.row_weights[0] = 5
    assert repr(birds).endswith("1.60 candidates on average, weighted rows)")
    assert plain.row_weights is None
    assert birds.with_row_weights(None) == plain


def test_weights_of_rows_travel_through_slices_splits_and_pickles(birds):
    for key in ([3, 0, 4], np.array([1, 0, 0, 1, 1], dtype=bool), slice(2, 5)):
        assert birds[key].row_weights.tolist() == birds.row_weights[key].tolist()
    train, test = train_test_split(birds, test_size=2, random_state=0)
    assert sorted([*train.row_weights, *test.row_weights]) == sorted(birds.row_weights)
    unpickled = pickle.loads(pickle.dumps(birds))
    assert unpickled == birds
    assert not unpickled.row_weights.flags.writeable


def test_weights_of_rows_travel_through_everything_that_makes_new_sets(birds):
    others = CandidateLabels.from_mask(np.ones(birds.shape, dtype=bool), birds.classes)
    weights = birds.to_mask() * np.array([[0, 0, 1], [1, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]])
    light = CandidateLabels(birds.to_mask(), birds.classes, weights=weights).with_rows_of(birds)
    made = [
        birds.restrict(["robin", "tit", "wren"]),
        birds.exclude([]),
        birds.intersect(others),
        others.intersect(birds),
        birds.union(others),
        birds.with_classes([*birds.classes, "owl"]),
        birds.with_groups([0, 0, 1, 1, 2]),
        birds.with_groups([0, 0, 1, 1, 2]).with_groups(None),
        without_weightless(light),
        leave_out_truth(birds, ["robin", "wren", "tit", "tit", "robin"], rate=0.5, random_state=0),
    ]
    for sets in made:
        assert sets.row_weights.tolist() == birds.row_weights.tolist()
    assert without_weightless(light).sizes.tolist() == [1, 2, 1, 1, 1]


def test_two_collections_each_keep_what_the_other_lacks(plain, birds):
    grouped = plain.with_groups([0, 0, 1, 1, 2], promise="exclusive")
    for both in (grouped.union(birds), birds.intersect(grouped)):
        assert both.groups.tolist() == [0, 0, 1, 1, 2]
        assert both.promise == grouped.promise
        assert both.row_weights.tolist() == birds.row_weights.tolist()


def test_sets_differ_if_rows_count_differently(plain, birds):
    assert birds == plain.with_row_weights([1, 0.5, 0, 3, 2])
    assert birds != plain.with_row_weights([1, 0.5, 0, 3, 1])
    assert birds != plain
    assert plain != birds


def test_a_fingerprint_knows_weights_of_rows_and_is_the_old_one_without(plain, birds):
    assert len(plain.fingerprint_parts()) == 4
    grouped = birds.with_groups([0, 0, 1, 1, 2])
    prints = [plain, birds, birds.with_row_weights([2, 1, 0, 6, 4]), grouped]
    assert len({fingerprint_of(sets) for sets in prints}) == len(prints)
    assert birds.nbytes == plain.nbytes + 5 * 8


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"one number for each of the 5 rows. Got the shape \(2,\)"),
        ([[1], [1], [1], [1], [1]], r"Got the shape \(5, 1\)"),
        ([1, 1, -2, 1, 1], "not negative. Got -2 in 1 sample, at row 2"),
        ([1, np.nan, 1, 1, np.inf], "finite and not negative. Got nan in 2 samples, first at row"),
        ([0, 0, 0, 0, 0], "are all zero"),
        (["a"] * 5, "must be one number"),
        (7, "must be one number"),
    ],
)
def test_bad_weights_of_rows_are_refused(plain, weights, message):
    with pytest.raises(CandidateError, match=message):
        plain.with_row_weights(weights)
