"""What is seen of every row while an epoch runs, and what it comes to at the end."""

import torch
from torch import Tensor

from disambig._core.typing import FloatArray
from disambig.engine.batches import Batches
from disambig.engine.clock import Clock

__all__ = ["EpochRecords"]


class EpochRecords:
    """Memory for what each step of an epoch saw.

    Rows are only noted down while training runs, and added up once an epoch.

    Parameters
    ----------
    batches : Batches
        Their number and size.
    n_networks : int
        Networks of every problem.
    device : torch.device
        Where the steps run.
    dtype : torch.dtype
        Type of losses.
    """

    def __init__(
        self, batches: Batches, n_networks: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        steps, problems, rows = batches.real.shape
        of_networks = (steps, problems, n_networks, rows)
        self._seen = {
            "log_likelihood": torch.zeros(of_networks, dtype=dtype, device=device),
            "simple": torch.zeros(of_networks, dtype=torch.bool, device=device),
            "covered": torch.zeros(of_networks, dtype=torch.bool, device=device),
            "predicted": torch.zeros(of_networks, dtype=torch.int64, device=device),
            "chosen": torch.zeros((steps, problems, rows), dtype=torch.int64, device=device),
        }
        self._real = batches.real
        # The place of the candidate chosen for every row an epoch ago; none is -1.
        self.chosen = torch.full((batches.filler_row + 1,), -1, device=device)

    def put(self, clock: Clock, **seen: Tensor) -> None:
        """Note down what the present step saw.

        Parameters
        ----------
        clock : Clock
            Says which step it is.
        **seen : Tensors of shape (problems, networks, rows)
            ``log_likelihood`` of the row under its confidences, whether it was ``simple``, whether
            the prediction was ``covered`` by the candidates, the class ``predicted``; and, of shape
            (problems, rows), the place of the candidate ``chosen``.
        """
        for name, value in seen.items():
            clock.put(self._seen[name], value)

    def measures(self, rows: Tensor) -> dict[str, FloatArray]:
        """Return the measures of the epoch for every problem, and remember the candidates chosen.

        Parameters
        ----------
        rows : Tensor of shape (steps, problems, rows)
            The rows of every batch.
        """
        seen = self._seen
        agreed = (seen["predicted"] == seen["predicted"][:, :, :1]).all(2)
        changed = self.chosen[rows] != seen["chosen"]
        self.chosen[rows] = seen["chosen"]
        by_row = {
            "simple": seen["simple"].double().mean(2),
            "agreement": agreed.double(),
            "loss": -seen["log_likelihood"].double().mean(2),
            "covering_rate": seen["covered"].double().mean(2),
            "changed": changed.double(),
        }
        # Together, because what comes from a card is waited for once.
        real = torch.stack(list(by_row.values())).masked_fill_(~self._real, 0)
        means = (real.sum((1, 3)) / self._real.sum((0, 2))).cpu().numpy()
        return dict(zip(by_row, means, strict=True))
