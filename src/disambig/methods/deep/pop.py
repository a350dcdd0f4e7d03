"""POP: PRODEN, whose candidate sets lose the labels that have become improbable."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from disambig._core.parameters import check_integer, check_real
from disambig.engine.rule import Batch, RowState, Rule, Targets, TrainingData
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier

# The threshold rises after purifications that remove less than this share of all pairs of row and
# class, until it is as high as this.
_FEW = 1e-4
_HIGHEST_THRESHOLD = 0.4


class ProgressivePurification(Rule):
    """PRODEN, and every so many epochs candidates of little confidence leave their sets for good.

    The loss of a row is ``-sum_j w_j log p_j`` over what is left of its candidates, with the
    confidences ``w`` of its last visit. Every ``window`` epochs, once there were ``warmup``, the
    mean confidences since the last time decide: a candidate whose mean is less than a threshold
    times the largest of the row is removed. The others take these means, normalised.
    """

    def __init__(self, warmup: int, window: int, threshold: float, growth: float) -> None:
        self._warmup, self._window = warmup, window
        self._first_threshold, self._growth = threshold, growth

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Learn to which row and which problem every candidate belongs."""
        counts = [torch.as_tensor(np.diff(problem.prior.indptr)).long() for problem in problems]
        sizes = torch.cat(counts)
        self._n_rows, self._n_slots = len(sizes), int(sizes.max())
        rows = torch.arange(len(sizes)).repeat_interleave(sizes)
        firsts = (sizes.cumsum(0) - sizes)[rows]
        by_problem = torch.tensor([len(count) for count in counts])
        problem_of_row = torch.arange(len(problems)).repeat_interleave(by_problem)
        self._row_of, self._slot_of = rows.to(device), (torch.arange(len(rows)) - firsts).to(device)
        self._problem_of = problem_of_row[rows].to(device)
        zeros = torch.zeros(len(problems), dtype=torch.float64, device=device)
        self._few = zeros + _FEW * problems[0].prior.shape[1] * by_problem.to(device)
        self._epochs = zeros.long()
        self._threshold, self._left = zeros + self._first_threshold, zeros + 1

    def state(self) -> dict[str, Tensor]:
        """Return the epochs done, the threshold and the share of candidates that are left."""
        return {"epochs": self._epochs, "threshold": self._threshold, "left": self._left}

    def row_state(self) -> dict[str, RowState]:
        """Keep a confidence, whether it still counts, and the sum over the last epochs."""
        return {
            "confidences": RowState(),
            "kept": RowState(initial=1.0),
            "sums": RowState(initial=0.0),
        }

    def measures(self) -> dict[str, Any]:
        """Return the threshold, and the share of candidates that are left."""
        return {"threshold": self._threshold.tolist(), "candidates_left": self._left.tolist()}

    def between_epochs(self, tables: Mapping[str, Tensor]) -> None:
        """Purify, every so many epochs."""
        done = int(self._epochs[0])
        self._epochs += 1
        if done == 0 or done % self._window:
            return
        # What belongs to no row comes last.
        sums, kept, confidences = (
            tables[name][:, : len(self._row_of)] for name in ("sums", "kept", "confidences")
        )
        if done >= self._warmup:
            removed = self._purify(sums, kept, confidences)
            self._threshold += torch.where(
                (removed < self._few) & (self._threshold < _HIGHEST_THRESHOLD),
                self._growth * self._threshold,
                0,
            )
        sums.zero_()

    def _purify(self, sums: Tensor, kept: Tensor, confidences: Tensor) -> Tensor:
        """Remove candidates and let the others take the means; return how many, by problem."""
        largest = self._by_row(sums).amax(-1)[:, self._row_of]
        limits = self._threshold[self._problem_of].to(sums.dtype) * largest
        stays = (kept > 0) & (sums >= limits)
        removed = self._by_problem(kept.sum(0) - stays.sum(0))
        kept.copy_(stays)
        shares = sums * stays
        confidences.copy_(shares / self._by_row(shares).sum(-1)[:, self._row_of])
        self._left.copy_(
            self._by_problem(kept.mean(0)) / self._by_problem(torch.ones_like(kept[0]))
        )
        return removed

    def _by_row(self, values: Tensor) -> Tensor:
        """Return what belongs to candidates by (networks, rows, slots)."""
        by_row = values.new_zeros(len(values), self._n_rows, self._n_slots)
        by_row[:, self._row_of, self._slot_of] = values
        return by_row

    def _by_problem(self, values: Tensor) -> Tensor:
        """Return the sums over the candidates of every problem; exact, as they are of integers."""
        sums = torch.zeros_like(self._threshold)
        return sums.index_add(0, self._problem_of, values.double())

    def targets(self, batch: Batch) -> Targets:
        """Return the stored confidences, and store those of the same forward pass."""
        kept = batch.state["kept"]
        scores = (-batch.losses).masked_fill(kept == 0, -torch.inf)
        # A row that only fills up a batch has no candidates: it gets zeros.
        confidences = scores.softmax(-1).masked_fill(~batch.mask, 0)
        state = {
            "confidences": confidences,
            "kept": kept,
            "sums": batch.state["sums"] + confidences,
        }
        return Targets(slots=batch.state["confidences"], state=state)


