import math

import numpy as np
import pytest

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_boolean, check_choice, check_integer, check_real


def test_a_choice_from_the_list_passes():
    check_choice("weights", "uniform", ("distance", "uniform"))


@pytest.mark.parametrize("bad", ["other", 3, None, ["uniform"]])
def test_another_choice_is_refused_with_what_is_allowed(bad):
    with pytest.raises(ParameterError, match="'weights' must be one of 'distance', 'uniform'. Got"):
        check_choice("weights", bad, ("distance", "uniform"))


@pytest.mark.parametrize("good", [True, False, np.True_])
def test_true_and_false_pass(good):
    check_boolean("unit_rows", good)


@pytest.mark.parametrize("bad", ["no", 0, None])
def test_other_than_true_and_false_is_refused(bad):
    with pytest.raises(ParameterError, match="'unit_rows' must be True or False. Got"):
        check_boolean("unit_rows", bad)


@pytest.mark.parametrize("good", [1, 5, np.int32(3)])
def test_integers_inside_the_range_pass(good):
    check_integer("k", good, minimum=1, maximum=5)


@pytest.mark.parametrize("bad", [0, 6, 2.0, True, "3", None])
def test_other_than_integers_inside_the_range_is_refused(bad):
    with pytest.raises(ParameterError, match="'k' must be an integer from 1 to 5. Got"):
        check_integer("k", bad, minimum=1, maximum=5)


def test_an_integer_may_have_no_maximum():
    check_integer("k", 10**9, minimum=1)
    with pytest.raises(ParameterError, match="'k' must be an integer >= 1. Got 0 instead"):
        check_integer("k", 0, minimum=1)


@pytest.mark.parametrize("good", [0, 1, 0.5, np.float32(0.5)])
def test_numbers_inside_the_range_pass(good):
    check_real("p", good, minimum=0, maximum=1)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None])
def test_other_than_numbers_inside_the_range_is_refused(bad):
    with pytest.raises(ParameterError, match="'p' must be a number from 0 to 1. Got"):
        check_real("p", bad, minimum=0, maximum=1)


def test_a_number_may_have_no_maximum():
    check_real("overlap", 1e9, minimum=0)
    with pytest.raises(ParameterError, match="'overlap' must be a number >= 0. Got -1 instead"):
        check_real("overlap", -1, minimum=0)
