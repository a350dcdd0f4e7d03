"""Mini-batches: their rows, dealt in a new order every epoch, and the candidates of these."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from disambig.engine.fast.random import positions_of, random_words, streams_of
from disambig.engine.row_tables import RowMemory
from disambig.engine.rule import RowState, TrainingData

# Worked on at a time: what is done to all rows at once takes their number in memory several times.
_MOST_ROWS = 2**20


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
        self.real = torch.as_tensor(slots < sizes[:, :, np.newaxis], device=device)
        # As (steps, problems): where in a problem's order each batch begins.
        self._starts = torch.as_tensor(ends[:-1], device=device)
        self._streams = streams_of(order_seeds).to(device)
        self._counts = torch.as_tensor(counts, device=device).unsqueeze(1)
        self._longest = int(counts.max())
        self._same_length = len(set(row_counts)) == 1
        self._offsets = torch.as_tensor(np.cumsum(counts) - counts, device=device)
        self.filler_row = int(counts.sum())

    def rows_of(self, epoch: int, out: Tensor | None = None) -> Tensor:
        """Return the rows of every batch of an epoch: shape (steps, problems, rows)."""
        rows = torch.empty_like(self.real, dtype=torch.int64) if out is None else out
        order = self._order(epoch)
        n_slots = rows.shape[2]
        size = max(1, _MOST_ROWS // rows[0].numel())
        for part in (slice(n, n + size) for n in range(0, self.n_steps, size)):
            is_filler = ~self.real[part]
            places = self._starts[part].unsqueeze(-1) + torch.arange(n_slots, device=rows.device)
            places = places.masked_fill_(is_filler, 0).transpose(0, 1)
            found = order.gather(1, places.flatten(1)).view_as(places).transpose(0, 1)
            rows[part] = found.masked_fill(is_filler, self.filler_row)
        return rows

    def _order(self, epoch: int) -> Tensor:
        """Return the rows of every problem in a random order: shape (problems, rows)."""
        device, count = self._offsets.device, self._longest
        keys = torch.empty(len(self._streams), count, dtype=torch.int64, device=device)
        for first in range(0, count, _MOST_ROWS):
            some = keys[:, first : first + _MOST_ROWS]
            some.copy_(random_words(positions_of(self._streams, some.shape[1], first), epoch))
        if not self._same_length:
            # A shorter problem's order ends with what it does not have.
            missing = torch.arange(count, device=device) >= self._counts
            keys.masked_fill_(missing, torch.iinfo(torch.int64).max)
        return keys.argsort(dim=1, stable=True).add_(self._offsets.unsqueeze(1))


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
    dtype : torch.dtype
        Of confidences.
    memory : RowMemory
        Where tables lie.
    """

    def __init__(
        self,
        problems: Sequence[TrainingData],
        n_networks: int,
        rows_in_batch: int,
        dtype: torch.dtype,
        memory: RowMemory,
    ) -> None:
        priors = [problem.prior for problem in problems]
        sizes = [np.diff(prior.indptr) for prior in priors]
        widest = max(int(size.max()) for size in sizes)
        n_rows, n_candidates = sum(map(len, sizes)), sum(prior.nnz for prior in priors)
        self.starts = memory.new(n_rows + 1, dtype=memory.index_type)
        self.sizes = memory.new(n_rows + 1, dtype=memory.index_type)
        # Beyond the last set there must be something to read, though never to use.
        self.columns = memory.new(n_candidates + widest, dtype=memory.index_type)
        self.prior = memory.new(n_candidates + widest, dtype=dtype)
        row = entry = 0
        for prior, size in zip(priors, sizes, strict=True):
            rows, entries = slice(row, row + len(size)), slice(entry, entry + prior.nnz)
            self.starts[rows] = torch.as_tensor(np.add(prior.indptr[:-1], entry, dtype=np.int64))
            self.sizes[rows] = torch.as_tensor(size)
            self.columns[entries] = torch.as_tensor(prior.indices.copy())  # may be read-only
            self.prior[entries] = torch.as_tensor(prior.data)
            row, entry = rows.stop, entries.stop
        self.starts[row] = entry
        self._memory = memory
        self.n_slots = widest
        self._slots = torch.arange(widest, device=self.prior.device)
        self._n_networks = n_networks
        # No batch has more candidates than this in all.
        self.most_candidates = max(
            int(np.sort(size)[-rows_in_batch:].sum(dtype=np.int64)) for size in sizes
        )

    def of_steps(self, rows: Tensor) -> list[Candidates]:
        """Return the candidates of every batch; ``rows`` has the shape (steps, problems, rows)."""
        shape = (*rows.shape[:2], 1, rows.shape[2], len(self._slots))
        flat = rows.flatten()
        entries = (self.starts.index_select(0, flat).unsqueeze(-1) + self._slots).flatten()
        mask = (self._slots < self.sizes.index_select(0, flat).unsqueeze(-1)).view(shape)
        tables = Candidates(
            rows=rows,
            columns=self.columns.index_select(0, entries).view(shape).long(),
            mask=mask,
            prior=self.prior.index_select(0, entries).view(shape).mul_(mask),
            entries=entries.view(len(rows), -1),
        )
        return [Candidates(*of_step) for of_step in zip(*tables, strict=True)]

    def new_state(self, kind: RowState) -> Tensor:
        """Return a table of this kind: (networks, candidates) or (networks, rows, width)."""
        if kind.width is not None:
            shape = (self._n_networks, len(self.sizes), kind.width)
            return self._memory.new(*shape, dtype=self.prior.dtype).fill_(kind.initial or 0.0)
        table = self._memory.new(self._n_networks, len(self.prior), dtype=self.prior.dtype)
        return table.copy_(self.prior) if kind.initial is None else table.fill_(kind.initial)
