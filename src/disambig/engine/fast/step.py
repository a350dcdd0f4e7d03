"""What a step works with: the clock, its real rows, memory that is used again, graph replay."""

import math
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Self, TypeVar

import torch
from torch import Tensor


class Clock:
    """The step in this epoch and the step in all.

    Parameters
    ----------
    device : torch.device, optional
        Where to count. Without one the counts are plain integers, which are cheaper to use; but a
        recorded step would see the same integers forever.

    Attributes
    ----------
    step : int or Tensor of one integer
        Steps done in this epoch.
    total : int or Tensor of one integer
        Steps done in all.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self.step: int | Tensor = 0
        self.total: int | Tensor = 0
        if device is not None:
            # Side by side in memory, as kernels of our own read them.
            counts = torch.zeros(2, dtype=torch.int64, device=device)
            self.step, self.total = counts[:1], counts[1:]

    def on_device(self) -> list[Tensor]:
        """Return the counts that lie on a device."""
        return [count for count in (self.step, self.total) if isinstance(count, Tensor)]

    def begin_epoch(self, total: int) -> None:
        """Set the step in this epoch to zero, and the step in all to ``total``."""
        if isinstance(self.step, Tensor) and isinstance(self.total, Tensor):
            self.step.zero_()
            self.total.fill_(total)
        else:
            self.step, self.total = 0, total

    def advance(self) -> None:
        """Go on to the next step."""
        self.step += 1
        self.total += 1

    def at(self, table: Tensor) -> Tensor:
        """Return the part of a table, whose first axis is the steps, that belongs to this one."""
        if isinstance(self.step, Tensor):
            return table.index_select(0, self.step).squeeze(0)
        return table[self.step]

    def put(self, table: Tensor, value: Tensor) -> None:
        """Write into the part of a table that belongs to this step."""
        if isinstance(self.step, Tensor):
            table.index_copy_(0, self.step, value.unsqueeze(0))
        else:
            table[self.step] = value


class RowsInBatch(NamedTuple):
    """The rows of a batch for every network of a stack, as the layers need them."""

    real: Tensor  # (networks, rows, 1): one for a real row, zero for one that only fills up
    averaging: Tensor  # (networks, 1, rows): the same over the number of real rows
    counts: Tensor  # (networks, 1, 1): the number of real rows
    # (networks, 1, 1): n / (n - 1) for n real rows, one for a single row. What the variance is
    # multiplied by before it is kept for inference, as torch does.
    unbiased: Tensor

    @classmethod
    def from_real(cls, real: Tensor, dtype: torch.dtype) -> Self:
        """Return what follows from which rows are real, a boolean of shape (..., rows)."""
        counts = real.sum(-1)[..., None, None].to(dtype)
        return cls(
            real=real.unsqueeze(-1).to(dtype),
            averaging=real.unsqueeze(-2) / counts,
            counts=counts,
            unbiased=counts / (counts - 1).clamp(min=1),
        )

    def at(self, places: slice) -> Self:
        """Return the same for some places of the batch, which belongs to all of it still."""
        return self._replace(real=self.real[..., places, :], averaging=self.averaging[..., places])


class Workspace:
    """Uninitialised tensors by name; a name means the same memory every time.

    Fresh memory of this size comes from the operating system, page by page, at a cost above that of
    the arithmetic done in it.
    """

    def __init__(self) -> None:
        self._memory: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}
        # As they were last asked for: almost always they are asked for like that again.
        self._last: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}

    def tensor(self, name: str, like: Tensor, shape: Sequence[int]) -> Tensor:
        """Return a tensor of this shape, of the type and on the device of ``like``."""
        key = (name, like.dtype, like.device)
        last = self._last.get(key)
        if last is not None and last.shape == shape:
            return last
        size, memory = math.prod(shape), self._memory.get(key)
        if memory is None or memory.numel() < size:
            memory = self._memory[key] = like.new_empty(size)
        self._last[key] = memory[:size].view(shape)
        return self._last[key]


# The first runs of an operation may choose an algorithm and allocate memory, which cannot be
# recorded.
_WARM_UPS = 2
# Recordings of two threads would break each other, and each new stream would keep memory for good.
_ONE_AT_A_TIME = threading.Lock()
_STREAMS: dict[torch.device, torch.cuda.Stream] = {}

Kind = TypeVar("Kind", bound=Hashable)


class ReplayedStep:
    """Record every kind of step on a CUDA card the first time, and replay it from then on.

    A step is a hundred or so small operations, and starting each of them takes the processor longer
    than the card needs to do it. A replay starts all of them at once.

    Parameters
    ----------
    state : sequence of Tensor
        Every tensor that a step changes for good, all on one card.
    """

    def __init__(self, state: Sequence[Tensor]) -> None:
        self._state = state
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}

    def __call__(self, step: Callable[[Kind], None], kind: Kind) -> None:
        """Do one step, the same one every time.

        Its kind may decide what operations there are; everything else that changes from call to
        call must lie on the card. The step is not kept: it may belong to whoever keeps this object.
        """
        if kind not in self._graphs:
            with _ONE_AT_A_TIME:
                self._graphs[kind] = self._record(step, kind)
        self._graphs[kind].replay()

    def _record(self, step: Callable[[Kind], None], kind: Kind) -> torch.cuda.CUDAGraph:
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
