"""RECORDS: confidences from which the network's own lean towards frequent classes is taken out."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_real
from disambig.engine.rule import Batch, RowState, Rule, Targets, TrainingData
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.networks.candidate_tables import implied_shares

# Shares are divided by; the authors add as much.
_SMALL = 1e-9


class DynamicRebalancing(Rule):
    """Learn from stored confidences; store new ones with class shares divided out.

    The loss of a row is ``-sum_j w_j log p_j`` over its candidates. At the first visit ``w`` is the
    prior; then what the network said of the candidates at the last visit, each probability divided
    by what the network gives its class on average.

    Parameters
    ----------
    momentum : float
        m, the share of the old average that is kept in every step.
    """

    def __init__(self, momentum: float) -> None:
        self.momentum = momentum
        self.shares = torch.empty(0)

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Begin with the shares that the candidate sets imply."""
        self.shares = implied_shares(problems).to(device)

    def row_state(self) -> dict[str, RowState]:
        """Keep one confidence for every candidate, the prior at first."""
        return {"confidences": RowState()}

    def state(self) -> dict[str, Tensor]:
        """Return the average of what the network says."""
        return {"shares": self.shares}

    def targets(self, batch: Batch) -> Targets:
        """Return the stored confidences, and store rebalanced ones of the same forward pass."""
        is_real = batch.mask.any(-1, keepdim=True)
        said = batch.log_probabilities.exp().masked_fill(~is_real, 0).sum(2)
        average = (said / is_real.sum(2)).squeeze(1)
        self.shares.lerp_(average.to(self.shares.dtype), 1 - self.momentum)
        by_row = (self.shares + _SMALL).log()[:, None, None].expand(-1, 1, batch.rows.shape[1], -1)
        scores = -batch.losses - by_row.gather(-1, batch.columns).to(batch.losses.dtype)
        confidences = scores.softmax(-1).masked_fill(~batch.mask, 0)
        return Targets(
            slots=batch.state["confidences"],
            state={"confidences": confidences},
        )


class RECORDS(NetworkClassifier):
    r"""Dynamic rebalancing for long tails: PRODEN, with the network's class shares divided out.

    A network that is taught by its own confidences makes frequent classes more frequent. The
    average of its probabilities over the rows, :math:`P`, follows every batch :math:`B`:

    .. math:: P \leftarrow m P + \frac{1 - m}{|B|} \sum_{i \in B} p_i

    The loss of a row is :math:`-\sum_{j \in S} w_j \log(p_j)` with its stored confidences, which
    are then replaced by

    .. math:: w_j = \frac{p_j / P_j}{\sum_{k \in S} p_k / P_k}

    Predictions are the network's own: with rare classes as rare as they were. The other parameters
    and attributes are described at ``NetworkClassifier``.

    Parameters
    ----------
    momentum : float, default=0.9
        Share of the old average that is kept in every step (:math:`m`).

    See Also
    --------
    PRODEN : The same without rebalancing.
    SoLar : Holds labels to class shares that are estimated from all rows.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import RECORDS
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = RECORDS(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="records",
        title="PRODEN with the class shares of the network divided out of its confidences",
        when="where some classes have far fewer rows than others",
        paper="Hong, Feng, Chen, Li, Wang, Zhang, Zhang, Wang and Yao, Long-Tailed Partial Label "
        "Learning via Dynamic Rebalancing",
        year=2023,
        deviations=(
            "The class shares are a moving average of the network's probabilities; the paper asks "
            "the last layer about a moving average of the hidden features. They begin with the "
            "shares that the candidate sets imply.",
            "The paper adds rebalancing to several methods; this is PRODEN with it, without views.",
            "Predictions are those of the network. The authors divide the class shares out of "
            "these too, for test rows in which all classes are equally frequent.",
            "Confidences are restricted by the candidate set; in the authors' code for PRODEN one "
            "that was once rounded to zero is lost for good.",
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    momentum: float = 0.9

    def _make_rule(self) -> Rule:
        return DynamicRebalancing(self.momentum)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("momentum", self.momentum, minimum=0, maximum=1)
