"""The training loop: the one that every method on this engine runs in."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from disambig._core.errors import ParameterError, TrainingError
from disambig._core.fingerprint import fingerprint_of
from disambig._core.typing import FloatArray
from disambig.engine.batches import Batches, Candidates, CandidateTable
from disambig.engine.device import quiet_surroundings, runs_kernels
from disambig.engine.fast.adam import Adam
from disambig.engine.fast.layers import Prepared, log_softmax
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import NetworkStack, Stack
from disambig.engine.fast.step import Clock, Kind, ReplayedStep, RowsInBatch
from disambig.engine.fused_step import FusedStep, can_be_fused
from disambig.engine.history import EpochRecords, History
from disambig.engine.loss import LossWeights, Seen, gradient_of_logits, log_likelihood, seen_in
from disambig.engine.loss_rule import LossRule
from disambig.engine.loss_step import LossStep
from disambig.engine.prepared import Preparation, PreparedStep
from disambig.engine.ranks import ALONE, Ranks
from disambig.engine.row_tables import FeaturesInMemory, FeatureTable, RowMemory
from disambig.engine.rule import BaseRule, Batch, Rule, Targets, TrainingData, TrainingSettings

# Processes that train together compare so many rows, lest they were given different ones.
_COMPARED_ROWS = 1024
# What a training calls, where a listener has it.
EVENTS = ("on_fit_start", "on_epoch_end", "on_fit_end", "on_interrupt")


def check_callbacks(callbacks: Any) -> None:
    """Refuse what is not a list, and listeners in it that would never be called."""
    if not isinstance(callbacks, Sequence) or isinstance(callbacks, str):
        raise ParameterError(f"'callbacks' must be a list of objects. Got {callbacks!r} instead.")
    deaf = [one for one in callbacks if not any(callable(getattr(one, e, None)) for e in EVENTS)]
    if deaf:
        raise ParameterError(
            f"A callback needs at least one of the methods {', '.join(EVENTS)}. Got {deaf[0]!r}, "
            "which has none. Write a class with on_epoch_end(self, training), and give an object "
            "of it."
        )


class _Step(NamedTuple):
    """What decides which operations a step is made of."""

    phase: Hashable  # what the rule said of this epoch
    noisy: bool  # whether networks learn from noisy features


class Progress(NamedTuple):
    """How far the networks of one problem have come."""

    learned: dict[str, Tensor]  # every tensor of their state that does not belong to single rows
    history: History
    steps: int  # done in all


class Training:
    """One or several problems, each with its networks, trained side by side.

    Listeners are called with the training itself: ``on_fit_start``, ``on_epoch_end``,
    ``on_fit_end``, and ``on_interrupt`` if training breaks off; they need not have all of them. A
    listener may read everything below, ``note`` a measure of its own at the end of an epoch, and
    ``stop()``.

    Parameters
    ----------
    networks : Stack
        Networks of the first problem, then those of the second, and so on.
    problems : sequence of TrainingData
        All with the same number of batches an epoch.
    rule : Rule or LossRule
        What the networks learn from a batch.
    settings : TrainingSettings
        Length and pace.
    noise : SwapNoise, optional
        What changes the features that networks learn from. The rule sees what they say of the
        features as they are.
    listeners : sequence of object
        Called in this order.
    n_helpers : int, default=0
        How many of a problem's networks, the last ones, only help the others to learn. Measures of
        a ``LossRule`` are without them.
    ranks : Ranks, optional
        The processes that take every step together with this one; by default there are none.

    Attributes
    ----------
    epoch : int
        Epochs done.
    measures : dict of ndarray of shape (problems,)
        Of the last epoch.
    histories : list of History
        One for every problem.
    stopped : bool
        Whether a listener made this epoch the last one.
    """

    def __init__(
        self,
        networks: Stack,
        problems: Sequence[TrainingData],
        rule: BaseRule,
        settings: TrainingSettings,
        listeners: Sequence[Any] = (),
        *,
        noise: SwapNoise | None = None,
        n_helpers: int = 0,
        ranks: Ranks | None = None,
    ) -> None:
        self.networks = networks
        self.ranks = ranks = ranks or ALONE
        self.rule = rule
        self.settings = settings
        self.noise = noise
        self.epoch = 0
        self.measures: dict[str, FloatArray] = {}
        self.histories = [History() for _ in problems]
        self.listeners = list(listeners)
        self.stopped = False
        example = next(networks.parameters())
        self._device, dtype = example.device, example.dtype
        counts = self._row_counts = [len(problem.features) for problem in problems]
        seeds = [problem.order_seed for problem in problems]
        self._batches = Batches(
            counts, seeds, settings.batch_size, self._device, multiple_of=ranks.size
        )
        n_rows = self._batches.real.shape[2]
        self._features = FeatureTable.of(problems, dtype, self._device)
        memory = RowMemory.of(problems, self._device)
        # Places of a batch that networks are asked about here, and that the rule sees here.
        self._share = ranks.share(n_rows)
        self._sees_share = isinstance(rule, Rule) and not rule.looks_across_rows
        self._seen = self._share if self._sees_share else slice(n_rows)
        networks.expect_share(ranks, self._share.start)
        self._n_networks = len(networks) // len(problems)
        self._n_predicting = self._n_networks - n_helpers
        self._candidates = CandidateTable(problems, self._n_networks, n_rows, dtype, memory)
        self._loss_weights = LossWeights.of(problems, dtype, self._device)
        rule.dtype = dtype
        rule.start(problems, self._device)
        row_state = rule.row_state().items()
        self._row_state = {name: self._candidates.new_state(kind) for name, kind in row_state}
        real = self._batches.real.repeat_interleave(self._n_networks, 1)
        self._rows_in_batch = RowsInBatch.from_real(real, dtype).at(self._share)
        self._preparation = Preparation(
            networks,
            self._features,
            self._rows_in_batch,
            self._candidates,
            self._n_networks,
            noise,
            share=self._share,
            seen=self._seen,
        )
        own = rule.parameters() if isinstance(rule, LossRule) else ()
        self._adam = Adam([*networks.parameters(), *own], settings.learning_rate)
        self._records = EpochRecords(self._batches, memory, ranks if self._sees_share else ALONE)
        # What changes from epoch to epoch lies in the same memory always, so that a recorded step
        # can be replayed.
        self._rows = memory.new(*self._batches.real.shape, dtype=memory.index_type)
        self._batches.rows_of(1, self._rows)
        # Rows on disk are read by the processor, in no graph and no kernel.
        in_memory = isinstance(self._features, FeaturesInMemory)
        alone = ranks.size == 1 and in_memory
        is_replayed = (
            settings.capture and networks.capturable and self._device.type == "cuda" and alone
        )
        is_fused = (
            settings.fused
            and alone
            and isinstance(rule, Rule)
            and runs_kernels(self._device)
            and can_be_fused(networks, n_rows, self._candidates.n_slots)
        )
        self._clock = Clock(self._device if is_replayed or is_fused else None)
        self._fused: FusedStep | None = None
        if is_fused:
            assert isinstance(networks, NetworkStack)
            assert isinstance(self._features, FeaturesInMemory)
            self._fused = FusedStep(
                networks,
                self._adam,
                self._features.tensor,
                self._rows,
                self._rows_in_batch,
                self._candidates,
                self._records,
                self._clock,
            )
        self._loss_step: LossStep | None = None
        if isinstance(rule, LossRule):
            self._loss_step = LossStep(
                networks,
                rule,
                self._adam,
                self._features,
                self._candidates,
                problems,
                self._batches.real,
                self._rows,
                self._row_state,
                records=self._records,
                clock=self._clock,
                weights=self._loss_weights,
                n_predicting=self._n_predicting,
                ranks=ranks,
            )
        self._replayed: ReplayedStep | None = None
        if is_replayed:
            self._replayed = ReplayedStep([*self.state().values(), *self._clock.on_device()])

    def run(self) -> None:
        """Train until all epochs are done or a listener stops it."""
        try:
            self._notify("on_fit_start")
            if self.ranks.size > 1:
                self.ranks.check_alike(self._fingerprint(), self._device)
            # Of the matrix products of a step.
            n_rows = self._share.stop - self._share.start
            work = self.networks.multiplications_per_row() * n_rows
            with quiet_surroundings(self._device, work):
                while self.epoch < self.settings.epochs and not self.stopped:
                    self._run_epoch()
                    self._notify("on_epoch_end")
                    self.stopped = self.ranks.first_says(yes=self.stopped, device=self._device)
            self._notify("on_fit_end")
        except BaseException:
            self._notify("on_interrupt")
            raise

    def stop(self) -> None:
        """Make this epoch the last one."""
        self.stopped = True

    def note(self, name: str, values: ArrayLike) -> None:
        """Set a measure of the last epoch: a number for every problem, or one for all."""
        self.measures[name] = np.broadcast_to(values, len(self.histories))
        for history, value in zip(self.histories, self.measures[name], strict=True):
            history.note(name, value)

    def mean_probabilities(self, features: Tensor) -> Tensor:
        """Return what networks say of rows now, without helpers: the mean probabilities.

        Of shape (rows, classes); where there are several problems, networks of the first one speak.
        """
        return self.networks.mean_probabilities(features, self._n_predicting)

    def state(self) -> dict[str, Tensor]:
        """Return every tensor that the next epoch depends on, by name; not copies."""
        state = {f"networks.{name}": value for name, value in self.networks.state_dict().items()}
        state |= {f"adam.{name}": value for name, value in self._adam.state().items()}
        state |= {f"rule.{name}": value for name, value in self.rule.state().items()}
        state |= {f"rows.{name}": value for name, value in self._row_state.items()}
        if self._loss_step is not None:
            state |= self._loss_step.state()
        return {**state, "chosen": self._records.chosen}

    def chosen_slots(self) -> list[Tensor]:
        """Return, for every problem, which of its candidates each row would choose now.

        As the position in its set, seen when the row was last trained on; copies.
        """
        chosen = self._records.chosen[:-1].clone()
        return list(torch.split(chosen, self._row_counts))

    def progress_of(self, number: int) -> Progress:
        """Return how far a problem has come, for a training on other rows to go on from."""
        learned = {}
        for name, value in self._learned().items():
            # With a single problem all of it, in whatever form networks of the user have it.
            whole = len(self.histories) == 1 or value.ndim == 0
            count = 1 if self._is_of_rule(name) else self._n_networks
            part = slice(number * count, (number + 1) * count)
            learned[name] = (value if whole else value[part]).clone()
        return Progress(learned, self.histories[number], steps=int(self._adam.steps.max()))

    def _learned(self) -> dict[str, Tensor]:
        """Return the part of the state that does not belong to single rows."""
        state = self.state().items()
        return {n: value for n, value in state if n != "chosen" and not n.startswith("rows.")}

    def _is_of_rule(self, name: str) -> bool:
        """Return whether the first axis of a tensor of the state is problems, not networks."""
        kind, _, rest = name.partition(".")
        if kind != "adam":
            return kind == "rule"
        # Parameters of the rule are learned behind those of the networks.
        return int(rest.rpartition(".")[2]) >= len(list(self.networks.parameters()))

    def go_on_from(self, progress: Sequence[Progress]) -> None:
        """Begin where other trainings have ended, one for every problem, with these rows.

        All of them after as many epochs and steps. What was kept of every row is not taken over:
        these may be others.
        """
        done = {(one.history.n_epochs, one.steps) for one in progress}
        if len(done) > 1:
            raise ValueError(
                "Problems that go on together need the same numbers of epochs and steps done. Got "
                f"{sorted(done)}. Group them by these."
            )
        state = self.state()
        for name in progress[0].learned:
            values = [one.learned[name] for one in progress]
            whole = len(values) == 1 or values[0].ndim == 0
            state[name].copy_(values[0] if whole else torch.cat(values))
        self.histories = [History(one.history.to_dict()) for one in progress]
        self.epoch = self.histories[0].n_epochs

    def resume(self, state: dict[str, Tensor], histories: Sequence[History]) -> None:
        """Go on from what ``state()`` and ``histories`` were at the end of an epoch."""
        for name, value in self.state().items():
            value.copy_(state[name])
        self.histories = list(histories)
        self.epoch = self.histories[0].n_epochs

    def _fingerprint(self) -> str:
        """Return a hash of what all processes must have in common, with some rows for all."""
        # In double precision: a float32 cannot count beyond 16 million.
        last = self._features.shape[0] - 1
        some = torch.linspace(0, last, _COMPARED_ROWS, dtype=torch.float64).long()
        return fingerprint_of(
            repr(self.settings),
            repr(self.networks),
            [repr(type(self.rule)), repr(self._row_counts), repr(self.epoch)],
            self._features.read(some.to(self._device)).cpu().numpy(),
            self._candidates.columns.cpu().numpy(),
            self._candidates.prior.cpu().numpy(),
            self._batches.rows_of(1).cpu().numpy(),
            *(value.cpu().numpy() for value in self.networks.state_dict().values()),
        )

    def _run_epoch(self) -> None:
        # On machines of different kinds they would drift apart by roundings.
        self.ranks.follow_first(*self._learned().values())
        self._clock.begin_epoch(self.epoch * self._batches.n_steps)
        self.epoch += 1
        self._adam.set_learning_rate(self.settings.learning_rate_in(self.epoch))
        self.rule.between_epochs(self._row_state)
        phase = self.rule.begin_epoch(self.epoch)
        self._batches.rows_of(self.epoch, self._rows)
        noisy = self.noise is not None and self.epoch >= self.settings.noise_from
        if self._fused is None and self._replayed is None and self._loss_step is None:
            total = (self.epoch - 1) * self._batches.n_steps
            for prepared in self._preparation.steps(self._rows, total, noisy):
                self._train_step(prepared, phase)
        else:
            ahead = self._loss_step
            if ahead is not None and ahead.looks_at_all_rows():
                self._do(ahead.look_at_all_rows, ("all rows", phase), ahead.is_small)
            step = _Step(phase, noisy)
            for number in range(self._batches.n_steps):
                if ahead is not None and number % ahead.n_ahead == 0:
                    self._do(ahead.prepare, ("ahead", number), ahead.is_small)
                self._do(self._present_step, step)
        if self._sees_share and self.ranks.size > 1:
            self._collect_row_state()
        self.measures = {}
        for history in self.histories:
            history.begin_epoch()
        for name, value in self.rule.measures().items():
            self.note(name, value)
        for name, values in self._records.measures(self._rows).items():
            self.note(name, values)
        if not np.isfinite(self.measures["loss"]).all():
            raise TrainingError(
                f"The loss is not a number any more in epoch {self.epoch}: training has diverged. "
                f"Lower the learning rate, {self.settings.learning_rate:g}, or scale the features."
            )

    def _do(self, work: Callable[[Kind], None], kind: Kind, is_recorded: bool = True) -> None:
        """Do a part of an epoch, as it was recorded where it can be replayed.

        Which operations it is made of hangs on its kind alone.
        """
        if self._replayed is None or not is_recorded:
            work(kind)
        else:
            self._replayed(work, kind)

    def _collect_row_state(self) -> None:
        """Let all processes know what each of them has kept of its rows."""
        for table in self._row_state.values():
            self._candidates.keep_only(table, self._rows[..., self._share].long())
            self.ranks.sum(table)

    def _present_step(self, step: _Step) -> None:
        """Learn from the batch that the clock points to."""
        if self._loss_step is not None:
            self._loss_step(step.phase)
            return
        if self._fused is None:
            prepared = self._preparation.present(self._rows, self._clock, step.noisy)
            self._train_step(prepared, step.phase)
            return
        candidates, seen = self._fused.read_batch(), self._fused.forward()
        targets = self._targets(seen, candidates, step.phase)
        learned_from = self._fused.forward(self.noise) if step.noisy else seen
        self._fused.learn(targets, seen, learned_from.log_probabilities)

    def _train_step(self, step: PreparedStep, phase: Hashable) -> None:
        """Learn from one batch, by operations of torch."""
        rows, candidates = step.rows, step.candidates
        logits = self._ask(step.inputs, rows)
        by_problem = (len(candidates.rows), self._n_networks, *logits.shape[1:])
        seen = seen_in(logits.view(by_problem), candidates)
        targets = self._targets(seen, candidates, phase)
        self._records.put(
            self._clock,
            targets.measures,
            log_likelihood=log_likelihood(targets, seen),
            covered=seen.is_predicted.any(-1),
            predicted=seen.predicted,
            chosen=seen.losses.sum(1).min(-1).indices,
        )
        log_probabilities = seen.log_probabilities
        if step.noisy is not None:
            logits = self._ask(step.noisy, rows)
            log_probabilities = log_softmax(logits.view(by_problem)).log_probabilities
        here = slice(None) if self._sees_share else self._share
        columns = candidates.columns[:, :, here]
        gradient = gradient_of_logits(log_probabilities[:, :, here], targets.at(here), columns)
        # The loss is the mean over the real rows.
        self.networks.backward(gradient.flatten(0, 1).mul_(rows.averaging.mT))
        self.ranks.sum_gradients(self.networks.parameters())
        self._adam.update()
        self._clock.advance()

    def _ask(self, inputs: Prepared, rows: RowsInBatch) -> Tensor:
        """Return the logits of the rows that the rule sees."""
        logits = self.networks(inputs, rows, self._clock.total)
        # As they lie in memory.
        return logits if self._sees_share else self.ranks.gather(logits.mT, -1).mT

    def _targets(self, seen: Seen, candidates: Candidates, phase: Hashable) -> Targets:
        """Return what the networks are to learn."""
        batch = Batch(
            rows=candidates.rows,
            columns=candidates.columns,
            mask=candidates.mask,
            prior=candidates.prior,
            most_candidates=self._candidates.most_candidates,
            log_probabilities=seen.log_probabilities,
            losses=seen.losses,
            predicted=seen.is_predicted,
            state={name: candidates.read(table) for name, table in self._row_state.items()},
            phase=phase,
            ranks=self.ranks if self._sees_share else ALONE,
        )
        assert isinstance(self.rule, Rule)
        targets = self.rule.targets(batch)
        targets.check(self._row_state)
        for name, table in self._row_state.items():
            candidates.write(table, targets.state[name])
        if self._loss_weights is not None:
            targets = self._loss_weights.apply(targets, candidates)
        return targets

    def _notify(self, event: str) -> None:
        for listener in self.listeners:
            handle = getattr(listener, event, None)
            if handle is not None:
                handle(self)
