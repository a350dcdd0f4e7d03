"""The share of every class that candidate sets imply, for rules that begin with it."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from disambig.engine.rule import TrainingData


def implied_shares(problems: Sequence[TrainingData]) -> Tensor:
    """Return the mean of the priors of every problem: (problems, classes), in double precision."""
    shares = [np.asarray(problem.prior.mean(axis=0)).ravel() for problem in problems]
    return torch.as_tensor(np.stack(shares), dtype=torch.float64)
