"""VALEN: a second network recovers how much every label describes a row, and teaches the first."""

import math
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import FloatArray, IntArray
from disambig.engine.draws import dirichlet, log_gamma_draws
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.rule import RowState, TrainingData
from disambig.engine.views import streams_of_problems, uniform
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.solvers.blocks import one_thread_each
from disambig.solvers.neighbors import index_of_rows, nearest_of_training_rows

# What is added to the concentrations that label distributions are drawn from.
_LEAST = 0.01
# Bounds of the concentrations that are compared with the uniform distribution.
_LOWEST, _HIGHEST = 0.01, 30.0
# Weight of how well features and candidates are reconstructed, beside neighbours.
_RECONSTRUCTION = 0.01
_DRAWS, _FIRST_WEIGHTS = 0, 1


class LabelEnhancement(LossRule):
    """Predictor and encoder teach each other, and a decoder tells the encoder what labels mean.

    The first network of a problem is the predictor, the second one the encoder. What is kept of a
    row are the candidates' confidences by each: the predictor's probabilities, and a draw from the
    encoder's distribution over label distributions. Each network learns from those of the other.

    Parameters
    ----------
    warmup_epochs, n_neighbors, kl_weight, encoder_weight, correction
        As in ``VALEN``.
    """

    def __init__(
        self,
        warmup_epochs: int,
        n_neighbors: int,
        kl_weight: float,
        encoder_weight: float,
        correction: float,
    ) -> None:
        self.warmup_epochs = warmup_epochs
        self.n_neighbors = n_neighbors
        self.kl_weight = kl_weight
        self.encoder_weight = encoder_weight
        self.correction = correction
        self._streams = self._neighbors = torch.empty(0)
        self._decoder: list[Tensor] = []

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Look for neighbours; draw the first weights of the decoders."""
        self._streams = streams_of_problems(problems, device, _DRAWS)
        # Neighbours are looked for among all rows, which are in memory for that.
        features = [
            one.features if isinstance(one.features, np.ndarray) else one.features.read(slice(None))
            for one in problems
        ]
        neighbors = _neighbors_of_all(features, self.n_neighbors)
        self._neighbors = torch.as_tensor(neighbors, device=device)
        n_classes, n_features = problems[0].prior.shape[1], problems[0].features.shape[1]
        streams = streams_of_problems(problems, device, _FIRST_WEIGHTS)
        self._decoder = []
        for layer, n_inputs in enumerate((n_classes, n_features)):
            drawn, _ = uniform(streams, (1, n_inputs, n_features), layer)
            # Glorot and Bengio (2010), and biases of the authors.
            bound = math.sqrt(6 / (n_inputs + n_features))
            weight = (drawn.to(self.dtype) * 2 - 1) * bound
            bias = weight.new_full((len(problems), 1, 1, n_features), 0.01)
            self._decoder += [weight.requires_grad_(), bias.requires_grad_()]

    def begin_epoch(self, epoch: int) -> Hashable:
        """Return whether the encoder learns yet."""
        return epoch > self.warmup_epochs

    def parameters(self) -> Sequence[Tensor]:
        """Return weights and biases of both layers of the decoder."""
        return self._decoder

    def row_state(self) -> dict[str, RowState]:
        """Keep confidences of the candidates: by the predictor, and drawn from the encoder."""
        return {"confidences": RowState()}

    def loss(self, batch: LossBatch) -> Loss:
        """Return the loss of the predictor and that of the encoder."""
        confidences = batch.over_classes(batch.state["confidences"])
        of_predictor, of_encoder = confidences[:, :1], confidences[:, 1:]
        log_probabilities, encoded = batch.seen.log_probabilities(), batch.seen.logits[:, 1:]
        predicted = batch.among_candidates(batch.seen.logits[:, :1]).detach()
        taught = -(of_encoder * log_probabilities[:, :1]).sum(-1)
        if not batch.phase:
            # PRODEN: the predictor learns from itself, and the encoder waits.
            state = batch.in_slots(predicted).expand(-1, 2, -1, -1)
            return Loss(torch.cat([taught, torch.zeros_like(taught)], 1), {"confidences": state})
        concentration = batch.among_candidates(encoded) + _LEAST
        log_draws = log_gamma_draws(concentration, self._streams, batch.step)
        drawn = dirichlet(concentration, log_draws)
        learned = (
            self._reconstruction(batch, drawn)
            + self.kl_weight * divergence_from_uniform(encoded)
            - self.encoder_weight * (of_predictor * log_probabilities[:, 1:]).sum(-1)
        )
        # A draw, divided by what of it lies on the candidates.
        posterior = batch.among_candidates(log_draws)
        posterior = self.correction * posterior + (1 - self.correction) * of_predictor
        state = batch.in_slots(torch.cat([predicted, posterior], 1))
        return Loss(torch.cat([taught, learned], 1), {"confidences": state})

    def _reconstruction(self, batch: LossBatch, drawn: Tensor) -> Tensor:
        """Return how badly label distributions give back features, candidates and neighbours."""
        first, first_bias, second, second_bias = self._decoder
        features = (drawn @ first + first_bias).relu() @ second + second_bias
        of_features = (features - batch.features[:, 1:]).square().mean(-1)
        of_candidates = functional.binary_cross_entropy_with_logits(
            drawn, batch.is_candidate.to(drawn.dtype), reduction="none"
        ).mean(-1)
        is_real = batch.is_real.unsqueeze(-2)
        likeness = (drawn @ drawn.mT).sigmoid().masked_fill(~is_real, -torch.inf).softmax(-1)
        differences = (likeness - self._adjacency(batch.rows, drawn)).square()
        counts = is_real.sum(-1)
        of_neighbors = differences.masked_fill(~is_real, 0).sum(-1) / counts
        return of_neighbors + _RECONSTRUCTION * (of_features + of_candidates)

    def _adjacency(self, rows: Tensor, like: Tensor) -> Tensor:
        """Return which rows of a batch are neighbours, of shape (problems, 1, rows, rows).

        The rows of a graph in which a row is a neighbour of its own, divided by their sums.
        """
        neighbors = self._neighbors[rows]
        counts = (neighbors >= 0).sum(-1, keepdim=True).clamp(min=1)
        is_neighbor = (rows[:, None, :, None] == neighbors.unsqueeze(2)).any(-1)
        return (is_neighbor.to(like.dtype) / counts).unsqueeze(1)


def divergence_from_uniform(encoded: Tensor) -> Tensor:
    """Return the divergence of Dirichlet distributions from the uniform one.

    Parameters
    ----------
    encoded : Tensor of shape (..., classes)
        Four times the logarithms of the concentrations, which lie between 0.01 and 30.
    """
    # Bounds before the power: no gradient is infinite.
    alpha = (encoded / 4).clamp(math.log(_LOWEST), math.log(_HIGHEST)).exp()
    total = alpha.sum(-1, keepdim=True)
    expected = (alpha - 1) * (alpha.digamma() - total.digamma())
    of_uniform = math.lgamma(encoded.shape[-1])
    return total.squeeze(-1).lgamma() - alpha.lgamma().sum(-1) - of_uniform + expected.sum(-1)


def _neighbors_of_all(features: Sequence[FloatArray], count: int) -> IntArray:
    """Return every row with its nearest rows, numbered on from one problem to the next.

    Where there are fewer other rows, and for the filler row, the last one, -1 fills up.
    """
    tables, first = [], 0
    for rows in features:
        table = np.full((len(rows), 1 + count), -1)
        table[:, 0] = first + np.arange(len(rows))
        n_others = min(count, len(rows) - 1)
        if n_others:
            with one_thread_each():
                others = nearest_of_training_rows(index_of_rows(rows), n_others)
            table[:, 1 : 1 + n_others] = first + others
        tables.append(table)
        first += len(rows)
    return np.vstack([*tables, np.full((1, 1 + count), -1)])


class VALEN(NetworkClassifier):
    r"""Label enhancement: draws from a posterior of label distributions teach a network.

    A predictor :math:`f` and an encoder with outputs :math:`e(x)` are networks of one shape. For
    ``warmup_epochs`` the predictor learns as in PRODEN, which leaves the confidences
    :math:`o_j = f_j / \sum_{k \in S} f_k`; those are the first :math:`d` too. From then on, in
    every step, a label distribution is drawn for every row,

    .. math:: d \sim \mathrm{Dir}(s + 0.01), \quad
        s_j = \exp(e_j) / \sum_{k \in S} \exp(e_k) \text{ in } S, \text{ zero elsewhere.}

    A decoder of two layers, :math:`\hat x = \mathrm{dec}(d)`, is learned with the encoder. With
    :math:`\alpha = \exp(e / 4)`, between 0.01 and 30, the encoder's loss is

    .. math:: R + \beta\, \mathrm{KL}(\mathrm{Dir}(\alpha) \,\|\, \mathrm{Dir}(1))
        - \gamma \sum_{j \in S} o_j \log \mathrm{softmax}_j(e)

    .. math:: R = \| A - \mathrm{softmax}(\sigma(D D^\top)) \|^2 + 0.01\, \|x - \hat x\|^2
        + 0.01\, \mathrm{BCE}(\sigma(d), S),

    each squared norm divided by how many numbers there are. :math:`D` holds the draws of a batch,
    :math:`A` its part of the graph of ``n_neighbors`` nearest rows with a loop at every row,
    divided by row sums, and the softmax is over the rows of the batch. The loss of the predictor is
    :math:`-\sum_{j \in S} d_j \log f_j(x)` with what was stored of the row: after the step
    :math:`d_j \leftarrow \rho\, d_j / \sum_{k \in S} d_k + (1 - \rho)\, o_j` and :math:`o` as
    above. Attributes and other parameters are described at ``NetworkClassifier``.

    Parameters
    ----------
    warmup_epochs : int, default=10
        Epochs in which the predictor learns from its own confidences.
    n_neighbors : int, default=3
        Nearest rows in the graph.
    kl_weight : float, default=0.01
        The paper's beta: weight of the divergence from the uniform distribution.
    encoder_weight : float, default=20
        The paper's gamma: how much the encoder learns from the predictor.
    correction : float, default=1
        Rho: share of the draw in what the predictor learns from. The rest are its own confidences.

    See Also
    --------
    PRODEN : The warm-up on its own.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import VALEN
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = VALEN(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="valen",
        title="A network taught by draws from label distributions that another network recovers",
        when="to compare: for sets that depend on the features",
        paper="Xu, Qiao, Geng and Zhang, Instance-Dependent Partial Label Learning",
        year=2021,
        deviations=(
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Adam counts the steps of the warm-up for encoder and decoder too, which learn nothing "
            "in it.",
            "Neighbours are found among the scaled features, as the authors do for tables.",
            "A label is a candidate by its set, not by whether a stored confidence is above zero.",
            "Gradients flow through the sum that s is divided by; the authors hold it constant.",
            "Where candidates carry weights, the first confidences are these, not 1/|S|.",
        ),
    )

    warmup_epochs: int = 10
    n_neighbors: int = 3
    kl_weight: float = 0.01
    encoder_weight: float = 20.0
    correction: float = 1.0

    def _make_rule(self) -> LossRule:
        return LabelEnhancement(
            self.warmup_epochs,
            self.n_neighbors,
            self.kl_weight,
            self.encoder_weight,
            self.correction,
        )

    def _helper_count(self) -> int:
        return 1  # the encoder

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("warmup_epochs", self.warmup_epochs, minimum=0)
        check_integer("n_neighbors", self.n_neighbors, minimum=1)
        check_real("kl_weight", self.kl_weight, minimum=0)
        check_real("encoder_weight", self.encoder_weight, minimum=0)
        check_real("correction", self.correction, minimum=0, maximum=1)
