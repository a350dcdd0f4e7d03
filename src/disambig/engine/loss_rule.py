"""A rule with a loss of its own: further views, averaged networks, a second output, parameters."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from disambig.engine.rule import BaseRule


class Outputs(NamedTuple):
    """What networks say of the rows of a batch.

    Attributes
    ----------
    logits : Tensor of shape (problems, networks, rows, classes)
        Of every class.
    embedding : Tensor of shape (problems, networks, rows, width) or None
        The second output, where the rule asks for one.
    """

    logits: Tensor
    embedding: Tensor | None = None

    def log_probabilities(self) -> Tensor:
        """Return the log-probability of every class."""
        return torch.log_softmax(self.logits, -1)

    def probabilities(self) -> Tensor:
        """Return the probability of every class."""
        return torch.softmax(self.logits, -1)

    def log_complements(self) -> Tensor:
        """Return ``log(1 - p)`` for every class: that it is another one.

        Precise, and with finite gradients, where a class is as good as certain.
        """
        # Only the most probable class can be so; what is left of it are all the others.
        is_top = torch.zeros_like(self.logits, dtype=torch.bool)
        is_top.scatter_(-1, self.logits.argmax(-1, keepdim=True), value=True)
        nothing = torch.finfo(self.logits.dtype).min / 2
        without_top = torch.logsumexp(self.logits.masked_fill(is_top, nothing), -1, keepdim=True)
        of_top = without_top - torch.logsumexp(self.logits, -1, keepdim=True)
        of_others = torch.log1p(-self.probabilities().masked_fill(is_top, 0))
        return torch.where(is_top, of_top, of_others)


class LossBatch(NamedTuple):
    """What a ``LossRule`` sees of a batch; nothing in it may be changed.

    Where a batch has fewer rows than others, it ends with filler rows: these may have any label,
    so that nothing becomes infinite in them. The engine leaves out their losses; a sum over rows
    that a rule forms itself must do so too, by ``is_real``.

    Attributes
    ----------
    rows : Tensor of integers of shape (problems, rows)
        Number of every row, counted on from one problem to the next; the last number is the filler.
    is_real : Tensor of booleans of shape (problems, 1, rows)
        Which rows are no filler.
    is_candidate : Tensor of booleans of shape (problems, 1, rows, classes)
        Which labels are candidates.
    columns, mask, prior : Tensor of shape (problems, 1, rows, slots)
        The same by slots, as in ``Batch``.
    features : Tensor of shape (problems, networks, rows, features)
        As the networks see them.
    seen : Outputs
        What networks say of the features as they are. Gradients flow into it.
    views : tuple of Outputs
        What they say of every further view, if they learn from them. Gradients flow into it.
    averaged : tuple of Outputs
        What averaged networks say of the features, then of every view; empty without average.
    state : dict of Tensors
        What was kept when these rows were last seen, by the names of ``row_state``.
    phase : hashable
        What ``begin_epoch`` returned.
    step : int or Tensor of one integer
        Steps done in all, from which random numbers may follow.
    """

    rows: Tensor
    is_real: Tensor
    is_candidate: Tensor
    columns: Tensor
    mask: Tensor
    prior: Tensor
    features: Tensor
    seen: Outputs
    views: tuple[Outputs, ...]
    averaged: tuple[Outputs, ...]
    state: dict[str, Tensor]
    phase: Hashable
    step: int | Tensor

    def among_candidates(self, logits: Tensor) -> Tensor:
        """Return the softmax of logits over the candidates of every row, and zero elsewhere."""
        inside = logits.masked_fill(~self.is_candidate, -torch.inf)
        return torch.softmax(inside, -1)

    def among_others(self, logits: Tensor) -> Tensor:
        """Return the softmax over labels that are no candidates; zero where there are none."""
        has_others = ~self.is_candidate.all(-1, keepdim=True)
        outside = logits.masked_fill(self.is_candidate & has_others, -torch.inf)
        return torch.softmax(outside, -1).masked_fill(self.is_candidate, 0)

    def log_weights(self) -> Tensor:
        """Return the logarithm of every candidate's prior over the largest of its row.

        Exactly zero where candidates weigh the same, and for all other labels.
        """
        weights = self.over_classes(self.prior)
        largest = weights.amax(-1, keepdim=True)
        return torch.where(weights > 0, weights / largest, 1).log()

    def over_classes(self, slots: Tensor) -> Tensor:
        """Return numbers for candidates as numbers for classes, zero for all others."""
        shape = (*slots.shape[:-1], self.is_candidate.shape[-1])
        columns = self.columns.expand(*slots.shape)
        return slots.new_zeros(shape).scatter_add(-1, columns, slots.masked_fill(~self.mask, 0))

    def in_slots(self, values: Tensor) -> Tensor:
        """Return the numbers of candidates out of those of all classes; zero in unused slots."""
        columns = self.columns.expand(*values.shape[:-1], -1)
        return values.gather(-1, columns).masked_fill(~self.mask, 0)

    def mean_over(self, chosen: Tensor) -> Tensor:
        """Return weights of rows that turn the mean over the real rows into one over some of them.

        Zero everywhere where no row is chosen. ``chosen`` are booleans of shape (problems,
        networks, rows).
        """
        chosen = chosen & self.is_real
        counts = chosen.sum(-1, keepdim=True).clamp(min=1).to(self.seen.logits.dtype)
        return chosen * (self.is_real.sum(-1, keepdim=True) / counts)


class Loss(NamedTuple):
    """What a rule makes of a batch.

    Attributes
    ----------
    rows : Tensor of shape (problems, networks, rows)
        The loss of every row, from which gradients flow back. The engine learns from the mean over
        the real rows, weighted where rows have weights.
    state : mapping of str to Tensor
        What the engine keeps of these rows until they are next seen, by the names of
        ``row_state``; without those that ``after_step`` returns.
    measures : mapping of str to Tensor of shape (problems, networks, rows)
        Their means over the rows of an epoch are noted in the history.
    """

    rows: Tensor
    state: Mapping[str, Tensor] = MappingProxyType({})
    measures: Mapping[str, Tensor] = MappingProxyType({})


class LossRule(BaseRule):
    """A rule that returns a loss, which the engine differentiates by what networks say.

    What it needs besides the logits of a batch it asks for by the attributes below.

    Attributes
    ----------
    n_views : int, default=0
        Further views of every batch, which ``views`` makes.
    learns_from_views : bool, default=True
        Whether the networks are asked about them; otherwise only averaged networks are.
    embedding : int or None, default=None
        Width of a second output: a linear function of the last hidden layer.
    average : float or None, default=None
        Share of the old weights that averaged networks keep in every step.
    looks_after_step : bool, default=False
        Whether the networks are asked again after every step, for ``after_step``.
    looks_at_all_rows : bool, default=False
        Whether they are asked about all rows before every epoch, for ``look_at_all_rows``.
    """

    n_views: int = 0
    learns_from_views: bool = True
    embedding: int | None = None
    average: float | None = None
    looks_after_step: bool = False
    looks_at_all_rows: bool = False

    @abstractmethod
    def loss(self, batch: LossBatch) -> Loss:
        """Return the loss of a batch."""

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:  # noqa: ARG002  # for those with views
        """Return ``n_views`` further views of the features, each of the same shape.

        Shapes are as in ``LossBatch``. All randomness follows from seeds and ``step``.
        """
        return ()

    def after_step(self, batch: LossBatch) -> Mapping[str, Tensor]:  # noqa: ARG002  # for those that look
        """Return what to keep of the rows, given what networks say of them after the step.

        ``batch.seen`` is then without gradients, ``batch.state`` what ``loss`` returned.
        """
        return {}

    def look_at_all_rows(self, probabilities: Sequence[Tensor]) -> None:
        """Learn what networks say of all rows, before an epoch, without dropout.

        For every problem a tensor of shape (networks, rows, classes).
        """

    def parameters(self) -> Sequence[Tensor]:
        """Return tensors of the rule that are learned along with the networks."""
        return ()
