"""CAVL: a network taught by the candidate of the largest class activation value."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from disambig.engine.loss_rule import LossBatch, LossRule
from disambig.methods.base import MethodCard
from disambig.methods.deep.rc import RiskConsistency
from disambig.methods.networks.base import NetworkClassifier


class ActivationValues(RiskConsistency):
    """Learn from one candidate of every row: the one of the largest activation value.

    The loss of a row is ``-sum_j w_j log p_j``. At the first visit ``w`` is the prior; then it is
    one for the candidate whose ``|z_j (1 - z_j)|``, with the sign of the logit ``z_j``, was largest
    right after the last step on the row.
    """

    def after_step(self, batch: LossBatch) -> Mapping[str, Tensor]:
        """Store one for the candidate of the largest value, zero for the others."""
        logits = batch.seen.logits + batch.log_weights()
        values = logits * (1 - logits).abs()
        # Never a label that is no candidate, even where all candidates have negative values.
        inside = batch.in_slots(values).masked_fill(~batch.mask, -torch.inf)
        chosen = inside.argmax(-1, keepdim=True)
        return {"confidences": torch.zeros_like(inside).scatter(-1, chosen, 1)}


class CAVL(NetworkClassifier):
    r"""Class activation value learning: every row believes in one candidate at a time.

    Every row begins with equal weights :math:`w_j` in its candidates :math:`S`. Its loss is

    .. math:: -\sum_{j \in S} w_j \log(p_j)

    and after every step the network is asked again about the same rows. From its logits
    :math:`z_j` follow the class activation values, and the candidate with the largest one is
    believed from then on:

    .. math:: v_j = z_j \, |1 - z_j|, \qquad w_j = 1 \text{ for } j = \arg\max_{k \in S} v_k

    Between 0 and 1 a larger logit need not have a larger value, so that early choices hang on the
    scale of the logits. Parameters and attributes are described at ``NetworkClassifier``.

    See Also
    --------
    RC : The same with the probabilities of all candidates in place of one choice.
    PRODEN : One network, trained with its own confidences of the last epoch.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import CAVL
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = CAVL(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="cavl",
        title="A network taught by the candidate that activates it most",
        when="to compare: a hard choice from the second epoch on",
        paper="Zhang, Feng, Han, Liu, Niu, Qin and Sugiyama, Exploiting Class Activation Value for "
        "Partial-Label Learning",
        year=2022,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Only candidates can be chosen. In the authors' code values are multiplied by the "
            "candidate mask, so that another label, of value zero, wins where all candidates "
            "have negative values.",
            "The network is asked after the step as in training: with the same dropout.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|, and "
            "logarithms of the weights over the largest in the row are added to the logits.",
        ),
    )

    def _make_rule(self) -> LossRule:
        return ActivationValues()
