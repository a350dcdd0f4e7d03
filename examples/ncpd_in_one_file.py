"""
NCPD in one file
================

This is NCPD as a careful reader of the paper would write it: in plain torch, with rows really
copied. Read it together with Sec. 3 of the paper. The classifier in the library learns just as well
and several times faster, because it does not copy rows.

Section and equation numbers are those of the paper. The method uses nothing of disambig, so that
tests can compare the library with it and benchmarks can measure both.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

# %%
# Sec. 3.1: data duplication
# --------------------------
# Every row is copied once for each of its candidates; the copies are a *multi-birth group*.


@dataclass
class MiniBatch:
    """The replicas of some groups, those of one group next to each other."""

    features: Tensor  # (replicas, features)
    labels: Tensor  # (replicas,), the one label of each replica
    average: Tensor  # (replicas,), Eq. 2
    group: Tensor  # (replicas,), the group of each, from 0 to n_groups - 1
    n_groups: int


class MultiBirthGroups:
    """The new training set: as many replicas of every row as it has candidates, one label each.

    Weights are ours, not the paper's: where candidates come with them, they take the place of
    1/|S| in Eq. 2, in proportion.
    """

    def __init__(
        self,
        features: Tensor,
        candidates: Sequence[Sequence[int]],
        weights: Sequence[Sequence[float]] | None = None,
    ) -> None:
        if weights is None:
            weights = [[1.0] * len(labels) for labels in candidates]
        device = features.device
        self.sizes = torch.tensor([len(labels) for labels in candidates], device=device)
        self.starts = self.sizes.cumsum(0) - self.sizes
        self.features = features.repeat_interleave(self.sizes, 0)
        self.labels = torch.tensor(list(chain(*candidates)), device=device)
        averages = chain(*([weight / sum(row) for weight in row] for row in weights))
        self.average = torch.tensor(list(averages), dtype=features.dtype, device=device)

    def mini_batch(self, rows: Sequence[int] | Tensor) -> MiniBatch:
        """Return all replicas of these rows; a group is never split."""
        rows = torch.as_tensor(rows, device=self.sizes.device)
        sizes = self.sizes[rows]
        group = torch.arange(len(rows), device=rows.device).repeat_interleave(sizes)
        place = torch.arange(len(group), device=rows.device) - (sizes.cumsum(0) - sizes)[group]
        replicas = self.starts[rows][group] + place
        return MiniBatch(
            self.features[replicas],
            self.labels[replicas],
            self.average[replicas],
            group,
            len(rows),
        )


# %%
# Sec. 3.2: progressive disambiguation
# ------------------------------------
# A group with a reliable replica is simple, and is disambiguated by Eq. 1; in the others all
# candidates count the same, by Eq. 2.


def share_of_small_losses(epoch: int, ramp_epochs: int) -> float:
    """Eq. 5."""
    if epoch <= ramp_epochs:
        return math.exp(-5 * (epoch / ramp_epochs - 1) ** 2)
    return 1.0


def small_losses(losses: Tensor, share: float) -> Tensor:
    """Condition 1: among the first T(t) of the sorted losses of the whole mini-batch."""
    count = math.floor(share * len(losses))
    small = torch.zeros_like(losses, dtype=torch.bool)
    if count > 0:
        order = losses.argsort()
        small[order[:count]] = True
        # Losses equal to the last of these count as small too.
        small |= losses == losses[order[count - 1]]
    return small


def predicted_correctly(logits: Tensor, labels: Tensor) -> Tensor:
    """Condition 2: the prediction, out of all classes, is the label of the replica."""
    return logits.argmax(1) == labels


def simple_groups(reliable: Tensor, batch: MiniBatch) -> Tensor:
    """Return which groups contain a reliable instance."""
    found = torch.zeros(batch.n_groups, dtype=torch.int64, device=reliable.device)
    return found.index_add(0, batch.group, reliable.long()) > 0


def disambiguated(losses: Tensor, batch: MiniBatch) -> Tensor:
    """Eq. 1, with the smallest loss of the group subtracted, so that nothing underflows."""
    smallest = losses.new_full((batch.n_groups,), torch.inf)
    smallest = smallest.scatter_reduce(0, batch.group, losses, "amin")
    exponentials = (smallest[batch.group] - losses).exp()
    sums = losses.new_zeros(batch.n_groups).index_add(0, batch.group, exponentials)
    return exponentials / sums[batch.group]


class Disambiguation(NamedTuple):
    """What one network finds in a mini-batch."""

    losses: Tensor  # (replicas,), with gradient
    reliable: Tensor  # (replicas,)
    simple: Tensor  # (groups,)
    confidences: Tensor  # (replicas,), constants


def disambiguate(
    logits: Tensor, batch: MiniBatch, share: float, *, progressive: bool = True
) -> Disambiguation:
    """Return the losses of all replicas and the confidences that follow from them.

    Without progressive disambiguation (w/o PD, Sec. 4.4) Eq. 1 holds for every group.
    """
    losses = functional.cross_entropy(logits, batch.labels, reduction="none")
    with torch.no_grad():
        reliable = small_losses(losses, share) & predicted_correctly(logits, batch.labels)
        simple = simple_groups(reliable, batch)
        if not progressive:
            simple = torch.ones_like(simple)
        eq_1, eq_2 = disambiguated(losses, batch), batch.average
        confidences = torch.where(simple[batch.group], eq_1, eq_2)
    return Disambiguation(losses, reliable, simple, confidences)


def weighted_loss(confidences: Tensor, losses: Tensor, batch: MiniBatch) -> Tensor:
    """Eq. 3, divided by the number of groups."""
    return (confidences @ losses) / batch.n_groups


# %%
# Sec. 3.3: network cooperation
# -----------------------------
# Two networks, each trained with the confidences of the other: Eqs. 6 to 9.


def exchanged(confidences: Sequence[Tensor]) -> list[Tensor]:
    """Return what each network is trained with: the confidences of the other one (Eqs. 6 and 7).

    More than two networks are ours, not the paper's: each gets the mean of the others.
    """
    return [
        torch.stack([theirs for peer, theirs in enumerate(confidences) if peer != number]).mean(0)
        for number in range(len(confidences))
    ]


class Step(NamedTuple):
    """What a training step saw, each a list with one tensor for every network."""

    found: list[Disambiguation]
    taught: list[Tensor]  # the confidences each network was trained with
    losses: list[Tensor]  # what was propagated back


class LiteralNCPD:
    """Networks, each with its Adam, trained on multi-birth groups.

    Without cooperation (w/o NC, Sec. 4.4) a network is trained with its own confidences; the paper
    then has only one.
    """

    def __init__(
        self,
        networks: Sequence[nn.Module],
        groups: MultiBirthGroups,
        *,
        ramp_epochs: int = 100,
        learning_rate: float = 1e-3,
        cooperation: bool = True,
        progressive: bool = True,
    ) -> None:
        self.networks = networks
        self.groups = groups
        self.ramp_epochs = ramp_epochs
        self.cooperation = cooperation
        self.progressive = progressive
        self.optimizers = [
            torch.optim.Adam(network.parameters(), lr=learning_rate) for network in networks
        ]

    def step(self, rows: Sequence[int] | Tensor, share: float) -> Step:
        """Learn from one mini-batch."""
        batch = self.groups.mini_batch(rows)
        found = [
            disambiguate(network(batch.features), batch, share, progressive=self.progressive)
            for network in self.networks
        ]
        taught = [one.confidences for one in found]
        if self.cooperation:
            taught = exchanged(taught)
        losses = [
            weighted_loss(confidences, one.losses, batch)
            for confidences, one in zip(taught, found, strict=True)
        ]
        for loss, optimizer in zip(losses, self.optimizers, strict=True):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return Step(found, taught, [loss.detach() for loss in losses])

    def run_epoch(self, epoch: int, batches: Iterable[Sequence[int] | Tensor]) -> list[Step]:
        """Learn from the mini-batches of one epoch; epochs count from 1."""
        share = share_of_small_losses(epoch, self.ramp_epochs) if self.progressive else 1.0
        return [self.step(rows, share) for rows in batches]


# %%
# Sec. 4.1: what the experiments run
# ----------------------------------


def make_perceptron(
    n_features: int, hidden: Sequence[int], n_classes: int, batch_norm: bool, dropout: float
) -> nn.Sequential:
    """Return a perceptron with these hidden layers; first weights come from torch's generator."""
    sizes = [n_features, *hidden]
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        # Batch norm would remove a bias.
        layers.append(nn.Linear(fan_in, fan_out, bias=not batch_norm))
        if batch_norm:
            layers.append(nn.BatchNorm1d(fan_out))
        layers.append(nn.ReLU())
        if dropout:
            layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers, nn.Linear(sizes[-1], n_classes))


