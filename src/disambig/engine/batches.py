"""Mini-batches: their rows, dealt in a new order every epoch, and the candidates of these."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from disambig.engine.fast.random import positions_of, random_words, streams_of
from disambig.engine.rule import RowState, TrainingData


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Return the number of batches that ``n_rows`` are dealt into.

    None has more than ``batch_size`` rows; unless one of them would have a single row, over which
    nothing can be normalised.
    """
    return max(1, min(-(-n_rows // batch_size), n_rows // 2))


class Batches:
    """The rows of every batch of an epoch, for several problems side by side.

    A problem's rows are dealt evenly, so that its batches differ by one row at most and the last
    one is no smaller than the others. Where a batch has fewer rows than the largest of all, it is
    filled up with ``filler_row``. The order is a pure function of the seed and the epoch.

    Parameters
    ----------
    row_counts, order_seeds : sequence of int
        For every problem, its rows, which are numbered on from one problem to the next, and a seed.
    batch_size : int
        Most rows in a batch.
    device : torch.device
        Where the rows are needed.
    multiple_of : int, default=1
        Every batch is filled up so that its length is a multiple of this.

    Attributes
    ----------
    n_steps : int
        Batches in an epoch.
    real : Tensor of booleans of shape (steps, problems, rows)
        Which rows are real.
    """

    def __init__(
        self,
        row_counts: Sequence[int],
        order_seeds: Sequence[int],
        batch_size: int,
        device: torch.device,
        *,
        multiple_of: int = 1,
    ) -> None:
        steps = {steps_per_epoch(count, batch_size) for count in row_counts}
        if len(steps) > 1:
            raise ValueError(
                f"All problems need the same number of batches. Got {sorted(steps)}. Group them by "
                "steps_per_epoch."
            )
        self.n_steps = steps.pop()
        counts = np.asarray(row_counts)
        ends = np.arange(self.n_steps + 1)[:, np.newaxis] * counts // self.n_steps
        sizes = np.diff(ends, axis=0)
        slots = np.arange(-(-sizes.max() // multiple_of) * multiple_of)
        real = slots < sizes[:, :, np.newaxis]
        positions = np.where(real, ends[:-1, :, np.newaxis] + slots, 0)
        self.real = torch.as_tensor(real, device=device)
        # As (problems, steps * rows): where in a problem's order each slot of each batch looks.
        flat = positions.transpose(1, 0, 2).reshape(len(counts), -1)
        self._positions = torch.as_tensor(flat, device=device)
        self._draws = positions_of(streams_of(order_seeds).to(device), int(counts.max()))
        self._offsets = torch.as_tensor(np.cumsum(counts) - counts, device=device)
        self._missing = torch.arange(int(counts.max()), device=device) >= torch.as_tensor(
            counts[:, np.newaxis], device=device
        )
        self.filler_row = int(counts.sum())

    def rows_of(self, epoch: int) -> Tensor:
        """Return the rows of every batch of an epoch: shape (steps, problems, rows)."""
        keys = random_words(self._draws, epoch)
        # A shorter problem's order ends with what it does not have.
        keys.masked_fill_(self._missing, torch.iinfo(torch.int64).max)
        order = keys.argsort(dim=1, stable=True) + self._offsets.unsqueeze(1)
        rows = order.gather(1, self._positions).view(len(order), self.n_steps, -1)
        return rows.transpose(0, 1).masked_fill(~self.real, self.filler_row)


class Candidates(NamedTuple):
    """The candidates of a batch, as in ``Batch``, and where they stand in tables of candidates."""

    rows: Tensor
    columns: Tensor
    mask: Tensor
    prior: Tensor
    entries: Tensor

    def read(self, table: Tensor) -> Tensor:
        """Return what a table of state holds of a batch; zero in slots that are not used."""
        if table.ndim == 3:
            by_row = table.index_select(1, self.rows.flatten())
            return by_row.view(len(table), *self.rows.shape, -1).transpose(0, 1)
        problems, _, rows, slots = self.mask.shape
        values = table.index_select(1, self.entries).view(-1, problems, rows, slots)
        return values.transpose(0, 1) * self.mask

    def write(self, table: Tensor, values: Tensor) -> None:
        """Put the values of a batch into a table of state."""
        if table.ndim == 3:
            is_real = self.mask.any(-1, keepdim=True)
            by_row = values.masked_fill(~is_real, 0).transpose(0, 1).flatten(1, 2)
            table.index_copy_(1, self.rows.flatten(), by_row)
        else:
            # Slots that are not used lie on entries of other rows: the last entry belongs to none.
            entries = self.entries.masked_fill(~self.mask.flatten(), table.shape[1] - 1)
            by_candidate = values.masked_fill(~self.mask, 0).transpose(0, 1).flatten(1)
            table.index_copy_(1, entries, by_candidate)


class CandidateTable:
    """The candidate sets of several problems, one after the other, on one device.

    Memory grows with the number of candidates, not with rows times classes or times the largest
    set. After the last row comes an empty one, for batches to be filled up with.

    Parameters
    ----------
    problems : sequence of TrainingData
        Their candidate sets are taken.
    n_networks, rows_in_batch : int
        Networks of every problem, and most rows that a batch has.
    dtype, device : torch.dtype, torch.device
        Of confidences.
    """

    def __init__(
        self,
        problems: Sequence[TrainingData],
        n_networks: int,
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
        self.starts = torch.as_tensor(np.cumsum(all_sizes) - all_sizes, device=device)
        self.sizes = torch.as_tensor(all_sizes, device=device)
        self.columns = torch.as_tensor(columns, dtype=torch.int64, device=device)
        self.prior = torch.as_tensor(values, dtype=dtype, device=device)
        self.n_slots = widest
        self._slots = torch.arange(widest, device=device)
        self._n_networks = n_networks
        # No batch has more candidates than this in all.
        self.most_candidates = max(int(np.sort(size)[-rows_in_batch:].sum()) for size in sizes)

    def of_steps(self, rows: Tensor) -> list[Candidates]:
        """Return the candidates of every batch; ``rows`` has the shape (steps, problems, rows)."""
        shape = (*rows.shape[:2], 1, rows.shape[2], len(self._slots))
        flat = rows.flatten()
        entries = (self.starts.index_select(0, flat).unsqueeze(-1) + self._slots).flatten()
        mask = (self._slots < self.sizes.index_select(0, flat).unsqueeze(-1)).view(shape)
        tables = Candidates(
            rows=rows,
            columns=self.columns.index_select(0, entries).view(shape),
            mask=mask,
            prior=self.prior.index_select(0, entries).view(shape).mul_(mask),
            entries=entries.view(len(rows), -1),
        )
        return [Candidates(*of_step) for of_step in zip(*tables, strict=True)]

    def keep_only(self, table: Tensor, rows: Tensor) -> None:
        """Set to zero, in place, what a table of state holds of all rows but these."""
        is_kept = torch.zeros_like(self.sizes, dtype=torch.bool)
        is_kept[rows.flatten()] = True
        if table.ndim == 3:
            table.masked_fill_(~is_kept.unsqueeze(-1), 0)
        else:
            of_entries = is_kept.repeat_interleave(self.sizes)
            # At its end are entries of no row.
            table[:, : len(of_entries)].masked_fill_(~of_entries, 0)
            table[:, len(of_entries) :].zero_()

    def new_state(self, kind: RowState) -> Tensor:
        """Return a table of this kind: (networks, candidates) or (networks, rows, width)."""
        if kind.width is not None:
            shape = (self._n_networks, len(self.sizes), kind.width)
            return self.prior.new_full(shape, kind.initial or 0.0)
        table = self.prior.expand(self._n_networks, -1).clone()
        return table if kind.initial is None else table.fill_(kind.initial)
