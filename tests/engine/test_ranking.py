import pytest
import torch

from disambig.engine.loss import smallest


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_smallest_losses_come_in_ascending_order(dtype):
    losses = torch.tensor([[3.0, torch.inf, 1.0, 2.0, 1.0], [0.5, 4.0, torch.inf, 0.0, 0.25]])
    found = smallest(losses.to(dtype), 3)
    assert found.dtype == dtype
    assert found.tolist() == [[1, 1, 2], [0, 0.25, 0.5]]


def test_losses_are_left_as_they_are():
    losses = torch.tensor([2.0, 1.0, 3.0])
    smallest(losses, 2)
    assert losses.tolist() == [2, 1, 3]
