"""RC: a network taught by its own confidences, taken anew right after every step."""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.rule import RowState
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier


class RiskConsistency(LossRule):
    """Learn from stored confidences; store those that the network has after the step.

    The loss of a row is ``-sum_j w_j log p_j`` over its candidates. At the first visit ``w`` is the
    prior; then what the network said of the candidates right after its last step on the row.
    """

    looks_after_step = True

    def row_state(self) -> dict[str, RowState]:
        """Keep one confidence for every candidate, the prior at first."""
        return {"confidences": RowState()}

    def loss(self, batch: LossBatch) -> Loss:
        """Return the cross-entropy with the stored confidences."""
        confidences = batch.over_classes(batch.state["confidences"])
        return Loss(-(confidences * batch.seen.log_probabilities()).sum(-1))

    def after_step(self, batch: LossBatch) -> Mapping[str, Tensor]:
        """Store the probabilities after the step, restricted to the candidates."""
        return {"confidences": batch.in_slots(batch.among_candidates(batch.seen.logits))}


class RC(NetworkClassifier):
    r"""Risk-consistent learning: confidences of the network that has just learned from the row.

    Every row begins with equal weights :math:`w_j` in its candidates :math:`S`. Its loss is

    .. math:: -\sum_{j \in S} w_j \log(p_j)

    and after every step the network is asked again about the same rows:
    :math:`w_j = p_j / \sum_{k \in S} p_k`. In PRODEN the network is asked before the step. The
    paper's factor 1/2 changes nothing under Adam. Parameters and attributes are described at
    ``NetworkClassifier``.

    See Also
    --------
    PRODEN : The same with the probabilities before the step.
    CC : The other method of the paper.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import RC
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = RC(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="rc",
        title="A network taught by the confidences that it has right after every step",
        when="to compare: PRODEN with confidences that are a step younger",
        paper="Feng, Lv, Han, Xu, Niu, Geng, An and Sugiyama, Provably Consistent Partial-Label "
        "Learning",
        year=2020,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "The network is asked after the step as in training: with the same dropout.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    def _make_rule(self) -> LossRule:
        return RiskConsistency()
