"""The layers of a stack of perceptrons, with their gradients written out.

Written out, not left to autograd, because most of a step on the CPU is passing over the hidden
layer: here that happens as seldom as possible, in place, and in memory that is used again. A layer
keeps what it needs from ``forward`` for ``learn``, which leaves the gradients of its parameters in
``.grad``, and ``pass_on``, which returns the gradient of its inputs.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from disambig.engine.activations import ACTIVATIONS
from disambig.engine.dropout import Dropout
from disambig.engine.rows_in_batch import RowsInBatch
from disambig.engine.workspace import Workspace

__all__ = ["HiddenLayer", "LinearLayer", "first_weights", "gradient_of", "product"]


class LinearLayer(nn.Module):
    """``scale * inputs @ weight + shift`` in every network.

    Parameters
    ----------
    first : Tensor of shape (networks, inputs + 1, outputs)
        First weights and, in the last row, shifts; see ``first_weights``.
    scale : float
        What inputs are multiplied by in training: it makes up for those that were dropped.
    """

    weight: Tensor
    shift: Tensor

    def __init__(self, first: Tensor, scale: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(first[:, :-1].clone())
        self.shift = nn.Parameter(first[:, -1:].clone())
        self.scale = scale
        self._workspace = Workspace()

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs for a training batch."""
        self._inputs = inputs
        return torch.baddbmm(self.shift, inputs, self.weight, alpha=self.scale)

    def learn(self, gradient: Tensor) -> Tensor:
        """Take the gradient of the outputs, return that of the product with the weights."""
        torch.sum(gradient, 1, keepdim=True, out=gradient_of(self.shift))
        product(self._inputs.mT, gradient, self.scale, gradient_of(self.weight))
        return gradient

    def pass_on(self, gradient: Tensor) -> Tensor:
        """Take what ``learn`` returned, return the gradient of the inputs."""
        inputs = self._workspace.tensor("gradient of inputs", gradient, self._inputs.shape)
        return product(gradient, self.weight.mT, self.scale, inputs)

    def infer(self, inputs: Tensor) -> Tensor:
        """Return the outputs for rows that nothing is learned from."""
        return torch.baddbmm(self.shift, inputs, self.weight)


class HiddenLayer(LinearLayer):
    """A linear layer, dropout, and an activation.

    Parameters
    ----------
    first, scale
        As in ``LinearLayer``.
    activation : str
        A name in ``ACTIVATIONS``.
    dropout : Dropout, optional
        Which units each step leaves out. The next layer scales the others up.
    """

    def __init__(
        self, first: Tensor, scale: float, activation: str, dropout: Dropout | None
    ) -> None:
        super().__init__(first, scale)
        self._activation = activation
        self._dropout = dropout

    def forward(  # type: ignore[override]  # it must know more of the batch than a linear layer
        self, inputs: Tensor, rows: RowsInBatch, step: int | Tensor
    ) -> Tensor:
        """Return the outputs for a training batch.

        Parameters
        ----------
        inputs : Tensor of shape (networks, rows, inputs)
            Left as they are.
        rows : RowsInBatch
            Which of them are real.
        step : int or Tensor of one integer
            Number of the training step, which dropout follows from.
        """
        active = self._before_activation(inputs, rows)
        if self._dropout is not None:
            # Zero before the activation is zero after it.
            self._keep = self._dropout(inputs.shape[1], step)
            _drop(active, self._keep)
        output, self._kept = ACTIVATIONS[self._activation].forward(active)
        return output

    def learn(self, gradient: Tensor) -> Tensor:
        """Take the gradient of the outputs, and turn it into that of the product with the weights.

        It is overwritten.
        """
        activation = ACTIVATIONS[self._activation]
        gradient = activation.backward(gradient, self._kept)
        if self._dropout is not None and not activation.flat_at_zero:
            _drop(gradient, self._keep)
        return self._learn_before_activation(gradient)

    def infer(self, inputs: Tensor) -> Tensor:
        """Return the outputs for rows that nothing is learned from."""
        return ACTIVATIONS[self._activation].forward(self._infer_before_activation(inputs))[0]

    def _before_activation(self, inputs: Tensor, rows: RowsInBatch) -> Tensor:  # noqa: ARG002
        """Return what goes into the activation; a subclass may look at the whole batch."""
        self._inputs = inputs
        active = self._hidden_memory("active", inputs)
        return torch.baddbmm(self.shift, inputs, self.weight, alpha=self.scale, out=active)

    def _learn_before_activation(self, gradient: Tensor) -> Tensor:
        """Take the gradient of that, and return the gradient of the product."""
        return super().learn(gradient)

    def _infer_before_activation(self, inputs: Tensor) -> Tensor:
        return super().infer(inputs)

    def _hidden_memory(self, name: str, inputs: Tensor) -> Tensor:
        """Return memory for one number for every network, row and unit."""
        shape = (*inputs.shape[:2], self.weight.shape[2])
        return self._workspace.tensor(name, inputs, shape)


def first_weights(
    n_inputs: int, n_outputs: int, generators: Sequence[torch.Generator], dtype: torch.dtype
) -> Tensor:
    """Return what a layer begins with: uniform within one over the root of its inputs.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Size of a row before and after.
    generators : sequence of torch.Generator
        One for every network, which its numbers are drawn from.
    dtype : torch.dtype
        Type of the weights.
    """
    bound = 1 / math.sqrt(n_inputs)
    first = torch.empty(len(generators), n_inputs + 1, n_outputs, dtype=dtype)
    for network, generator in enumerate(generators):
        first[network].uniform_(-bound, bound, generator=generator)
    return first


def product(left: Tensor, right: Tensor, scale: float, out: Tensor) -> Tensor:
    """Return ``scale * left @ right`` for every network, written into ``out``."""
    return torch.baddbmm(out, left, right, beta=0, alpha=scale, out=out)


def gradient_of(parameter: Tensor) -> Tensor:
    """Return the memory for the gradient of a parameter."""
    if parameter.grad is None:
        parameter.grad = torch.empty_like(parameter)
    return parameter.grad


def _drop(value: Tensor, keep: Tensor) -> None:
    """Set to zero, in place, what is not to be kept: as bits, which takes one pass."""
    integers = torch.int32 if value.dtype == torch.float32 else torch.int64
    value.view(integers).bitwise_and_(keep.to(integers))
