"""CroSel: two networks that select sure rows for each other, by a memory of three epochs."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_boolean, check_integer, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.mixing import Mixing
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems, tabular_view
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.networks.candidate_tables import CandidatePlaces

# Epochs in the memory, and Beta(.75, .75), as in the paper.
_REMEMBERED = 3
_MIXING = 0.75
_NOTHING = -1.0


def select_rows(
    labels: Tensor, probabilities: Tensor, is_candidate: Tensor, threshold: float
) -> Tensor:
    """Return the label of every row that a network is sure of, and -1 for the others.

    A network is sure if its prediction was the same in all epochs, with a mean probability above
    the threshold, and is a candidate.

    Parameters
    ----------
    labels, probabilities : Tensor of shape (..., rows, epochs)
        Predicted class and its probability; -1 where there was no such epoch.
    is_candidate : Tensor of booleans of shape (rows, classes)
        Which labels are candidates.
    threshold : float
        gamma.
    """
    last = labels[..., -1].long()
    is_same = (labels == labels[..., -1:]).all(-1)
    is_sure = probabilities.mean(-1) > threshold
    rows = torch.arange(len(is_candidate), device=labels.device)
    is_inside = is_candidate[rows, last.clamp(min=0)] & (last >= 0)
    return torch.where(is_same & is_sure & is_inside, last, -1)


class CrossSelection(LossRule):
    """Warm up by the candidate sets; then learn what the other network is sure of.

    Parameters
    ----------
    warm_up_epochs : int
        In which the loss is that of CC.
    threshold : float
        gamma, above which a network is sure.
    consistency : float
        lambda_cr, the weight of the loss of all rows while no row is selected.
    mixup : bool
        Whether that loss is of mixed rows.
    """

    looks_at_all_rows = True

    def __init__(
        self, warm_up_epochs: int, threshold: float, consistency: float, mixup: bool
    ) -> None:
        self.warm_up_epochs = warm_up_epochs
        self.threshold = threshold
        self.consistency = consistency
        self.mixup = mixup
        self.n_views = 3 if mixup else 1

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Begin with an empty memory."""
        self._places = CandidatePlaces.of(problems, device)
        self._masks = [
            place.inside(torch.ones(problem.prior.shape, device=device)) > 0
            for place, problem in zip(self._places, problems, strict=True)
        ]
        self._view, one, other = (streams_of_problems(problems, device, n) for n in range(3))
        self._mixing_streams = (one, other)
        self._weight = torch.zeros(len(problems), dtype=torch.float64, device=device)

    def row_state(self) -> dict[str, RowState]:
        """Keep predictions and their probabilities by epoch, and what the other one selected."""
        return {
            "memory": RowState(width=2 * _REMEMBERED, initial=_NOTHING),
            "selected": RowState(width=1, initial=_NOTHING),
        }

    def look_at_all_rows(self, probabilities: Sequence[Tensor]) -> None:
        """Keep what the networks say, for ``begin_epoch``."""
        self._said = probabilities

    def between_epochs(self, tables: Mapping[str, Tensor]) -> None:
        """Keep where memory and selections are written to."""
        self._tables = tables

    def begin_epoch(self, epoch: int) -> bool:
        """Remember what the networks say, and select; return whether selections count."""
        is_selecting = epoch > self.warm_up_epochs
        for number, place in enumerate(self._places):
            memory = self._tables["memory"][:, place.numbers]
            labels, values = memory[..., :_REMEMBERED], memory[..., _REMEMBERED:]
            best = self._said[number].max(-1, keepdim=True)
            labels = torch.cat([labels[..., 1:], best.indices.to(labels.dtype)], -1)
            values = torch.cat([values[..., 1:], best.values], -1)
            memory.copy_(torch.cat([labels, values], -1))
            if is_selecting:
                selected = select_rows(labels, values, self._masks[number], self.threshold)
                # Each network learns what the other one selected.
                crossed = selected.flip(0).unsqueeze(-1)
                self._tables["selected"][:, place.numbers] = crossed.to(labels.dtype)
                share = (selected >= 0).double().mean()
                self._weight[number] = self.consistency * (1 - share)
        return is_selecting

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:
        """Return a noisy view, and both mixed with each other's rows."""
        view = tabular_view(features, self._view, step)
        if not self.mixup:
            return [view]
        n_networks = features.shape[1]
        self._mixing = Mixing.drawn(_MIXING, is_real, self._mixing_streams, n_networks, step)
        return [view, self._mixing.of(features, view), self._mixing.of(view, features)]

    def loss(self, batch: LossBatch) -> Loss:
        """Return the loss of the sets in the warm-up, then that of selected and of all rows."""
        selected = batch.state["selected"].squeeze(-1)
        is_selected = (selected >= 0) & batch.is_real
        if batch.phase:
            rows = self._of_selected(batch, selected, is_selected) + self._of_all(batch)
        else:
            rows = self._of_sets(batch)
        return Loss(rows, state=batch.state, measures={"selected": is_selected.to(rows.dtype)})

    def _of_sets(self, batch: LossBatch) -> Tensor:
        """Return the loss of CC: minus the log-probability of the candidate set."""
        logits = batch.seen.logits
        inside = (logits + batch.log_weights()).masked_fill(~batch.is_candidate, -torch.inf)
        return logits.logsumexp(-1) - inside.logsumexp(-1)

    def _of_selected(self, batch: LossBatch, selected: Tensor, is_selected: Tensor) -> Tensor:
        """Return the cross-entropy of selected rows, as a mean over these."""
        labels = selected.long().clamp(min=0).unsqueeze(-1)
        losses = -batch.seen.log_probabilities().gather(-1, labels).squeeze(-1)
        return batch.mean_over(is_selected) * losses

    def _of_all(self, batch: LossBatch) -> Tensor:
        """Return the loss by which each view of a row learns from the other one."""
        # What the features as they are learn from, and what the noisy view does.
        of_seen = batch.among_candidates(batch.views[0].logits.detach())
        of_view = batch.among_candidates(batch.seen.logits.detach())
        if self.mixup:
            _, one, other = batch.views
            targets = [self._mixing.of(of_seen, of_view), self._mixing.of(of_view, of_seen)]
        else:
            one, other = batch.seen, batch.views[0]
            targets = [of_seen, of_view]
        losses = -(targets[0] * one.log_probabilities()).sum(-1)
        losses = losses - (targets[1] * other.log_probabilities()).sum(-1)
        return self._weight[:, None, None].to(losses.dtype) * losses / 2


