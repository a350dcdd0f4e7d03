"""What a method adds to the engine: a rule that says how much each candidate is believed."""

from typing import NamedTuple, Protocol

from torch import Tensor

from disambig.engine.candidate_groups import CandidateGroups

__all__ = ["Confidences", "Rule"]


class Confidences(NamedTuple):
    """What a batch is trained with.

    Attributes
    ----------
    weights : Tensor of shape (problems, networks, rows, places)
        How much each network should believe each candidate: each row sums to one, places that are
        not used are zero, and so is a row that only fills up a batch.
    simple : Tensor of booleans of shape (problems, networks, rows)
        Whose confidences were told apart by the network itself.
    """

    weights: Tensor
    simple: Tensor


class Rule(Protocol):
    """From losses to confidences.

    Everything has the shape (problems, networks, rows, places); a rule reduces over the last two
    axes only, and over the networks where they learn from each other.
    """

    def share(self, epoch: int) -> float:
        """Return the share of losses that counts as small in this epoch (they count from 1)."""

    def begin_epoch(self, epoch: int) -> None:
        """Get ready for an epoch, with what was seen in the one before."""

    def state(self) -> dict[str, Tensor]:
        """Return every tensor that the next step depends on, by name; not copies."""

    def confidences(
        self, losses: Tensor, predicted: Tensor, groups: CandidateGroups, share: Tensor | None
    ) -> Confidences:
        """Return what to train a batch with.

        Parameters
        ----------
        losses : Tensor
            Minus the log-probability of each candidate; infinite in places that are not used.
        predicted : Tensor of booleans
            Whether the candidate is what the network predicts.
        groups : CandidateGroups
            The candidates of the batch.
        share : Tensor of one number, or None
            What ``share(epoch)`` returned, on the device; None where it is one.
        """
