import numpy as np
import pytest
import torch

from disambig.engine.fast.random import SwapNoise
from engine.plain_network import rows_of_batch

every_share = pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])


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


@every_share
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


def test_noise_is_independent_of_the_global_generator_and_leaves_it_alone():
    before = torch.get_rng_state()
    first = noisy_features(numbered())
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(123)
        assert torch.equal(noisy_features(numbered()), first)
