"""Record a training step on a CUDA card once, and replay it.

A step is a hundred or so small operations, and starting each of them takes the processor longer
than the card needs to do it. A replay starts all of them at once.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

__all__ = ["ReplayedStep"]

# The first runs of an operation may choose an algorithm and allocate memory, which cannot be
# recorded.
_WARM_UPS = 2
# Recordings of two threads would break each other, and each new stream would keep memory for good.
_ONE_AT_A_TIME = threading.Lock()
_STREAMS: dict[torch.device, torch.cuda.Stream] = {}

Kind = TypeVar("Kind", bound=Hashable)


class ReplayedStep:
    """A step of which every kind is recorded the first time, and replayed from then on.

    Parameters
    ----------
    state : sequence of Tensor
        Every tensor that a step changes for good, all on one card.
    """

    def __init__(self, state: Sequence[Tensor]) -> None:
        self._state = state
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}

    def __call__(self, step: Callable[[Kind], None], kind: Kind) -> None:
        """Do one step.

        Parameters
        ----------
        step : callable
            Takes the kind; the same one every time. Not kept, because it usually belongs to who
            keeps this object.
        kind : hashable
            May decide what operations there are. Everything else that changes from call to call
            must lie on the card.
        """
        if kind not in self._graphs:
            with _ONE_AT_A_TIME:
                self._graphs[kind] = self._recorded(step, kind)
        self._graphs[kind].replay()

    def _recorded(self, step: Callable[[Kind], None], kind: Kind) -> torch.cuda.CUDAGraph:
        device = self._state[0].device
        if device not in _STREAMS:
            _STREAMS[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch has no types for it
        stream = _STREAMS[device]
        before = [tensor.clone() for tensor in self._state]
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                step(kind)
                # At once: a second step might be one more than the epoch has.
                for tensor, value in zip(self._state, before, strict=True):
                    tensor.copy_(value)
        torch.cuda.current_stream(device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            step(kind)
        return graph
