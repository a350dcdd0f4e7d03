"""Memory that is asked for in every step and given out again and again.

Fresh memory of this size comes from the operating system, page by page, at a cost above that of the
arithmetic done in it.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["Workspace"]


class Workspace:
    """Uninitialised tensors by name; a name means the same memory every time."""

    def __init__(self) -> None:
        self._memory: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}

    def tensor(self, name: str, like: Tensor, shape: Sequence[int]) -> Tensor:
        """Return a tensor of this shape, of the type and on the device of ``like``."""
        size, key = math.prod(shape), (name, like.dtype, like.device)
        memory = self._memory.get(key)
        if memory is None or memory.numel() < size:
            memory = self._memory[key] = like.new_empty(size)
        return memory[:size].view(shape)
