import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from disambig.methods.ncpd import exchange

# What each of four networks thinks of the two candidates of one row.
FOUND = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]], [[0.0, 1.0]], [[0.2, 0.8]]])


def test_two_networks_swap():
    assert exchange(FOUND[:2]).tolist() == [[[0.5, 0.5]], [[1.0, 0.0]]]


def test_three_networks_get_the_mean_of_the_other_two():
    # (.5 + 0) / 2, (1 + 0) / 2, (1 + .5) / 2 for the first candidate.
    expected = [[[0.25, 0.75]], [[0.5, 0.5]], [[0.75, 0.25]]]
    np.testing.assert_allclose(exchange(FOUND[:3]), expected, atol=1e-6)


def test_four_networks_get_the_mean_of_the_other_three():
    # The first candidate has 1 + .5 + 0 + .2 = 1.7 in all, less the network's own.
    first = np.array([0.7, 1.2, 1.7, 1.5]) / 3
    expected = np.stack([first, 1 - first], axis=-1)[:, np.newaxis]
    np.testing.assert_allclose(exchange(FOUND), expected, atol=1e-6)


def test_networks_that_agree_are_taught_what_they_think():
    same = torch.tensor([[0.3, 0.7], [1.0, 0.0]]).expand(4, 2, 2)
    np.testing.assert_allclose(exchange(same), same, atol=1e-6)


@given(
    leading=st.lists(st.integers(1, 3), max_size=2),
    n_networks=st.integers(2, 5),
    seed=st.integers(0, 10_000),
)
def test_exchange_agrees_with_a_loop_over_any_leading_axes(leading, n_networks, seed):
    found = np.random.default_rng(seed).dirichlet([1, 1, 1], size=(*leading, n_networks, 4))
    taught = exchange(torch.as_tensor(found)).numpy()
    assert taught.shape == found.shape
    np.testing.assert_allclose(taught.sum(-1), 1, atol=1e-12)
    for place in np.ndindex(*leading):
        for own in range(n_networks):
            peers = [found[place][peer] for peer in range(n_networks) if peer != own]
            np.testing.assert_allclose(taught[place][own], np.mean(peers, axis=0), atol=1e-12)


@pytest.mark.parametrize("n_networks", [2, 3, 4])
def test_what_a_network_finds_never_comes_back_to_it(n_networks):
    found = FOUND[:n_networks]
    for own in range(n_networks):
        changed = found.clone()
        changed[own] = torch.tensor([0.9, 0.1])
        before, after = exchange(found), exchange(changed)
        torch.testing.assert_close(after[own], before[own])
        for peer in set(range(n_networks)) - {own}:
            assert not torch.allclose(after[peer], before[peer])
