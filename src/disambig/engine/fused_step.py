"""A training step in a few kernels of our own, for the perceptrons that most methods train."""

from typing import Any

import torch
from torch import Tensor

from disambig.engine.batches import Candidates, CandidateTable
from disambig.engine.fast.adam import Adam
from disambig.engine.fast.batch_norm import NormalisedLayer
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.stack import NetworkStack, Stack
from disambig.engine.fast.step import Clock, RowsInBatch
from disambig.engine.history import EpochRecords
from disambig.engine.loss import Seen, gradient_of_logits, log_likelihood
from disambig.engine.rule import Targets

# What a program of the kernels can hold at once.
_MOST_ROWS, _MOST_CLASSES, _MOST_SLOTS = 256, 512, 256
# Features and classes are padded to a multiple of this with zeros, so that rows of numbers begin
# where several can be loaded at once.
_ALIGNED = 16
# How the kernels cut up their work: what did best when each was timed on an H200, before rows of
# output weights were padded. Panels backwards are as wide as those forwards, not timed since.
_READ = {"BLOCK": 32}
_FORWARD: dict[str, int] = {"UNITS": 32, "BLOCK": 32, "num_stages": 3, "maxnreg": 168}
_LOGITS: dict[str, int] = {"ROWS": 64, "CLASSES": 32, "BLOCK": 64, "num_stages": 3}
_SEE: dict[str, int] = {"ROWS": 1, "num_warps": 1}
_GRADIENT: dict[str, int] = {"ROWS": 2, "num_warps": 4}
_BACKWARD: dict[str, int] = {"UNITS": 32, "BLOCK": 32, "num_stages": 3, "maxnreg": 168}
_UPDATE: dict[str, int] = {"TALL": 32, "WIDE": 64, "BLOCK": 32, "num_stages": 3, "maxnreg": 168}


def can_be_fused(networks: Stack, n_rows: int, n_slots: int) -> bool:
    """Return whether ``FusedStep`` can train these networks with batches of this shape.

    They must be perceptrons in float32 with one hidden layer, batch norm and ReLU.
    """
    if not isinstance(networks, NetworkStack):
        return False
    layers, weight = networks.hidden, networks.output.weight
    return (
        len(layers) == 1
        and isinstance(layers[0], NormalisedLayer)
        and layers[0].activation == "relu"
        and weight.dtype == torch.float32
        and weight.shape[2] <= _MOST_CLASSES
        # Places in memory are integers of 32 bits in the kernels.
        and max(layer.weight.numel() for layer in (layers[0], networks.output)) < 2**30
        and n_rows <= _MOST_ROWS
        and n_slots <= _MOST_SLOTS
    )


