"""The processes that take every training step together, by torch.distributed; or one alone."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

import torch
from torch import Tensor, distributed

from disambig._core.errors import ParameterError
from disambig.engine.process_group import others_answer, rank_and_size

_works_alone: ContextVar[bool] = ContextVar("_works_alone", default=False)


class Ranks:
    """The processes that take every training step together, of which this is one.

    Every process has all rows and takes every step with the same batch. Of its places each asks the
    networks about an equal share, from which it computes its part of the gradient; what networks
    say, and gradients, are exchanged. So rules, what is kept of rows, and measures are the same
    everywhere, and the same as in a process alone but for rounding. A process alone exchanges
    nothing: every method returns at once.

    Parameters
    ----------
    rank, size : int
        Number of this process, from 0, and how many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size

    @classmethod
    def present(cls) -> Self:
        """Return the processes of torch's process group, or this one alone where there is none."""
        return cls() if _works_alone.get() else cls(*rank_and_size())

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def share(self, n_places: int) -> slice:
        """Return which places of a batch are those of this process; all have as many."""
        count = n_places // self.size
        return slice(self.rank * count, (self.rank + 1) * count)

    def deal(self, rows: Tensor) -> Tensor:
        """Return the rows of this process; the last ones may be there again, to have as many."""
        if self.size == 1:
            return rows
        mine = self.share(-(-len(rows) // self.size) * self.size)
        numbers = torch.arange(mine.start, mine.stop, device=rows.device)
        return rows.index_select(0, numbers.clamp_(max=len(rows) - 1))

    def sum(self, *tensors: Tensor) -> None:
        """Add up tensors over the processes, in place and in one exchange; all of one type."""
        if self.size == 1:
            return
        if len(tensors) == 1 and tensors[0].is_contiguous():
            with others_answer():
                distributed.all_reduce(tensors[0])
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with others_answer():
            distributed.all_reduce(flat)
        _unpack(flat, tensors)

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Add up the gradients of parameters, which each process has of its rows."""
        if self.size > 1:
            self.sum(*(one.grad for one in parameters if one.grad is not None))

    def gather(self, shares: Tensor, axis: int) -> Tensor:
        """Return the shares of all processes, one behind the other along an axis."""
        if self.size == 1:
            return shares
        everything = shares.new_empty(self.size, *shares.shape)
        with others_answer():
            distributed.all_gather(list(everything.unbind()), shares.contiguous())
        axis %= shares.ndim
        return everything.movedim(0, axis).flatten(axis, axis + 1)

    def follow_first(self, *tensors: Tensor) -> None:
        """Give tensors, in place, the values that they have in the first process."""
        by_type: dict[torch.dtype, list[Tensor]] = {}
        for tensor in tensors if self.size > 1 else ():
            by_type.setdefault(tensor.dtype, []).append(tensor)
        for of_type in by_type.values():
            flat = torch.cat([tensor.reshape(-1) for tensor in of_type])
            with others_answer():
                distributed.broadcast(flat, 0)
            _unpack(flat, of_type)

    def first_says(self, *, yes: bool, device: torch.device) -> bool:
        """Return what the first process says to a question."""
        if self.size == 1:
            return yes
        said = torch.tensor([int(yes)], device=device)
        self.follow_first(said)
        return bool(said)

    def check_alike(self, fingerprint: str, device: torch.device) -> None:
        """Refuse to train with processes that were given something else."""
        if self.size == 1:
            return
        own = torch.tensor([int(fingerprint[:15], 16)], device=device)
        everybody = self.gather(own, 0)
        others = (everybody != everybody[0]).nonzero().flatten().tolist()
        if others:
            raise ParameterError(
                "All processes must train on the same rows and candidates, with the same "
                "parameters and an integer as 'random_state'; if there is a checkpoint, all must "
                f"be able to read it. Process {others[0]} of {self.size} (they count from 0) has "
                "other ones than process 0. To train in each process for itself, put "
                "'with disambig.engine.ranks.alone():' around fit."
            )


@contextmanager
def alone() -> Iterator[None]:
    """Let trainings inside the block belong to this process alone, though there are others."""
    token = _works_alone.set(True)
    try:
        yield
    finally:
        _works_alone.reset(token)


def _unpack(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view(tensor.shape))
