"""Where candidates stand in the tables that the engine keeps, and the class shares they imply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from disambig.engine.rule import TrainingData


@dataclass(frozen=True, eq=False)
class CandidatePlaces:
    """The candidates of one problem.

    Attributes
    ----------
    numbers : slice
        Its rows in tables with a row for each.
    entries : slice
        Its candidates in tables with a number for each.
    rows, columns : Tensor of integers of shape (candidates,)
        Row within the problem and class of every candidate.
    """

    numbers: slice
    entries: slice
    rows: Tensor
    columns: Tensor

    @classmethod
    def of(cls, problems: Sequence[TrainingData], device: torch.device) -> list[Self]:
        """Return the places of every problem."""
        places: list[Self] = []
        row = entry = 0
        for problem in problems:
            prior = problem.prior
            n_rows, n_entries = prior.shape[0], len(prior.indices)
            rows = np.repeat(np.arange(n_rows), np.diff(prior.indptr))
            places.append(
                cls(
                    slice(row, row + n_rows),
                    slice(entry, entry + n_entries),
                    torch.as_tensor(rows, device=device),
                    torch.as_tensor(prior.indices.astype(np.int64), device=device),
                )
            )
            row, entry = row + n_rows, entry + n_entries
        return places

    def read(self, values: Tensor) -> Tensor:
        """Return the numbers of candidates, out of those of all rows and classes."""
        return values[..., self.rows, self.columns]

    def inside(self, values: Tensor) -> Tensor:
        """Return the same numbers with zero for all labels that are no candidates."""
        kept = torch.zeros_like(values)
        kept[..., self.rows, self.columns] = self.read(values)
        return kept


def implied_shares(problems: Sequence[TrainingData]) -> Tensor:
    """Return the mean of the priors of every problem: (problems, classes), in double precision."""
    shares = [np.asarray(problem.prior.mean(axis=0)).ravel() for problem in problems]
    return torch.as_tensor(np.stack(shares), dtype=torch.float64)
