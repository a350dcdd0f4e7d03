"""Networks side by side: what training asks of them, and perceptrons with written-out gradients."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from disambig.engine.fast.batch_norm import NarrowNormalisedLayer, NormalisedLayer
from disambig.engine.fast.layers import (
    HiddenLayer,
    LinearLayer,
    OutputLayer,
    Prepared,
    init_weights,
)
from disambig.engine.fast.random import Dropout
from disambig.engine.fast.step import RowsInBatch
from disambig.engine.ranks import Ranks

# In inference, so that memory does not grow with the number of rows.
_ROWS_AT_A_TIME = 8192


class Stack(nn.Module, ABC):
    """Several networks side by side."""

    # Whether a step can be recorded once and replayed: nothing in it may look at the numbers.
    capturable: ClassVar[bool]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of networks."""

    def prepare(self, features: Tensor, rows: RowsInBatch) -> Prepared:  # noqa: ARG002
        """Return what of a training batch does not depend on the weights.

        Parameters
        ----------
        features : Tensor of shape (networks, rows, features)
            Rows that only fill up are zero. The first axis may hold the networks of several steps,
            as it does in everything that is returned.
        rows : RowsInBatch
            Which rows are real.
        """
        return (features,)

    @abstractmethod
    def forward(self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return the logits of a training batch: shape (networks, rows, classes).

        Parameters
        ----------
        inputs : tuple of Tensor
            What ``prepare`` made of the features.
        rows : RowsInBatch
            Which rows are real.
        step : int or Tensor of one integer
            Number of the training step: all randomness follows from it and the seeds.
        """

    @abstractmethod
    def backward(self, gradient: Tensor) -> None:
        """Take the gradient of the logits, leave that of every parameter in its ``.grad``."""

    def forward_both(
        self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the logits of a training batch, and the second output where there is one."""
        return self.forward(inputs, rows, step), None

    def backward_both(self, gradient: Tensor, of_embedding: Tensor | None) -> None:
        """Do what ``backward`` does, with the gradient of the second output where there is one."""
        assert of_embedding is None
        self.backward(gradient)

    @abstractmethod
    def expect_share(self, ranks: Ranks, first_row: int) -> None:
        """Expect, of every batch, the rows from a place on: other processes have the others."""

    @abstractmethod
    def infer(self, features: Tensor) -> Tensor:
        """Return the logits of every network: shape (networks, rows, classes).

        Parameters
        ----------
        features : Tensor of shape (rows, features) or (networks, rows, features)
            Rows that nothing is learned from: the same for all networks, or others for each.
        """

    def infer_both(self, features: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the logits, and the second output where there is one; ``features`` as above."""
        return self.infer(features), None

    @abstractmethod
    def multiplications_per_row(self) -> float:
        """Return how many multiplications a row costs all networks, in one direction."""

    def mean_probabilities(self, features: Tensor, count: int | None = None) -> Tensor:
        """Return the mean of the networks' class probabilities, or of those of the first ones.

        Of shape (rows, classes).
        """
        parts = torch.split(features, _ROWS_AT_A_TIME)
        return torch.cat([self.infer(part)[:count].softmax(-1).mean(0) for part in parts])

    @abstractmethod
    def part(self, first: int, count: int, *, whole: bool = False) -> Self:
        """Return a stack of its own with ``count`` of the networks, from number ``first`` on.

        It carries nothing that only training needs, unless it is to be ``whole``.
        """


# Up to so many inputs a first layer is better normalised by way of their covariance.
_NARROW = 64


class NetworkStack(Stack):
    """Perceptrons of one shape, trained and asked together.

    Every product is a batched one over the networks, and nothing passes between them: a network
    learns the same in a stack of one and in one of a hundred, but for rounding, which can depend on
    where a matrix begins in memory.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Number of features and of classes.
    hidden : sequence of int
        Units of every hidden layer.
    seeds : sequence of int
        One for every network: first weights and dropout follow from it.
    activation : str
        A name in ``ACTIVATIONS``.
    dropout : float
        Share of hidden units left out in a training step, to the nearest 1/256.
    batch_norm : bool
        Whether hidden layers are normalised over the batch.
    dtype : torch.dtype, default=torch.float32
        Type of weights and results.
    embedding : int, optional
        Width of a second output, which only training uses: ``part`` leaves it out.
    """

    capturable: ClassVar[bool] = True
    output: OutputLayer
    projection: OutputLayer | None

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        hidden: Sequence[int],
        seeds: Sequence[int],
        activation: str,
        dropout: float,
        batch_norm: bool,
        dtype: torch.dtype = torch.float32,
        embedding: int | None = None,
    ) -> None:
        super().__init__()
        self._shape: dict[str, Any] = {
            "n_inputs": n_inputs,
            "n_outputs": n_outputs,
            "hidden": tuple(hidden),
            "activation": activation,
            "dropout": dropout,
            "batch_norm": batch_norm,
            "dtype": dtype,
        }
        self.seeds = tuple(seeds)
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._hidden_layers: list[HiddenLayer] = []
        scale = 1.0
        for number, (fan_in, fan_out) in enumerate(pairwise((n_inputs, *hidden))):
            left_out = Dropout(dropout, fan_out, seeds, number) if dropout else None
            kind: type[HiddenLayer] = HiddenLayer
            if batch_norm:
                narrow = number == 0 and n_inputs <= _NARROW
                kind = NarrowNormalisedLayer if narrow else NormalisedLayer
            first = init_weights(fan_in, fan_out, generators, dtype)
            self._hidden_layers.append(kind(first, scale, activation, left_out))
            # What is left after dropout is scaled up where it goes in, at no cost.
            scale = left_out.scale if left_out is not None else 1.0
        # A plain list tells the type checker what is in it; this tells torch.
        self.hidden = nn.ModuleList(self._hidden_layers)
        last = hidden[-1] if hidden else n_inputs
        self.output = OutputLayer(init_weights(last, n_outputs, generators, dtype), scale)
        self.projection = None
        if embedding is not None:
            first = init_weights(last, embedding, generators, dtype)
            self.projection = OutputLayer(first, scale)

    def __len__(self) -> int:
        return len(self.seeds)

    def prepare(self, features: Tensor, rows: RowsInBatch) -> Prepared:
        """Return what of a training batch does not depend on the weights; see ``Stack``."""
        return (
            self._hidden_layers[0].prepare(features, rows) if self._hidden_layers else (features,)
        )

    def forward(self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return the logits of a training batch; see ``Stack``."""
        logits: Tensor = self.output(self._last_hidden(inputs, rows, step))
        return logits

    def forward_both(
        self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the logits of a training batch, and the second output; see ``Stack``."""
        value = self._last_hidden(inputs, rows, step)
        return self.output(value), None if self.projection is None else self.projection(value)

    def backward(self, gradient: Tensor) -> None:
        """Take the gradient of the logits, leave that of every parameter in its ``.grad``."""
        self.backward_both(gradient, None)

    def backward_both(self, gradient: Tensor, of_embedding: Tensor | None) -> None:
        """Take the gradients of both outputs, leave that of every parameter in its ``.grad``."""
        gradient = self.output.backward_params(gradient)
        if of_embedding is not None:
            assert self.projection is not None
            of_embedding = self.projection.backward_params(of_embedding)
        following: LinearLayer = self.output
        for layer in reversed(self._hidden_layers):
            gradient = following.backward_input(gradient)
            if of_embedding is not None and self.projection is not None:
                gradient += self.projection.backward_input(of_embedding)
                of_embedding = None
            gradient = layer.backward_params(gradient)
            following = layer

    def expect_share(self, ranks: Ranks, first_row: int) -> None:
        """Expect, of every batch, the rows from a place on; see ``Stack``."""
        for layer in self._hidden_layers:
            layer.ranks = ranks
            if layer.dropout is not None:
                layer.dropout.first_row = first_row

    def infer(self, features: Tensor) -> Tensor:
        """Return the logits of every network; see ``Stack``."""
        return self.output.infer(self._infer_hidden(features))

    def infer_both(self, features: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the logits and the second output of every network; see ``Stack``."""
        value = self._infer_hidden(features)
        embedding = None if self.projection is None else self.projection.infer(value)
        return self.output.infer(value), embedding

    def multiplications_per_row(self) -> float:
        """Return how many multiplications a row costs; see ``Stack``."""
        return sum(layer.weight.numel() for layer in (*self._hidden_layers, self.output))

    def part(self, first: int, count: int, *, whole: bool = False) -> Self:
        """Return a stack of its own with some of the networks; see ``Stack``."""
        chosen = slice(first, first + count)
        width = None
        if whole and self.projection is not None:
            width = self.projection.weight.shape[2]
        with torch.device("cpu"):
            part = type(self)(seeds=self.seeds[chosen], embedding=width, **self._shape)
        state = {name: value[chosen] for name, value in self.state_dict().items()}
        part.load_state_dict({name: state[name] for name in part.state_dict()})
        return part.to(self.output.weight.device)

    def _last_hidden(self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return what the last hidden layer says of a training batch."""
        value = inputs[0]
        for number, layer in enumerate(self._hidden_layers):
            prepared = layer.prepare(value, rows) if number else inputs
            value = layer(prepared, rows, step)
        return value

    def _infer_hidden(self, features: Tensor) -> Tensor:
        """Return what the last hidden layer says of rows that nothing is learned from."""
        value = features.expand(len(self), -1, -1)
        for layer in self._hidden_layers:
            value = layer.infer(value)
        return value
