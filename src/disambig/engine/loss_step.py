"""A training step by a ``LossRule``: networks are asked, the loss is differentiated, Adam steps."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from disambig.engine.batches import Candidates, CandidateTable
from disambig.engine.fast.adam import Adam
from disambig.engine.fast.stack import Stack
from disambig.engine.fast.step import Clock, RowsInBatch, part_of
from disambig.engine.history import EpochRecords
from disambig.engine.loss import LossWeights, seen_in
from disambig.engine.loss_rule import Loss, LossBatch, LossRule, Outputs
from disambig.engine.ranks import Ranks
from disambig.engine.row_tables import FeatureTable
from disambig.engine.rule import TrainingData

# Of all networks together, so that what lies in hidden layers does not grow with the rows.
_ROWS_AT_A_TIME = 2**14
# Numbers that are prepared ahead of steps: to start an operation takes longer than to do it for the
# rows of one step. On the CPU they should not push everything else out of the cache.
_MOST_AHEAD = {"cpu": 2**18, "cuda": 2**24}


class _Ahead(NamedTuple):
    """What is prepared ahead of some steps: the first axis of every tensor is the steps.

    It stays where it is in memory, so that a recorded step can read it.
    """

    candidates: Candidates
    is_candidate: Tensor
    features: Tensor  # of every problem, with an axis for its networks
    inputs: Sequence[Tensor]  # what the networks take
    shown: Sequence[Tensor]  # the features and all views, for averaged networks; maybe none
    drawn: Mapping[str, Tensor]

    def of_step(self, number: int | Tensor) -> "_Ahead":
        """Return what belongs to one of the steps, without the first axis."""
        return self._with_each(lambda table: part_of(table, number))

    def in_own_memory(self) -> "_Ahead":
        """Return copies that can be written to, and share memory with nothing."""
        return self._with_each(lambda table: table.clone(memory_format=torch.contiguous_format))

    def copy_(self, other: "_Ahead") -> None:
        """Take over other steps, maybe fewer of them."""
        for table, values in zip(self._tensors(), other._tensors(), strict=True):
            table[: len(values)] = values

    def _tensors(self) -> list[Tensor]:
        rows = (*self.candidates, self.is_candidate, self.features)
        return [*rows, *self.inputs, *self.shown, *self.drawn.values()]

    def _with_each(self, change: Callable[[Tensor], Tensor]) -> "_Ahead":
        return _Ahead(
            Candidates(*map(change, self.candidates)),
            change(self.is_candidate),
            change(self.features),
            [change(table) for table in self.inputs],
            [change(table) for table in self.shown],
            {name: change(table) for name, table in self.drawn.items()},
        )


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
    problems : sequence of TrainingData
        Whose rows these are.
    real : Tensor of booleans of shape (steps, problems, rows)
        Which rows of every batch are no filler.
    rows : Tensor of integers of the same shape
        Numbers of these rows, which change in place from epoch to epoch.
    row_state : dict of Tensors
        The tables that the rule keeps.
    records, clock, weights, n_predicting, ranks
        As in ``Training``.

    Attributes
    ----------
    n_ahead : int
        Steps that are prepared at once.
    is_small : bool
        Whether these are all steps of an epoch. What is done before an epoch takes little memory
        then, and starting it longer than doing it.
    """

    def __init__(
        self,
        networks: Stack,
        rule: LossRule,
        adam: Adam,
        features: FeatureTable,
        candidates: CandidateTable,
        problems: Sequence[TrainingData],
        real: Tensor,
        rows: Tensor,
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
        self._rows = rows
        self._all_rows = _rows_of_all([len(one.features) for one in problems], features.device)
        self._weights = weights
        self._n_problems, self._n_classes = len(problems), problems[0].prior.shape[1]
        self._n_networks = len(networks) // self._n_problems
        self._n_predicting = n_predicting
        self._ranks = ranks
        # What a row counts in the mean over its batch: nothing if it only fills up.
        self._averaging = (real / real.sum(-1, keepdim=True)).to(features.dtype).unsqueeze(2)
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
        n_numbers = (1 + rule.n_views) * features.shape[1] + self._n_classes
        n_numbers *= len(networks) * real.shape[2]
        most = _MOST_AHEAD.get(features.device.type, min(_MOST_AHEAD.values())) // n_numbers
        self.n_ahead = min(max(1, most), len(real))
        self.is_small = self.n_ahead == len(real)
        self._ahead: _Ahead | None = None

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that the next step depends on and nobody else keeps; not copies."""
        state: dict[str, Tensor] = {}
        if self._averaged is not None:
            state |= {f"averaged.{n}": value for n, value in self._averaged.state_dict().items()}
        parameters = enumerate(self._rule.parameters())
        return state | {f"rule.parameter.{n}": value.detach() for n, value in parameters}

    def prepare(self, kind: tuple[str, int]) -> None:
        """Prepare the present step and those after it, ``n_ahead`` in all.

        ``kind`` ends with the number of the step in the epoch.
        """
        chosen = slice(kind[-1], kind[-1] + self.n_ahead)
        real = self._real[chosen]
        steps = self._clock.total + torch.arange(len(real), device=real.device)
        rows = self._rows[chosen].long()
        by_step = self._candidates.of_steps(rows)
        candidates = Candidates(*map(torch.stack, zip(*by_step, strict=True)))
        of_problems = self._features_of(rows)
        features = self._for_networks(of_problems)
        drawn = self._rule.draw(features, real.unsqueeze(2), steps)
        if len(drawn.views) != self._rule.n_views:
            raise ValueError(
                f"'draw' must return n_views = {self._rule.n_views} views. Got {len(drawn.views)}."
            )
        # Filler rows are zero in every view, as the layers count on.
        is_filler = ~real[:, :, None, :, None]
        shown = [features, *(view.masked_fill(is_filler, 0) for view in drawn.views)]
        in_views = RowsInBatch(*(table[chosen].flatten(0, 1) for table in self._rows_in_views))
        asked = _together(shown[: self._n_asked])[..., self._share, :]
        prepared = self._networks.prepare(asked.flatten(0, 1), in_views)
        found = _Ahead(
            candidates,
            _is_candidate(candidates, real.unsqueeze(-2), self._n_classes),
            of_problems,
            [part.view(len(steps), -1, *part.shape[1:]) for part in prepared],
            [] if self._averaged is None else [_together(shown)],
            dict(drawn.others),
        )
        if self._ahead is None:
            self._ahead = found.in_own_memory()
        else:
            self._ahead.copy_(found)

    def __call__(self, phase: Hashable) -> None:
        """Learn from the batch that the clock points to."""
        assert self._ahead is not None
        real = self._clock.at(self._real)
        number = self._clock.step if self.is_small else self._clock.step % self.n_ahead
        ahead = self._ahead.of_step(number)
        candidates = ahead.candidates
        outputs = self._ask(ahead)
        leaves = [_leaf(one) for one in outputs]
        state = {name: candidates.read(table) for name, table in self._row_state.items()}
        averaged = self._ask_averaged(ahead)
        batch = self._batch(ahead, real, leaves, state, phase, averaged)
        with torch.enable_grad():
            loss = self._rule.loss(batch)
            losses = loss.rows
            if self._weights is not None:
                losses = losses * self._weights.of_rows(candidates, outputs[0].logits)
            gradients = self._differentiate(losses, leaves, self._clock.at(self._averaging))
        self._note(candidates, outputs[0], losses.detach(), loss)
        self._learn(*gradients)
        self._move_averages()
        kept = dict(loss.state)
        if self._rule.looks_after_step:
            again = self._ask(ahead)
            present = state | {name: value.detach() for name, value in kept.items()}
            averaged = self._ask_averaged(ahead)
            batch = self._batch(ahead, real, again, present, phase, averaged)
            kept |= self._rule.after_step(batch)
        _check_state(kept, self._row_state)
        for name, table in self._row_state.items():
            candidates.write(table, kept[name].detach())
        self._clock.advance()

    def looks_at_all_rows(self) -> bool:
        """Return whether the rule wants to see all rows before this epoch."""
        return self._rule.looks_at_all_rows

    def look_at_all_rows(self, kind: tuple[str, Hashable]) -> None:
        """Show the rule what networks say of all rows, and keep what it returns.

        ``kind`` ends with the phase.
        """
        rows = self._all_rows
        (candidates,) = self._candidates.of_steps(rows.unsqueeze(0))
        # As many rows of every problem at a time.
        count = max(1, _ROWS_AT_A_TIME // len(self._networks))
        mine = self._ranks.deal(rows.mT).mT
        asked = (self._features_of(some) for some in torch.split(mine, count, 1))
        inputs = (self._for_networks(features).flatten(0, 1) for features in asked)
        found = torch.cat([self._networks.infer(some) for some in inputs], 1)
        logits = self._ranks.gather(found, 1)[:, : rows.shape[1]]
        outputs = Outputs(logits.view(self._n_problems, self._n_networks, *logits.shape[1:]))
        state = {name: candidates.read(table) for name, table in self._row_state.items()}
        real = rows < self._features.shape[0] - 1
        is_candidate = _is_candidate(candidates, real.unsqueeze(-2), self._n_classes)
        no_features = self._averaging.new_empty(self._n_problems, 1, 0, self._features.shape[1])
        sets = _Ahead(candidates, is_candidate, no_features, [], [], {})
        batch = self._batch(sets, real, [outputs], state, kind[-1])
        for name, values in self._rule.look_at_all_rows(batch).items():
            candidates.write(self._row_state[name], values)

    def _features_of(self, rows: Tensor) -> Tensor:
        """Return the features of rows of every problem, with an axis for its networks."""
        features = self._features.read(rows.flatten())
        return features.view(*rows.shape[:-1], 1, rows.shape[-1], features.shape[-1])

    def _for_networks(self, features: Tensor) -> Tensor:
        """Return the features of every problem for each of its networks."""
        return features.expand(*features.shape[:-3], self._n_networks, *features.shape[-2:])

    def _ask(self, ahead: _Ahead) -> list[Outputs]:
        """Return what the networks say of the features, and maybe of views, as in training."""
        rows = RowsInBatch(*(self._clock.at(table) for table in self._rows_in_views))
        outputs = self._networks.forward_both(tuple(ahead.inputs), rows, self._clock.total)
        return self._divided(*outputs, count=self._n_asked)

    def _ask_averaged(self, ahead: _Ahead) -> list[Outputs]:
        """Return what averaged networks say of the features and all views, where there are any."""
        if self._averaged is None:
            return []
        (shown,) = ahead.shown
        asked = shown[:, self._ranks.share(shown.shape[1])]
        return self._divided(*self._averaged.infer_both(asked), count=1 + self._rule.n_views)

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
        ahead: _Ahead,
        real: Tensor,
        outputs: Sequence[Outputs],
        state: dict[str, Tensor],
        phase: Hashable,
        averaged: Sequence[Outputs] = (),
    ) -> LossBatch:
        seen, *views = outputs
        sets = ahead.candidates
        return LossBatch(
            rows=sets.rows,
            is_real=real.unsqueeze(1),
            is_candidate=ahead.is_candidate,
            columns=sets.columns,
            mask=sets.mask,
            prior=sets.prior,
            features=self._for_networks(ahead.features),
            seen=seen,
            views=tuple(views),
            averaged=tuple(averaged),
            state=state,
            phase=phase,
            drawn=dict(ahead.drawn),
        )

    def _differentiate(
        self, losses: Tensor, leaves: Sequence[Outputs], averaging: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the gradients of the mean loss by both outputs.

        ``averaging`` holds what the loss of a row counts in the mean. Gradients of the rule's
        parameters stay with these.
        """
        logits = [one.logits for one in leaves]
        embeddings = [one.embedding for one in leaves if one.embedding is not None]
        own = list(self._rule.parameters())
        found = torch.autograd.grad(
            losses, [*logits, *embeddings, *own], averaging.expand_as(losses), allow_unused=True
        )
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
        present, averaged = self._networks.state_dict(), self._averaged.state_dict()
        # Modules of the user may count, such as the batches that they have seen.
        numbers = [name for name, value in averaged.items() if value.is_floating_point()]
        for name in averaged.keys() - numbers:
            averaged[name].copy_(present[name])
        torch._foreach_lerp_(
            [averaged[name] for name in numbers],
            [present[name] for name in numbers],
            1 - self._rule.average,
        )


def _rows_of_all(counts: Sequence[int], device: torch.device) -> Tensor:
    """Return the numbers of all rows, as (problems, rows): filled up with that of the filler."""
    sizes = torch.tensor(counts, device=device).unsqueeze(1)
    numbers = torch.arange(max(counts), device=device)
    rows = numbers + sizes.cumsum(0) - sizes
    return rows.masked_fill(numbers >= sizes, sum(counts))


def _is_candidate(candidates: Candidates, is_real: Tensor, n_classes: int) -> Tensor:
    """Return which labels are candidates; in filler rows all are."""
    counts = torch.zeros(
        *candidates.mask.shape[:-1], n_classes, dtype=torch.int32, device=is_real.device
    )
    counts.scatter_add_(-1, candidates.columns, candidates.mask.to(torch.int32))
    return (counts > 0) | ~is_real.unsqueeze(-1)


def _together(parts: Sequence[Tensor]) -> Tensor:
    """Return the views of every row as rows behind each other, and networks on one axis.

    So the last rows are filler rows in all views, after which nothing comes: what is drawn for a
    row does not depend on how many of these there are. Before problems there may be other axes.
    """
    if len(parts) == 1:
        return parts[0].flatten(-4, -3)
    return torch.stack(tuple(parts), -2).flatten(-3, -2).flatten(-4, -3)


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
