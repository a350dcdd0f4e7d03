"""LWS: a loss of candidates and one of the other labels, each with weights of its own."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_choice, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.rule import RowState, TrainingData
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier

LOSSES = ("sigmoid", "cross_entropy")
# What is stored of a row that has not been seen.
_NEVER_SEEN = -1.0


class LeveragedLoss(LossRule):
    """Reward candidates and punish other labels, by the weights of the last visit of the row.

    The loss of a row is ``sum_S w_j l(z_j) + leverage * sum_(not S) w_j l(-z_j)``. At the first
    visit all ``c`` weights are ``1/c``; then they are the probabilities right after the last step
    on the row, made to sum to one among the candidates, and among the others.
    """

    looks_after_step = True

    def __init__(self, leverage: float, loss: str) -> None:
        self._leverage, self._loss = leverage, loss

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:  # noqa: ARG002  # the numbers are the engine's
        """Learn how many classes there are."""
        self._n_classes = problems[0].prior.shape[1]

    def row_state(self) -> dict[str, RowState]:
        """Keep a weight for every class."""
        return {"weights": RowState(width=self._n_classes, initial=_NEVER_SEEN)}

    def loss(self, batch: LossBatch) -> Loss:
        """Return the leveraged weighted loss."""
        stored = batch.state["weights"]
        weights = torch.where(stored == _NEVER_SEEN, self._first_weights(batch), stored)
        if self._loss == "sigmoid":
            logits = batch.seen.logits
            inside, outside = torch.sigmoid(-logits), torch.sigmoid(logits)
        else:
            inside = -batch.seen.log_probabilities()
            outside = -batch.seen.log_complements()
        losses = torch.where(batch.is_candidate, inside, self._leverage * outside)
        return Loss((weights * losses).sum(-1))

    def after_step(self, batch: LossBatch) -> Mapping[str, Tensor]:
        """Store the probabilities after the step, among the candidates and among the others."""
        logits = batch.seen.logits
        inside = batch.among_candidates(logits + batch.log_weights())
        return {"weights": inside + batch.among_others(logits)}

    def _first_weights(self, batch: LossBatch) -> Tensor:
        """Return the same for every class, but for candidates that carry weights."""
        sizes = batch.is_candidate.sum(-1, keepdim=True)
        inside = sizes * batch.over_classes(batch.prior)
        return torch.where(batch.is_candidate, inside, 1).div(self._n_classes)


class LWS(NetworkClassifier):
    r"""Leveraged weighted loss: candidates are to be likely, and other labels unlikely.

    With the logits :math:`z_j`, the weights :math:`w_j`, the candidates :math:`S` and the leverage
    :math:`\beta`, the loss of a row is

    .. math:: \sum_{j \in S} w_j \, \ell(z_j) + \beta \sum_{j \notin S} w_j \, \ell(-z_j),
        \qquad \ell(z) = \frac{1}{1 + e^z}

    or, by the cross-entropy, with the probabilities :math:`p_j`

    .. math:: -\sum_{j \in S} w_j \log(p_j) - \beta \sum_{j \notin S} w_j \log(1 - p_j)

    All of the :math:`c` weights begin with :math:`1/c`. After every step the network is asked again
    about the same rows, and the weights are its probabilities, normalised among the candidates and
    among the others:

    .. math:: w_j = \frac{p_j}{\sum_{k \in S} p_k} \;(j \in S), \qquad
        w_j = \frac{p_j}{\sum_{k \notin S} p_k} \;(j \notin S)

    The other parameters and the attributes are described at ``NetworkClassifier``.

    Parameters
    ----------
    leverage : float, default=2
        How much labels that are no candidates count (:math:`\beta`); the paper has 0, 1 and 2.
    loss : {"sigmoid", "cross_entropy"}, default="sigmoid"
        What a label costs; the paper calls the method LWS with the first and LWC with the second.

    See Also
    --------
    RC : With the cross-entropy and a leverage of zero, but for the first epoch.
    CRDPLL : Also punishes labels that are no candidates.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import LWS
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = LWS(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="lws",
        title="A network that learns from candidates and from all other labels, by weights",
        when="to compare: what labels that are no candidates teach",
        paper="Wen, Cui, Hang, Liu, Wang and Lin, Leveraged Weighted Loss for Partial Label "
        "Learning",
        year=2021,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "The authors multiply the learning rate by 0.5^(t/50) in epoch t and report the mean "
            "accuracy of the last ten epochs; here it is constant, or falls by 'decay', and the "
            "last network is kept.",
            "The network is asked after the step as in training: with the same dropout.",
            "Where candidates carry weights, those in the loss begin in proportion to these, and "
            "are multiplied by them after every step.",
        ),
    )

    leverage: float = 2.0
    loss: str = "sigmoid"

    def _make_rule(self) -> LossRule:
        return LeveragedLoss(self.leverage, self.loss)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("leverage", self.leverage, minimum=0)
        check_choice("loss", self.loss, LOSSES)