class FusedStep:
    """The arithmetic of a step around the rule, and the memory that it happens in.

    Methods are called in their order, once a step; ``forward`` twice where there is noise.
    Gives what the layers and Adam give, but for rounding, and changes the same tensors.

    Parameters
    ----------
    networks : NetworkStack
        Of a kind that ``can_be_fused``.
    adam : Adam
        Of their parameters.
    features : Tensor of shape (rows, features)
        Of all problems, and a row of zeros.
    rows : Tensor of integers of shape (steps, problems, rows)
        Rows of every batch of the present epoch.
    rows_in_batch : RowsInBatch
        Of every step.
    candidates : CandidateTable
        Of all problems.
    records : EpochRecords
        Where to note down what was seen.
    clock : Clock
        On the device.
    """

    def __init__(
        self,
        networks: NetworkStack,
        adam: Adam,
        features: Tensor,
        rows: Tensor,
        rows_in_batch: RowsInBatch,
        candidates: CandidateTable,
        records: EpochRecords,
        clock: Clock,
    ) -> None:
        # Only here: elsewhere Triton may be missing.
        from disambig.engine.fast import triton_backward, triton_forward

        self._forward: Any = triton_forward
        self._backward: Any = triton_backward
        self._adam, self._features, self._rows = adam, features, rows
        self._rows_in_batch, self._records, self._clock = rows_in_batch, records, clock
        self._table = candidates
        hidden = networks.hidden[0]
        assert isinstance(hidden, NormalisedLayer)
        self._hidden, self._output = hidden, networks.output
        self._networks, self._n_features, self._units = hidden.weight.shape
        self._classes = self._output.weight.shape[2]
        _, self._problems, self._n_rows = rows.shape
        self._slots = candidates.n_slots
        self._padded_rows = max(32, _power_of_two(self._n_rows))
        self._padded_features = _aligned(self._n_features)
        self._padded_classes = _aligned(self._classes)
        adam.pad_rows(self._output.weight, self._padded_classes)
        dropout = hidden.dropout
        # Without dropout nothing is drawn.
        self._streams = clock.total if dropout is None else dropout.streams
        self._kept = 0 if dropout is None else dropout.kept
        self._n_bits = 0 if dropout is None else dropout.n_bits
        new, padded = features.new_zeros, self._padded_rows
        self._inputs = new(self._networks, padded, self._padded_features)
        self._value = new(self._networks, padded, self._units)
        self._active = torch.zeros_like(self._value)
        self._of_value = torch.zeros_like(self._value)
        self._deviation = new(self._networks, self._units)
        self._of_bias = torch.zeros_like(self._deviation)
        self._of_gamma = torch.zeros_like(self._deviation)
        # Few tiles of logits would leave most of the card idle: then units are cut into parts too.
        parts = 1 if self._classes > 64 else min(4, _ceil(self._units, _LOGITS["BLOCK"]))
        self._partial = new(parts, self._networks, padded, self._padded_classes)
        self._gradient = torch.zeros_like(self._partial[0])
        self._panel_warps = 4 if padded <= 128 else 8
        # Adam's pace of this step: its step size, and what roots of squares are divided by.
        self._pace = new(2)
        self._candidates = self._new_candidates()
        self._seen = self._new_seen()
        self._noisy_log_probabilities = torch.empty_like(self._seen.log_probabilities)

    def read_batch(self) -> Candidates:
        """Return the rows of this step with their candidates."""
        found, table = self._candidates, self._table
        self._forward.read_candidates[self._problems, _ceil(self._n_rows, 32)](
            self._clock.step, self._rows, table.starts, table.sizes, table.columns, table.prior,
            self._adam.steps, self._adam.learning_rate,
            *found, self._pace, self._n_rows, self._slots,
            ROWS=32, SLOTS=_power_of_two(self._slots),
        )  # fmt: skip
        return found

    def forward(self, noise: SwapNoise | None = None) -> Seen:
        """Return what the networks say of the batch.

        With noise they say it of noisy features, and only their log-probabilities are new.
        """
        self._read_features(noise)
        hidden, output = self._hidden, self._output
        self._forward.hidden_forward[self._networks, _ceil(self._units, _FORWARD["UNITS"])](
            self._clock.step, self._rows_in_batch.counts, self._streams, self._inputs,
            hidden.weight, hidden.gamma, hidden.bias, hidden.variance,
            self._value, self._active, self._deviation,
            self._n_features, self._padded_features, self._units, self._kept, self._n_bits,
            ROWS=self._padded_rows, num_warps=self._panel_warps, **_FORWARD,
        )  # fmt: skip
        cut = _LOGITS | {"ROWS": min(_LOGITS["ROWS"], self._padded_rows)}
        tiles = self._padded_rows // cut["ROWS"] * _ceil(self._padded_classes, cut["CLASSES"])
        parts = len(self._partial)
        self._forward.logits_forward[self._networks, tiles, parts](
            self._active, output.weight, self._partial,
            self._units, _ceil(self._units, parts * cut["BLOCK"]) * cut["BLOCK"],
            self._padded_classes, self._padded_rows, **cut,
        )  # fmt: skip
        seen = self._seen
        if noise is not None:
            seen = seen._replace(log_probabilities=self._noisy_log_probabilities)
        self._forward.see[self._networks, _ceil(self._n_rows, _SEE["ROWS"])](
            self._partial, output.bias, self._candidates.columns, self._candidates.mask, *seen,
            self._networks // self._problems, self._n_rows, self._padded_rows,
            self._classes, self._padded_classes, self._slots, output.scale,
            PARTS=parts, SEE=noise is None, CLASSES=_power_of_two(self._classes),
            SLOTS=_power_of_two(self._slots), **_SEE,
        )  # fmt: skip
        return seen

    def learn(self, targets: Targets, seen: Seen, log_probabilities: Tensor) -> None:
        """Note down what was seen, and take a step towards the targets.

        The gradient is taken at ``log_probabilities``: those seen, or those of noisy features.
        """
        self._records.put(self._clock, targets.measures)
        if targets.slots is None or targets.row_weights is not None or targets.losses is not None:
            self._record_and_differentiate(targets, seen, log_probabilities)
        else:
            self._record_and_differentiate_slots(targets.slots, seen, log_probabilities)
        self._take_step()

    def _read_features(self, noise: SwapNoise | None) -> None:
        self._forward.read_features[self._networks, _ceil(self._padded_features, _READ["BLOCK"])](
            self._clock.step, self._rows, self._features, self._rows_in_batch.counts,
            self._streams if noise is None else noise.streams_on(self._features.device),
            self._hidden.input_mean, self._inputs,
            self._n_rows, self._networks // self._problems, self._n_features,
            self._padded_features, 0 if noise is None else noise.limit,
            NOISY=noise is not None, ROWS=self._padded_rows, **_READ,
        )  # fmt: skip

    def _record_and_differentiate_slots(
        self, slots: Tensor, seen: Seen, log_probabilities: Tensor
    ) -> None:
        tables = [
            self._records.table("log_likelihood", seen.losses[..., 0]),
            self._records.table("covered", seen.is_predicted[..., 0]),
            self._records.table("predicted", seen.predicted),
            self._records.table("chosen", self._candidates.rows),
        ]
        blocks = self._padded_rows // _GRADIENT["ROWS"]
        self._backward.gradient_of_slots[self._problems, blocks](
            self._clock.step, self._rows_in_batch.counts, self._candidates.columns,
            slots.contiguous(), log_probabilities,
            seen.predicted, seen.of_candidates, seen.losses, seen.is_predicted,
            self._gradient, *tables,
            self._networks // self._problems, self._n_rows, self._padded_rows, self._classes,
            self._padded_classes, self._slots, CLASSES=_power_of_two(self._padded_classes),
            SLOTS=_power_of_two(self._slots), **_GRADIENT,
        )  # fmt: skip

    def _record_and_differentiate(
        self, targets: Targets, seen: Seen, log_probabilities: Tensor
    ) -> None:
        """Do the same for targets of any kind, by operations of torch."""
        self._records.put(
            self._clock,
            {},
            log_likelihood=log_likelihood(targets, seen),
            covered=seen.is_predicted.any(-1),
            predicted=seen.predicted,
            chosen=seen.losses.sum(1).min(-1).indices,
        )
        gradient = gradient_of_logits(log_probabilities, targets, self._candidates.columns)
        averaging = self._clock.at(self._rows_in_batch.averaging).mT
        real = self._gradient[:, : self._n_rows, : self._classes]
        torch.mul(gradient.view_as(real), averaging, out=real)

    def _take_step(self) -> None:
        """Take Adam's step with the gradient of the logits."""
        hidden, output, adam = self._hidden, self._output, self._adam
        self._backward.hidden_backward[self._networks, _ceil(self._units, _BACKWARD["UNITS"])](
            self._clock.step, self._rows_in_batch.counts,
            self._value, self._active, self._deviation, self._gradient, hidden.gamma, output.weight,
            self._of_value, self._of_bias, self._of_gamma,
            self._units, self._padded_classes, output.scale,
            ROWS=self._padded_rows, num_warps=self._panel_warps, **_BACKWARD,
        )  # fmt: skip
        tall, wide = _UPDATE["TALL"], _UPDATE["WIDE"]
        of_hidden = _ceil(self._n_features, tall) * _ceil(self._units, wide)
        of_output = _ceil(self._units, tall) * _ceil(self._padded_classes, wide)
        self._backward.update[self._networks, 1 + of_hidden + of_output](
            self._pace, self._inputs, self._of_value, self._active, self._gradient,
            self._of_bias, self._of_gamma,
            *self._with_memory(hidden.weight), *self._with_memory(output.weight),
            *self._with_memory(hidden.bias), *self._with_memory(hidden.gamma),
            *self._with_memory(output.bias), self._clock.step, adam.steps,
            self._n_features, self._padded_features, self._units, self._classes,
            self._padded_classes, of_hidden, output.scale, N_STEPS=len(adam.steps),
            ROWS=self._padded_rows, **_UPDATE,
        )  # fmt: skip

    def _with_memory(self, parameter: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return (parameter, *self._adam.memory_of(parameter))

    def _new_candidates(self) -> Candidates:
        rows = self._rows[0].clone()
        shape = (self._problems, 1, self._n_rows, self._slots)
        return Candidates(
            rows=rows,
            columns=rows.new_zeros(shape),
            mask=torch.zeros(shape, dtype=torch.bool, device=rows.device),
            prior=self._features.new_zeros(shape),
            entries=rows.new_zeros(self._problems * self._n_rows * self._slots),
        )

    def _new_seen(self) -> Seen:
        new = self._features.new_zeros
        shape = (self._problems, self._networks // self._problems, self._n_rows)
        return Seen(
            log_probabilities=new(*shape, self._classes),
            predicted=new(shape, dtype=torch.int64),
            of_candidates=new(*shape, self._slots),
            losses=new(*shape, self._slots),
            is_predicted=new(*shape, self._slots, dtype=torch.bool),
        )


def _power_of_two(count: int) -> int:
    """Return the smallest power of two that is not below a count."""
    return 1 << (count - 1).bit_length()


def _ceil(count: int, size: int) -> int:
    """Return how many pieces of a size hold a count."""
    return -(-count // size)


def _aligned(count: int) -> int:
    return _ceil(count, _ALIGNED) * _ALIGNED
