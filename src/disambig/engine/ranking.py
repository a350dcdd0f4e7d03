"""Rank the losses of a batch in one kernel, on a card that runs kernels of our own."""

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
