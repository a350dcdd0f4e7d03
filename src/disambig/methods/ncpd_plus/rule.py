"""Progressive cooperation with the shares of the classes held in place."""

from dataclasses import dataclass

from torch import Tensor

from disambig.engine.candidate_groups import CandidateGroups
from disambig.methods.ncpd.confidence import group_confidences
from disambig.methods.ncpd.rule import ProgressiveCooperation
from disambig.methods.ncpd_plus.class_shares import ClassShares

__all__ = ["BalancedCooperation"]


@dataclass(frozen=True)
class BalancedCooperation(ProgressiveCooperation):
    """NCPD's rule, with two corrections in Eq. 1.

    Class shares are held near those that the sets imply. And weights that came with the candidates
    count in Eq. 1 too, as what is known of a row besides its features; without any, nothing
    changes.

    Attributes
    ----------
    shares : ClassShares
        What corrects the log-probabilities before they become confidences.
    """

    shares: ClassShares

    def begin_epoch(self, epoch: int) -> None:
        """Take over what the last epoch found."""
        self.shares.begin_epoch(epoch)

    def state(self) -> dict[str, Tensor]:
        """Return the shares."""
        return self.shares.state()

    def _found(self, losses: Tensor, groups: CandidateGroups, simple: Tensor) -> Tensor:
        # Networks of the user may be of another precision, and are taught in their own.
        corrections = self.shares.corrections_of(groups.columns).to(losses.dtype)
        corrected = losses - corrections - _log_weights(groups)
        found = group_confidences(corrected, groups.prior, simple)
        self.shares.add(groups.columns, found)
        return found


def _log_weights(groups: CandidateGroups) -> Tensor:
    """Return the logarithm of every candidate's weight over the largest of its row.

    Exactly zero where candidates weigh the same; minus infinity in places that are not used.
    """
    largest = groups.prior.amax(-1, keepdim=True)
    # A row that only fills up a batch has no weights at all.
    return (groups.prior / largest.masked_fill(largest == 0, 1)).log_()
