"""How a training went: what every step of an epoch saw, and measures epoch by epoch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from disambig._core.typing import FloatArray
from disambig.engine.batches import Batches
from disambig.engine.fast.step import Clock
from disambig.engine.row_tables import RowMemory


class History(Mapping[str, FloatArray]):
    """Measures by name, one number an epoch: ``history["loss"]`` is an array.

    A measure that was not taken in an epoch is not a number there.

    Parameters
    ----------
    values : mapping of names to numbers, optional
        Measures to begin with, all of one length, as ``to_dict`` gives them.

    Examples
    --------
    >>> from disambig import CandidateLabels, PRODEN
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat", "dog", "dog|fox"])
    >>> model = PRODEN(hidden=8, epochs=3, random_state=0)
    >>> history = model.fit([[0.0], [0.1], [1.0], [1.1]], y).history_
    >>> history["loss"].shape
    (3,)
    """

    def __init__(self, values: Mapping[str, Sequence[float]] | None = None) -> None:
        columns = dict(values or {})
        rows = zip(*columns.values(), strict=True)
        self._epochs = [
            dict(zip(columns, (float(value) for value in row), strict=True)) for row in rows
        ]

    def begin_epoch(self) -> None:
        """Make room for the measures of one more epoch."""
        self._epochs.append({})

    def note(self, name: str, value: float) -> None:
        """Set a measure of the last epoch."""
        self._epochs[-1][name] = float(value)

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self._names():
            raise KeyError(name)
        return np.array([epoch.get(name, math.nan) for epoch in self._epochs])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return f"History({self.n_epochs} epochs, {', '.join(self) or 'nothing measured'})"

    @property
    def n_epochs(self) -> int:
        """The number of epochs."""
        return len(self._epochs)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain lists by name."""
        return {name: self[name].tolist() for name in self}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row an epoch, epochs counted from 1."""
        import pandas as pd  # not needed for anything else, and slow to import

        index = pd.RangeIndex(1, self.n_epochs + 1, name="epoch")
        return pd.DataFrame({name: self[name] for name in self}, index=index)

    def _names(self) -> dict[str, None]:
        # A dict, because it keeps the order in which measures first came.
        return dict.fromkeys(name for epoch in self._epochs for name in epoch)


# Whose records are added up at a time.
_MOST_ROWS = 2**20


class EpochRecords:
    """Memory for what each step of an epoch saw.

    Rows are only noted down while training runs, and added up once an epoch.
    """

    def __init__(self, batches: Batches, memory: RowMemory) -> None:
        self._seen: dict[str, Tensor] = {}
        self._measures: dict[str, Tensor] = {}
        self._real = batches.real
        # The slot of the candidate chosen for every row an epoch ago; -1 is none.
        self.chosen = memory.new(batches.filler_row + 1, dtype=memory.index_type).fill_(-1)
        self._memory = memory

    def put(self, clock: Clock, measures: Mapping[str, Tensor], **seen: Tensor) -> None:
        """Note down what the present step saw, besides the measures of the rule.

        ``seen`` are tensors of shape (problems, networks, rows): the ``log_likelihood`` of the row
        under its targets, whether the prediction was ``covered`` by the candidates, the class
        ``predicted``; and, of shape (problems, rows), the slot of the candidate ``chosen``.
        """
        for tables, values in ((self._seen, seen), (self._measures, measures)):
            for name, value in values.items():
                clock.put(self._table(tables, name, value), value)

    def table(self, name: str, like: Tensor) -> Tensor:
        """Return where to note down what is seen under a name, whose first axis is the steps."""
        return self._table(self._seen, name, like)

    def _table(self, tables: dict[str, Tensor], name: str, like: Tensor) -> Tensor:
        if name not in tables:
            dtype = self._memory.index_type if like.dtype == torch.int64 else like.dtype
            tables[name] = self._memory.new(len(self._real), *like.shape, dtype=dtype)
        return tables[name]

    def measures(self, rows: Tensor) -> dict[str, FloatArray]:
        """Return the measures of the epoch for every problem, and remember the candidates chosen.

        ``rows`` are those of every batch, of shape (steps, problems, rows).
        """
        # In parts: as doubles, many small numbers take much memory.
        size = max(1, _MOST_ROWS // self._real[0].numel())
        parts = [slice(n, n + size) for n in range(0, len(self._real), size)]
        sums = sum(self._sums(rows[part].long(), part) for part in parts)
        # Together, because what comes from a card is waited for once.
        means = (sums / self._real.sum((0, 2))).cpu().numpy()
        return dict(zip(self._names(), means, strict=True))

    def _names(self) -> list[str]:
        return [*self._measures, "agreement", "loss", "covering_rate", "changed"]

    def _sums(self, rows: Tensor, part: slice) -> Tensor:
        """Return the sums over the rows of some steps: shape (measures, problems)."""
        seen = {name: table[part] for name, table in self._seen.items()}
        agreed = (seen["predicted"] == seen["predicted"][:, :, :1]).all(2)
        changed = self.chosen[rows] != seen["chosen"]
        self.chosen[rows] = seen["chosen"]
        by_row = (
            *(values[part].double().mean(2) for values in self._measures.values()),
            agreed.double(),
            -seen["log_likelihood"].double().mean(2),
            seen["covered"].double().mean(2),
            changed.double(),
        )
        return torch.stack(by_row).masked_fill_(~self._real[part], 0).sum((1, 3))
