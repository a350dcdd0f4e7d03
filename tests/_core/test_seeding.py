import numpy as np
import pytest

from disambig._core.errors import ParameterError
from disambig._core.parameters import make_generator, spawn_seeds


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
