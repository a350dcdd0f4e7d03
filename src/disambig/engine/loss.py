"""What networks say of a batch: its losses, ranked, and their gradient by the logits."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from disambig.engine.batches import Candidates
from disambig.engine.fast.layers import log_softmax
from disambig.engine.rule import Targets


class Seen(NamedTuple):
    """What networks say of a batch: every shape begins with (problems, networks, rows)."""

    log_probabilities: Tensor  # (..., classes)
    predicted: Tensor  # (...): the most probable class
    of_candidates: Tensor  # (..., slots): their log-probabilities; anything in unused slots
    losses: Tensor  # (..., slots): minus these; infinite in slots that are not used
    is_predicted: Tensor  # (..., slots): whether the candidate is the most probable class


def seen_in(logits: Tensor, candidates: Candidates) -> Seen:
    """Return what logits of the shape (problems, networks, rows, classes) say."""
    log_probabilities, predicted = log_softmax(logits)
    columns = candidates.columns.expand(*predicted.shape[:-1], -1)
    of_candidates = log_probabilities.gather(-1, columns)
    return Seen(
        log_probabilities=log_probabilities,
        predicted=predicted.squeeze(-1),
        of_candidates=of_candidates,
        losses=(-of_candidates).masked_fill_(~candidates.mask, torch.inf),
        is_predicted=(columns == predicted) & candidates.mask,
    )


def log_likelihood(targets: Targets, seen: Seen) -> Tensor:
    """Return minus the loss of every row: shape (problems, networks, rows)."""
    if targets.losses is not None:
        result = -targets.losses
    elif targets.slots is not None:
        result = (targets.slots * seen.of_candidates).sum(-1)
    else:
        assert targets.classes is not None
        result = (targets.classes * seen.log_probabilities).sum(-1)
    if targets.row_weights is not None:
        result = result * targets.row_weights
    return result


def gradient_of_logits(log_probabilities: Tensor, targets: Targets, columns: Tensor) -> Tensor:
    """Return the gradient of the loss of every row by its logits; the first is overwritten.

    The loss is ``-sum(target * log p)``, so that its gradient is ``p * sum(target) - target``.
    """
    gradient = log_probabilities.exp_()
    if targets.slots is not None:
        # These sum to one.
        columns = columns.expand(*gradient.shape[:-1], -1)
        gradient.scatter_add_(-1, columns, -targets.slots)
    elif targets.classes is not None:
        gradient.mul_(targets.classes.sum(-1, keepdim=True)).sub_(targets.classes)
    if targets.row_weights is not None:
        gradient.mul_(targets.row_weights.unsqueeze(-1))
    return gradient


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