class POP(NetworkClassifier):
    r"""Progressive purification: PRODEN on candidate sets that become smaller.

    Every row begins with equal confidences :math:`w_j` in its candidates :math:`S`. Each time it is
    seen the network learns from the loss

    .. math:: -\sum_{j \in S} w_j \log(p_j)

    and the confidences become :math:`w_j = p_j / \sum_{k \in S} p_k`. After the warm-up, every
    ``window`` epochs the candidates with a small mean confidence :math:`\bar{w}_j` of these epochs
    leave the set:

    .. math:: S \leftarrow \{ j \in S : \bar{w}_j \ge \theta \max_{k \in S} \bar{w}_k \},
        \qquad w_j \leftarrow \bar{w}_j / \sum_{k \in S} \bar{w}_k

    The threshold :math:`\theta` rises by a factor where fewer than one in ten thousand pairs of
    row and class were removed, as long as it is below 0.4. The most confident candidate always
    stays. The other parameters and the attributes are described at ``NetworkClassifier``;
    ``history_`` also has the ``threshold`` and the share of ``candidates_left``.

    Parameters
    ----------
    warmup_epochs : int, default=20
        Epochs before the first purification.
    window : int, default=5
        Epochs between two purifications, over which confidences are averaged.
    threshold : float, default=0.001
        First share of the largest confidence that a candidate needs to stay (:math:`\theta`).
    growth : float, default=0.001
        What the threshold grows by, as a share of itself. In 200 epochs it rises 36 times at most:
        with the paper's value hardly at all, and with 0.1 to thirty times as much.

    See Also
    --------
    PRODEN : The same with candidate sets that stay as they are.
    NCPDClassifier : Two networks that teach each other.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import POP
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = POP(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="pop",
        title="PRODEN, whose sets lose candidates that have become improbable",
        when="to compare: sets purified while a network learns",
        paper="Xu, Liu, Lv, Qiao and Geng, Progressive Purification for Instance-Dependent Partial "
        "Label Learning",
        year=2023,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "No augmented views: the authors take the mean loss over three of every image.",
            "Sets are purified after epochs 20, 25 and so on; in the authors' code after 21, 26.",
            "What was removed is kept apart from the confidences, so that one that is rounded to "
            "zero is not removed for good.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    warmup_epochs: int = 20
    window: int = 5
    threshold: float = 1e-3
    growth: float = 1e-3

    def _make_rule(self) -> Rule:
        return ProgressivePurification(self.warmup_epochs, self.window, self.threshold, self.growth)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("warmup_epochs", self.warmup_epochs, minimum=1)
        check_integer("window", self.window, minimum=1)
        check_real("threshold", self.threshold, minimum=0, maximum=1)
        check_real("growth", self.growth, minimum=0)
