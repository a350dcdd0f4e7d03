"""A training step by a ``LossRule``: networks are asked, the loss is differentiated, Adam steps."""

from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from disambig.engine.batches import Candidates, CandidateTable
from disambig.engine.fast.adam import Adam
from disambig.engine.fast.stack import Stack
from disambig.engine.fast.step import Clock, RowsInBatch
from disambig.engine.history import EpochRecords
from disambig.engine.loss import LossWeights, seen_in
from disambig.engine.loss_rule import Loss, LossBatch, LossRule, Outputs
from disambig.engine.ranks import Ranks
from disambig.engine.row_tables import FeatureTable

# Of networks asked about all rows, so that memory does not grow with the number of rows.
_ROWS_AT_A_TIME = 8192


class LossStep:
    """All that a step by a loss works with.

    Parameters
    ----------
    networks : Stack
        Those of the first problem, then those of the second, and so on.
    rule : LossRule
        Started already.
    adam : Adam
        Of the parameters of networks and rule.
    features : FeatureTable
        Of all problems.
    candidates : CandidateTable
        Of all problems.
    real : Tensor of booleans of shape (steps, problems, rows)
        Which rows of every batch are no filler.
    row_state : dict of Tensors
        The tables that the rule keeps.
    records, clock, weights, n_predicting, ranks
        As in ``Training``.
    """

    def __init__(
        self,
        networks: Stack,
        rule: LossRule,
        adam: Adam,
        features: FeatureTable,
        candidates: CandidateTable,
        real: Tensor,
        row_state: dict[str, Tensor],
        *,
        records: EpochRecords,
        clock: Clock,
        weights: LossWeights | None,
        n_predicting: int,
        ranks: Ranks,
    ) -> None:
        self._networks, self._rule, self._adam = networks, rule, adam
        self._features, self._candidates, self._real = features, candidates, real
        self._row_state, self._records, self._clock = row_state, records, clock
        self._weights = weights
        self._n_problems = real.shape[1]
        self._n_networks = len(networks) // self._n_problems
        self._n_predicting = n_predicting
        self._ranks = ranks
        # What the networks themselves are asked about: the features, and views or not.
        self._n_asked = 1 + (rule.n_views if rule.learns_from_views else 0)
        # Views are further rows of a batch: all are normalised together.
        repeated = real.repeat_interleave(self._n_networks, 1)
        repeated = repeated.repeat_interleave(self._n_asked, 2)
        # Places that networks are asked about here: rows with all their views.
        self._share = ranks.share(repeated.shape[2])
        networks.expect_share(ranks, self._share.start)
        self._rows_in_views = RowsInBatch.from_real(repeated, features.dtype).at(self._share)
        self._averaged: Stack | None = None
        if rule.average is not None:
            self._averaged = networks.part(0, len(networks), whole=True)

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that the next step depends on and nobody else keeps; not copies."""
        state: dict[str, Tensor] = {}
        if self._averaged is not None:
            state |= {f"averaged.{n}": value for n, value in self._averaged.state_dict().items()}
        parameters = enumerate(self._rule.parameters())
        return state | {f"rule.parameter.{n}": value.detach() for n, value in parameters}

    def __call__(self, rows: Tensor, phase: Hashable) -> None:
        """Learn from a batch: ``rows`` have the shape (problems, rows)."""
        (candidates,) = self._candidates.of_steps(rows.unsqueeze(0))
        real = self._clock.at(self._real)
        inputs = self._inputs(rows, real)
        outputs = self._ask(inputs)
        leaves = [_leaf(one) for one in outputs]
        state = {name: candidates.read(table) for name, table in self._row_state.items()}
        batch = self._batch(candidates, real, inputs, leaves, state, phase)
        with torch.enable_grad():
            loss = self._rule.loss(batch)
            losses = loss.rows
            if self._weights is not None:
                losses = losses * self._weights.of_rows(candidates, outputs[0].logits)
            gradients = self._differentiate(losses, leaves, real)
        self._note(candidates, outputs[0], losses.detach(), loss)
        self._learn(*gradients)
        self._move_averages()
        kept = dict(loss.state)
        if self._rule.looks_after_step:
            again = self._ask(inputs)
            present = state | {name: value.detach() for name, value in kept.items()}
            kept |= self._rule.after_step(
                self._batch(candidates, real, inputs, again, present, phase)
            )
        _check_state(kept, self._row_state)
        for name, table in self._row_state.items():
            candidates.write(table, kept[name].detach())
        self._clock.advance()

    def look_at_all_rows(self, counts: Sequence[int]) -> None:
        """Show the rule what networks say of all rows; ``counts`` are those of the problems."""
        if not self._rule.looks_at_all_rows:
            return
        ends = list(accumulate(counts, initial=0))
        probabilities = []
        for number, (start, end) in enumerate(pairwise(ends)):
            networks = self._networks.part(number * self._n_networks, self._n_networks)
            rows = self._ranks.deal(torch.arange(start, end, device=self._features.device))
            parts = [
                networks.infer(self._features.read(some)).softmax(-1)
                for some in torch.split(rows, _ROWS_AT_A_TIME)
            ]
            everything = self._ranks.gather(torch.cat(parts, 1), 1)
            probabilities.append(everything[:, : end - start])
        self._rule.look_at_all_rows(probabilities)

    def _inputs(self, rows: Tensor, real: Tensor) -> list[Tensor]:
        """Return the features of a batch and its further views, as every network sees them."""
        features = self._features.read(rows.flatten()).view(*rows.shape, -1)
        features = features.unsqueeze(1).expand(-1, self._n_networks, -1, -1)
        views = self._rule.views(features, real.unsqueeze(1), self._clock.total)
        if len(views) != self._rule.n_views:
            raise ValueError(
                f"'views' must return n_views = {self._rule.n_views} tensors. Got {len(views)}."
            )
        # Filler rows are zero in every view, as the layers count on.
        shown = real[:, None, :, None]
        return [features, *(view.masked_fill(~shown, 0) for view in views)]

    def _ask(self, inputs: Sequence[Tensor]) -> list[Outputs]:
        """Return what the networks say of the features, and maybe of views, as in training."""
        inputs = inputs[: self._n_asked]
        rows = RowsInBatch(*(self._clock.at(table) for table in self._rows_in_views))
        prepared = self._networks.prepare(_together(inputs)[:, self._share], rows)
        outputs = self._networks.forward_both(prepared, rows, self._clock.total)
        return self._divided(*outputs, count=len(inputs))

    def _divided(self, logits: Tensor, embedding: Tensor | None, count: int) -> list[Outputs]:
        """Return outputs for each of several inputs that were asked about together, of all rows."""
        logits = self._ranks.gather(logits, 1)
        embedding = None if embedding is None else self._ranks.gather(embedding, 1)
        shape = (self._n_problems, self._n_networks, -1, count)
        of_views = logits.view(*shape, logits.shape[-1]).unbind(3)
        if embedding is None:
            return [Outputs(part) for part in of_views]
        embeddings = embedding.view(*shape, embedding.shape[-1]).unbind(3)
        return [Outputs(*parts) for parts in zip(of_views, embeddings, strict=True)]

    def _batch(
        self,
        candidates: Candidates,
        real: Tensor,
        inputs: Sequence[Tensor],
        outputs: Sequence[Outputs],
        state: dict[str, Tensor],
        phase: Hashable,
    ) -> LossBatch:
        seen, *views = outputs
        averaged: list[Outputs] = []
        if self._averaged is not None:
            asked = _together(inputs)
            outputs_of = self._averaged.infer_both(asked[:, self._ranks.share(asked.shape[1])])
            averaged = self._divided(*outputs_of, count=len(inputs))
        n_classes = seen.logits.shape[-1]
        shape = (*candidates.mask.shape[:-1], n_classes)
        counts = candidates.mask.new_zeros(shape, dtype=torch.int32)
        counts.scatter_add_(-1, candidates.columns, candidates.mask.to(torch.int32))
        is_real = real.unsqueeze(1)
        return LossBatch(
            rows=candidates.rows,
            is_real=is_real,
            is_candidate=(counts > 0) | ~is_real.unsqueeze(-1),
            columns=candidates.columns,
            mask=candidates.mask,
            prior=candidates.prior,
            features=inputs[0],
            seen=seen,
            views=tuple(views),
            averaged=tuple(averaged),
            state=state,
            phase=phase,
            step=self._clock.total,
        )

    def _differentiate(
        self, losses: Tensor, leaves: Sequence[Outputs], real: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the gradients of the mean loss by both outputs.

        Those of the rule's parameters stay with these.
        """
        counts = real.sum(-1).view(-1, 1, 1)
        total = (losses.masked_fill(~real.unsqueeze(1), 0) / counts).sum()
        logits = [one.logits for one in leaves]
        embeddings = [one.embedding for one in leaves if one.embedding is not None]
        own = list(self._rule.parameters())
        found = torch.autograd.grad(total, [*logits, *embeddings, *own], allow_unused=True)
        given = [
            torch.zeros_like(leaf) if gradient is None else gradient
            for leaf, gradient in zip([*logits, *embeddings, *own], found, strict=True)
        ]
        for parameter, gradient in zip(own, given[len(given) - len(own) :], strict=True):
            parameter.grad = gradient
        of_logits = _together(given[: len(logits)])
        if not embeddings:
            return of_logits, None
        return of_logits, _together(given[len(logits) : 2 * len(logits)])

    def _learn(self, of_logits: Tensor, of_embedding: Tensor | None) -> None:
        """Take a step down the gradients, of which those of the rows here are used."""
        share = self._share
        self._networks.backward_both(
            of_logits[:, share], None if of_embedding is None else of_embedding[:, share]
        )
        self._ranks.sum_gradients(self._networks.parameters())
        self._adam.update()

    def _note(self, candidates: Candidates, outputs: Outputs, losses: Tensor, loss: Loss) -> None:
        """Write down the losses of rows, and what the networks say of the features as they are.

        Nothing is noted of helpers, which learn something else.
        """
        predicting = slice(self._n_predicting)
        seen = seen_in(outputs.logits[:, predicting], candidates)
        self._records.put(
            self._clock,
            {name: value.detach()[:, predicting] for name, value in loss.measures.items()},
            log_likelihood=-losses[:, predicting],
            covered=seen.is_predicted.any(-1),
            predicted=seen.predicted,
            chosen=seen.losses.sum(1).min(-1).indices,
        )

    def _move_averages(self) -> None:
        """Let averaged networks follow the networks a little."""
        if self._averaged is None or self._rule.average is None:
            return
        present = self._networks.state_dict()
        for name, value in self._averaged.state_dict().items():
            if value.is_floating_point():
                value.lerp_(present[name], 1 - self._rule.average)
            else:
                # Modules of the user may count, such as the batches that they have seen.
                value.copy_(present[name])


def _together(parts: Sequence[Tensor]) -> Tensor:
    """Return the views of every row as rows behind each other, and networks on one axis.

    So the last rows are filler rows in all views, after which nothing comes: what is drawn for a
    row does not depend on how many of these there are.
    """
    return torch.stack(tuple(parts), 3).flatten(2, 3).flatten(0, 1)


def _leaf(outputs: Outputs) -> Outputs:
    """Return outputs to differentiate by."""
    logits = outputs.logits.detach().requires_grad_()
    if outputs.embedding is None:
        return Outputs(logits)
    return Outputs(logits, outputs.embedding.detach().requires_grad_())


def _check_state(kept: dict[str, Tensor], row_state: dict[str, Tensor]) -> None:
    if set(kept) != set(row_state):
        raise ValueError(
            "'loss' and 'after_step' must return together the state that row_state names: "
            f"{sorted(row_state)}. Got {sorted(kept)}."
        )
