"""Rows that come together, in the training of networks: what they say about each other."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.groups import Promise, group_numbers
from disambig.engine.rule import TrainingData
from disambig.solvers.group_marginals import GroupMarginals

# Rows of a group resemble each other: n of them tell as much as n / (1 + (n - 1) * likeness) that
# have nothing to do with each other (the design effect of cluster samples). Chosen among 0.01, 0.03
# and 0.1 on BirdSong, where one recording has a quarter of the rows, with fold seeds 0 and 1.
_LIKENESS = 0.01


class TogetherRows:
    """What the other rows of a group say about the label of a row, from epoch to epoch.

    A rule keeps one number for every candidate, in a table of the engine. While rows are trained
    on, each network leaves there the confidence that it finds from the row alone. Before the next
    epoch ``exchange`` turns it into the logarithm of what the group changes: the marginal given
    what the group promises, over the confidence. The rule adds that to its exponents.

    Parameters
    ----------
    problems : sequence of TrainingData
        Rows, sets and groups.
    promise : Promise
        What groups promise, in all problems.
    device : torch.device
        Where the steps run.
    """

    def __init__(
        self, problems: Sequence[TrainingData], promise: Promise, device: torch.device
    ) -> None:
        groups = [group_numbers(problem.groups, len(problem.features)) for problem in problems]
        # A group has a row at least, so that numbers of two problems do not meet.
        offsets = np.cumsum([0, *(len(group) for group in groups[:-1])])
        together = [group + offset for group, offset in zip(groups, offsets, strict=True)]
        priors = sparse.vstack([problem.prior for problem in problems], format="csr")
        self._marginals = GroupMarginals(priors, np.concatenate(together), promise)
        # After the last row comes the one that batches are filled up with.
        weights = np.concatenate([*map(design_weights, groups), [0.0]])
        self._weights = torch.as_tensor(weights, dtype=torch.float32, device=device)

    @classmethod
    def of(cls, problems: Sequence[TrainingData], device: torch.device) -> Self | None:
        """Return them, or None where no promise is believed; all problems promise the same."""
        promise = problems[0].promise
        if promise is None or promise.strength == 0:
            return None
        return cls(problems, promise, device)

    def exchange(self, table: Tensor) -> None:
        """Turn confidences into what groups change about them, in place.

        ``table`` has the shape (networks, candidates), and at its end some that belong to no row.
        """
        own = table[:, : self._marginals.n_pairs]
        changes = self._marginals.log_changes(own.double().cpu().numpy())
        own.copy_(torch.as_tensor(changes))

    def row_weights(self, rows: Tensor) -> Tensor:
        """Return how much every row of a batch counts: shape (problems, 1, rows)."""
        return self._weights[rows].unsqueeze(1)


def design_weights(groups: IntArray) -> FloatArray:
    """Return how much every row counts, given how many rows its group has; 1 on average."""
    sizes = np.bincount(groups)[groups]
    weights: FloatArray = 1 / (1 + (sizes - 1) * _LIKENESS)
    weights /= weights.mean()
    return weights
