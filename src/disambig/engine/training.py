"""The training loop: the one that every method on this engine runs in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from disambig._core.typing import FloatArray
from disambig.engine.batches import Batches
from disambig.engine.candidate_groups import CandidateTable
from disambig.engine.device import denormals_flushed
from disambig.engine.graph import ReplayedStep
from disambig.engine.history import History
from disambig.engine.problem import Problem
from disambig.engine.records import EpochRecords
from disambig.engine.rows_in_batch import RowsInBatch
from disambig.engine.rule import Rule
from disambig.engine.stack import Stack

__all__ = ["Training", "TrainingSettings"]


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
        Of Adam.
    capture : bool, default=True
        Whether a step on a CUDA card is recorded once as a graph and replayed.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    capture: bool = True


class Training:
    """One or several problems, each with its networks, trained side by side.

    Listeners are called with the training itself: ``on_fit_start``, ``on_epoch_end``,
    ``on_fit_end``; they need not have all three. A listener may read everything below, ``note`` a
    measure of its own at the end of an epoch, and ``stop()``.

    Parameters
    ----------
    networks : Stack
        Networks of the first problem, then those of the second, and so on.
    problems : sequence of Problem
        All with the same number of batches an epoch.
    rule : Rule
        How much each candidate is believed.
    settings : TrainingSettings
        Length and pace.
    listeners : sequence of object
        Called in this order.

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
        problems: Sequence[Problem],
        rule: Rule,
        settings: TrainingSettings,
        listeners: Sequence[Any] = (),
    ) -> None:
        self.networks = networks
        self.rule = rule
        self.settings = settings
        self.epoch = 0
        self.measures: dict[str, FloatArray] = {}
        self.histories = [History() for _ in problems]
        self._listeners = listeners
        self.stopped = False
        example = next(networks.parameters())
        self._device, dtype = example.device, example.dtype
        counts = [len(problem.features) for problem in problems]
        seeds = [problem.order_seed for problem in problems]
        self._batches = Batches(counts, seeds, settings.batch_size, self._device)
        n_rows = self._batches.real.shape[2]
        self._candidates = CandidateTable(problems, n_rows, dtype, self._device)
        features = [torch.as_tensor(problem.features, dtype=dtype) for problem in problems]
        filler = torch.zeros(1, features[0].shape[1], dtype=dtype)
        self._features = torch.cat([*features, filler]).to(self._device)
        self._n_networks = len(networks) // len(problems)
        self._averaging = self._batches.real / self._batches.counts.unsqueeze(-1)
        self._averaging = self._averaging.to(dtype)
        self._optimizer = _adam(networks, settings.learning_rate)
        self._records = EpochRecords(self._batches, self._n_networks, self._device, dtype)
        # What changes from step to step lies on the device, so that a recorded step can be
        # replayed.
        self._rows = self._batches.rows_of(1)
        self._step = torch.zeros(1, dtype=torch.int64, device=self._device)
        self._total_steps = torch.zeros(1, dtype=torch.int64, device=self._device)
        self._share = torch.ones(1, dtype=torch.float64, device=self._device)
        self._run_step: Callable[[bool], None] = self._train_step
        if settings.capture and networks.capturable and self._device.type == "cuda":
            counters = [self._step, self._total_steps]
            self._run_step = ReplayedStep(self._train_step, [*self.state().values(), *counters])

    def run(self) -> None:
        """Train until all epochs are done or a listener stops it."""
        self._tell("on_fit_start")
        with torch.no_grad(), denormals_flushed():
            while self.epoch < self.settings.epochs and not self.stopped:
                self._run_epoch()
                self._tell("on_epoch_end")
        self._tell("on_fit_end")

    def stop(self) -> None:
        """Make this epoch the last one."""
        self.stopped = True

    def note(self, name: str, values: ArrayLike) -> None:
        """Add a measure of the epoch that has just ended: one number for every problem."""
        self.measures[name] = np.asarray(values)
        for history, value in zip(self.histories, self.measures[name], strict=True):
            history.append({name: value})

    def state(self) -> dict[str, Tensor]:
        """Return every tensor that the next epoch depends on, by name; not copies."""
        state = {f"networks.{name}": value for name, value in self.networks.state_dict().items()}
        for number, moments in enumerate(self._optimizer.state.values()):
            state |= {f"adam.{number}.{name}": value for name, value in moments.items()}
        return {**state, "labels": self._records.labels}

    def resume(self, state: dict[str, Tensor], histories: Sequence[History]) -> None:
        """Go on from what ``state()`` and ``histories`` were at the end of an epoch."""
        for name, value in self.state().items():
            value.copy_(state[name])
        self.histories = list(histories)
        self.epoch = len(self.histories[0])
        self._total_steps.fill_(self.epoch * self._batches.n_steps)

    def _run_epoch(self) -> None:
        self.epoch += 1
        share = self.rule.share(self.epoch)
        self._rows.copy_(self._batches.rows_of(self.epoch))
        self._step.zero_()
        self._share.fill_(share)
        for _ in range(self._batches.n_steps):
            self._run_step(share < 1)
        self.note("T", np.full(len(self.histories), share))
        for name, values in self._records.measures(self._rows).items():
            self.note(name, values)

    def _train_step(self, ranked: bool) -> None:
        """Learn from one batch; ``ranked`` says whether only some losses count as small."""
        rows = _at(self._rows, self._step)
        averaging = _at(self._averaging, self._step)
        logits = self.networks(
            self._features_of(rows), self._rows_in_batch(averaging), self._total_steps
        )
        by_problem = logits.view(len(rows), self._n_networks, *logits.shape[1:])
        gradient = self._learn(by_problem, rows, averaging, self._share if ranked else None)
        self.networks.backward(gradient.view_as(logits))
        self._optimizer.step()
        self._step += 1
        self._total_steps += 1

    def _learn(
        self, logits: Tensor, rows: Tensor, averaging: Tensor, share: Tensor | None
    ) -> Tensor:
        """Return the gradient of the mean loss with respect to the logits."""
        groups = self._candidates.groups(rows)
        log_probabilities = logits.log_softmax(-1)
        predicted = log_probabilities.argmax(-1)
        columns = groups.columns.expand(*predicted.shape, -1)
        of_candidates = log_probabilities.gather(-1, columns)
        losses = (-of_candidates).masked_fill_(~groups.inside, torch.inf)
        is_predicted = (columns == predicted.unsqueeze(-1)) & groups.inside
        weights, simple = self.rule.confidences(losses, is_predicted, groups, share)
        weights = weights.masked_fill(~groups.inside, 0)
        self._records.put(
            self._step,
            loss=-(weights * of_candidates).sum(-1),
            simple=simple,
            covered=is_predicted.any(-1),
            predicted=predicted,
            chosen=columns[:, 0].gather(-1, losses.sum(1).argmin(-1, keepdim=True)).squeeze(-1),
        )
        # The loss of a row is -sum(w log p), and w sums to one: its gradient is p - w.
        gradient = log_probabilities.exp_().scatter_add_(-1, columns, -weights)
        return gradient.mul_(averaging.unsqueeze(1).unsqueeze(-1))

    def _features_of(self, rows: Tensor) -> Tensor:
        for_every_network = rows.repeat_interleave(self._n_networks, 0)
        features = self._features.index_select(0, for_every_network.flatten())
        return features.view(*for_every_network.shape, -1)

    def _rows_in_batch(self, averaging: Tensor) -> RowsInBatch:
        averaging = averaging.repeat_interleave(self._n_networks, 0).unsqueeze(1)
        real = averaging.mT > 0
        return RowsInBatch(1 / averaging[:, :, :1], averaging, real.to(averaging.dtype))

    def _tell(self, event: str) -> None:
        for listener in self._listeners:
            tell = getattr(listener, event, None)
            if tell is not None:
                tell(self)


def _at(table: Tensor, step: Tensor) -> Tensor:
    return table.index_select(0, step).squeeze(0)


def _adam(networks: Stack, learning_rate: float) -> torch.optim.Adam:
    """Return an optimiser whose state is there from the start, to be kept and restored."""
    parameters = list(networks.parameters())
    cuda = parameters[0].device.type == "cuda"
    adam = torch.optim.Adam(parameters, learning_rate, fused=True, capturable=cuda)
    for parameter in parameters:
        adam.state[parameter] = {
            "step": torch.zeros((), device=parameter.device),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return adam
