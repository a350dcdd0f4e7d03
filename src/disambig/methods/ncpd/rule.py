"""NCPD as the engine meets it: from the losses of a batch to what every network learns."""

from collections.abc import Sequence

import torch
from torch import Tensor

from disambig.engine.rule import Batch, Rule, Targets
from disambig.engine.training import TrainingSettings
from disambig.methods.ncpd.confidence import group_confidences
from disambig.methods.ncpd.cooperation import exchange
from disambig.methods.ncpd.reliable import reliable_candidates
from disambig.methods.ncpd.schedule import share_of_small_losses

__all__ = ["ProgressiveCooperation"]


class ProgressiveCooperation(Rule):
    """Easy groups first, each network taught by the others.

    Parameters
    ----------
    ramp_epochs : int
        t_r, the epoch from which every group whose prediction is a candidate is disambiguated.
    cooperation : bool
        Whether networks exchange their confidences; without, each learns from its own (w/o NC).
    progressive : bool
        Whether easy groups come first; without, Eq. 1 holds for every group from the start (w/o
        PD).
    device : torch.device or str, default="cpu"
        Where the steps run.

    Attributes
    ----------
    share : Tensor of one float64
        T(t) of the present epoch, on the device.
    """

    def __init__(
        self,
        ramp_epochs: int,
        cooperation: bool,
        progressive: bool,
        device: torch.device | str = "cpu",
    ) -> None:
        self.ramp_epochs = ramp_epochs
        self.cooperation = cooperation
        self.progressive = progressive
        self.share = torch.ones(1, dtype=torch.float64, device=device)

    def begin_epoch(self, epoch: int) -> bool:
        """Set T(t), and return whether losses have to be ranked: not where all count as small."""
        self._t = share_of_small_losses(epoch, self.ramp_epochs) if self.progressive else 1.0
        self.share.fill_(self._t)
        return self._t < 1

    def measures(self) -> dict[str, float]:
        """Return T(t)."""
        return {"T": self._t}

    def warnings(self, settings: TrainingSettings) -> Sequence[str]:
        """Warn where the ramp is longer than the training."""
        if not self.progressive or self.ramp_epochs <= settings.epochs:
            return ()
        return (
            f"Training ends after {settings.epochs} epochs, before all rows may be disambiguated: "
            f"that is from epoch {self.ramp_epochs} on. Give 'ramp_epochs' of half the epochs.",
        )

    def targets(self, batch: Batch) -> Targets:
        """Return what every network is trained with, and which groups it found simple."""
        if self.progressive:
            share = self.share if batch.phase else None
            reliable = reliable_candidates(
                batch.losses, batch.predicted, share, batch.most_candidates
            )
            simple = reliable.any(-1)
        else:
            simple = batch.mask.any(-1).expand(batch.losses.shape[:-1])
        found = self._confidences(batch, simple)
        taught = exchange(found) if self.cooperation else found
        return Targets(slots=taught, measures={"simple": simple})

    def _confidences(self, batch: Batch, simple: Tensor) -> Tensor:
        """Return the confidences that every network finds by itself."""
        return group_confidences(batch.losses, batch.prior, simple)
