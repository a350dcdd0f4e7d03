"""Rank the losses of a batch: as quickly as the processor can, or in one kernel on a card."""

import numpy as np
import torch
from torch import Tensor

# The kernel looks at so many losses at a time, and decides on so many.
_LOOKED_AT, _DECIDED = 512, 64


def ranked_on_card(losses: Tensor, share: Tensor) -> Tensor:
    """Return which losses are among the given share of smallest ones in their batch.

    ``losses`` are in float32, have the shape (..., rows, slots) and are infinite in slots that are
    not used; ``share`` is one float64.
    """
    # Only here: elsewhere Triton may be missing.
    from disambig.engine.fast import triton_backward

    losses = losses.contiguous()
    is_small = torch.empty_like(losses, dtype=torch.bool)
    n_losses = losses.shape[-2] * losses.shape[-1]
    if n_losses:
        rounds, blocks = -(-n_losses // _LOOKED_AT), -(-n_losses // _DECIDED)
        triton_backward.rank[losses.numel() // n_losses, blocks](
            losses, share, is_small, n_losses, ROUNDS=rounds, OTHERS=_LOOKED_AT, BLOCK=_DECIDED
        )
    return is_small


def smallest(losses: Tensor, count: int) -> Tensor:
    """Return the ``count`` smallest losses along the last axis, in ascending order."""
    if losses.device.type == "cpu" and losses.dtype in (torch.float32, torch.float64):
        # NumPy sorts with vector instructions, in a third of the time that torch takes.
        return torch.from_numpy(np.sort(losses.numpy(), axis=-1)[..., :count])
    return losses.topk(count, largest=False, sorted=True).values
