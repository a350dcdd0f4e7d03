"""Hold the share of every class near the one that the candidate sets themselves imply."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from disambig._core.typing import Sparse
from disambig.engine.rule import Batch, TrainingData
from disambig.methods.ncpd import ProgressiveCooperation

# Shares below this count as this: a class that is nowhere true is not to be conjured up.
_SMALLEST_SHARE = 1e-3


class ClassShares:
    """What share of the rows each class is believed to hold, and what that is corrected by.

    Networks that learn from their own confidences make frequent classes more frequent, or rare
    ones, whichever they first lean to. The mean over all rows of ``1 / |S|``, or of the weights
    that came with the candidates, is a share that no network has leaned on. A log-probability gets
    ``strength * log(implied share / share found in the last epoch)``.

    Parameters
    ----------
    problems : sequence of TrainingData
        Their candidate sets imply a share for every class.
    strength : float
        0 corrects nothing; 1 takes out of a network's probabilities all that it has learned of the
        shares, and puts the implied ones in their place.
    device : torch.device
        Where the steps run.
    """

    def __init__(
        self, problems: Sequence[TrainingData], strength: float, device: torch.device
    ) -> None:
        implied = [np.asarray(problem.prior.mean(axis=0)).ravel() for problem in problems]
        shares = torch.as_tensor(np.stack(implied), dtype=torch.float32)
        self._log_implied = _log_shares(shares).to(device)
        self._strength = float(strength)
        self._corrections = torch.zeros_like(self._log_implied)
        self._found = torch.zeros_like(self._log_implied)

    def begin_epoch(self, epoch: int) -> None:
        """Turn what was found in the last epoch into the corrections of this one."""
        if epoch > 1:
            share = self._found / self._found.sum(-1, keepdim=True)
            self._corrections.copy_(self._strength * (self._log_implied - _log_shares(share)))
            self._found.zero_()

    def state(self) -> dict[str, Tensor]:
        """Return what the next step depends on, by name; not copies."""
        return {"corrections": self._corrections, "found": self._found}

    def corrections_of(self, columns: Tensor) -> Tensor:
        """Return what the log-probability of every candidate of a batch is corrected by.

        ``columns`` and the result have the shape (problems, 1, rows, slots).
        """
        by_row = self._corrections[:, None, None, :].expand(-1, 1, columns.shape[2], -1)
        return by_row.gather(-1, columns)

    def add(self, columns: Tensor, confidences: Tensor) -> None:
        """Count the confidences of a batch, of shape (problems, networks, rows, slots)."""
        problems, _, rows, _ = columns.shape
        by_class = confidences.new_zeros(problems, rows, self._found.shape[-1])
        # By row first: sums over the rows are then taken in one order always, also on a card.
        by_class.scatter_add_(-1, columns.squeeze(1), confidences.sum(1))
        self._found += by_class.sum(1)


def _log_shares(shares: Tensor) -> Tensor:
    return shares.clamp(min=_SMALLEST_SHARE).log()


def _has_weights(prior: Sparse) -> bool:
    """Return whether any candidate weighs more than another of its row."""
    largest = prior.max(axis=1).toarray().ravel()
    return bool((prior.data != np.repeat(largest, np.diff(prior.indptr))).any())


class BalancedCooperation(ProgressiveCooperation):
    """NCPD's rule, with two corrections in Eq. 1.

    Class shares are held near those that the sets imply. And weights that came with the candidates
    count in Eq. 1 too, as what is known of a row besides its features; without any, nothing
    changes.

    Parameters
    ----------
    ramp_epochs, cooperation, progressive
        As in ``ProgressiveCooperation``.
    strength : float
        Of the correction; see ``ClassShares``.
    """

    looks_across_rows = True
    shares: ClassShares

    def __init__(
        self, ramp_epochs: int, cooperation: bool, progressive: bool, strength: float
    ) -> None:
        super().__init__(ramp_epochs, cooperation, progressive)
        self.strength = strength

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Take the shares that the candidate sets imply."""
        super().start(problems, device)
        self.shares = ClassShares(problems, self.strength, device)
        self._weighted = any(_has_weights(problem.prior) for problem in problems)

    def begin_epoch(self, epoch: int) -> bool:
        """Take over what the last epoch found."""
        self.shares.begin_epoch(epoch)
        return super().begin_epoch(epoch)

    def state(self) -> dict[str, Tensor]:
        """Return the shares."""
        return self.shares.state()

    def _losses(self, batch: Batch) -> Tensor:
        # Networks of the user may be of another precision, and are taught in their own.
        corrections = self.shares.corrections_of(batch.columns).to(batch.losses.dtype)
        corrected = batch.losses - corrections
        if self._weighted:
            corrected -= batch.log_weights()
        return corrected

    def _confidences(self, batch: Batch, losses: Tensor, simple: Tensor) -> Tensor:
        found = super()._confidences(batch, losses, simple)
        self.shares.add(batch.columns, found)
        return found
