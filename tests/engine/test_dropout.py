import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.engine.fast.random import Dropout

# What is kept of 256 units: .5, .7, .3, .9 and .996 to the nearest part.
KEPT = {0.5: 128, 0.3: 179, 0.7: 77, 0.1: 230, 0.004: 255}
every_share = pytest.mark.parametrize("share", KEPT)


def masks_of(share, n_rows, n_units, seeds=(1,), layer=0, step=0):
    dropout = Dropout(share, n_units, seeds, layer)
    return dropout(n_rows, torch.tensor([step])).numpy().copy()


@every_share
def test_a_unit_is_kept_with_all_its_bits_or_none(share):
    masks = masks_of(share, 70, 9, seeds=(1, 2, 3))
    assert masks.shape == (3, 70, 9)
    assert np.unique(masks).tolist() == [-1, 0]


@every_share
def test_the_share_kept_is_right(share):
    kept = masks_of(share, 640, 101, seeds=range(4)) != 0
    expected = KEPT[share] / 256
    tolerance = 5 * np.sqrt(expected * (1 - expected) / kept.size)
    assert kept.mean() == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("n_units", [16, 33])
@every_share
def test_every_row_and_every_unit_keeps_that_share(share, n_units):
    # Rows that are 32 apart, and units beside each other, come from the same random numbers.
    kept = masks_of(share, 32 * 100, n_units, seeds=range(16)) != 0
    kept = kept.reshape(1600, 32, n_units)
    expected = KEPT[share] / 256
    for means in (kept.mean(axis=(0, 2)), kept.mean(axis=(0, 1)), kept.mean(axis=0)):
        tolerance = 5.5 * np.sqrt(expected * (1 - expected) * means.size / kept.size)
        np.testing.assert_allclose(means, expected, atol=tolerance)


def test_rows_units_networks_layers_and_steps_are_independent():
    drawn = [
        [masks_of(0.5, 64, 20, seeds=(1, 2), layer=layer, step=step) for layer in range(3)]
        for step in range(100)
    ]
    signs = np.array(drawn) * -2.0 - 1  # (steps, layers, networks, rows, units)
    for axis, distance in [(0, 1), (1, 1), (2, 1), (3, 1), (3, 2), (3, 32), (4, 1), (4, 2)]:
        size = signs.shape[axis]
        left = np.take(signs, range(size - distance), axis)
        right = np.take(signs, range(distance, size), axis)
        assert abs((left * right).mean()) < 5 / np.sqrt(left.size)


def test_the_same_seed_layer_and_step_give_the_same_masks():
    first = masks_of(0.3, 50, 7, seeds=(1, 2), layer=1, step=9)
    np.testing.assert_array_equal(masks_of(0.3, 50, 7, seeds=(1, 2), layer=1, step=9), first)


@pytest.mark.parametrize("changes", [{"seeds": (2,)}, {"layer": 1}, {"step": 1}])
def test_another_seed_layer_or_step_gives_other_masks(changes):
    assert not np.array_equal(masks_of(0.3, 50, 7, **changes), masks_of(0.3, 50, 7))


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 7), st.sampled_from([*KEPT]))
def test_the_mask_of_a_row_does_not_depend_on_the_rows_after_it(few, many, n_units, share):
    few, many = sorted((few, many))
    together = masks_of(share, many, n_units, seeds=(1, 2))
    np.testing.assert_array_equal(masks_of(share, few, n_units, seeds=(1, 2)), together[:, :few])


def test_the_masks_of_a_network_do_not_depend_on_the_networks_beside_it():
    together = masks_of(0.3, 40, 5, seeds=(1, 2, 3))
    np.testing.assert_array_equal(together[1:2], masks_of(0.3, 40, 5, seeds=(2,)))


def test_batches_of_changing_size_get_the_masks_they_would_get_alone():
    dropout = Dropout(0.3, 5, (1, 2), 0)
    for step, n_rows in enumerate([40, 7, 100, 33, 100]):
        found = dropout(n_rows, torch.tensor([step])).numpy()
        np.testing.assert_array_equal(found, masks_of(0.3, n_rows, 5, seeds=(1, 2), step=step))


def test_a_step_that_asks_twice_gets_the_same_masks_and_no_other_step_does():
    dropout = Dropout(0.3, 5, (1, 2), 0)
    for step, n_rows in [(0, 40), (0, 40), (0, 7), (1, 7), (1, 40), (0, 40), (0, 7), (0, 7)]:
        found = dropout(n_rows, step).numpy()
        np.testing.assert_array_equal(found, masks_of(0.3, n_rows, 5, seeds=(1, 2), step=step))
    counted_elsewhere = torch.tensor([0])
    for step in range(3):
        expected = masks_of(0.3, 7, 5, seeds=(1, 2), step=step)
        np.testing.assert_array_equal(dropout(7, counted_elsewhere).numpy(), expected)
        counted_elsewhere += 1


@pytest.mark.parametrize(("share", "kept"), [*KEPT.items(), (0.75, 64), (1e-6, 255), (0.9999, 1)])
def test_what_is_kept_is_scaled_up_by_the_share_really_kept(share, kept):
    assert Dropout(share, 3, (1,), 0).scale == 256 / kept


@given(st.floats(1 / 256, 255 / 256))
def test_the_share_kept_is_never_further_off_than_half_a_step(share):
    assert abs(1 / Dropout(share, 3, (1,), 0).scale - (1 - share)) <= 1 / 512 + 1e-12


def test_the_global_generator_is_neither_read_nor_changed():
    before = torch.get_rng_state()
    first = masks_of(0.3, 40, 5)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(123)
        np.testing.assert_array_equal(masks_of(0.3, 40, 5), first)
