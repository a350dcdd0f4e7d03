"""SoLar: labels for all rows at once, so that each class gets its estimated share."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_integer, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.mixing import Mixing
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems, tabular_view
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.networks.candidate_tables import CandidatePlaces, implied_shares
from disambig.methods.networks.sinkhorn import reliable_rows, sinkhorn_labels

# As in the authors' code: how quickly the class shares follow the network in the first epochs and
# later; the share of reliable rows at first; Beta(4, 4).
_FAST, _SLOW = 0.1, 0.01
_FIRST_RELIABLE = 0.2
_MIXING = 4.0


class SinkhornRefinement(LossRule):
    """Learn reliable rows from labels that keep the class shares, others from confidences.

    Parameters
    ----------
    warm_up_epochs : int
        Over which the weight and the share of reliable rows rise.
    estimation_epochs : int
        In which the class shares follow the network quickly.
    weight : float
        eta, of the loss of reliable rows.
    reliable : float
        rho, the share of reliable rows in the end.
    threshold : float
        tau, above which every row is reliable.
    power : float
        lambda, how clear labels are.
    """

    n_views = 2
    looks_at_all_rows = True

    def __init__(
        self,
        warm_up_epochs: int,
        estimation_epochs: int,
        weight: float,
        reliable: float,
        threshold: float,
        power: float,
    ) -> None:
        self.warm_up_epochs = warm_up_epochs
        self.estimation_epochs = estimation_epochs
        self.weight = weight
        self.reliable = reliable
        self.threshold = threshold
        self.power = power
        self.shares = torch.empty(0)

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Begin with the class shares that the candidate sets imply."""
        self.shares = implied_shares(problems).to(device)
        places = CandidatePlaces.of(problems, device)
        self._row_of_candidate = torch.cat([place.rows for place in places])
        self._class_of_candidate = torch.cat([place.columns for place in places])
        sizes = torch.tensor([len(place.rows) for place in places], device=device)
        numbers = torch.arange(len(places), device=device)
        self._problem_of_candidate = numbers.repeat_interleave(sizes)
        counts = [[problem.prior.shape[0]] for problem in problems]
        self._counts = torch.tensor(counts, dtype=torch.float64, device=device)
        self._view, *mixing = (streams_of_problems(problems, device, n) for n in range(3))
        self._mixing_streams = (mixing[0], mixing[1])
        self._eta = torch.zeros(1, dtype=torch.float64, device=device)

    def row_state(self) -> dict[str, RowState]:
        """Keep confidences, Sinkhorn's labels, and which rows are reliable."""
        return {"confidences": RowState(), "labels": RowState(), "reliable": RowState(width=1)}

    def state(self) -> dict[str, Tensor]:
        """Return the class shares."""
        return {"shares": self.shares}

    def look_at_all_rows(self, probabilities: Sequence[Tensor]) -> None:
        """Keep what the network says, for ``begin_epoch``."""
        self._said = probabilities

    def between_epochs(self, tables: Mapping[str, Tensor]) -> None:
        """Keep where labels are written to."""
        self._tables = tables

    def begin_epoch(self, epoch: int) -> None:
        """Estimate the class shares, label all rows, and choose the reliable ones."""
        ramp = min(1.0, (epoch - 1) / self.warm_up_epochs) if self.warm_up_epochs else 1.0
        self._eta.fill_(self.weight * ramp)
        self._tables["reliable"].zero_()
        if epoch == 1:
            return
        speed = _FAST if epoch - 1 <= self.estimation_epochs else _SLOW
        share = _FIRST_RELIABLE + (self.reliable - _FIRST_RELIABLE) * ramp
        # All problems at once; shorter ones are filled up with zeros.
        said = [found[0].double() for found in self._said]
        probabilities = torch.nn.utils.rnn.pad_sequence(said, batch_first=True)
        candidates = self._problem_of_candidate, self._row_of_candidate, self._class_of_candidate
        inside = torch.zeros_like(probabilities)
        inside[candidates] = probabilities[candidates]
        rows = torch.arange(inside.shape[1], device=inside.device)
        is_real = (rows < self._counts).unsqueeze(-1)
        kinds = torch.arange(inside.shape[2], device=inside.device)
        predicted = (inside.argmax(-1, keepdim=True) == kinds) & is_real
        self.shares.lerp_(predicted.double().sum(1) / self._counts, speed)
        labels = sinkhorn_labels(inside, self.shares, self.power, self._counts)
        self._tables["labels"][0, : len(candidates[0])] = labels[candidates].to(self.dtype)
        reliable = reliable_rows(
            labels, probabilities, self.shares, share, self.threshold, self._counts
        )
        in_order = reliable[is_real.squeeze(-1)]
        self._tables["reliable"][0, : len(in_order), 0] = in_order.to(self.dtype)

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:
        """Return a noisy view, and rows mixed with others."""
        n_networks = features.shape[1]
        self._mixing = Mixing.drawn(_MIXING, is_real, self._mixing_streams, n_networks, step)
        return [tabular_view(features, self._view, step), self._mixing.of(features)]

    def loss(self, batch: LossBatch) -> Loss:
        """Return the loss of reliable rows by their labels, of others by their confidences."""
        confidences = batch.over_classes(batch.state["confidences"])
        labels = batch.over_classes(batch.state["labels"])
        reliable = (batch.state["reliable"][..., 0] > 0) & batch.is_real
        view, mixed = batch.views
        log_probabilities = batch.seen.log_probabilities()
        targets = self._mixing.of(torch.where(reliable.unsqueeze(-1), labels, confidences))
        by_labels = (
            -(labels * (log_probabilities + view.log_probabilities())).sum(-1)
            - (targets * mixed.log_probabilities()).sum(-1)
        )  # fmt: skip
        by_confidences = -(confidences * log_probabilities).sum(-1)
        has_any = reliable.any(-1, keepdim=True)
        eta = self._eta.to(by_labels.dtype) * has_any
        rows = eta * batch.mean_over(reliable) * by_labels
        rows = rows + (1 - eta) * batch.mean_over(~reliable) * by_confidences
        kept = batch.in_slots(batch.among_candidates(batch.seen.logits.detach()))
        return Loss(
            rows,
            state={
                "confidences": kept,
                "labels": batch.state["labels"],
                "reliable": batch.state["reliable"],
            },
            measures={"reliable": reliable.to(rows.dtype)},
        )


