"""What several processes exchange in a training step, and what each of them draws."""

import numpy as np
import pytest
import torch

from disambig.engine.fast.random import Dropout
from disambig.engine.ranks import Ranks, alone
from process_groups import run_in_group


def test_a_process_without_a_group_is_alone_and_exchanges_nothing():
    ranks, values = Ranks.present(), torch.arange(4.0)
    assert (ranks.rank, ranks.size, ranks.is_first) == (0, 1, True)
    ranks.sum(values)
    ranks.follow_first(values)
    assert values.tolist() == [0, 1, 2, 3]
    assert ranks.gather(values, 0) is values
    assert ranks.deal(values) is values
    assert ranks.share(7) == slice(0, 7)
    assert ranks.first_says(yes=True, device=values.device)


@pytest.mark.parametrize(("share", "n_units"), [(0.5, 7), (0.3, 5), (0.25, 8)])
@pytest.mark.parametrize(("first", "count"), [(0, 40), (1, 31), (31, 2), (33, 64), (96, 4)])
def test_rows_from_a_place_on_drop_the_units_that_they_drop_in_the_whole_batch(
    share, n_units, first, count
):
    whole, part = (Dropout(share, n_units, [3, 4], layer=1) for _ in range(2))
    part.first_row = first
    for step in (0, 5, torch.tensor([9])):
        expected = whole(100, step)[:, first : first + count] < 0
        assert torch.equal(part(count, step) < 0, expected[:, :count])


def _exchange(rank):
    ranks = Ranks.present()
    one = torch.full((2, 3), float(rank))
    turned = (torch.arange(6.0).view(2, 3) + rank).mT
    ranks.sum(one, turned)
    lone = torch.tensor([float(10**rank)], dtype=torch.float64)
    ranks.sum(lone)
    weight, count = torch.full((2, 2), float(rank)).mT, torch.tensor([rank + 7])
    ranks.follow_first(weight, count)
    rows = torch.arange(14.0).view(7, 2)
    with alone():
        is_alone = Ranks.present().size == 1
    return {
        "size": ranks.size,
        "sums": (one.numpy(), turned.numpy(), lone.numpy()),
        "gathered": ranks.gather(torch.full((2, 1), rank), 1).numpy(),
        "followed": (weight.numpy(), count.numpy()),
        "dealt": ranks.gather(ranks.deal(rows), 0)[:7].numpy(),
        "said": ranks.first_says(yes=rank == 0, device=one.device),
        "alone": is_alone,
    }


def test_all_processes_of_a_group_know_the_same_after_an_exchange(tmp_path):
    for known in run_in_group(3, _exchange, tmp_path):
        assert known["size"] == 3
        sums = [np.full((2, 3), 3.0), (3 * np.arange(6.0).reshape(2, 3) + 3).T, [111.0]]
        for found, expected in zip(known["sums"], sums, strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(known["gathered"], [[0, 1, 2], [0, 1, 2]])
        np.testing.assert_array_equal(known["followed"][0], np.zeros((2, 2)))
        assert known["followed"][1] == 7
        np.testing.assert_array_equal(known["dealt"], np.arange(14.0).reshape(7, 2))
        assert known["said"]
        assert known["alone"]