class CroSel(NetworkClassifier):
    r"""Cross selection: two networks that learn which rows the other one is sure of.

    In the first epochs each learns as in CC. From then on a network selects a row if in each of the
    last three epochs it predicted the same label, with a mean probability above :math:`\gamma`, and
    this label is a candidate. The other network learns the selected rows :math:`D` with these
    labels :math:`\hat y`, and of all rows that two views of a row should agree:

    .. math:: -\frac{1}{|D|} \sum_{i \in D} \log p_{i \hat y_i}
              - \frac{\lambda_d}{2 n} \sum_i \sum_{j \in S_i}
              \left( w'_{ij} \log p_{ij} + w_{ij} \log p'_{ij} \right)

    where :math:`p'` is of a noisy view, and :math:`w`, :math:`w'` are the probabilities of both
    restricted to the candidates. With ``mixup`` the second sum is over views that are mixed with
    those of other rows. :math:`\lambda_d` is ``consistency`` times the share of rows that is not
    selected. The other parameters and attributes are described at ``NetworkClassifier``;
    ``history_`` also has the share of ``selected`` rows.

    Parameters
    ----------
    warm_up_epochs : int, default=10
        Epochs with the loss of CC.
    threshold : float, default=0.9
        Mean probability above which a network is sure (:math:`\gamma`).
    consistency : float, default=1
        Weight of the second sum while nothing is selected (:math:`\lambda_{cr}`).
    mixup : bool, default=True
        Whether views are mixed.

    See Also
    --------
    NCPDClassifier : Two networks that exchange confidences, easy rows first.
    CC : The warm-up.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import CroSel
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = CroSel(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="crosel",
        title="Two networks, each taught the rows that the other one is sure of",
        when="to compare: two networks that select rows for each other",
        paper="Tian, Wei, Wang and Feng, CroSel: Cross Selection of Confident Pseudo Labels for "
        "Partial-Label Learning",
        year=2024,
        deviations=(
            "Selected rows are learned where they stand in the batches of all rows; the authors "
            "deal them into batches of their own.",
            "Instead of augmented images, a view has Gaussian noise and some features left out. A "
            "view is mixed with the other view of another row; in the authors' code with either.",
            "The memory has every row in every epoch; in the authors' code rows of a last, smaller "
            "batch are missing. Probabilities are not sharpened, as in the authors' code, where "
            "what was sharpened is overwritten.",
            "There are two networks; in the authors' main program both names are of one.",
            "Predictions are the mean of the networks' probabilities, not of their logits.",
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, they count in the warm-up, as in our CC.",
        ),
    )

    warm_up_epochs: int = 10
    threshold: float = 0.9
    consistency: float = 1.0
    mixup: bool = True

    def _make_rule(self) -> LossRule:
        return CrossSelection(self.warm_up_epochs, self.threshold, self.consistency, self.mixup)

    def _network_count(self) -> int:
        return 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("warm_up_epochs", self.warm_up_epochs, minimum=0)
        check_real("threshold", self.threshold, minimum=0, maximum=1)
        check_real("consistency", self.consistency, minimum=0)
        check_boolean("mixup", self.mixup)
