import numpy as np
import pytest

from disambig._core.errors import ParameterError
from disambig.bench import shuffled_folds
from disambig.bench.trial import Split


def test_folds_cover_every_row_once_and_are_shuffled():
    folds = shuffled_folds(10, 3, seed=0)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(10))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(10))
    assert folds[0][1].tolist() != [0, 1, 2, 3]


def test_folds_differ_by_one_row_at_most():
    assert sorted(len(test) for _, test in shuffled_folds(23, 5, seed=0)) == [4, 4, 5, 5, 5]


def test_folds_follow_the_seed():
    def first_test_rows(seed):
        return shuffled_folds(30, 3, seed)[0][1].tolist()

    assert first_test_rows(1) == first_test_rows(1)
    assert first_test_rows(1) != first_test_rows(2)


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ParameterError, match="'seed' must be an integer from 0 to"):
        shuffled_folds(10, 3, seed)
    with pytest.raises(ParameterError, match="'seed' must be an integer from 0 to"):
        Split(seed=seed, test_share=0.5).rows(10)


@pytest.mark.parametrize("n_folds", [1, 11, 2.5])
def test_an_impossible_number_of_folds_is_refused(n_folds):
    with pytest.raises(ParameterError, match="'n_folds' must be an integer from 2 to 10. Got"):
        Split(seed=0, n_folds=n_folds).rows(10)


@pytest.mark.parametrize("fold", [0, 1, 2])
def test_a_split_into_folds_is_one_of_the_folds(fold):
    train, test = Split(seed=4, fold=fold, n_folds=3).rows(20)
    expected_train, expected_test = shuffled_folds(20, 3, 4)[fold]
    np.testing.assert_array_equal(train, expected_train)
    np.testing.assert_array_equal(test, expected_test)


@pytest.mark.parametrize(("share", "n_test"), [(0.2, 5), (0.5, 12), (0.95, 22), (0.03, 1)])
def test_a_hold_out_takes_its_share_and_leaves_the_rest(share, n_test):
    train, test = Split(seed=0, test_share=share).rows(23)
    assert len(test) == n_test
    assert sorted([*train, *test]) == list(range(23))


def test_a_hold_out_is_shuffled_by_its_seed():
    def test_rows(seed):
        return Split(seed=seed, test_share=0.3).rows(40)[1].tolist()

    assert test_rows(1) == test_rows(1)
    assert sorted(test_rows(1)) != sorted(test_rows(2))
    assert sorted(test_rows(1)) not in (list(range(12)), list(range(28, 40)))


@pytest.mark.parametrize(("share", "n_test"), [(0.01, 0), (0.999, 10), (0.0, 0), (1.0, 10)])
def test_a_hold_out_that_leaves_a_side_empty_is_refused(share, n_test):
    with pytest.raises(ParameterError, match=f"rows on both sides. {share} of 10 rows is {n_test}"):
        Split(seed=0, test_share=share).rows(10)


@pytest.mark.parametrize("share", [-0.1, 1.1, "half", None])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ParameterError, match="'test_share' must be a number from 0 to 1. Got"):
        Split(seed=0, test_share=share).rows(10)
