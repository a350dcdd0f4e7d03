"""ABS-MAE: all candidates count the same, under the mean absolute error."""

from typing import ClassVar

from disambig.engine.rule import Rule
from disambig.methods.base import MethodCard
from disambig.methods.deep.abs_gce import AverageBoundedLoss
from disambig.methods.networks.base import NetworkClassifier


class ABSMAE(NetworkClassifier):
    r"""The average of the mean absolute error over the candidates.

    With the probabilities :math:`p_j` and the weights :math:`w_j = 1 / |S|` of the candidates
    :math:`S`, which never change, the loss of a row is

    .. math:: \sum_{j \in S} w_j \sum_k | e_{jk} - p_k | = 2 \sum_{j \in S} w_j (1 - p_j)

    where :math:`e_{jk}` is one for :math:`k = j` and zero for all others.

    It is bounded, and the same for all classes together: what the paper shows to be robust. Rows
    that are far from all their candidates hardly move it, so that it learns slowly. Parameters and
    attributes are described at ``NetworkClassifier``.

    See Also
    --------
    ABSGCE : The same with a loss that learns faster.
    CC : Where a row need believe in one candidate only, whichever it is.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import ABSMAE
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = ABSMAE(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="abs_mae",
        title="The average over the candidates of the absolute error",
        when="to compare: the most robust average loss, and the slowest",
        paper="Lv, Liu, Feng, Xu, Xu, An, Niu, Geng and Sugiyama, On the Robustness of Average "
        "Losses for Partial-Label Learning",
        year=2024,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, these take the place of 1/|S|.",
        ),
    )

    def _make_rule(self) -> Rule:
        return AverageBoundedLoss(power=1.0, scale=2.0)
