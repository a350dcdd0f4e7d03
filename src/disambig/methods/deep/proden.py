"""PRODEN: a network that is trained with its own confidences of the last epoch."""

from typing import ClassVar

from disambig.engine.rule import Batch, RowState, Rule, Targets
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier


class ProgressiveIdentification(Rule):
    """Learn from the confidences stored at the last visit of a row; store those of this one.

    The loss of a row is ``-sum_j w_j log p_j`` over its candidates. At the first visit ``w`` is the
    prior, ``1 / |S|`` or the weights that came with the candidates; from then on it is what the
    network said of the candidates when it last saw the row, before its step.
    """

    looks_across_rows = False

    def row_state(self) -> dict[str, RowState]:
        """Keep one confidence for every candidate, the prior at first."""
        return {"confidences": RowState()}

    def targets(self, batch: Batch) -> Targets:
        """Return the stored confidences, and store those of the same forward pass."""
        # Restricted by the candidate set, not by what is stored: a confidence that was once rounded
        # to zero can come back.
        return Targets(
            slots=batch.state["confidences"],
            state={"confidences": batch.candidate_probabilities()},
        )


class PRODEN(NetworkClassifier):
    r"""Progressive identification of true labels: a network and its confidences of the last epoch.

    Every row begins with equal confidences :math:`w_j` in its candidates :math:`S`. Each time the
    row is seen, the network learns from its stored confidences, with the loss

    .. math:: -\sum_{j \in S} w_j \log(p_j)

    and they are replaced by the network's own probabilities, restricted to the candidates:
    :math:`w_j = p_j / \sum_{k \in S} p_k`. Parameters and attributes are described at
    ``NetworkClassifier``.

    See Also
    --------
    CC : One network, trained to give the candidate sets the most probability.
    NCPDClassifier : Two networks that teach each other.

    Examples
    --------
    >>> from disambig import PRODEN, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = PRODEN(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="proden",
        title="A network taught by its own confidences of the last epoch",
        when="to compare: a network that learns from its own confidences",
        paper="Lv, Xu, Feng, Niu, Geng and Sugiyama, Progressive Identification of True Labels for "
        "Partial-Label Learning",
        year=2020,
        deviations=(
            "Adam in place of stochastic gradient descent with momentum and weight decay; 200 "
            "epochs of mini-batches of 128 in place of 500 of 100 or 256.",
            "The network (one hidden layer, batch norm, dropout) and the scaling of the features "
            "are those of all our methods on networks, one choice for all data; on real-world sets "
            "the authors take a linear model, with a learning rate and weight decay for each set.",
            "Every row is seen in every epoch; the authors' code drops the last, smaller batch.",
            "Confidences are restricted by the candidate set; in the authors' code one that was "
            "once rounded to zero is lost for good.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    def _make_rule(self) -> Rule:
        return ProgressiveIdentification()
