"""CC: a network that gives the candidate sets as a whole the most probability."""

from typing import ClassVar

from disambig.engine.rule import Batch, Rule, Targets
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier


class CandidateLikelihood(Rule):
    """Minimise ``-log sum_{j in S} p_j``, the negative log-probability of the candidate set.

    By the logits its gradient is ``p - w``, where ``w`` is ``p`` restricted to the candidates and
    made to sum to one: the gradient of the cross-entropy with ``w`` as a constant. Where candidates
    carry weights, ``p_j`` is multiplied by the weight of ``j`` over the largest in its row.
    """

    looks_across_rows = False

    def targets(self, batch: Batch) -> Targets:
        """Return the probabilities restricted to the candidates, and the loss itself."""
        scores = batch.log_weights() - batch.losses
        # A row that only fills up a batch has no candidates: it gets zeros.
        confidences = scores.softmax(-1).masked_fill(~batch.mask, 0)
        losses = -scores.logsumexp(-1).masked_fill(~batch.mask.any(-1), 0)
        return Targets(slots=confidences, losses=losses)


class CC(NetworkClassifier):
    r"""Classifier-consistent learning: one network that maximises the probability of the sets.

    The loss of a row with the candidates :math:`S` and the probabilities :math:`p_j` is

    .. math:: -\log \left( \sum_{j \in S} p_j \right)

    If candidate sets are drawn uniformly, as the paper assumes, minimising it gives the classifier
    that true labels would give. Parameters and attributes are described at ``NetworkClassifier``.

    See Also
    --------
    PRODEN : One network, trained with its own confidences of the last epoch.
    NCPDClassifier : Two networks that teach each other.
    EMClassifier : The same likelihood with a linear model.

    Examples
    --------
    >>> from disambig import CC, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = CC(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="cc",
        title="A network that gives candidate sets the most probability",
        when="to compare: a network that learns from the sets as a whole",
        paper="Feng, Lv, Han, Xu, Niu, Geng, An and Sugiyama, Provably Consistent Partial-Label "
        "Learning",
        year=2020,
        deviations=(
            "The constant of the paper's loss, 1 / (2^(c-1) - 1) inside the logarithm, is left "
            "out: it changes no gradient, and would underflow with many classes.",
            "Where candidates carry weights, the probability of each is multiplied by its weight "
            "over the largest in its row.",
            "Adam without weight decay, 200 epochs of mini-batches of 128 in place of 250 of 256.",
            "The network (one hidden layer, batch norm, dropout) and the scaling of the features "
            "are those of all our methods on networks, one choice for all data.",
        ),
    )

    def _make_rule(self) -> Rule:
        return CandidateLikelihood()
