"""Which step it is: counted here, or on the card where steps are replayed from there."""

import torch
from torch import Tensor

__all__ = ["Clock"]


class Clock:
    """The step in this epoch and the step in all.

    Parameters
    ----------
    device : torch.device, optional
        Where to count. Without one the counts are plain integers, which are cheaper to use; but a
        recorded step would see the same integers forever.

    Attributes
    ----------
    step : int or Tensor of one integer
        Steps done in this epoch.
    total : int or Tensor of one integer
        Steps done in all.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self.step: int | Tensor = 0
        self.total: int | Tensor = 0
        if device is not None:
            self.step = torch.zeros(1, dtype=torch.int64, device=device)
            self.total = torch.zeros(1, dtype=torch.int64, device=device)

    def on_device(self) -> list[Tensor]:
        """Return the counts that lie on a device."""
        return [count for count in (self.step, self.total) if isinstance(count, Tensor)]

    def begin_epoch(self, total: int) -> None:
        """Set the step in this epoch to zero, and the step in all to ``total``."""
        if isinstance(self.step, Tensor) and isinstance(self.total, Tensor):
            self.step.zero_()
            self.total.fill_(total)
        else:
            self.step, self.total = 0, total

    def advance(self) -> None:
        """Go on to the next step."""
        self.step += 1
        self.total += 1

    def at(self, table: Tensor) -> Tensor:
        """Return the part of a table, whose first axis is the steps, that belongs to this one."""
        if isinstance(self.step, Tensor):
            return table.index_select(0, self.step).squeeze(0)
        return table[self.step]

    def put(self, table: Tensor, value: Tensor) -> None:
        """Write into the part of a table that belongs to this step."""
        if isinstance(self.step, Tensor):
            table.index_copy_(0, self.step, value.unsqueeze(0))
        else:
            table[self.step] = value
