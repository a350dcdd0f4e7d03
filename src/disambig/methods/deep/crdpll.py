"""CRDPLL: views of a row agree on one of its candidates, and no view believes in other labels."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_integer, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems, tabular_view
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier


class ConsistentViews(LossRule):
    """Punish labels that are no candidates, and let all views learn what they said together.

    The loss of a row is ``strength(t) * sum_v KL(w, p_v) - sum_(not S) log(1 - p)``, where ``v``
    runs over the row as it is, whose probabilities are ``p``, and its further views. At the first
    visit ``w`` is the prior; then the geometric mean over the views, at the last visit, of the
    probabilities of the candidates, normalised.
    """

    n_views: int

    def __init__(
        self, strength: float, ramp_epochs: int, n_views: int, noise: float, gaps: float
    ) -> None:
        self._final_strength, self._ramp_epochs = strength, ramp_epochs
        self._noise, self._gaps = noise, gaps
        self.n_views = n_views

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Prepare the random numbers of every view."""
        self._streams = [
            streams_of_problems(problems, device, purpose) for purpose in range(self.n_views)
        ]
        self._strength = torch.zeros((), dtype=torch.float64, device=device)

    def begin_epoch(self, epoch: int) -> None:
        """Set how much consistency counts."""
        share = min(epoch / self._ramp_epochs, 1.0)
        self._strength.fill_(share * self._final_strength)

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:  # noqa: ARG002  # each row by itself
        """Return the features with fresh noise and gaps."""
        return [
            tabular_view(features, streams, step, self._noise, self._gaps)
            for streams in self._streams
        ]

    def row_state(self) -> dict[str, RowState]:
        """Keep one confidence for every candidate, the prior at first."""
        return {"confidences": RowState()}

    def loss(self, batch: LossBatch) -> Loss:
        """Return both terms, and store what the views say together."""
        confidences = batch.over_classes(batch.state["confidences"])
        by_view = torch.stack([one.log_probabilities() for one in (batch.seen, *batch.views)])
        entropy = -torch.xlogy(confidences, confidences).sum(-1)
        # The divergences of all views from the confidences.
        divergences = -(confidences * by_view.sum(0)).sum(-1) - len(by_view) * entropy
        complements = batch.seen.log_complements().masked_fill(batch.is_candidate, 0)
        together = batch.among_candidates(by_view.detach().mean(0) + batch.log_weights())
        return Loss(
            self._strength * divergences - complements.sum(-1),
            {"confidences": batch.in_slots(together)},
        )


class CRDPLL(NetworkClassifier):
    r"""Consistency regularisation: what views of a row say together, each of them learns.

    Labels outside of the candidates :math:`S` are punished, and the row as it is and its further
    views, :math:`v = 0, \dots, K - 1`, learn from shared confidences :math:`w_j`:

    .. math:: -\sum_{j \notin S} \log(1 - p_{0j})
        + \lambda(t) \sum_{v} \mathrm{KL}(w \,\|\, p_v)

    Confidences begin equal, and become the geometric mean of what the views say of the candidates:

    .. math:: w_j = \frac{\prod_v p_{vj}^{1/K}}{\sum_{k \in S} \prod_v p_{vk}^{1/K}}

    What consistency counts grows over the first epochs: :math:`\lambda(t) = \lambda \min(t / T',
    1)`. A further view of a row of a table is the row with fresh Gaussian noise on its scaled
    features, of which a share is then set to zero. The other parameters and the attributes are
    described at ``NetworkClassifier``.

    Parameters
    ----------
    consistency : float, default=1
        What consistency counts in the end (:math:`\lambda`).
    ramp_epochs : int, default=100
        Epochs until then (:math:`T'`).
    n_views : int, default=2
        Views beside the row as it is, :math:`K - 1`.
    noise : float, default=0.1
        Standard deviation of the noise in a view.
    gaps : float, default=0.1
        Share of features that are set to zero in a view.

    See Also
    --------
    PRODEN : Without views, and without a loss of the labels that are no candidates.
    LWS : Also punishes labels that are no candidates.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import CRDPLL
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = CRDPLL(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="crdpll",
        title="A network that says the same of a row however it is disturbed",
        when="to compare: views of a row that teach each other",
        paper="Wu, Wang and Zhang, Revisiting Consistency Regularization for Deep Partial Label "
        "Learning",
        year=2022,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "A view is the row with Gaussian noise and gaps, in place of an augmented image; all "
            "views of a mini-batch are normalised together, in the authors' code each by itself.",
            "Epochs count from 1, so that consistency counts a little in the first one, too.",
            "The logarithm of 1 - p is computed from the other logits; the authors add 1e-7.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|, and what "
            "the views say is multiplied by them.",
        ),
    )

    consistency: float = 1.0
    ramp_epochs: int = 100
    n_views: int = 2
    noise: float = 0.1
    gaps: float = 0.1

    def _make_rule(self) -> LossRule:
        return ConsistentViews(
            self.consistency, self.ramp_epochs, self.n_views, self.noise, self.gaps
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("consistency", self.consistency, minimum=0)
        check_integer("ramp_epochs", self.ramp_epochs, minimum=1)
        check_integer("n_views", self.n_views, minimum=1)
        check_real("noise", self.noise, minimum=0)
        check_real("gaps", self.gaps, minimum=0, maximum=1)
