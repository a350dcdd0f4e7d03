import pytest
import torch

from disambig.engine.fast.step import Clock

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
