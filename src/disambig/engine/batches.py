"""Deal the rows of several problems into mini-batches, in a new order every epoch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from disambig.engine.fast import positions_of, random_words, streams_of


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
    row_counts : sequence of int
        Rows of every problem; they are numbered through from one problem to the next.
    order_seeds : sequence of int
        One for every problem.
    batch_size : int
        Most rows in a batch.
    device : torch.device
        Where the rows are needed.

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
        slots = np.arange(sizes.max())
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
