"""PaPi: a classifier that teaches prototypes, by way of mixtures of rows."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_integer, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule, Outputs
from disambig.engine.mixing import Mixing
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems, tabular_view
from disambig.methods.base import MethodCard
from disambig.methods.deep.prototypes import check_bounds, kept_share, moved_prototypes, unit
from disambig.methods.networks.base import NetworkClassifier

_VIEW, _ORDER, _SHARE = range(3)
# The first epochs, over which prototypes come to count.
_RAMP_EPOCHS = 10


class PrototypeMixtures(LossRule):
    """Learn by own confidences, and let mixtures lie near the prototypes of what was mixed.

    Parameters
    ----------
    epochs : int
        How many there are.
    width, temperature, mixing, kept_prototypes, kept_confidences, prototype_weight, noise, gaps
        As in ``PaPi``.
    """

    n_views = 3  # another view of the rows, and a mixture of each

    def __init__(
        self,
        epochs: int,
        width: int,
        temperature: float,
        mixing: float,
        kept_prototypes: tuple[float, float],
        kept_confidences: tuple[float, float],
        prototype_weight: float,
        noise: float,
        gaps: float,
    ) -> None:
        self.epochs, self.embedding = epochs, width
        self.temperature, self.mixing = temperature, mixing
        self.kept_prototypes = kept_prototypes
        self.kept_confidences = kept_confidences
        self.prototype_weight = prototype_weight
        self.noise, self.gaps = noise, gaps
        self._streams: list[Tensor] = []
        self._pace = self.prototypes = torch.empty(0)

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Begin without prototypes."""
        assert self.embedding is not None
        purposes = (_VIEW, _ORDER, _SHARE)
        self._streams = [streams_of_problems(problems, device, one) for one in purposes]
        shape = (len(problems), 1, problems[0].prior.shape[1], self.embedding)
        self.prototypes = torch.zeros(shape, dtype=self.dtype, device=device)
        # What is kept of confidences and of prototypes, and how much prototypes count.
        self._pace = torch.ones(3, 1, dtype=self.dtype, device=device)

    def begin_epoch(self, epoch: int) -> None:
        """Set how much is kept of what is stored, and how much prototypes count."""
        self._pace[0].fill_(kept_share(epoch, self.epochs, self.kept_confidences))
        self._pace[1].fill_(kept_share(epoch, self.epochs, self.kept_prototypes))
        self._pace[2].fill_(min((epoch - 1) / _RAMP_EPOCHS, 1) * self.prototype_weight)

    def row_state(self) -> dict[str, RowState]:
        """Keep one confidence for every candidate, the prior at first."""
        return {"confidences": RowState()}

    def state(self) -> dict[str, Tensor]:
        """Return the prototypes."""
        return {"prototypes": self.prototypes}

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:
        """Return another view of the rows, and a mixture of each view with itself."""
        other = tabular_view(features, self._streams[_VIEW], step, self.noise, self.gaps)
        mixture = self._mixture(is_real, step)
        return [other, mixture.of(features), mixture.of(other)]

    def loss(self, batch: LossBatch) -> Loss:
        """Return the cross-entropy of the rows, and how far mixtures are from where they belong."""
        other, *mixed = batch.views
        kept, kept_of_prototypes, weight = self._pace
        own = batch.in_slots(batch.among_candidates(batch.seen.logits.detach()))
        confidences = kept * batch.state["confidences"] + (1 - kept) * own
        targets = batch.over_classes(confidences)
        classified = -(targets * batch.seen.log_probabilities()).sum(-1)
        # Divergences from the confidences of both rows, mixed as the rows are.
        mixture = self._mixture(batch.is_real, batch.step)
        mixed_targets = mixture.of(targets)
        entropy = -mixture.of(torch.xlogy(targets, targets).sum(-1, keepdim=True)).squeeze(-1)
        # Copied: prototypes will have moved when gradients are asked for.
        prototypes = self.prototypes.clone().mT / self.temperature
        log_shares = [(_embedded(one) @ prototypes).log_softmax(-1) for one in mixed]
        distances = [-(mixed_targets * one).sum(-1) - entropy for one in log_shares]
        self._move_prototypes(batch, other, kept_of_prototypes)
        return Loss(classified + weight * sum(distances), {"confidences": confidences})

    def _move_prototypes(self, batch: LossBatch, other: Outputs, kept: Tensor) -> None:
        """Let prototypes follow the rows as they are, then the other view."""
        both = (batch.seen, other)
        classes = [batch.among_candidates(one.logits.detach()).argmax(-1) for one in both]
        self.prototypes.copy_(
            moved_prototypes(
                self.prototypes,
                torch.cat([_embedded(one).detach() for one in both], 2),
                torch.cat(classes, 2),
                torch.cat([batch.is_real, batch.is_real], 2),
                kept,
            )
        )

    def _mixture(self, is_real: Tensor, step: int | Tensor) -> Mixing:
        """Return how the rows of a step are mixed."""
        streams = (self._streams[_ORDER], self._streams[_SHARE])
        return Mixing.drawn(self.mixing, is_real, streams, 1, step, mostly_itself=False)


