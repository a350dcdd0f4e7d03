"""Progressive cooperation with the shares of the classes held in place."""

import torch
from torch import Tensor

from disambig.engine.rule import Batch
from disambig.methods.ncpd.confidence import group_confidences
from disambig.methods.ncpd.rule import ProgressiveCooperation
from disambig.methods.ncpd_plus.class_shares import ClassShares

__all__ = ["BalancedCooperation"]


class BalancedCooperation(ProgressiveCooperation):
    """NCPD's rule, with two corrections in Eq. 1.

    Class shares are held near those that the sets imply. And weights that came with the candidates
    count in Eq. 1 too, as what is known of a row besides its features; without any, nothing
    changes.

    Parameters
    ----------
    ramp_epochs, cooperation, progressive, device
        As in ``ProgressiveCooperation``.
    shares : ClassShares
        What corrects the log-probabilities before they become confidences.
    """

    def __init__(
        self,
        ramp_epochs: int,
        cooperation: bool,
        progressive: bool,
        device: torch.device | str = "cpu",
        *,
        shares: ClassShares,
    ) -> None:
        super().__init__(ramp_epochs, cooperation, progressive, device)
        self.shares = shares

    def begin_epoch(self, epoch: int) -> bool:
        """Take over what the last epoch found."""
        self.shares.begin_epoch(epoch)
        return super().begin_epoch(epoch)

    def state(self) -> dict[str, Tensor]:
        """Return the shares."""
        return self.shares.state()

    def _confidences(self, batch: Batch, simple: Tensor) -> Tensor:
        # Networks of the user may be of another precision, and are taught in their own.
        corrections = self.shares.corrections_of(batch.columns).to(batch.losses.dtype)
        corrected = batch.losses - corrections - _log_weights(batch)
        found = group_confidences(corrected, batch.prior, simple)
        self.shares.add(batch.columns, found)
        return found


def _log_weights(batch: Batch) -> Tensor:
    """Return the logarithm of every candidate's weight over the largest of its row.

    Exactly zero where candidates weigh the same; minus infinity in slots that are not used.
    """
    largest = batch.prior.amax(-1, keepdim=True)
    # A filler row has no weights at all.
    return (batch.prior / largest.masked_fill(largest == 0, 1)).log_()
