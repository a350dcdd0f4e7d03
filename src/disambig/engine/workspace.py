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
        self._memory: dict[str, Tensor] = {}

    def tensor(
        self, name: str, like: Tensor, shape: Sequence[int], dtype: torch.dtype | None = None
    ) -> Tensor:
        """Return a tensor of this shape on the device of ``like``, and of its type by default."""
        size = math.prod(shape)
        memory = self._memory.get(name)
        if memory is None or memory.numel() < size:
            memory = torch.empty(size, dtype=dtype or like.dtype, device=like.device)
            self._memory[name] = memory
        return memory[:size].view(shape)
