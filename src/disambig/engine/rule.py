"""What a method adds to the engine: a rule, what it sees of a batch, and what it returns."""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from disambig._core.typing import FloatArray, IntArray, Sparse
from disambig.candidates.groups import Promise


@runtime_checkable
class RowsOnDisk(Protocol):
    """Features that are read, some rows at a time, when a batch needs them."""

    shape: tuple[int, int]

    @property
    def folder(self) -> Path | None:
        """Where tables of so many rows may be kept."""

    def __len__(self) -> int: ...

    def read(self, rows: Any) -> FloatArray:
        """Return some rows: a slice of them, or those of these numbers."""


@dataclass(frozen=True)
class TrainingData:
    """Features and candidate sets of one training.

    Attributes
    ----------
    features : ndarray of shape (rows, features), or RowsOnDisk
        One row a sample.
    prior : sparse CSR array of shape (rows, classes)
        An entry for every candidate, rows summing to one: what is believed before training.
    order_seed : int
        The order of the rows in every epoch follows from it.
    groups : ndarray of integers of shape (rows,), optional
        Number of the group of every row.
    promise : Promise, optional
        What they promise.
    row_weights : ndarray of shape (rows,), optional
        What the loss of every row is multiplied by.
    class_weights : ndarray of shape (classes,), optional
        What the loss of every candidate is multiplied by, by its class.
    """

    features: FloatArray | RowsOnDisk
    prior: Sparse
    order_seed: int
    groups: IntArray | None = None
    promise: Promise | None = None
    row_weights: FloatArray | None = None
    class_weights: FloatArray | None = None


