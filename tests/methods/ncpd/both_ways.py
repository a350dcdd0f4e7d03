"""Made-up problems, and the way from them to the engine and to the literal NCPD."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from disambig import CandidateLabels
from disambig.engine.batches import Batches
from disambig.engine.candidate_groups import CandidateGroups
from disambig.engine.problem import Problem
from disambig.engine.rule import Confidences, Rule
from methods.ncpd.literal import LiteralNCPD, MultiBirthGroups, Step, make_perceptron

Sets = list[list[int]]
Weights = list[list[float]] | None


@dataclass
class Data:
    """Features, candidate sets as lists of classes in rising order, and their weights."""

    features: np.ndarray
    sets: Sets
    weights: Weights
    n_classes: int

    @property
    def candidates(self) -> CandidateLabels:
        mask = np.zeros((len(self.sets), self.n_classes), dtype=bool)
        weights = np.zeros(mask.shape)
        for row, own in enumerate(self.sets):
            mask[row, own] = True
            if self.weights is not None:
                weights[row, own] = self.weights[row]
        return CandidateLabels.from_mask(mask, weights=None if self.weights is None else weights)

    def without_weightless(self) -> "Data":
        """Return the same without candidates of weight zero, which no method gets to see."""
        if self.weights is None:
            return self
        pairs = [
            [(column, weight) for column, weight in zip(*row, strict=True) if weight > 0]
            for row in zip(self.sets, self.weights, strict=True)
        ]
        sets, weights = ([[pair[part] for pair in row] for row in pairs] for part in (0, 1))
        return Data(self.features, sets, weights, self.n_classes)

    def problem(self, order_seed: int = 0) -> Problem:
        return Problem(self.features, self.candidates.prior(), order_seed)

    def multi_birth_groups(self) -> MultiBirthGroups:
        return MultiBirthGroups(torch.as_tensor(self.features), self.sets, self.weights)


def random_sets(
    generator: np.random.Generator, n_rows: int, n_classes: int, set_size: int | None = None
) -> Sets:
    """Return sets of any size, or of one; of any size, the first is a singleton and the next full.

    What is random is the size too, so that singletons and full sets are common.
    """
    sizes = generator.integers(1, n_classes + 1, n_rows)
    sizes[:2] = [1, n_classes][:n_rows]
    if set_size is not None:
        sizes[:] = set_size
    return [sorted(generator.choice(n_classes, size, replace=False).tolist()) for size in sizes]


def random_weights(generator: np.random.Generator, sets: Sets) -> list[list[float]]:
    """Return weights that are far from equal; some are zero, though never all of a row."""
    weights = [generator.integers(0, 5, len(own)).astype(float) for own in sets]
    return [(own if own.any() else own + 1).tolist() for own in weights]


def random_data(
    seed: int,
    *,
    n_rows: int = 30,
    n_features: int = 4,
    n_classes: int = 5,
    weighted: bool = False,
    set_size: int | None = None,
) -> Data:
    """Return rows of as many clusters as classes, each with its true class in the set or not."""
    generator = np.random.default_rng(seed)
    sets = random_sets(generator, n_rows, n_classes, set_size)
    weights = random_weights(generator, sets) if weighted else None
    centres = generator.normal(size=(n_classes, n_features))
    features = np.stack([centres[generator.choice(own)] for own in sets])
    features += 0.5 * generator.normal(size=features.shape)
    return Data(features, sets, weights, n_classes)


def groups_of(sets: Sets, weights: Weights = None, n_filler: int = 0) -> CandidateGroups:
    """Return the groups of one problem as a rule meets them, and rows that fill up after them."""
    sizes = [*(len(own) for own in sets), *([0] * n_filler)]
    columns = torch.zeros(1, 1, len(sizes), max(sizes), dtype=torch.int64)
    prior = torch.zeros(columns.shape, dtype=torch.float64)
    for row, own in enumerate(sets):
        columns[..., row, : len(own)] = torch.tensor(own)
        values = torch.tensor(weights[row] if weights else [1.0] * len(own), dtype=torch.float64)
        prior[..., row, : len(own)] = values / values.sum()
    inside = torch.arange(max(sizes)) < torch.tensor(sizes).unsqueeze(-1)
    return CandidateGroups(columns, inside.expand(columns.shape), prior, sum(sizes))


def losses_and_predictions(logits: Tensor, groups: CandidateGroups) -> tuple[Tensor, Tensor]:
    """Return what a rule is given for logits of shape (problems, networks, rows, classes)."""
    columns = groups.columns.expand(*logits.shape[:-1], -1)
    losses = -logits.log_softmax(-1).gather(-1, columns)
    predicted = columns == logits.argmax(-1, keepdim=True)
    return losses.masked_fill(~groups.inside, torch.inf), predicted & groups.inside


class Seen(NamedTuple):
    """What passed through a rule in one step."""

    losses: Tensor
    predicted: Tensor
    groups: CandidateGroups
    share: float | None
    weights: Tensor
    simple: Tensor

    def of_replicas(self, values: Tensor, problem: int, network: int) -> Tensor:
        """Return the values of all candidates in the order of the literal's replicas."""
        return values[problem, network][self.groups.inside[problem, 0]]

    def of_groups(self, values: Tensor, problem: int, network: int) -> Tensor:
        return values[problem, network][self.groups.inside[problem, 0].any(-1)]


