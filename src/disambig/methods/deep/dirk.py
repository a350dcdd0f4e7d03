"""DIRK: a network taught by its own average, which no label outside of the set may overtake."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_real
from disambig.engine.batches import steps_per_epoch
from disambig.engine.loss_rule import Loss, LossBatch, LossRule, Outputs
from disambig.engine.rule import TrainingData
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier

# The paper's: of 195 steps in an epoch of its images, the last half counts.
_HIGHEST_AVERAGE = 0.99


class ReliableTeacher(LossRule):
    """Learn the rectified probabilities of averaged networks.

    The loss of a row is ``-sum_j t_j log p_j`` over all classes, with the targets ``t`` of
    ``rectified``. Where no share is given that averaged networks keep in every step, they look
    back over half an epoch.
    """

    def __init__(self, average: float | None, batch_size: int) -> None:
        self.average, self._batch_size = average, batch_size

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:  # noqa: ARG002  # nothing lies on it
        """Set the share by the number of steps, if none was given."""
        if self.average is None:
            n_steps = steps_per_epoch(len(problems[0].features), self._batch_size)
            self.average = min(max(1 - 2 / n_steps, 0.0), _HIGHEST_AVERAGE)

    def loss(self, batch: LossBatch) -> Loss:
        """Return the cross-entropy with what the teacher says, rectified."""
        (teacher,) = batch.averaged
        return Loss(-(rectified(batch, teacher) * batch.seen.log_probabilities()).sum(-1))


def rectified(batch: LossBatch, teacher: Outputs) -> Tensor:
    """Return probabilities in which every candidate is ahead of all other labels.

    ``a q_S + (1 - a) q_N``, where ``q_S`` and ``q_N`` are the probabilities among the candidates
    and among the other labels. With ``a = M max(q_N) / (M max(q_N) + min(q_S))`` the least of the
    candidates has ``M`` times the most of the others, for ``M`` one over the probability of the
    set.
    """
    logits, outside = teacher.logits, ~batch.is_candidate
    # Where candidates carry weights, their probabilities are multiplied by these.
    weighted = logits + batch.log_weights()
    inside, others = batch.among_candidates(weighted), batch.among_others(logits)
    # By logarithms, as a candidate of a confident teacher may have the probability zero.
    least = torch.log_softmax(weighted.masked_fill(outside, -torch.inf), -1)
    least = least.masked_fill(outside, torch.inf).amin(-1, keepdim=True)
    has_others = outside.any(-1, keepdim=True)
    most = torch.log_softmax(logits.masked_fill(batch.is_candidate & has_others, -torch.inf), -1)
    most = most.amax(-1, keepdim=True)
    of_the_set = teacher.log_probabilities().masked_fill(outside, -torch.inf)
    log_factor = -of_the_set.logsumexp(-1, keepdim=True)
    share = torch.sigmoid(log_factor + most - least).masked_fill(~has_others, 1)
    return share * inside + (1 - share) * others


class DIRK(NetworkClassifier):
    r"""Distilling reliable knowledge: the teacher is the average of the student over its steps.

    With the teacher's probabilities :math:`q`, among the candidates :math:`S` and among the other
    labels

    .. math:: q^S_j = \frac{q_j}{\sum_{k \in S} q_k} \;(j \in S), \qquad
        q^N_j = \frac{q_j}{\sum_{k \notin S} q_k} \;(j \notin S)

    the student's loss is :math:`-\sum_j t_j \log(p_j)` over all classes, where

    .. math:: t = a \, q^S + (1 - a) \, q^N, \qquad
        a = \frac{M \max_j q^N_j}{M \max_j q^N_j + \min_{j \in S} q^S_j}, \qquad
        M = \frac{1}{\sum_{j \in S} q_j}

    so that the least candidate has :math:`M` times the target of the most probable other label.
    Where all labels are candidates, :math:`a = 1`. After every step the teacher keeps a share of
    its weights and takes the rest from the student, who is kept in the end. The other parameters
    and the attributes are described at ``NetworkClassifier``.

    Parameters
    ----------
    average : float, optional
        Share of its weights that the teacher keeps in every step. By default it looks back over
        half an epoch, as on the images of the paper: 1 - 2 / n for n mini-batches an epoch, at most
        the paper's 0.99.

    See Also
    --------
    CC : One network, trained to give the candidate sets the most probability.
    PRODEN : The teacher is the network of the last epoch, and only candidates have targets.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import DIRK
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = DIRK(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="dirk",
        title="A network taught by its own average, in which candidates come first",
        when="to compare: targets for all labels, from an averaged network",
        paper="Wu, Wang and Zhang, Distilling Reliable Knowledge for Instance-Dependent Partial "
        "Label Learning",
        year=2024,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Without the second part of the paper, which it calls DIRK-REF: embeddings of images "
            "that are compared with a queue of others.",
            "No augmented images: student and teacher see the row as it is, the student with "
            "dropout, the teacher without and normalised by its running averages; in the authors' "
            "code by the mini-batch.",
            "With the paper's 0.99 the teacher looks back over half an epoch of its images, but "
            "over a dozen epochs of a table of a thousand rows. By default it looks back over half "
            "an epoch of any data: on Lost that is 0.045 more accurate with a linear model.",
            "Where candidates carry weights, the teacher's probability of each is multiplied by "
            "its weight over the largest in its row, but for M.",
        ),
    )

    average: float | None = None

    def _make_rule(self) -> LossRule:
        return ReliableTeacher(self.average, self.batch_size)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.average is not None:
            check_real("average", self.average, minimum=0, maximum=1)