def train_epochs(
    networks: Sequence[nn.Module],
    features: Tensor,
    candidates: Sequence[Sequence[int]],
    weights: Sequence[Sequence[float]] | None = None,
    *,
    epochs: int = 200,
    ramp_epochs: int = 100,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    cooperation: bool = True,
    progressive: bool = True,
    seed: int = 0,
    after_epoch: Callable[[], None] = lambda: None,
) -> None:
    """Train networks in place, in a new order every epoch, 128 groups a mini-batch.

    Networks and features lie on the same device and have the same type.
    """
    training = LiteralNCPD(
        networks,
        MultiBirthGroups(features, candidates, weights),
        ramp_epochs=ramp_epochs,
        learning_rate=learning_rate,
        cooperation=cooperation,
        progressive=progressive,
    )
    generator = torch.Generator().manual_seed(seed)
    for epoch in range(1, epochs + 1):
        for network in networks:
            network.train()
        order = torch.randperm(len(features), generator=generator).to(features.device)
        batches = list(order.split(batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            # Batch norm needs more than one row.
            batches[-2:] = [torch.cat(batches[-2:])]
        training.run_epoch(epoch, batches)
        after_epoch()


# %%
# Silhouettes of vehicles
# -----------------------
# Seven rows in ten get a wrong label in addition to the right one. A tenth of the rows is held out,
# five times; NCPD sees the candidate sets of the others, and no true label.

EPOCHS, RAMP_EPOCHS, UNITS, SPLITS = 12, 6, 128, 5


def predicted_classes(networks: Sequence[nn.Module], features: Tensor) -> Tensor:
    """Return the class with the highest probability, averaged over the networks."""
    with torch.no_grad():
        probabilities = [network.eval()(features).softmax(1) for network in networks]
    return torch.stack(probabilities).mean(0).argmax(1)


def main() -> None:
    """Train this code and the library's classifier on the vehicles, and draw both."""
    import matplotlib.pyplot as plt
    import numpy as np

    from disambig import FeatureScaler, NCPDClassifier, load_dataset
    from disambig.candidates import corrupt_controlled

    torch.set_num_threads(1)  # steps are small: more threads would wait for each other
    vehicle = load_dataset("vehicle")
    y = corrupt_controlled(vehicle.true_labels, p=0.7, r=1, random_state=0)
    truth = torch.as_tensor(np.searchsorted(y.classes, vehicle.true_labels))
    courses: dict[str, list[list[float]]] = {"in one file": [], "in the library": []}
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    for seed, test in enumerate(order.split(len(y) // 10)[:SPLITS]):
        train = order[~torch.isin(order, test)]

        scaler = FeatureScaler("half").fit(vehicle.X[train])
        features = torch.as_tensor(scaler.transform(vehicle.X), dtype=torch.float32)
        candidates = [row.nonzero()[0].tolist() for row in y[train.numpy()].to_mask()]
        torch.manual_seed(seed)
        sizes = (features.shape[1], [UNITS], len(y.classes))
        networks = [make_perceptron(*sizes, batch_norm=True, dropout=0.5) for _ in range(2)]
        course: list[float] = []

        def watch(networks=networks, rows=features[test], right=truth[test], course=course) -> None:
            course.append((predicted_classes(networks, rows) == right).double().mean().item())

        train_epochs(
            networks,
            features[train],
            candidates,
            epochs=EPOCHS,
            ramp_epochs=RAMP_EPOCHS,
            seed=seed,
            after_epoch=watch,
        )
        courses["in one file"].append(course)

        model = NCPDClassifier(
            hidden=UNITS,
            epochs=EPOCHS,
            ramp_epochs=RAMP_EPOCHS,
            random_state=seed,
            device="cpu",
            validation=(vehicle.X[test], vehicle.true_labels[test]),
        ).fit(vehicle.X[train], y[train.numpy()])
        # On plain labels the covering rate is the accuracy.
        courses["in the library"].append(list(model.history_["validation_covering_rate"]))

    _, axes = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
    epochs = range(1, EPOCHS + 1)
    styles = {"in one file": ("C0", "-", 0.55), "in the library": ("C2", "--", 0.51)}
    for name, runs in courses.items():
        color, dash, height = styles[name]
        mean = np.mean(runs, axis=0)
        error = np.std(runs, axis=0, ddof=1) / np.sqrt(SPLITS)
        print(f"{name}: {mean[-1]:.3f} ± {error[-1]:.3f} right")
        axes.plot(epochs, mean, dash, color=color)
        axes.fill_between(epochs, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
        axes.annotate(name, (8, height), color=color)
    axes.set(
        title=f"Accuracy on new rows, ± 1 standard error over {SPLITS} splits",
        xlabel="epoch",
        ylabel="accuracy",
        xticks=[1, 4, 8, 12],
    )
    plt.show()


if __name__ == "__main__":
    main()
