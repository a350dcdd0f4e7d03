"""Weights of rows and of classes: what the loss of a row and of a candidate is multiplied by."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from torch import Tensor

from disambig._core.typing import FloatArray
from disambig.engine.batches import Candidates
from disambig.engine.rule import Targets, TrainingData


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
