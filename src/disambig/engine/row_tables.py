"""Where features and the state of rows lie: in memory on the device, or in files."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from disambig._core.scratch import scratch_array
from disambig.engine.rule import RowsOnDisk, TrainingData


class FeatureTable(ABC):
    """The features of all problems, one after the other, and a row of zeros.

    Attributes
    ----------
    shape : tuple of int
        Rows, with that of zeros, and features.
    dtype, device : torch.dtype, torch.device
        Of what is read.
    """

    shape: tuple[int, int]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(
        cls, problems: Sequence[TrainingData], dtype: torch.dtype, device: torch.device
    ) -> "FeatureTable":
        """Return the features of problems, in memory unless they stay on disk."""
        first = problems[0].features
        if not isinstance(first, RowsOnDisk):
            features = [torch.as_tensor(problem.features, dtype=dtype) for problem in problems]
            filler = torch.zeros(1, features[0].shape[1], dtype=dtype)
            return FeaturesInMemory(torch.cat([*features, filler]).to(device))
        if len(problems) > 1:
            raise ValueError(
                "Rows on disk are read for one training at a time. Got "
                f"{len(problems)} problems: train them one after the other."
            )
        return FeaturesOnDisk(first, dtype, device)

    @abstractmethod
    def read(self, rows: Tensor) -> Tensor:
        """Return the features of rows by their numbers: shape (rows, features)."""


class FeaturesInMemory(FeatureTable):
    """Features in one tensor, whose last row is zero."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape = (tensor.shape[0], tensor.shape[1])
        self.dtype, self.device = tensor.dtype, tensor.device

    def read(self, rows: Tensor) -> Tensor:
        """Return the features of rows by their numbers: shape (rows, features)."""
        return self.tensor.index_select(0, rows)


class FeaturesOnDisk(FeatureTable):
    """Features that are read from a file whenever a batch needs them, and sent to the device."""

    def __init__(self, rows: RowsOnDisk, dtype: torch.dtype, device: torch.device) -> None:
        self._rows = rows
        self.shape = (rows.shape[0] + 1, rows.shape[1])
        self.dtype, self.device = dtype, device

    def read(self, rows: Tensor) -> Tensor:
        """Return the features of rows by their numbers: shape (rows, features)."""
        numbers = rows.cpu()
        is_filler = numbers == len(self._rows)
        read = self._rows.read(numbers.masked_fill(is_filler, 0).numpy())
        found = torch.as_tensor(read, dtype=self.dtype, device="cpu")
        found.masked_fill_(is_filler.unsqueeze(1), 0)
        if self.device.type != "cuda":
            return found.to(self.device)
        # From memory that a card can read by itself: nobody waits for it.
        return found.pin_memory().to(self.device, non_blocking=True)


class RowMemory:
    """Makes the tables that hold something of every row.

    Where features stay on disk, and the CPU computes, tables lie in files beside them: the system
    writes to disk what does not fit into memory. These have no names, and are gone with the tables.

    Parameters
    ----------
    device : torch.device
        Where tables are needed.
    rows : RowsOnDisk, optional
        Features, if they stay on disk.

    Attributes
    ----------
    index_type : torch.dtype
        Of tables of row numbers, columns and slots: narrow where there are many rows.
    """

    def __init__(self, device: torch.device, rows: RowsOnDisk | None = None) -> None:
        self._device = device
        self._rows = rows if device.type == "cpu" else None
        self.index_type = torch.int64

    @classmethod
    def of(cls, problems: Sequence[TrainingData], device: torch.device) -> Self:
        """Return where to keep something of the rows of these problems."""
        features, prior = problems[0].features, problems[0].prior
        memory = cls(device, features if isinstance(features, RowsOnDisk) else None)
        if memory._rows is not None and prior.nnz + prior.shape[1] < torch.iinfo(torch.int32).max:
            memory.index_type = torch.int32
        return memory

    def new(self, *shape: int, dtype: torch.dtype) -> Tensor:
        """Return a table of zeros."""
        if self._rows is None:
            return torch.zeros(shape, dtype=dtype, device=self._device)
        kind = torch.empty(0, dtype=dtype).numpy().dtype
        return torch.from_numpy(scratch_array(shape, kind, self._rows.folder))
