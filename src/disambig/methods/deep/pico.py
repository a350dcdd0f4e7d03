"""PiCO: contrastive embeddings whose class prototypes decide what the classifier believes."""

from collections.abc import Hashable, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from disambig._core.parameters import check_integer, check_real
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems, tabular_view
from disambig.methods.base import MethodCard
from disambig.methods.deep.prototypes import (
    check_bounds,
    is_class,
    kept_share,
    moved_prototypes,
    unit,
)
from disambig.methods.networks.base import NetworkClassifier


class Queue:
    """The last keys of every problem, and the classes that their rows were taken for.

    A problem keeps no more keys than it has rows: older ones would be of the same rows.

    Parameters
    ----------
    length : int
        Most keys that a problem keeps.
    row_counts : sequence of int
        Rows of every problem.
    width : int
        Numbers of a key.
    dtype, device : torch.dtype, torch.device
        Of keys.

    Attributes
    ----------
    keys : Tensor of shape (problems, 1, length, width)
        In the order of their places, of which the oldest is always written next.
    classes : Tensor of integers of shape (problems, 1, length)
        Of their rows.
    written : Tensor of integers of shape (problems, 1, 1)
        Keys written in all.
    """

    def __init__(
        self,
        length: int,
        row_counts: Sequence[int],
        width: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        lengths = [min(length, count) for count in row_counts]
        self._lengths = torch.tensor(lengths, device=device).view(-1, 1, 1)
        # The place behind the last one takes what is not to be kept; nothing reads it.
        shape = (len(lengths), 1, max(lengths) + 1)
        self._keys = torch.zeros(*shape, width, dtype=dtype, device=device)
        self._classes = torch.zeros(shape, dtype=torch.int64, device=device)
        self.written = torch.zeros_like(self._lengths)

    @property
    def keys(self) -> Tensor:
        """The keys; see above."""
        return self._keys[:, :, :-1]

    @property
    def classes(self) -> Tensor:
        """The classes; see above."""
        return self._classes[:, :, :-1]

    def is_filled(self) -> Tensor:
        """Return which places hold a key: shape (problems, 1, length)."""
        places = torch.arange(self.keys.shape[2], device=self.keys.device)
        return places < self.written.minimum(self._lengths)

    def state(self) -> dict[str, Tensor]:
        """Return all that changes."""
        return {"keys": self._keys, "classes": self._classes, "written": self.written}

    def write(self, keys: Tensor, classes: Tensor, is_real: Tensor) -> None:
        """Put the keys of a batch in the place of the oldest ones; filler rows come last in it."""
        counts = is_real.sum(-1, keepdim=True)
        numbers = torch.arange(keys.shape[2], device=keys.device).expand(len(keys), 1, -1)
        # Of a batch that is longer than the queue, the last rows stay.
        is_kept = is_real & (numbers >= counts - self._lengths)
        places = (self.written + numbers) % self._lengths
        places = places.masked_fill(~is_kept, self._keys.shape[2] - 1)
        of_keys = places.unsqueeze(-1).expand_as(keys)
        self._keys.scatter_(2, of_keys, keys.masked_fill(~is_kept.unsqueeze(-1), 0))
        self._classes.scatter_(2, places, classes.masked_fill(~is_kept, 0))
        self.written += counts


class PrototypeContrast(LossRule):
    """Learn embeddings by contrast, and confidences from the nearest prototype.

    Parameters
    ----------
    epochs : int
        How many there are.
    width, queue, temperature, kept_keys, kept_prototypes, kept_confidences
        As in ``PiCO``.
    contrast_weight, prototype_start, noise, gaps
        As in ``PiCO``.
    """

    n_views = 1
    learns_from_views = False  # the query is the row as it is, the key the view

    def __init__(
        self,
        epochs: int,
        width: int,
        queue: int,
        temperature: float,
        kept_keys: float,
        kept_prototypes: float,
        kept_confidences: tuple[float, float],
        contrast_weight: float,
        prototype_start: int,
        noise: float,
        gaps: float,
    ) -> None:
        self.epochs, self.embedding, self.average = epochs, width, kept_keys
        self.queue_length = queue
        self.temperature = temperature
        self.kept_prototypes = kept_prototypes
        self.kept_confidences = kept_confidences
        self.contrast_weight = contrast_weight
        self.prototype_start = prototype_start
        self.noise, self.gaps = noise, gaps
        self._streams = self._kept = self.prototypes = torch.empty(0)
        self.queue: Queue

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Begin without prototypes and keys."""
        assert self.embedding is not None
        width, n_classes = self.embedding, problems[0].prior.shape[1]
        self._streams = streams_of_problems(problems, device)
        self._kept = torch.ones(1, dtype=self.dtype, device=device)
        shape = (len(problems), 1, n_classes, width)
        self.prototypes = torch.zeros(shape, dtype=self.dtype, device=device)
        counts = [len(problem.features) for problem in problems]
        self.queue = Queue(self.queue_length, counts, width, self.dtype, device)

    def begin_epoch(self, epoch: int) -> Hashable:
        """Set how much of a confidence is kept; return whether prototypes are listened to yet."""
        self._kept.fill_(kept_share(epoch, self.epochs, self.kept_confidences))
        return epoch > self.prototype_start

    def row_state(self) -> dict[str, RowState]:
        """Keep one confidence for every candidate, the prior at first."""
        return {"confidences": RowState()}

    def state(self) -> dict[str, Tensor]:
        """Return prototypes and queue."""
        queue = {f"queue.{name}": value for name, value in self.queue.state().items()}
        return {"prototypes": self.prototypes, **queue}

    def views(self, features: Tensor, is_real: Tensor, step: int | Tensor) -> Sequence[Tensor]:  # noqa: ARG002  # a row alone
        """Return the view that keys are made of."""
        return [tabular_view(features, self._streams, step, self.noise, self.gaps)]

    def loss(self, batch: LossBatch) -> Loss:
        """Return the cross-entropy with the confidences, and the contrast of the embeddings."""
        _, of_view = batch.averaged
        assert batch.seen.embedding is not None
        assert of_view.embedding is not None
        queries, keys = unit(batch.seen.embedding), unit(of_view.embedding)
        n_classes = batch.is_candidate.shape[-1]
        classes = batch.among_candidates(batch.seen.logits.detach()).argmax(-1)
        confidences = batch.state["confidences"]
        if batch.phase:
            likeness = queries.detach() @ self.prototypes.mT
            nearest = is_class(batch.among_candidates(likeness).argmax(-1), n_classes)
            found = batch.in_slots(nearest.to(confidences.dtype))
            confidences = self._kept * confidences + (1 - self._kept) * found
            contrast = self._between_classes(queries, keys, classes, batch.is_real)
        else:
            contrast = self._between_rows(queries, keys)
        self.prototypes.copy_(
            moved_prototypes(
                self.prototypes, queries.detach(), classes, batch.is_real, self.kept_prototypes
            )
        )
        self.queue.write(keys, classes, batch.is_real)
        targets = batch.over_classes(confidences)
        classified = -(targets * batch.seen.log_probabilities()).sum(-1)
        return Loss(classified + self.contrast_weight * contrast, {"confidences": confidences})

    def _between_rows(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return how badly each query finds its own key among those of the queue."""
        own = (queries * keys).sum(-1, keepdim=True) / self.temperature
        # Copied: the queue will have changed when gradients are asked for.
        others = queries @ self.queue.keys.clone().mT / self.temperature
        others = others.masked_fill(~self.queue.is_filled().unsqueeze(-2), -torch.inf)
        return torch.cat([own, others], -1).logsumexp(-1) - own.squeeze(-1)

    def _between_classes(
        self, queries: Tensor, keys: Tensor, classes: Tensor, is_real: Tensor
    ) -> Tensor:
        """Return how badly each query finds queries and keys of rows of the same class."""
        queue = self.queue
        # Apart from queries, whose gradients alone are asked for. Copied: see above.
        pool = torch.cat([keys, queue.keys], 2)
        likeness = torch.cat([queries @ queries.mT, queries @ pool.mT], -1) / self.temperature
        is_there = torch.cat([is_real, is_real, queue.is_filled()], 2).unsqueeze(-2)
        is_itself = torch.eye(*likeness.shape[2:], dtype=torch.bool, device=likeness.device)
        is_other = is_there & ~is_itself
        log_shares = likeness - likeness.masked_fill(~is_other, -torch.inf).logsumexp(-1, True)
        of_pool = torch.cat([classes, classes, queue.classes], 2)
        is_same = is_other & (classes.unsqueeze(-1) == of_pool.unsqueeze(-2))
        # A real row always finds its own key.
        counts = is_same.sum(-1).clamp(min=1)
        return -log_shares.masked_fill(~is_same, 0).sum(-1) / counts


class PiCO(NetworkClassifier):
    r"""Contrastive disambiguation: prototypes of classes in an embedding decide on candidates.

    Besides logits, the network has an embedding :math:`q` of length one. A copy of it, whose
    weights are a moving average (``kept_keys``), makes the key :math:`k` of a view of the row, with
    noise and gaps; the last keys wait in a queue. A row is taken for the class
    :math:`\tilde y = \arg\max_{j \in S} p_j`. The loss is

    .. math:: -\sum_{j \in S} w_j \log p_j - \frac{\lambda}{|P|} \sum_{k_+ \in P}
        \log \frac{\exp(q \cdot k_+ / \tau)}{\sum_{k' \in A} \exp(q \cdot k' / \tau)}

    with :math:`A` all other embeddings and all keys of the batch, and the queue, and :math:`P`
    those of them whose rows are taken for the same class. In the first ``prototype_start`` epochs
    :math:`P` is the row's own key alone, and :math:`A` that key and the queue. Prototypes follow:
    for one row after the other :math:`\mu_{\tilde y} \leftarrow m \mu_{\tilde y} + (1 - m) q`, then
    all get length one. The confidences :math:`w` begin equal and move to the nearest prototype
    of a candidate, :math:`z = \arg\max_{j \in S} q \cdot \mu_j` with the prototypes before the
    batch: :math:`w_j \leftarrow \phi w_j + (1 - \phi) [j = z]`. In the course of the training
    :math:`\phi` falls from 0.95 to 0.8. Attributes and other parameters are described at
    ``NetworkClassifier``; it takes no ``network`` of your own.

    Parameters
    ----------
    embedding_width : int, default=128
        Numbers of an embedding.
    queue : int, default=8192
        Most keys that are kept; never more than there are rows.
    temperature : float, default=0.07
        Tau.
    kept_keys : float, default=0.99
        Share of its weights that the averaged network keeps in a step.
    kept_prototypes : float, default=0.99
        m, above zero.
    kept_confidences : tuple of float, default=(0.95, 0.8)
        Phi at first and in the end.
    contrast_weight : float, default=0.5
        Lambda.
    prototype_start : int, default=1
        Epochs before confidences listen to prototypes.
    noise : float, default=0.1
        Standard deviation of the noise of a view, for scaled features.
    gaps : float, default=0.1
        Share of features that a view leaves out.

    See Also
    --------
    PaPi : Prototypes that the classifier teaches.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import PiCO
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = PiCO(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="pico",
        title="A network that believes the nearest class prototype of a contrastive embedding",
        when="to compare: a contrastive method with class prototypes",
        paper="Wang, Xiao, Li, Feng, Niu, Chen and Zhao, PiCO: Contrastive Label Disambiguation "
        "for Partial Label Learning",
        year=2022,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "A table has no crops and flips: the query is the row as it is, the key the row with "
            "fresh noise and gaps.",
            "The embedding is a linear function of the last hidden layer, not a further network.",
            "Batch norm of the averaged network uses its running statistics, which are averages "
            "too, not those of shuffled batches.",
            "The averaged network keeps 0.99 of its weights in a step, not 0.999: a training on a "
            "table has a hundredth of the paper's steps.",
            "The queue begins empty, not with random keys, and holds no more keys than there are "
            "rows.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    embedding_width: int = 128
    queue: int = 8192
    temperature: float = 0.07
    kept_keys: float = 0.99
    kept_prototypes: float = 0.99
    kept_confidences: tuple[float, float] = (0.95, 0.8)
    contrast_weight: float = 0.5
    prototype_start: int = 1
    noise: float = 0.1
    gaps: float = 0.1

    def _make_rule(self) -> LossRule:
        return PrototypeContrast(
            self._epoch_count(),
            self.embedding_width,
            self.queue,
            self.temperature,
            self.kept_keys,
            self.kept_prototypes,
            self.kept_confidences,
            self.contrast_weight,
            self.prototype_start,
            self.noise,
            self.gaps,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("embedding_width", self.embedding_width, minimum=1)
        check_integer("queue", self.queue, minimum=1)
        check_real("temperature", self.temperature, minimum=1e-3)
        check_real("kept_keys", self.kept_keys, minimum=0, maximum=1)
        check_real("kept_prototypes", self.kept_prototypes, minimum=1e-3, maximum=1)
        check_bounds("kept_confidences", self.kept_confidences)
        check_real("contrast_weight", self.contrast_weight, minimum=0)
        check_integer("prototype_start", self.prototype_start, minimum=0)
        check_real("noise", self.noise, minimum=0)
        check_real("gaps", self.gaps, minimum=0, maximum=1)
