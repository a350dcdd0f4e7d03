"""What networks say of a batch: its losses, ranked, weighted, and their gradient by the logits."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from disambig._core.typing import FloatArray
from disambig.engine.batches import Candidates
from disambig.engine.fast.layers import log_softmax
from disambig.engine.rule import Targets, TrainingData


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


class LossWeights:
    """Multiply the losses that a rule asks for by weights of rows and of classes.

    The rule itself sees neither: which losses are small, and which candidate to believe, does not
    depend on how much a row counts.

    Parameters
    ----------
    rows : Tensor of shape (rows + 1,), optional
        Of the rows of all problems, one after the other, and of the row that fills up batches.
    classes : Tensor of shape (problems, 1, 1, classes), optional
        Of the classes of every problem.
    """

    def __init__(self, rows: Tensor | None, classes: Tensor | None) -> None:
        self._rows = rows
        self._classes = classes

    @classmethod
    def of(
        cls, problems: Sequence[TrainingData], dtype: torch.dtype, device: torch.device
    ) -> Self | None:
        """Return the weights of several problems; None where nothing is weighted."""
        rows = _all_or_none([problem.row_weights for problem in problems])
        classes = _all_or_none([problem.class_weights for problem in problems])
        if rows is None and classes is None:
            return None
        return cls(
            None
            if rows is None
            else torch.as_tensor(np.concatenate([*rows, [1.0]]), dtype=dtype, device=device),
            None
            if classes is None
            else torch.as_tensor(np.stack(classes), dtype=dtype, device=device)[:, None, None],
        )

    def apply(self, targets: Targets, candidates: Candidates) -> Targets:
        """Return targets whose losses are weighted."""
        if self._classes is not None:
            targets = self._weigh_classes(targets, self._classes, candidates.columns)
        if self._rows is not None:
            of_rows = self._rows[candidates.rows].unsqueeze(1)
            targets = targets._replace(row_weights=_product(targets.row_weights, of_rows))
        return targets

    def of_rows(self, candidates: Candidates, logits: Tensor) -> Tensor:
        """Return what losses of rows are multiplied by where these are not a sum over classes.

        A class counts in a row as much as the network believes it among the candidates.
        """
        weights = logits.new_ones(logits.shape[:-1])
        if self._classes is not None:
            columns = candidates.columns.expand(*logits.shape[:-1], -1)
            among = logits.gather(-1, columns).masked_fill(~candidates.mask, -torch.inf)
            shares = torch.softmax(among, -1).masked_fill(~candidates.mask, 0)
            of_slots = self._classes.expand(*columns.shape[:-1], -1).gather(-1, columns)
            weights = (shares * of_slots).sum(-1)
        if self._rows is not None:
            weights = weights * self._rows[candidates.rows].unsqueeze(1)
        return weights

    def _weigh_classes(self, targets: Targets, classes: Tensor, columns: Tensor) -> Targets:
        # What is weighted is -sum(target * log p), whatever loss has the same gradient without.
        targets = targets._replace(losses=None)
        if targets.slots is None:
            assert targets.classes is not None
            return targets._replace(classes=targets.classes * classes)
        of_slots = classes.expand(*columns.shape[:-1], -1).gather(-1, columns)
        weighted = targets.slots * of_slots
        total = weighted.sum(-1, keepdim=True)
        # Slots sum to one: what they sum to with weights is a weight of the row.
        slots = torch.where(total > 0, weighted / total, targets.slots)
        return targets._replace(
            slots=slots, row_weights=_product(targets.row_weights, total.squeeze(-1))
        )


def _product(one: Tensor | None, other: Tensor) -> Tensor:
    return other if one is None else one * other


def _all_or_none(weights: Sequence[FloatArray | None]) -> list[FloatArray] | None:
    given = [one for one in weights if one is not None]
    if given and len(given) < len(weights):
        raise ValueError(
            "Either all problems that train side by side have weights or none. Got "
            f"{len(given)} of {len(weights)} with weights. Train them apart."
        )
    return given or None


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
