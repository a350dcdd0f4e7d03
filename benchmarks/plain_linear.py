"""Linear models trained by nothing but torch: stochastic gradient descent with weight decay.

For what the settings of a reference are worth, beside methods of this package with their own.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from disambig._core.typing import FloatArray
from disambig.bench.trial import Trial
from disambig.methods import PRODEN

# From logits, candidates and confidences to the losses of rows.
LossOfRows = Callable[[Tensor, Tensor, Tensor], Tensor]


def cross_entropy(logits: Tensor, _: Tensor, confidences: Tensor) -> Tensor:
    """Return the cross-entropy with the confidences."""
    return -(confidences * logits.log_softmax(2)).sum(2)


def of_the_set(logits: Tensor, mask: Tensor, _: Tensor) -> Tensor:
    """Return minus the logarithm of the probability of the candidates."""
    return logits.logsumexp(2) - logits.masked_fill(~mask, -torch.inf).logsumexp(2)


def absolute_error(logits: Tensor, _: Tensor, confidences: Tensor) -> Tensor:
    """Return the mean absolute error from the candidates."""
    return 2 * (confidences * (1 - logits.softmax(2))).sum(2)


# The loss, and whether confidences become the network's own at every visit.
METHODS: dict[str, tuple[LossOfRows, bool]] = {
    "proden": (cross_entropy, True),
    "cc": (of_the_set, False),
    "avg_ce": (cross_entropy, False),
    "abs_mae": (absolute_error, False),
}


def accuracies(
    method: str, trials: Sequence[Trial], rate: float, decay: float, epochs: int = 500
) -> FloatArray:
    """Return the accuracy of every trial, of models that are trained side by side.

    z-scores, momentum 0.9 and mini-batches of 100, of which the last, smaller one is left out, as
    are rows that a trial has more than the smallest: one at most.
    """
    loss_of_rows, learns = METHODS[method]
    generator = torch.Generator().manual_seed(0)
    sets = [trial.task(PRODEN())[1] for trial in trials]
    n_rows = min(map(len, sets))
    mask = torch.stack([torch.as_tensor(one.to_mask())[:n_rows] for one in sets])
    inputs, held_out = [], []
    for trial in trials:
        mean, spread = trial.train.X.mean(axis=0), trial.train.X.std(axis=0, ddof=1)
        spread = np.where(spread < 1e-12, 1, spread)
        for rows, scaled in ((trial.train, inputs), (trial.test, held_out)):
            scaled.append(torch.as_tensor((rows.X - mean) / spread, dtype=torch.float32))
    features = torch.stack([one[:n_rows] for one in inputs])
    sizes = (len(trials), features.shape[2], mask.shape[2])
    weights = torch.empty(sizes).uniform_(-1, 1, generator=generator) / sizes[1] ** 0.5
    bias = torch.zeros(sizes[0], 1, sizes[2], requires_grad=True)
    weights.requires_grad_()
    optimizer = torch.optim.SGD([weights, bias], rate, momentum=0.9, weight_decay=decay)
    confidences = mask / mask.sum(2, keepdim=True)
    for _ in range(epochs):
        order = torch.randperm(n_rows, generator=generator)
        for rows in order[: n_rows // 100 * 100].split(100):
            logits = features[:, rows] @ weights + bias
            losses = loss_of_rows(logits, mask[:, rows], confidences[:, rows])
            if learns:
                inside = logits.detach().masked_fill(~mask[:, rows], -torch.inf)
                confidences[:, rows] = inside.softmax(2)
            optimizer.zero_grad()
            losses.mean(1).sum().backward()  # type: ignore[no-untyped-call]  # torch has no types for it
            optimizer.step()
    found = [
        one.classes[(rows @ w + b).argmax(1).numpy()]
        for one, rows, w, b in zip(sets, held_out, weights.detach(), bias.detach(), strict=True)
    ]
    right = [labels == t.test.true_labels for labels, t in zip(found, trials, strict=True)]
    return np.array([one.mean() for one in right])
