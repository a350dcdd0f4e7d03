"""The layers of a stack of perceptrons, with their gradients written out.

Written out, not left to autograd, because most of a step on the CPU is passing over the hidden
layer: here that happens as seldom as possible, in place, and in memory that is used again. A layer
keeps what it needs from ``forward`` for ``backward_params``, which leaves the gradients of its
parameters in ``.grad``, and ``backward_input``, which returns the gradient of its inputs.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from disambig.engine.fast.random import Dropout
from disambig.engine.fast.step import RowsInBatch, Workspace
from disambig.engine.ranks import Ranks


class Activation(NamedTuple):
    """An activation function and its derivative; zero at zero, which ``HiddenLayer`` counts on."""

    # Returns the output and what ``backward`` needs; may overwrite its input.
    forward: Callable[[Tensor], tuple[Tensor, Tensor]]
    # From the gradient of the output and what was kept to that of the input; may overwrite it.
    backward: Callable[[Tensor, Tensor], Tensor]
    # Whether the slope at zero is zero, so that a dropped unit has no gradient anyway.
    flat_at_zero: bool = False


def _relu(value: Tensor) -> tuple[Tensor, Tensor]:
    value.relu_()
    return value, value


def _relu_backward(gradient: Tensor, output: Tensor) -> Tensor:
    torch.ops.aten.threshold_backward.grad_input(gradient, output, 0, grad_input=gradient)
    return gradient


def _tanh(value: Tensor) -> tuple[Tensor, Tensor]:
    value.tanh_()
    return value, value


ACTIVATIONS = {
    "relu": Activation(_relu, _relu_backward, flat_at_zero=True),
    "tanh": Activation(_tanh, torch.ops.aten.tanh_backward),
    "gelu": Activation(lambda a: (functional.gelu(a), a), torch.ops.aten.gelu_backward),
    "mish": Activation(lambda a: (functional.mish(a), a), torch.ops.aten.mish_backward),
    "silu": Activation(lambda a: (functional.silu(a), a), torch.ops.aten.silu_backward),
}


# With fewer classes than this an output layer has them first in memory: a CPU takes up to ten times
# as long for a product whose rows are as short as there are classes. With more, products are
# quicker where the classes of a row lie side by side, and so is all that looks along them.
MANY_CLASSES = 256


class LogSoftmax(NamedTuple):
    """Log-softmax and argmax of logits of shape (..., rows, classes)."""

    log_probabilities: Tensor  # (..., rows, classes)
    predicted: Tensor  # (..., rows, 1): the most probable class


def log_softmax(logits: Tensor) -> LogSoftmax:
    """Return log-softmax and argmax over the last axis.

    On the CPU few classes take many times as long unless they come first in memory, as an output
    layer leaves them: many rows are taken at a time then.
    """
    if logits.shape[-1] < MANY_CLASSES:
        log_probabilities = torch.log_softmax(logits.mT, -2).mT
        return LogSoftmax(log_probabilities, logits.max(-1, keepdim=True).indices)
    return LogSoftmax(torch.log_softmax(logits, -1), _argmax(logits))


def _argmax(values: Tensor) -> Tensor:
    """Return where the first of the largest values along the last axis is; that axis stays."""
    if values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64):
        # NumPy compares with vector instructions, in a seventh of the time that torch takes.
        return torch.from_numpy(values.detach().numpy().argmax(-1, keepdims=True))
    return values.argmax(-1, keepdim=True)


# What a hidden layer makes of its inputs before it looks at its weights.
Prepared = tuple[Tensor, ...]


class Kept:
    """What a layer keeps from ``forward`` for its gradients.

    Not in the layer itself: a module of torch looks closely at everything that is set on it, which
    takes as long as a small operation.
    """

    inputs: Tensor
    output: Tensor  # what the activation needs of it
    masks: Tensor  # of dropout
    # With batch norm:
    rows: RowsInBatch
    value: Tensor  # of the product with the weights
    spread: Tensor  # the covariance of every input with every unit
    per_deviation: Tensor  # one over the deviation of every unit
    factor: Tensor  # gamma over the deviation


class LinearLayer(nn.Module):
    """``scale * inputs @ weight + bias`` in every network.

    Parameters
    ----------
    first : Tensor of shape (networks, inputs + 1, outputs)
        Initial weights and, in the last row, biases; see ``init_weights``.
    scale : float
        What inputs are multiplied by in training: it makes up for those that were dropped.

    Attributes
    ----------
    ranks : Ranks
        Who has the other rows of a batch. Gradients of parameters are those of the rows here.
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, first: Tensor, scale: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(first[:, :-1].clone())
        self.bias = nn.Parameter(first[:, -1:].clone())
        self.scale = scale
        self.ranks = Ranks()
        self._workspace = Workspace()
        self._kept = Kept()

    def backward_params(self, gradient: Tensor) -> Tensor:
        """Take the gradient of the outputs, return that of the product with the weights."""
        torch.sum(gradient, 1, keepdim=True, out=gradient_of(self.bias))
        product(self._kept.inputs.mT, gradient, self.scale, gradient_of(self.weight))
        return gradient

    def backward_input(self, gradient: Tensor) -> Tensor:
        """Take what ``backward_params`` returned, return the gradient of the inputs."""
        inputs = self._workspace.tensor("gradient of inputs", gradient, self._kept.inputs.shape)
        return product(gradient, self.weight.mT, self.scale, inputs)

    def infer(self, inputs: Tensor) -> Tensor:
        """Return the outputs for rows that nothing is learned from."""
        return torch.baddbmm(self.bias, inputs, self.weight)