@dataclass
class Recording:
    """A rule that does what another one does, and keeps what it saw."""

    rule: Rule
    steps: list[Seen] = field(default_factory=list)

    def share(self, epoch: int) -> float:
        return self.rule.share(epoch)

    def begin_epoch(self, epoch: int) -> None:
        self.rule.begin_epoch(epoch)

    def state(self) -> dict[str, Tensor]:
        return self.rule.state()

    def confidences(
        self, losses: Tensor, predicted: Tensor, groups: CandidateGroups, share: Tensor | None
    ) -> Confidences:
        # Copies: the engine may use the memory again.
        seen = losses.clone(), predicted.clone(), type(groups)(*(copied(value) for value in groups))
        number = None if share is None else float(share)
        found = self.rule.confidences(losses, predicted, groups, share)
        self.steps.append(Seen(*seen, number, found.weights.clone(), found.simple.clone()))
        return found


def copied(value: Tensor | int) -> Tensor | int:
    return value.clone() if isinstance(value, Tensor) else value


def dealt_batches(n_rows: int, order_seed: int, batch_size: int, epoch: int) -> list[list[int]]:
    """Return the mini-batches of an epoch of the engine, as lists of rows."""
    batches = Batches([n_rows], [order_seed], batch_size, torch.device("cpu"))
    return [
        rows[real].tolist()
        for rows, real in zip(batches.rows_of(epoch)[:, 0], batches.real[:, 0], strict=True)
    ]


def as_perceptron(stack: nn.Module, network: int) -> nn.Sequential:
    """Return one network of a NetworkStack as plain modules in double precision."""
    layers = [*stack.hidden, stack.output]
    sizes = [layers[0].weight.shape[1], *(layer.weight.shape[2] for layer in layers)]
    batch_norm = hasattr(layers[0], "gain")
    perceptron = make_perceptron(sizes[0], sizes[1:-1], sizes[-1], batch_norm, dropout=0)
    perceptron = perceptron.double()
    linear = [module for module in perceptron if isinstance(module, nn.Linear)]
    norms = [module for module in perceptron if isinstance(module, nn.BatchNorm1d)]
    with torch.no_grad():
        for module, layer in zip(linear, layers, strict=True):
            module.weight.copy_(layer.weight[network].T)
            if module.bias is not None:
                module.bias.copy_(layer.shift[network, 0])
        for module, layer in zip(norms, layers, strict=False):
            module.weight.copy_(layer.gain[network, 0])
            module.bias.copy_(layer.shift[network, 0])
    return perceptron


def train_literally(
    literal: LiteralNCPD, epochs: int, n_rows: int, order_seed: int, batch_size: int
) -> list[Step]:
    """Train on the batches that the engine would deal; return all steps."""
    steps = []
    for epoch in range(1, epochs + 1):
        steps += literal.run_epoch(epoch, dealt_batches(n_rows, order_seed, batch_size, epoch))
    return steps
