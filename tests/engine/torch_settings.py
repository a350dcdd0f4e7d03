"""Settings of torch that a training changes while it runs: how to see and to change them."""

from contextlib import contextmanager

import torch


def denormals_are_zero():
    """Whether numbers too small for full precision become zero."""
    return (torch.tensor([1e-320], dtype=torch.float64) * 2).item() == 0


@contextmanager
def threads(count):
    """Let torch use so many threads in a block, whatever the machine and the suite say."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
