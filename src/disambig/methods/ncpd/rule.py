"""NCPD as the engine meets it: from the losses of a batch to what every network learns."""

from dataclasses import dataclass

from torch import Tensor

from disambig.engine.candidate_groups import CandidateGroups
from disambig.engine.rule import Confidences
from disambig.methods.ncpd.confidence import group_confidences
from disambig.methods.ncpd.cooperation import exchange
from disambig.methods.ncpd.reliable import reliable_candidates
from disambig.methods.ncpd.schedule import share_of_small_losses

__all__ = ["ProgressiveCooperation"]


@dataclass(frozen=True)
class ProgressiveCooperation:
    """Easy groups first, each network taught by the others.

    Attributes
    ----------
    ramp_epochs : int
        t_r, the epoch from which every group whose prediction is a candidate is disambiguated.
    cooperation : bool
        Whether networks exchange their confidences; without, each learns from its own (w/o NC).
    progressive : bool
        Whether easy groups come first; without, Eq. 1 holds for every group from the start (w/o
        PD).
    """

    ramp_epochs: int
    cooperation: bool
    progressive: bool

    def share(self, epoch: int) -> float:
        """Return T(t)."""
        return share_of_small_losses(epoch, self.ramp_epochs) if self.progressive else 1.0

    def begin_epoch(self, epoch: int) -> None:
        """Do nothing: an epoch leaves nothing behind for the next one."""

    def state(self) -> dict[str, Tensor]:
        """Return that there is nothing to keep."""
        return {}

    def confidences(
        self, losses: Tensor, predicted: Tensor, groups: CandidateGroups, share: Tensor | None
    ) -> Confidences:
        """Return what every network is trained with, and which groups it found simple."""
        if self.progressive:
            reliable = reliable_candidates(losses, predicted, share, groups.most_candidates)
            simple = reliable.any(-1)
        else:
            simple = groups.inside.any(-1).expand(losses.shape[:-1])
        found = self._found(losses, groups, simple)
        return Confidences(exchange(found) if self.cooperation else found, simple)

    def _found(self, losses: Tensor, groups: CandidateGroups, simple: Tensor) -> Tensor:
        """Return the confidences that every network finds by itself."""
        return group_confidences(losses, groups.prior, simple)
