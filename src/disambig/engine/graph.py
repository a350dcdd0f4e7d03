"""Record a training step on a CUDA card once, and replay it.

A step is some sixty small operations, and starting each of them takes the processor longer than the
card needs to do it. A replay starts all of them at once.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

__all__ = ["ReplayedStep"]

# The first runs of an operation may choose an algorithm and allocate memory, which cannot be
# recorded.
_WARM_UPS = 2


class ReplayedStep:
    """A step that is recorded the first time it is called with a flag, and replayed from then on.

    Parameters
    ----------
    step : callable
        Takes one flag, which may decide what operations there are. Everything else that changes
        from call to call must lie on the card.
    state : sequence of Tensor
        Every tensor that a step changes for good.
    """

    def __init__(self, step: Callable[[bool], None], state: Sequence[Tensor]) -> None:
        self._step = step
        self._state = state
        self._graphs: dict[bool, torch.cuda.CUDAGraph] = {}

    def __call__(self, flag: bool) -> None:
        """Do one step."""
        if flag not in self._graphs:
            self._graphs[flag] = self._recorded(flag)
        self._graphs[flag].replay()

    def _recorded(self, flag: bool) -> torch.cuda.CUDAGraph:
        before = [tensor.clone() for tensor in self._state]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                self._step(flag)
                # At once: a second step might be one more than the epoch has.
                for tensor, value in zip(self._state, before, strict=True):
                    tensor.copy_(value)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(flag)
        return graph
