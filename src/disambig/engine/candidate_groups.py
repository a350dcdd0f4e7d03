"""The candidates of many rows on the device, and those of one batch side by side."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from disambig.engine.problem import Problem

__all__ = ["CandidateGroups", "CandidateTable"]


class CandidateGroups(NamedTuple):
    """The candidates of the rows of a batch: what the paper calls multi-birth groups.

    The last axis has as many places as the largest set of all rows; a row uses the first of them.
    The axis of length one stands for the networks, which all see the same groups.

    Attributes
    ----------
    columns : Tensor of integers of shape (problems, 1, rows, places)
        The class in every place; any class where a place is not used.
    inside : Tensor of booleans, same shape
        Which places are used. A row that only fills up a batch uses none.
    prior : Tensor, same shape
        Confidence before training, zero in places that are not used.
    most_candidates : int
        No batch of this training has more candidates than this in all.
    """

    columns: Tensor
    inside: Tensor
    prior: Tensor
    most_candidates: int


class CandidateTable:
    """The candidate sets of several problems, one after the other, on one device.

    Memory grows with the number of candidates, not with rows times classes or times the largest
    set. After the last row comes an empty one, for batches to be filled up with.

    Parameters
    ----------
    problems : sequence of Problem
        Their candidate sets are taken.
    rows_in_batch : int
        Most rows that a batch has.
    dtype : torch.dtype
        Type of confidences.
    device : torch.device
        Where to keep them.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        rows_in_batch: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        priors = [problem.prior for problem in problems]
        sizes = [np.diff(prior.indptr) for prior in priors]
        widest = max(int(size.max()) for size in sizes)
        all_sizes = np.concatenate([*sizes, [0]])
        # Beyond the last set there must be something to read, though never to use.
        columns = np.concatenate([*(prior.indices for prior in priors), np.zeros(widest, int)])
        values = np.concatenate([*(prior.data for prior in priors), np.zeros(widest)])
        self._starts = torch.as_tensor(np.cumsum(all_sizes) - all_sizes, device=device)
        self._sizes = torch.as_tensor(all_sizes, device=device)
        self._columns = torch.as_tensor(columns, dtype=torch.int64, device=device)
        self._prior = torch.as_tensor(values, dtype=dtype, device=device)
        self._places = torch.arange(widest, device=device)
        self._most_candidates = max(int(np.sort(size)[-rows_in_batch:].sum()) for size in sizes)

    def groups(self, rows: Tensor) -> CandidateGroups:
        """Return the candidates of a batch; ``rows`` has the shape (problems, rows)."""
        shape = (len(rows), 1, rows.shape[1], len(self._places))
        rows = rows.flatten()
        entries = (self._starts.index_select(0, rows).unsqueeze(-1) + self._places).flatten()
        inside = self._places < self._sizes.index_select(0, rows).unsqueeze(-1)
        inside = inside.view(shape)
        return CandidateGroups(
            columns=self._columns.index_select(0, entries).view(shape),
            inside=inside,
            prior=self._prior.index_select(0, entries).view(shape).mul_(inside),
            most_candidates=self._most_candidates,
        )
