"""Made-up problems, and the way from them to the engine and to the literal NCPD."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from ncpd_in_one_file import LiteralNCPD, MultiBirthGroups, Step, make_perceptron
from torch import Tensor, nn

from disambig import CandidateLabels
from disambig.engine.batches import Batches
from disambig.engine.rule import Batch, Rule, Targets, TrainingData

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

    def problem(self, order_seed: int = 0) -> TrainingData:
        return TrainingData(self.features, self.candidates.prior(), order_seed)

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


class Groups(NamedTuple):
    """The candidates of a batch, as in ``Batch``."""

    columns: Tensor
    mask: Tensor
    prior: Tensor
    most_candidates: int


def groups_of(sets: Sets, weights: Weights = None, n_filler: int = 0) -> Groups:
    """Return the groups of one problem as a rule meets them, and rows that fill up after them."""
    sizes = [*(len(own) for own in sets), *([0] * n_filler)]
    columns = torch.zeros(1, 1, len(sizes), max(sizes), dtype=torch.int64)
    prior = torch.zeros(columns.shape, dtype=torch.float64)
    for row, own in enumerate(sets):
        columns[..., row, : len(own)] = torch.tensor(own)
        values = torch.tensor(weights[row] if weights else [1.0] * len(own), dtype=torch.float64)
        prior[..., row, : len(own)] = values / values.sum()
    mask = torch.arange(max(sizes)) < torch.tensor(sizes).unsqueeze(-1)
    return Groups(columns, mask.expand(columns.shape), prior, sum(sizes))


def losses_and_predictions(logits: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
    """Return what a rule sees for logits of shape (problems, networks, rows, classes)."""
    columns = groups.columns.expand(*logits.shape[:-1], -1)
    losses = -logits.log_softmax(-1).gather(-1, columns)
    predicted = columns == logits.argmax(-1, keepdim=True)
    return losses.masked_fill(~groups.mask, torch.inf), predicted & groups.mask


class Found(NamedTuple):
    """What a rule made of a batch."""

    weights: Tensor
    simple: Tensor


def taught(
    rule: Rule, losses: Tensor, predicted: Tensor, groups: Groups, share: Tensor | None
) -> Found:
    """Return what a rule of NCPD makes of these losses where T is ``share``, or one."""
    if share is not None:
        rule.share.copy_(share)
    batch = Batch(
        rows=torch.arange(losses.shape[2]).expand(len(losses), -1),
        **groups._asdict(),
        log_probabilities=losses.new_zeros(*losses.shape[:-1], 1),
        losses=losses,
        predicted=predicted,
        state={},
        phase=share is not None,
    )
    targets = rule.targets(batch)
    return Found(targets.slots, targets.measures["simple"])


class Seen(NamedTuple):
    """What passed through a rule in one step."""

    losses: Tensor
    predicted: Tensor
    groups: Groups
    share: float | None
    weights: Tensor
    simple: Tensor

    def of_replicas(self, values: Tensor, problem: int, network: int) -> Tensor:
        """Return the values of all candidates in the order of the literal's replicas."""
        return values[problem, network][self.groups.mask[problem, 0]]

    def of_groups(self, values: Tensor, problem: int, network: int) -> Tensor:
        return values[problem, network][self.groups.mask[problem, 0].any(-1)]


class Recording(Rule):
    """A rule that does what another one does, and keeps what it saw."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.steps: list[Seen] = []
        self.start, self.state = rule.start, rule.state
        self.begin_epoch, self.measures = rule.begin_epoch, rule.measures

    def targets(self, batch: Batch) -> Targets:
        # Copies: the engine may use the memory again.
        groups = Groups(*(copied(getattr(batch, name)) for name in Groups._fields))
        share = float(self.rule.share) if batch.phase else None
        seen = batch.losses.clone(), batch.predicted.clone(), groups, share
        found = self.rule.targets(batch)
        simple = found.measures["simple"]
        self.steps.append(Seen(*seen, found.slots.clone(), simple.clone()))
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
    batch_norm = hasattr(layers[0], "gamma")
    perceptron = make_perceptron(sizes[0], sizes[1:-1], sizes[-1], batch_norm, dropout=0)
    perceptron = perceptron.double()
    linear = [module for module in perceptron if isinstance(module, nn.Linear)]
    norms = [module for module in perceptron if isinstance(module, nn.BatchNorm1d)]
    with torch.no_grad():
        for module, layer in zip(linear, layers, strict=True):
            module.weight.copy_(layer.weight[network].T)
            if module.bias is not None:
                module.bias.copy_(layer.bias[network, 0])
        for module, layer in zip(norms, layers, strict=False):
            module.weight.copy_(layer.gamma[network, 0])
            module.bias.copy_(layer.bias[network, 0])
    return perceptron


def train_literally(
    literal: LiteralNCPD, epochs: int, n_rows: int, order_seed: int, batch_size: int
) -> list[Step]:
    """Train on the batches that the engine would deal; return all steps."""
    steps = []
    for epoch in range(1, epochs + 1):
        steps += literal.run_epoch(epoch, dealt_batches(n_rows, order_seed, batch_size, epoch))
    return steps