class SoLar(NetworkClassifier):
    r"""Sinkhorn label refinery, for long tails: labels that give each class its share of the rows.

    Before every epoch the network is asked about all rows. Its probabilities of candidates,
    :math:`p_{ij}`, become labels :math:`q_{ij} = a_i b_j p_{ij}^\lambda`, with factors such that
    the labels of a row sum to one and those of a class to its share :math:`r_j` of the rows
    (Sinkhorn's algorithm). The shares follow the share of rows whose most probable candidate is j:
    :math:`r \leftarrow (1 - \gamma) r + \gamma z`.

    Of each class, the :math:`\lceil \rho r_j n \rceil` rows with the smallest losses are reliable,
    and so is every row with :math:`\sum_j q_j p_j > \tau`. These learn from their labels: as they
    are, in a noisy view, and mixed with other rows. The others learn from their own confidences of
    the last visit, :math:`w_j`, as in PRODEN:

    .. math:: -\eta \sum_j \left( q_j \log p_j + q_j \log p'_j + \tilde q_j \log \tilde p_j \right)
              \quad \text{or} \quad - (1 - \eta) \sum_j w_j \log p_j

    both as means over their rows. :math:`\eta` rises from zero, and :math:`\rho` from 0.2, over the
    first ``warm_up_epochs``. The other parameters and attributes are described at
    ``NetworkClassifier``; ``history_`` also has the share of ``reliable`` rows.

    Parameters
    ----------
    warm_up_epochs : int, default=50
        Over which :math:`\eta` and :math:`\rho` rise.
    estimation_epochs : int, default=20
        In which the class shares follow quickly (:math:`\gamma` = 0.1); then 0.01.
    weight : float, default=0.9
        Weight of reliable rows in the end (:math:`\eta`).
    reliable : float, default=0.8
        Share of reliable rows in the end (:math:`\rho`).
    threshold : float, default=0.99
        How sure the network is of rows that are reliable in any case (:math:`\tau`).
    power : float, default=3
        How clear labels are (:math:`\lambda`).

    See Also
    --------
    RECORDS : Divides class shares out of the confidences; quicker.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import SoLar
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = SoLar(hidden=64, epochs=40, warm_up_epochs=10, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="solar",
        title="Labels of all rows at once, so that each class gets its estimated share",
        when="where some classes have far fewer rows; it is slow",
        paper="Wang, Xia, Li, Mao, Feng, Chen and Zhao, SoLar: Sinkhorn Label Refinery for "
        "Imbalanced Partial-Label Learning",
        year=2022,
        deviations=(
            "Sinkhorn's algorithm runs once before every epoch, on all rows as the network sees "
            "them without dropout; the authors run it in every step, on the batch and the last 64 "
            "of them. Reliable rows are chosen from all rows, not from each batch.",
            "Class shares begin with those that the candidate sets imply, not with equal ones, and "
            "training goes on after they are estimated; the authors train a first network for "
            "that, and then another one.",
            "Reliable rows are mixed with any row of the batch, each with what it learns from; in "
            "the authors' code with reliable ones.",
            "Instead of an augmented image, a view has Gaussian noise and some features left out.",
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, the first confidences and the first class shares "
            "follow these, not 1/|S|.",
        ),
    )

    warm_up_epochs: int = 50
    estimation_epochs: int = 20
    weight: float = 0.9
    reliable: float = 0.8
    threshold: float = 0.99
    power: float = 3.0

    def _make_rule(self) -> LossRule:
        return SinkhornRefinement(
            self.warm_up_epochs,
            self.estimation_epochs,
            self.weight,
            self.reliable,
            self.threshold,
            self.power,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("warm_up_epochs", self.warm_up_epochs, minimum=0)
        check_integer("estimation_epochs", self.estimation_epochs, minimum=0)
        for name in ("weight", "reliable", "threshold"):
            check_real(name, getattr(self, name), minimum=0, maximum=1)
        check_real("power", self.power, minimum=0)
