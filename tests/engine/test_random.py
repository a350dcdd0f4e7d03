"""Random bits, dropout and swap noise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.engine.fast import random as random_numbers
from disambig.engine.fast.random import Dropout, SwapNoise, positions_of, random_words, streams_of
from engine.plain_network import rows_of_batch

# ---- random bits


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


# ---- dropout


# What is kept of 256 units: .5, .7, .3, .9 and .996 to the nearest part.
KEPT = {0.5: 128, 0.3: 179, 0.7: 77, 0.1: 230, 0.004: 255}
every_share = pytest.mark.parametrize("share", KEPT)


def kept_of(share, n_rows, n_units, seeds=(1,), layer=0, step=0):
    dropout = Dropout(share, n_units, seeds, layer)
    return dropout(n_rows, torch.tensor([step])).numpy() >= 0


def test_there_is_an_integer_for_every_network_row_and_unit():
    assert kept_of(0.3, 70, 9, seeds=(1, 2, 3)).shape == (3, 70, 9)


@every_share
def test_the_share_kept_is_right(share):
    kept = kept_of(share, 640, 101, seeds=range(4))
    expected = KEPT[share] / 256
    tolerance = 5 * np.sqrt(expected * (1 - expected) / kept.size)
    assert kept.mean() == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("n_units", [16, 33])
@every_share
def test_every_row_and_every_unit_keeps_that_share(share, n_units):
    # Rows that are 32 apart, and units beside each other, come from the same random numbers.
    kept = kept_of(share, 32 * 100, n_units, seeds=range(16))
    kept = kept.reshape(1600, 32, n_units)
    expected = KEPT[share] / 256
    for means in (kept.mean(axis=(0, 2)), kept.mean(axis=(0, 1)), kept.mean(axis=0)):
        tolerance = 5.5 * np.sqrt(expected * (1 - expected) * means.size / kept.size)
        np.testing.assert_allclose(means, expected, atol=tolerance)


def test_rows_units_networks_layers_and_steps_are_independent():
    drawn = [
        [kept_of(0.5, 64, 20, seeds=(1, 2), layer=layer, step=step) for layer in range(3)]
        for step in range(100)
    ]
    signs = np.array(drawn) * 2.0 - 1  # (steps, layers, networks, rows, units)
    for axis, distance in [(0, 1), (1, 1), (2, 1), (3, 1), (3, 2), (3, 32), (4, 1), (4, 2)]:
        size = signs.shape[axis]
        left = np.take(signs, range(size - distance), axis)
        right = np.take(signs, range(distance, size), axis)
        assert abs((left * right).mean()) < 5 / np.sqrt(left.size)


def test_the_same_seed_layer_and_step_give_the_same_masks():
    first = kept_of(0.3, 50, 7, seeds=(1, 2), layer=1, step=9)
    np.testing.assert_array_equal(kept_of(0.3, 50, 7, seeds=(1, 2), layer=1, step=9), first)


@pytest.mark.parametrize("changes", [{"seeds": (2,)}, {"layer": 1}, {"step": 1}])
def test_another_seed_layer_or_step_gives_other_masks(changes):
    assert not np.array_equal(kept_of(0.3, 50, 7, **changes), kept_of(0.3, 50, 7))


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 7), st.sampled_from([*KEPT]))
def test_the_mask_of_a_row_does_not_depend_on_the_rows_after_it(few, many, n_units, share):
    few, many = sorted((few, many))
    together = kept_of(share, many, n_units, seeds=(1, 2))
    np.testing.assert_array_equal(kept_of(share, few, n_units, seeds=(1, 2)), together[:, :few])


def test_the_kept_of_a_network_do_not_depend_on_the_networks_beside_it():
    together = kept_of(0.3, 40, 5, seeds=(1, 2, 3))
    np.testing.assert_array_equal(together[1:2], kept_of(0.3, 40, 5, seeds=(2,)))


def test_batches_of_changing_size_get_the_masks_they_would_get_alone():
    dropout = Dropout(0.3, 5, (1, 2), 0)
    for step, n_rows in enumerate([40, 7, 100, 33, 100]):
        found = dropout(n_rows, torch.tensor([step])).numpy() >= 0
        np.testing.assert_array_equal(found, kept_of(0.3, n_rows, 5, seeds=(1, 2), step=step))


@pytest.mark.parametrize(("most_words", "count"), [(1, 1), (300, 3), (2**20, 8)])
def test_steps_are_drawn_together_only_as_far_as_memory_allows(monkeypatch, most_words, count):
    expected = [Dropout(0.5, 32, [5, 6], 0)(80, torch.tensor([step])) for step in range(20)]
    monkeypatch.setattr(random_numbers, "_MOST_WORDS", most_words)
    dropout = Dropout(0.5, 32, [5, 6], 0)
    for step in (*range(20), 7):
        assert torch.equal(dropout(80, step), expected[step])
        assert len(dropout._bits_of_steps) == count


def test_a_step_that_asks_twice_gets_the_same_masks_and_no_other_step_does():
    dropout = Dropout(0.3, 5, (1, 2), 0)
    for step, n_rows in [(0, 40), (0, 40), (0, 7), (1, 7), (9, 40), (0, 40), (0, 7), (17, 7)]:
        found = dropout(n_rows, step).numpy() >= 0
        np.testing.assert_array_equal(found, kept_of(0.3, n_rows, 5, seeds=(1, 2), step=step))
    counted_elsewhere = torch.tensor([0])
    for step in range(3):
        expected = kept_of(0.3, 7, 5, seeds=(1, 2), step=step)
        np.testing.assert_array_equal(dropout(7, counted_elsewhere).numpy() >= 0, expected)
        counted_elsewhere += 1


@pytest.mark.parametrize(("share", "kept"), [*KEPT.items(), (0.75, 64), (1e-6, 255), (0.9999, 1)])
def test_what_is_kept_is_scaled_up_by_the_share_really_kept(share, kept):
    assert Dropout(share, 3, (1,), 0).scale == 256 / kept


@given(st.floats(1 / 256, 255 / 256))
def test_the_share_kept_is_never_further_off_than_half_a_step(share):
    assert abs(1 / Dropout(share, 3, (1,), 0).scale - (1 - share)) <= 1 / 512 + 1e-12


def test_dropout_neither_reads_nor_changes_the_global_generator():
    before = torch.get_rng_state()
    first = kept_of(0.3, 40, 5)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(123)
        np.testing.assert_array_equal(kept_of(0.3, 40, 5), first)


# ---- swap noise


every_noise = pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])


def numbered(networks=1, n_rows=20, n_features=5):
    """Features that say where they come from: network, row and feature are digits."""
    network, row, feature = np.indices((networks, n_rows, n_features))
    return torch.as_tensor(network * 1e6 + row * 1e3 + feature)


def origins(noisy):
    """The network, row and feature that every value comes from."""
    values = noisy.numpy().astype(int)
    return values // 10**6, values // 10**3 % 10**3, values % 10**3


def noisy_features(features, share=0.5, seeds=(1,), step=0, counts=None):
    counts = [features.shape[1]] * len(features) if counts is None else counts
    return SwapNoise(share, seeds)(features, rows_of_batch(counts, features.shape[1]), step)


@every_noise
def test_the_share_that_is_replaced_is_right(share):
    features = numbered(4, 500, 50)
    replaced = (noisy_features(features, share, seeds=range(4)) != features).numpy()
    # One time in 500 a row is asked for its own value.
    expected = share * (1 - 1 / 500)
    tolerance = 5 * np.sqrt(expected * (1 - expected) / replaced.size)
    assert replaced.mean() == pytest.approx(expected, abs=tolerance)


def test_every_row_and_every_feature_has_that_share_replaced():
    features = numbered(1, 32, 31)
    replaced = np.mean(
        [(noisy_features(features, 0.3, step=step) != features).numpy() for step in range(400)],
        axis=0,
    )[0]
    expected = 0.3 * (1 - 1 / 32)
    for means in (replaced.mean(axis=0), replaced.mean(axis=1), replaced):
        tolerance = 5 * np.sqrt(expected * (1 - expected) * means.size / (400 * 32 * 31))
        np.testing.assert_allclose(means, expected, atol=tolerance)


def test_with_a_share_of_one_everything_is_drawn_anew():
    features = numbered(1, 200, 30)
    replaced = noisy_features(features, 1.0) != features
    assert replaced.double().mean() == pytest.approx(1 - 1 / 200, abs=0.005)


def test_a_value_comes_from_the_same_feature_of_the_same_network():
    noisy = noisy_features(numbered(3, 20, 5), 0.8, seeds=(1, 2, 3))
    network, row, feature = np.indices(noisy.shape)
    found_network, found_row, found_feature = origins(noisy)
    np.testing.assert_array_equal(found_network, network)
    np.testing.assert_array_equal(found_feature, feature)
    assert (found_row != row).mean() > 0.6


def test_every_real_row_is_taken_from_equally_often_and_filler_never():
    # The second network has 7 real rows of 20, the third a single one.
    features, counts = numbered(3, 20, 5), [20, 7, 1]
    rows = np.concatenate(
        [origins(noisy_features(features, 1.0, (1, 2, 3), step, counts))[1] for step in range(200)],
        axis=2,
    )
    for own, count in zip(rows, counts, strict=True):
        taken = np.bincount(own.ravel(), minlength=20) / own.size
        tolerance = 5 * np.sqrt(1 / count / own.size)
        np.testing.assert_allclose(taken[:count], 1 / count, atol=tolerance)
        assert not taken[count:].any()


def test_features_that_are_not_replaced_are_the_rows_own_also_in_filler_rows():
    features = numbered(1, 10, 40)
    noisy = noisy_features(features, 0.25, counts=[6])
    _, found_row, _ = origins(noisy)
    own = found_row == np.arange(10)[:, np.newaxis]
    # A replaced value of a filler row is never its own.
    assert own[0, 6:].mean() == pytest.approx(0.75, abs=0.15)
    assert (found_row[~own] < 6).all()


def test_two_features_of_a_row_do_not_come_from_the_same_other_row():
    _, rows, _ = origins(noisy_features(numbered(1, 100, 40), 1.0))
    same = (rows[0][:, 1:] == rows[0][:, :-1]).mean()
    assert same == pytest.approx(0.01, abs=5 * np.sqrt(0.01 / rows.size))


def test_which_features_are_replaced_and_by_whom_are_independent():
    drawn = [origins(noisy_features(numbered(1, 40, 30), 0.5, step=step))[1] for step in range(50)]
    rows = np.stack(drawn)[:, 0]
    replaced = rows != np.arange(40)[:, np.newaxis]
    # Were one random number used for both, replaced rows would come from the first half only.
    for low in range(0, 40, 10):
        share = ((rows >= low) & (rows < low + 10))[replaced].mean()
        assert share == pytest.approx(0.25, abs=0.02)
    signs = np.where(replaced, 1.0, -1.0)
    for axis in range(3):
        size = signs.shape[axis]
        before = np.take(signs, range(size - 1), axis)
        after = np.take(signs, range(1, size), axis)
        assert abs(np.mean(before * after)) < 0.02


def test_the_features_given_are_left_as_they_are():
    features = numbered()
    noisy_features(features, 1.0)
    assert torch.equal(features, numbered())


def test_the_same_seed_and_step_give_the_same_noise():
    first = noisy_features(numbered(2), seeds=(1, 2), step=7)
    assert torch.equal(noisy_features(numbered(2), seeds=(1, 2), step=7), first)


@pytest.mark.parametrize("changes", [{"seeds": (2,)}, {"step": 1}], ids=str)
def test_another_seed_or_step_gives_other_noise(changes):
    assert not torch.equal(noisy_features(numbered(), **changes), noisy_features(numbered()))


def test_networks_of_one_stack_get_noise_of_their_own():
    same_rows = numbered(1).expand(2, -1, -1)
    first, second = noisy_features(same_rows, seeds=(1, 2))
    assert not torch.equal(first, second)


def test_the_noise_of_a_network_does_not_depend_on_the_networks_beside_it():
    features = numbered(3)
    together = noisy_features(features, seeds=(1, 2, 3), counts=[20, 11, 15])
    for number, (seed, count) in enumerate(zip((1, 2, 3), (20, 11, 15), strict=True)):
        alone = noisy_features(features[number : number + 1], seeds=(seed,), counts=[count])
        assert torch.equal(alone[0], together[number])


def test_the_noise_of_real_rows_does_not_depend_on_how_many_fill_up():
    features = numbered(1, 20, 5)
    longer = noisy_features(features, counts=[13])
    assert torch.equal(noisy_features(features[:, :13], counts=[13]), longer[:, :13])


def test_a_step_may_be_counted_here_or_on_a_device():
    for step in (0, 1, 12345):
        by_tensor = noisy_features(numbered(), step=torch.tensor([step]))
        assert torch.equal(noisy_features(numbered(), step=step), by_tensor)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_keep_their_bits(dtype):
    features = torch.randn(1, 30, 7, generator=torch.Generator().manual_seed(0), dtype=dtype)
    noisy = noisy_features(features, 0.5)
    assert noisy.dtype == dtype
    for feature in range(7):
        assert set(noisy[0, :, feature].tolist()) <= set(features[0, :, feature].tolist())


def test_batches_of_changing_shape_get_the_noise_they_would_get_alone():
    noise = SwapNoise(0.5, (1,))
    for n_rows, n_features in [(5, 1), (6, 1), (4, 3), (3, 4), (20, 5), (5, 1)]:
        features = numbered(1, n_rows, n_features)
        found = noise(features, rows_of_batch([n_rows], n_rows), 3)
        assert torch.equal(found, noisy_features(features, step=3))


def test_several_steps_at_once_get_the_noise_that_each_gets_alone():
    features, counts, seeds = numbered(6, 9, 4), [9, 7, 8, 9, 1, 5], (1, 2)
    rows = rows_of_batch(counts, 9)
    found = SwapNoise(0.5, seeds)(features, rows, torch.tensor([3, 4, 9]))
    for number, step in enumerate((3, 4, 9)):
        networks = slice(2 * number, 2 * number + 2)
        alone = noisy_features(features[networks], 0.5, seeds, step, counts[networks])
        assert torch.equal(found[networks], alone)


def test_places_beyond_integers_of_32_bits_are_found(monkeypatch):
    # Without a batch of gigabytes: as if integers were that short.
    features = numbered(2, 20, 5)
    expected = noisy_features(features, 0.5, (1, 2))
    monkeypatch.setattr(random_numbers, "_LONGEST", 100)
    assert torch.equal(noisy_features(features, 0.5, (1, 2)), expected)


def test_noise_is_independent_of_the_global_generator_and_leaves_it_alone():
    before = torch.get_rng_state()
    first = noisy_features(numbered())
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(123)
        assert torch.equal(noisy_features(numbered()), first)
