"""What a step needs and no weight changes, made for several steps at once: rows, sets, inputs."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from disambig.engine.batches import Candidates, CandidateTable
from disambig.engine.fast.layers import Prepared
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import Stack
from disambig.engine.fast.step import Clock, RowsInBatch
from disambig.engine.row_tables import FeatureTable

# On the CPU. To start an operation takes longer than to do it for the rows of one step; what is
# made should not push everything else out of the cache.
_MOST_STEPS = 8
_MOST_NUMBERS = 2**18
_ALL = slice(None)


class PreparedStep(NamedTuple):
    """All that a step works with besides the networks."""

    rows: RowsInBatch
    candidates: Candidates
    inputs: Prepared  # what the networks take
    noisy: Prepared | None  # the same with noise, where there is some


class Preparation:
    """Prepare steps from the rows of their batches.

    Parameters
    ----------
    networks : Stack
        Who takes the inputs.
    features : FeatureTable
        Of all problems.
    rows : RowsInBatch
        Of every step of an epoch; the axes are (steps, networks, ...).
    candidates : CandidateTable
        Of all problems.
    n_networks : int
        Networks of every problem.
    noise : SwapNoise, optional
        What changes the features.
    share : slice, default=all
        Places of a batch whose inputs are prepared here, and which ``rows`` are of.
    """

    def __init__(
        self,
        networks: Stack,
        features: FeatureTable,
        rows: RowsInBatch,
        candidates: CandidateTable,
        n_networks: int,
        noise: SwapNoise | None,
        share: slice = _ALL,
    ) -> None:
        self._networks = networks
        self._features = features
        self._rows = rows
        self._candidates = candidates
        self._n_networks = n_networks
        self._noise = noise
        self._share = share
        _, stack, n_rows, _ = rows.real.shape
        of_sets = stack // n_networks * candidates.n_slots
        numbers = n_rows * max(stack * features.shape[1], of_sets)
        self._n_steps = max(1, min(_MOST_STEPS, _MOST_NUMBERS // numbers))

    def steps(self, rows: Tensor, total: int, noisy: bool) -> Iterator[PreparedStep]:
        """Yield the steps of an epoch, some prepared at a time.

        ``rows`` has the shape (steps, problems, rows); ``total`` counts the steps before them.
        """
        for first in range(0, len(rows), self._n_steps):
            chosen = slice(first, first + self._n_steps)
            some = rows[chosen].long()
            of_steps = RowsInBatch(*(table[chosen] for table in self._rows))
            counters = torch.arange(len(some), device=rows.device) + (total + first)
            yield from self._prepared(some, of_steps, counters, noisy)

    def present(self, rows: Tensor, clock: Clock, noisy: bool) -> PreparedStep:
        """Return the present step of a clock; ``rows`` as in ``steps``."""
        of_step = RowsInBatch(*(clock.at(table).unsqueeze(0) for table in self._rows))
        counter = torch.as_tensor(clock.total)
        return self._prepared(clock.at(rows).unsqueeze(0), of_step, counter, noisy)[0]

    def _prepared(
        self, rows: Tensor, of_steps: RowsInBatch, counters: Tensor, noisy: bool
    ) -> list[PreparedStep]:
        steps, problems, _ = rows.shape
        # One network of every problem stands for all: they see the same.
        first = RowsInBatch(*(table[:, :: self._n_networks].flatten(0, 1) for table in of_steps))
        # Noise comes from all rows of a batch.
        needed = rows if noisy else rows[..., self._share]
        features = self._features.read(needed.flatten())
        features = features.view(steps * problems, needed.shape[-1], -1)
        share = features[:, self._share] if noisy else features
        inputs = [self._for_networks(part, steps) for part in self._networks.prepare(share, first)]
        with_noise: list[Prepared | None] = [None] * steps
        if noisy and self._noise is not None:
            every = RowsInBatch(*(table.flatten(0, 1) for table in of_steps))
            features = self._for_networks(features, steps).flatten(0, 1)
            changed = self._noise(features, every, counters)[:, self._share]
            parts = self._networks.prepare(changed, every)
            by_step = (part.view(steps, -1, *part.shape[1:]) for part in parts)
            with_noise = list(zip(*by_step, strict=True))
        return [
            PreparedStep(RowsInBatch(*step[0]), *step[1:])
            for step in zip(
                zip(*of_steps, strict=True),
                self._candidates.of_steps(rows),
                zip(*inputs, strict=True),
                with_noise,
                strict=True,
            )
        ]

    def _for_networks(self, part: Tensor, steps: int) -> Tensor:
        """Return (steps, networks, ...) for (steps * problems, ...)."""
        by_problem = part.view(steps, -1, 1, *part.shape[1:])
        copies = by_problem.expand(-1, -1, self._n_networks, *part.shape[1:])
        return copies.flatten(1, 2)
