"""ABS-GCE: all candidates count the same, under a loss that bounds what a wrong one can do."""

from typing import ClassVar

import torch

from disambig._core.parameters import check_real
from disambig.engine.rule import Batch, Rule, Targets
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier


class AverageBoundedLoss(Rule):
    """Minimise ``sum_j w_j (1 - p_j^q) / q``, where ``w`` is the prior and never changes.

    By the logits its gradient is that of ``-sum_j t_j log p_j`` with ``t_j = w_j p_j^q`` as a
    constant. A power of one is half the mean absolute error; near zero it is the cross-entropy.
    """

    def __init__(self, power: float, scale: float = 1.0) -> None:
        self._power, self._scale = power, scale

    def targets(self, batch: Batch) -> Targets:
        """Return the weighted powers of the probabilities as targets, and the loss itself."""
        # Slots that are not used have an infinite loss and no weight.
        powers = torch.exp(-self._power * batch.losses)
        columns = batch.columns.expand(*powers.shape)
        classes = torch.zeros_like(batch.log_probabilities)
        classes.scatter_add_(-1, columns, self._scale * batch.prior * powers)
        losses = self._scale * (batch.prior * (1 - powers)).sum(-1) / self._power
        return Targets(classes=classes, losses=losses)


class ABSGCE(NetworkClassifier):
    r"""The average of the generalised cross-entropy over the candidates.

    With the probabilities :math:`p_j`, the weights :math:`w_j = 1 / |S|` of the candidates
    :math:`S`, which never change, and the power :math:`q`, the loss of a row is

    .. math:: \sum_{j \in S} w_j \frac{1 - p_j^q}{q}

    It is at most :math:`1/q`, so that a row can give up the candidates that do not fit, which the
    cross-entropy, its limit for small :math:`q`, cannot. The other parameters and the attributes
    are described at ``NetworkClassifier``.

    Parameters
    ----------
    power : float, default=0.7
        :math:`q`, above 0 and up to 1.

    See Also
    --------
    ABSMAE : The same with a power of one.
    CC : Where a row need believe in one candidate only, whichever it is.
    PRODEN : One network, trained with its own confidences of the last epoch.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import ABSGCE
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = ABSGCE(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="abs_gce",
        title="The average over the candidates of a bounded cross-entropy",
        when="to compare: an average loss that needs no confidences",
        paper="Lv, Liu, Feng, Xu, Xu, An, Niu, Geng and Sugiyama, On the Robustness of Average "
        "Losses for Partial-Label Learning",
        year=2024,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, these take the place of 1/|S|.",
        ),
    )

    power: float = 0.7

    def _make_rule(self) -> Rule:
        return AverageBoundedLoss(self.power)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("power", self.power, minimum=1e-3, maximum=1)
