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
    """NCPD's rule, with a correction in Eq. 1.

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
        corrected = losses - self.shares.corrections_of(groups.columns)
        found = group_confidences(corrected, groups.prior, simple)
        self.shares.add(groups.columns, found)
        return found
