"""ALIM: other labels count a little too, because some sets do not hold the right one."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_integer, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.mixing import Mixing
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.networks.candidate_tables import CandidatePlaces

_MIXING = 4.0
# Share of the old confidences that is kept at every visit, in the first epoch and in the last.
_KEPT = (0.95, 0.8)
# As in the authors' code, so that a row without other labels is infinitely sure of its own.
_SMALL = 1e-9


def label_importance(inside: Tensor, outside: Tensor, miss_rate: float) -> Tensor:
    """Return lambda: what labels outside a set count, one for all rows.

    With it, in the share ``miss_rate`` of the rows whose candidates are least probable beside other
    labels, one of these wins. It is one at most.

    Parameters
    ----------
    inside, outside : Tensor of shape (rows,)
        The largest probability of a candidate, and of any other label, of every row.
    miss_rate : float
        From 0 to below 1.
    """
    ratios = (inside / (outside + _SMALL)).sort().values
    return ratios[int(len(ratios) * miss_rate)].clamp(max=1)


class LabelImportance(LossRule):
    """Cross-entropy of rows and mixed rows, with confidences that labels outside share in.

    Parameters
    ----------
    epochs : int
        Of the training.
    miss_rate : float
        eta, the share of sets that do not hold the right label.
    start_epoch : int
        e_0: until then, labels outside count nothing.
    power : float
        1/K, how clear new confidences are.
    """

    n_views = 1
    looks_at_all_rows = True

    def __init__(self, epochs: int, miss_rate: float, start_epoch: int, power: float) -> None:
        self.epochs = epochs
        self.miss_rate = miss_rate
        self.start_epoch = start_epoch
        self.power = power
        self.importance = torch.empty(0)

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Begin with labels outside that count nothing."""
        self._n_classes = problems[0].prior.shape[1]
        self._places = CandidatePlaces.of(problems, device)
        one, other = (streams_of_problems(problems, device, purpose) for purpose in range(2))
        self._streams = (one, other)
        self.importance = torch.zeros(len(problems), dtype=torch.float64, device=device)
        self._kept = torch.zeros(1, dtype=torch.float64, device=device)

    def row_state(self) -> dict[str, RowState]:
        """Keep a confidence for every class."""
        return {"confidences": RowState(width=self._n_classes)}

    def state(self) -> dict[str, Tensor]:
        """Return lambda."""
        return {"importance": self.importance}

    def look_at_all_rows(self, probabilities: Sequence[Tensor]) -> None:
        """Keep what the network says, for ``begin_epoch``."""
        self._said = probabilities

    def begin_epoch(self, epoch: int) -> None:
        """Set lambda by the rows whose candidates are least probable."""
        first, last = _KEPT
        self._kept.fill_(first + (last - first) * (epoch - 1) / self.epochs)
        if epoch <= self.start_epoch or self.miss_rate == 0:
            self.importance.zero_()
            return
        for place, importance, said in zip(self._places, self.importance, self._said, strict=True):
            probabilities = said[0].double()
            inside = place.inside(probabilities)
            outside = probabilities.clone()
            outside[place.rows, place.columns] = 0
            importance.copy_(label_importance(inside.amax(1), outside.amax(1), self.miss_rate))

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:
        """Return rows mixed with others."""
        self._mixing = Mixing.drawn(_MIXING, is_real, self._streams, features.shape[1], step)
        return [self._mixing.of(features)]

    def loss(self, batch: LossBatch) -> Loss:
        """Return the cross-entropy with stored confidences, of rows as they are and mixed."""
        stored = batch.state["confidences"]
        is_first = stored.sum(-1, keepdim=True) == 0
        targets = torch.where(is_first, batch.over_classes(batch.prior), stored)
        (mixed,) = batch.views
        rows = -(targets * batch.seen.log_probabilities()).sum(-1)
        rows = rows - (self._mixing.of(targets) * mixed.log_probabilities()).sum(-1)
        importance = self.importance[:, None, None, None].to(rows.dtype)
        counts = torch.where(batch.is_candidate, 1, importance)
        scores = batch.seen.logits.detach() + counts.log()
        new = (self.power * scores).softmax(-1)
        kept = torch.lerp(new, targets, self._kept.to(rows.dtype))
        shown = importance.squeeze(-1).expand(rows.shape)
        return Loss(rows, state={"confidences": kept}, measures={"importance": shown})


class ALIM(NetworkClassifier):
    r"""Adjusting label importance, for sets that miss the truth: other labels count a little too.

    Every row has confidences :math:`w_j`, at first equal ones in its candidates :math:`S`. At every
    visit they move towards what the network says, where labels outside the set count by their
    importance :math:`\lambda`:

    .. math:: w_j \leftarrow \phi w_j + (1 - \phi) \, v_j, \qquad
              v_j \propto \left( p_j (s_j + \lambda (1 - s_j)) \right)^{1/K}

    where :math:`s_j` is 1 in the set and 0 outside, :math:`\sum_j v_j = 1`, and :math:`\phi` falls
    from 0.95 to 0.8. Before every epoch :math:`\lambda` is the
    quantile at the miss rate :math:`\eta`, over all rows, of

    .. math:: \max_{j \in S} p_j \, / \, \max_{j \notin S} p_j

    but one at most, so that in that share of the rows a label outside wins. Until
    ``start_epoch`` it is zero. The loss of a row is :math:`-\sum_j w_j \log p_j` with the
    confidences of the last visit, and the same for the row mixed with another one and their
    confidences mixed alike. The other parameters and attributes are described at
    ``NetworkClassifier``; ``history_`` also has the ``importance``.

    Parameters
    ----------
    miss_rate : float, default=0.1
        Share of the candidate sets that do not hold the right label (:math:`\eta`), from 0 to below
        1. ``find_misses`` estimates it; with 0 labels outside never count.
    start_epoch : int, default=20
        Epochs in which labels outside count nothing (:math:`e_0`).
    power : float, default=2
        How clear new confidences are (:math:`1/K`).

    See Also
    --------
    find_misses : Estimates the miss rate, and finds the sets.
    NCPDPlusClassifier : Finds them by itself, with ``miss_rate``.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import ALIM
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = ALIM(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="alim",
        title="A network to which labels outside the sets count a little, by the miss rate",
        when="where a known share of the sets misses the right label",
        paper="Xu, Lian, Feng, Liu and Tao, ALIM: Adjusting Label Importance Mechanism for Noisy "
        "Partial Label Learning",
        year=2023,
        deviations=(
            "Confidences move towards the network's probabilities; the authors add their mechanism "
            "to PiCO, with prototypes and a contrastive loss.",
            "The quantile is that of all rows as the network sees them before an epoch, without "
            "dropout; in the authors' code that of the rows as seen during the last epoch.",
            "The miss rate is a parameter that nobody reads off true labels; benchmarks in public "
            "code give the true one.",
            "Of the paper's two ways to make confidences, the one with a power, here 2; in the "
            "authors' code a single label wins. On Lost and on digits this was better than a "
            "single label, and than a power of 1, by which networks on digits collapsed.",
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    miss_rate: float = 0.1
    start_epoch: int = 20
    power: float = 2.0

    def _make_rule(self) -> LossRule:
        return LabelImportance(self._epoch_count(), self.miss_rate, self.start_epoch, self.power)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("miss_rate", self.miss_rate, minimum=0, maximum=0.99)
        check_integer("start_epoch", self.start_epoch, minimum=0)
        check_real("power", self.power, minimum=0)