def _embedded(outputs: Outputs) -> Tensor:
    """Return the embedding, of length one."""
    assert outputs.embedding is not None
    return unit(outputs.embedding)


class PaPi(NetworkClassifier):
    r"""Prototypes taught by the classifier: mixtures of rows are drawn to those of both rows.

    Besides logits, the network has an embedding :math:`q` of length one. The confidences :math:`w`
    of a row begin equal and follow the classifier, in every step before its loss is taken:
    :math:`w_j \leftarrow \phi w_j + (1 - \phi)\, p_j / \sum_{k \in S} p_k`. Every row :math:`x`
    is mixed with another one of the batch, :math:`\lambda x + (1 - \lambda) x'` with one
    :math:`\lambda \sim \mathrm{Beta}(a, a)` for the batch, and so is a view of it, with noise and
    gaps. With :math:`r = \mathrm{softmax}(q \cdot \mu / \tau)` of a mixture the loss is

    .. math:: -\sum_{j \in S} w_j \log p_j + \rho(t) \sum_{\text{both views}} \left(
        \lambda\, \mathrm{KL}(w \,\|\, r) + (1 - \lambda)\, \mathrm{KL}(w' \,\|\, r) \right),

    where :math:`\rho(t)` rises from 0 to ``prototype_weight`` within 10 epochs. Afterwards
    prototypes follow both views, one row after the other: with
    :math:`\tilde y = \arg\max_{j \in S} p_j`,
    :math:`\mu_{\tilde y} \leftarrow m \mu_{\tilde y} + (1 - m) q`; then all get length one. In the
    first epoch :math:`\phi = m = 0.99`; then :math:`\phi` falls from 0.95 to 0.8 and :math:`m` from
    0.9 to 0.5. Attributes and other parameters are described at ``NetworkClassifier``; it takes no
    ``network`` of your own.

    Parameters
    ----------
    embedding_width : int, default=128
        Numbers of an embedding.
    temperature : float, default=0.3
        Tau.
    mixing : float, default=8
        a, both parameters of the beta distribution.
    kept_prototypes : tuple of float, default=(0.9, 0.5)
        m in the second epoch and in the end.
    kept_confidences : tuple of float, default=(0.95, 0.8)
        Phi in the second epoch and in the end.
    prototype_weight : float, default=1
        Weight of the divergences in the end.
    noise : float, default=0.1
        Standard deviation of the noise of a view, for scaled features.
    gaps : float, default=0.1
        Share of features that a view leaves out.

    See Also
    --------
    PiCO : Prototypes that teach the classifier.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import PaPi
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = PaPi(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="papi",
        title="A network whose classifier teaches class prototypes, by way of mixtures of rows",
        when="to compare: prototypes without contrast of single rows",
        paper="Xia, Lv, Xu, Niu and Geng, Towards Effective Visual Representations for "
        "Partial-Label Learning",
        year=2023,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "A table has no crops and flips: the first view is the row as it is, the second one "
            "has fresh noise and gaps.",
            "The embedding is a linear function of the last hidden layer, not a further network.",
            "Batch norm normalises rows, views and mixtures of a batch together.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    embedding_width: int = 128
    temperature: float = 0.3
    mixing: float = 8.0
    kept_prototypes: tuple[float, float] = (0.9, 0.5)
    kept_confidences: tuple[float, float] = (0.95, 0.8)
    prototype_weight: float = 1.0
    noise: float = 0.1
    gaps: float = 0.1

    def _make_rule(self) -> LossRule:
        return PrototypeMixtures(
            self._epoch_count(),
            self.embedding_width,
            self.temperature,
            self.mixing,
            self.kept_prototypes,
            self.kept_confidences,
            self.prototype_weight,
            self.noise,
            self.gaps,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("embedding_width", self.embedding_width, minimum=1)
        check_real("temperature", self.temperature, minimum=1e-3)
        check_real("mixing", self.mixing, minimum=1e-3)
        check_bounds("kept_prototypes", self.kept_prototypes)
        check_bounds("kept_confidences", self.kept_confidences)
        check_real("prototype_weight", self.prototype_weight, minimum=0)
        check_real("noise", self.noise, minimum=0)
        check_real("gaps", self.gaps, minimum=0, maximum=1)