@dataclass(frozen=True)
class TrainingSettings:
    """What the loop itself needs to know.

    Attributes
    ----------
    epochs : int
        Times that every row is seen.
    batch_size : int
        Most rows in a batch.
    learning_rate : float
        Of Adam; the highest, where it changes.
    decay : float, default=0
        Share of the epochs, at the end, over which the learning rate falls to zero: along half a
        cosine.
    capture : bool, default=True
        Whether a step on a CUDA card is recorded once as a graph and replayed.
    fused : bool, default=True
        Whether a step is made of a few kernels of our own, where that can be.
    noise_from : int, default=1
        First epoch in which networks learn from noisy features, where there is noise.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    decay: float = 0.0
    capture: bool = True
    fused: bool = True
    noise_from: int = 1

    def learning_rate_in(self, epoch: int) -> float:
        """Return the learning rate of an epoch; they count from 1."""
        falling = self.decay * self.epochs
        # In the middle of an epoch, so that the last one still learns.
        left = self.epochs - epoch + 0.5
        if left >= falling:
            return self.learning_rate
        return self.learning_rate * (1 - math.cos(math.pi * left / falling)) / 2


class Batch(NamedTuple):
    """What a rule sees of a batch; nothing in it may be changed.

    The last axis of most has as many slots as the largest candidate set of all rows; a row uses the
    first of them. An axis of length one stands for the networks, which all see the same sets. Where
    a batch has fewer rows than others, it ends with filler rows, which have no candidate.

    Attributes
    ----------
    rows : Tensor of integers of shape (problems, rows)
        Number of every row, counted on from one problem to the next; the last number is the filler.
    columns : Tensor of integers of shape (problems, 1, rows, slots)
        The class in every slot; any class where a slot is not used.
    mask : Tensor of booleans of shape (problems, 1, rows, slots)
        Which slots are used.
    prior : Tensor of shape (problems, 1, rows, slots)
        Confidence before training, zero in slots that are not used.
    most_candidates : int
        No batch of this training has more candidates than this in all.
    log_probabilities : Tensor of shape (problems, networks, rows, classes)
        Of every class.
    losses : Tensor of shape (problems, networks, rows, slots)
        Minus the log-probability of every candidate; infinite in slots that are not used.
    predicted : Tensor of booleans of shape (problems, networks, rows, slots)
        Whether the candidate is the most probable of all classes.
    state : dict of Tensors
        What ``Targets.state`` held when these rows were last seen, by the names of ``row_state``.
    phase : hashable
        What ``begin_epoch`` returned.
    """

    rows: Tensor
    columns: Tensor
    mask: Tensor
    prior: Tensor
    most_candidates: int
    log_probabilities: Tensor
    losses: Tensor
    predicted: Tensor
    state: dict[str, Tensor]
    phase: Hashable

    def log_weights(self) -> Tensor:
        """Return the logarithm of every candidate's prior over the largest of its row.

        Exactly zero where candidates weigh the same; minus infinity in slots that are not used.
        """
        largest = self.prior.amax(-1, keepdim=True)
        # A filler row has no weights at all.
        return (self.prior / largest.masked_fill(largest == 0, 1)).log_()

    def candidate_probabilities(self) -> Tensor:
        """Return every network's probabilities restricted to the candidates; rows sum to one.

        Shape (problems, networks, rows, slots); filler rows are zero.
        """
        return torch.softmax(-self.losses, -1).masked_fill_(~self.mask, 0)


class Targets(NamedTuple):
    """What the networks are to learn from a batch: the loss of a row is ``-sum(target * log p)``.

    Exactly one of ``slots`` and ``classes`` is given. No gradient flows into anything here, and
    everything in a filler row must be finite.

    Attributes
    ----------
    slots : Tensor of shape (problems, networks, rows, slots), optional
        How much each network should believe each candidate: each row sums to one, slots that are
        not used are zero.
    classes : Tensor of shape (problems, networks, rows, classes), optional
        Targets over all classes, which may sum to anything.
    row_weights : Tensor of shape (problems, networks, rows), optional
        What the loss of every row is multiplied by.
    losses : Tensor of shape (problems, networks, rows), optional
        What the history calls the loss of a row where that is not ``-sum(target * log p)``, but
        another loss with the same gradient.
    state : mapping of str to Tensor
        What the engine keeps of these rows until they are next seen, by the names of
        ``Rule.row_state``.
    measures : mapping of str to Tensor of shape (problems, networks, rows)
        Their means over the rows of an epoch are noted in the history. The same names in every
        step.
    """

    slots: Tensor | None = None
    classes: Tensor | None = None
    row_weights: Tensor | None = None
    losses: Tensor | None = None
    state: Mapping[str, Tensor] = MappingProxyType({})
    measures: Mapping[str, Tensor] = MappingProxyType({})

    def at(self, places: slice) -> "Targets":
        """Return what is to be learned at some places of the batch, without state and measures."""
        slots, classes, row_weights = (
            None if one is None else one[:, :, places]
            for one in (self.slots, self.classes, self.row_weights)
        )
        return Targets(slots, classes, row_weights)

    def check(self, row_state: Collection[str]) -> None:
        """Refuse targets that lack something, or state under other names than these."""
        if (self.slots is None) == (self.classes is None):
            came = "neither" if self.slots is None else "both"
            raise ValueError(f"Targets must have either 'slots' or 'classes'. Got {came}.")
        if set(self.state) != set(row_state):
            raise ValueError(
                f"Targets must have the state that row_state names: {sorted(row_state)}. "
                f"Got {sorted(self.state)}."
            )


class RowState(NamedTuple):
    """A table with numbers for every row and network, which the engine keeps from visit to visit.

    Checkpoints hold it too. In ``Batch.state`` and ``Targets.state`` it has the shape (problems,
    networks, rows, slots) or (problems, networks, rows, width).

    Attributes
    ----------
    width : int, optional
        Numbers for every row; by default one for every candidate, in memory proportional to the
        number of candidates.
    initial : float, optional
        What all of them are before the first visit; by default the prior of the candidates, or
        zero where there is a ``width``.
    """

    width: int | None = None
    initial: float | None = None


class BaseRule(ABC):  # noqa: B024  # what a method writes is in Rule and LossRule
    """What all rules have in common; every method has a default that does nothing.

    What a network learns may hang on what the others say, never on what is said of another problem.

    Attributes
    ----------
    dtype : torch.dtype
        Type of the networks' numbers, set before ``start``.
    """

    dtype: torch.dtype = torch.float32

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:  # noqa: B027  # for those that need it
        """Get ready for a training on these problems; tensors of the rule lie on the device."""

    def begin_epoch(self, epoch: int) -> Hashable:  # noqa: ARG002  # for those that change
        """Get ready for an epoch (they count from 1), and return its phase.

        On a CUDA card the operations of a step are recorded once for every phase and replayed: they
        may depend on ``batch.phase``. All other numbers that change must lie in tensors on the
        device that are filled in place.
        """
        return None

    def between_epochs(self, tables: Mapping[str, Tensor]) -> None:  # noqa: B027  # for those that need it
        """Change, in place, what is kept of all rows; called before every epoch, the first too.

        By the names of ``row_state``. A table has the shape (networks, candidates), those of all
        problems one after the other as in their priors, and then some that belong to no row; or
        (networks, rows, width), with one row more.
        """

    def measures(self) -> dict[str, float]:
        """Return numbers of the present epoch for the history."""
        return {}

    def row_state(self) -> dict[str, RowState]:
        """Return, by name, the tables that the engine keeps for every row."""
        return {}

    def state(self) -> dict[str, Tensor]:
        """Return every other tensor that the next step depends on, by name; not copies.

        The first axis of each is the problems, if one of several is to go on in another training.
        """
        return {}

    def warnings(self, settings: TrainingSettings) -> Sequence[str]:  # noqa: ARG002  # for others
        """Return what a user should know before a training with these settings begins."""
        return ()


class Rule(BaseRule):
    """From what networks say of a batch to what they learn: a method writes ``targets``.

    The quickest kind of rule: gradients are written out. A rule whose loss is another function of
    what networks say, or that needs more of them, is a ``LossRule``.
    """

    @abstractmethod
    def targets(self, batch: Batch) -> Targets:
        """Return what to train a batch with."""
