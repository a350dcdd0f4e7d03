"""What a step works with."""

import pytest
import torch

from disambig.engine.fast.step import Clock, RowsInBatch, Workspace

# ---- clock


# Counting in plain integers, and in tensors as a recorded step needs it.
every_clock = pytest.mark.parametrize("device", [None, torch.device("cpu")])


@every_clock
def test_steps_are_counted_in_the_epoch_and_in_all(device):
    clock = Clock(device)
    counts = []
    for epoch in range(2):
        clock.begin_epoch(epoch * 3)
        for _ in range(3):
            counts.append((int(clock.step), int(clock.total)))
            clock.advance()
    assert counts == [(0, 0), (1, 1), (2, 2), (0, 3), (1, 4), (2, 5)]


@every_clock
def test_a_table_is_read_and_written_at_the_present_step(device):
    clock, table = Clock(device), torch.arange(6).view(3, 2)
    clock.begin_epoch(30)
    clock.advance()
    assert clock.at(table).tolist() == [2, 3]
    clock.put(table, torch.tensor([8, 9]))
    assert table.tolist() == [[0, 1], [8, 9], [4, 5]]


def test_counts_on_a_device_stay_in_their_memory():
    clock = Clock(torch.device("cpu"))
    step, total = clock.on_device()
    clock.begin_epoch(10)
    clock.advance()
    assert (step.tolist(), total.tolist()) == ([1], [11])


def test_plain_counts_are_on_no_device():
    assert Clock().on_device() == []


# ---- rows in batch


REAL = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_layers_need_follows_from_which_rows_are_real(dtype):
    rows = RowsInBatch.from_real(REAL, dtype)
    expected = {
        "real": [[[1], [1], [1]], [[1], [1], [0]], [[1], [0], [0]]],
        "averaging": [[[1 / 3, 1 / 3, 1 / 3]], [[0.5, 0.5, 0]], [[1, 0, 0]]],
        "counts": [[[3]], [[2]], [[1]]],
        "unbiased": [[[3 / 2]], [[2]], [[1]]],  # n / (n - 1), and one for a single row
    }
    for name, values in expected.items():
        assert torch.equal(getattr(rows, name), torch.tensor(values, dtype=dtype))


# ---- workspace


LIKE = torch.zeros(1)


def test_a_tensor_has_the_shape_asked_for_and_the_type_of_its_example():
    found = Workspace().tensor("a", LIKE.double(), (2, 3, 4))
    assert found.shape == (2, 3, 4)
    assert found.dtype == torch.float64
    assert found.device == LIKE.device


def test_a_name_means_the_same_memory_every_time():
    workspace = Workspace()
    first = workspace.tensor("a", LIKE, (2, 3))
    first.fill_(7)
    assert workspace.tensor("a", LIKE, (6,)).tolist() == [7] * 6


def test_fewer_numbers_take_the_same_memory_and_leave_the_rest():
    workspace = Workspace()
    workspace.tensor("a", LIKE, (6,)).fill_(7)
    workspace.tensor("a", LIKE, (2, 2)).fill_(1)
    assert workspace.tensor("a", LIKE, (6,)).tolist() == [1, 1, 1, 1, 7, 7]


def test_more_numbers_get_more_memory():
    workspace = Workspace()
    workspace.tensor("a", LIKE, (2, 2))
    assert workspace.tensor("a", LIKE, (5, 5)).fill_(3).sum() == 75


def test_names_do_not_share_memory():
    workspace = Workspace()
    first = workspace.tensor("a", LIKE, (4,)).fill_(1)
    workspace.tensor("b", LIKE, (4,)).fill_(2)
    assert first.tolist() == [1, 1, 1, 1]


def test_workspaces_do_not_share_memory():
    first = Workspace().tensor("a", LIKE, (4,)).fill_(1)
    Workspace().tensor("a", LIKE, (4,)).fill_(2)
    assert first.tolist() == [1, 1, 1, 1]


def test_a_name_asked_for_in_another_type_comes_in_that_type():
    workspace = Workspace()
    workspace.tensor("a", LIKE, (4,))
    assert workspace.tensor("a", LIKE.double(), (4,)).dtype == torch.float64
    assert workspace.tensor("a", LIKE, (4,)).dtype == LIKE.dtype