class OutputLayer(LinearLayer):
    """The last layer, whose outputs are classes. Parameters are those of ``LinearLayer``.

    In memory classes come first, in weights and logits alike, unless there are ``MANY_CLASSES``.
    """

    def __init__(self, first: Tensor, scale: float) -> None:
        super().__init__(first, scale)
        self._classes_first = first.shape[2] < MANY_CLASSES
        if self._classes_first:
            self.weight = nn.Parameter(self.weight.detach().mT.contiguous().mT)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs for a training batch."""
        self._kept.inputs = inputs
        (networks, rows, _), n_classes = inputs.shape, self.weight.shape[2]
        if self._classes_first:
            outputs = inputs.new_empty(networks, n_classes, rows).mT
        else:
            outputs = inputs.new_empty(networks, rows, n_classes)
        return torch.baddbmm(self.bias, inputs, self.weight, alpha=self.scale, out=outputs)


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

    dropout: Dropout | None

    def __init__(
        self, first: Tensor, scale: float, activation: str, dropout: Dropout | None
    ) -> None:
        super().__init__(first, scale)
        self.activation = activation
        self.dropout = dropout

    def prepare(self, inputs: Tensor, rows: RowsInBatch) -> Prepared:  # noqa: ARG002
        """Return what of a batch does not depend on the weights.

        The first axis of everything is the networks, or the networks of several steps.
        """
        return (inputs,)

    def forward(self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return the outputs for a training batch; dropout follows from the number of the step."""
        active = self._before_activation(inputs, rows)
        if self.dropout is not None:
            # Zero before the activation is zero after it.
            self._kept.masks = self.dropout(active.shape[1], step)
            _drop(active, self._kept.masks)
        output, self._kept.output = ACTIVATIONS[self.activation].forward(active)
        return output

    def backward_params(self, gradient: Tensor) -> Tensor:
        """Take the gradient of the outputs, and turn it into that of the product with the weights.

        It is overwritten.
        """
        activation = ACTIVATIONS[self.activation]
        gradient = activation.backward(gradient, self._kept.output)
        if self.dropout is not None and not activation.flat_at_zero:
            _drop(gradient, self._kept.masks)
        return self._backward_before_activation(gradient)

    def infer(self, inputs: Tensor) -> Tensor:
        """Return the outputs for rows that nothing is learned from."""
        return ACTIVATIONS[self.activation].forward(self._infer_before_activation(inputs))[0]

    def _before_activation(self, prepared: Prepared, rows: RowsInBatch) -> Tensor:  # noqa: ARG002
        """Return what goes into the activation; a subclass may look at the whole batch."""
        (inputs,) = prepared
        self._kept.inputs = inputs
        active = self._hidden_memory("active", inputs)
        return torch.baddbmm(self.bias, inputs, self.weight, alpha=self.scale, out=active)

    def _backward_before_activation(self, gradient: Tensor) -> Tensor:
        """Take the gradient of that, and return the gradient of the product."""
        return super().backward_params(gradient)

    def _infer_before_activation(self, inputs: Tensor) -> Tensor:
        return super().infer(inputs)

    def _hidden_memory(self, name: str, inputs: Tensor) -> Tensor:
        """Return memory for one number for every network, row and unit."""
        shape = (*inputs.shape[:2], self.weight.shape[2])
        return self._workspace.tensor(name, inputs, shape)


def init_weights(
    n_inputs: int, n_outputs: int, generators: Sequence[torch.Generator], dtype: torch.dtype
) -> Tensor:
    """Return what a layer begins with: uniform within one over the root of its inputs.

    The numbers of every network are drawn from its generator.
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


def _drop(value: Tensor, masks: Tensor) -> None:
    """Set to zero, in place, what ``Dropout`` leaves out: as integers, which takes one pass."""
    bits = value.view(torch.int32 if value.dtype == torch.float32 else torch.int64)
    torch.ops.aten.threshold_backward.grad_input(bits, masks.to(bits.dtype), -1, grad_input=bits)
