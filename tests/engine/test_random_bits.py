import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.engine.fast.random import positions_of, random_words, streams_of

N_WORDS = 4000


def draw(seeds, count, counter=0, purpose=0):
    return random_words(positions_of(streams_of(seeds, purpose), count), counter)


def along_positions():
    return draw([5], N_WORDS)[0]


def along_seeds():
    return draw(range(N_WORDS), 1)[:, 0]


def along_counters():
    positions = positions_of(streams_of([5]), 1)
    return torch.cat([random_words(positions, counter)[0] for counter in range(N_WORDS)])


def along_purposes():
    return torch.cat([draw([5], 1, purpose=purpose)[0] for purpose in range(N_WORDS)])


def of_streams_alone():
    return random_words(streams_of(range(N_WORDS)), 3)


every_way_to_draw = pytest.mark.parametrize(
    "drawn", [along_positions, along_seeds, along_counters, along_purposes, of_streams_alone]
)


def signs_of(words):
    """Every word as 64 numbers: one for a bit that is set, minus one for any other."""
    unsigned = words.numpy().view(np.uint64)[:, np.newaxis]
    return ((unsigned >> np.arange(64, dtype=np.uint64)) & np.uint64(1)) * 2.0 - 1


def test_the_same_seed_gives_the_same_words():
    first = draw([3, 4], 50)
    assert first.shape == (2, 50)
    assert torch.equal(first, draw([3, 4], 50))


def test_positions_can_be_drawn_from_again_and_again():
    positions = positions_of(streams_of([3, 4]), 50)
    first, other = random_words(positions, 7), random_words(positions, 8)
    assert torch.equal(random_words(positions, 7), first)
    assert not (first == other).any()


@given(st.integers(1, 200), st.integers(1, 200))
def test_a_word_does_not_depend_on_how_many_there_are(few, many):
    few, many = sorted((few, many))
    assert torch.equal(draw([8, 9], few), draw([8, 9], many)[:, :few])


def test_a_word_does_not_depend_on_the_seeds_beside_its_own():
    assert torch.equal(draw([1, 2, 3], 20)[1:2], draw([2], 20))


@every_way_to_draw
def test_no_word_comes_twice(drawn):
    assert len(drawn().unique()) == N_WORDS


@every_way_to_draw
def test_every_bit_is_set_half_of_the_time(drawn):
    means = signs_of(drawn()).mean(axis=0)
    assert np.abs(means).max() < 5 / np.sqrt(N_WORDS)


@every_way_to_draw
def test_bits_of_a_word_are_independent_of_each_other_and_of_those_of_the_next(drawn):
    signs = signs_of(drawn())
    within = signs.T @ signs / N_WORDS - np.eye(64)
    between = signs[:-1].T @ signs[1:] / N_WORDS
    assert np.abs(within).max() < 5.5 / np.sqrt(N_WORDS)
    assert np.abs(between).max() < 5.5 / np.sqrt(N_WORDS)


def test_words_of_neighbouring_seeds_counters_and_purposes_are_independent():
    words = torch.cat([draw([0, 1, 2], N_WORDS, c, p) for c in range(3) for p in range(2)])
    signs = np.array([signs_of(stream).ravel() for stream in words])
    correlations = signs @ signs.T / signs.shape[1] - np.eye(len(signs))
    assert np.abs(correlations).max() < 5 / np.sqrt(signs.shape[1])


def test_no_word_of_one_counter_comes_again_with_another_however_far():
    words = torch.cat([draw([1], N_WORDS, counter)[0] for counter in (0, 1, 2, 10**6, 10**9)])
    assert len(words.unique()) == 5 * N_WORDS


def test_every_seed_of_64_bits_has_words_of_its_own():
    seeds = [0, 1, 2, 2**31, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    assert len(draw(seeds, 1).unique()) == len(seeds)


def test_a_tensor_counts_like_an_integer():
    positions = positions_of(streams_of([1, 2]), 5)
    assert torch.equal(random_words(positions, torch.tensor([7])), random_words(positions, 7))


def test_the_global_generator_is_neither_read_nor_changed():
    before = torch.get_rng_state()
    first = draw([1], 40)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(123)
        assert torch.equal(draw([1], 40), first)
