"""Parameters are checked, and random states become seeds."""

import math

import numpy as np
import pytest

from disambig._core.errors import ParameterError
from disambig._core.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_real,
    make_generator,
    spawn_seeds,
)


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


def draw(random_state):
    return make_generator(random_state).random(3).tolist()


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), np.random.SeedSequence(7)])
def test_same_seed_same_numbers(seed):
    assert draw(seed) == draw(seed)


def test_different_seeds_give_different_numbers():
    assert draw(0) != draw(1)


def test_no_seed_gives_new_numbers_every_time():
    assert draw(None) != draw(None)


def test_a_generator_is_used_as_it_is():
    generator = np.random.default_rng(0)
    assert make_generator(generator) is generator


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_moves_on_when_it_gives_seeds(make):
    state = make(0)
    assert spawn_seeds(state, 2) != spawn_seeds(state, 2)
    assert spawn_seeds(make(0), 2) == spawn_seeds(make(0), 2)


def test_spawned_seeds_do_not_depend_on_how_many_are_asked_for():
    assert spawn_seeds(3, 5)[:2] == spawn_seeds(3, 2)


def test_spawned_seeds_differ_and_fit_every_library():
    seeds = spawn_seeds(0, 1000)
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_spawning_leaves_a_seed_sequence_as_it_was():
    sequence = np.random.SeedSequence(5)
    assert spawn_seeds(sequence, 3) == spawn_seeds(sequence, 3)
    assert sequence.n_children_spawned == 0


def test_a_child_of_a_seed_sequence_is_not_its_parent():
    parent = np.random.SeedSequence(5)
    assert draw(parent.spawn(1)[0]) != draw(parent)


def test_the_global_state_is_untouched():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    make_generator(None).random()
    spawn_seeds(1, 3)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


@pytest.mark.parametrize("bad", [-1, 0.5, "seed"])
def test_what_is_no_seed_is_refused(bad):
    with pytest.raises(ParameterError, match="'random_state' must be None, an integer >= 0"):
        make_generator(bad)
