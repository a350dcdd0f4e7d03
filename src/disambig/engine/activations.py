"""Activations with their derivatives, in place where they can be.

All of them are zero at zero, which ``HiddenLayer`` counts on.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["ACTIVATIONS", "Activation"]


class Activation(NamedTuple):
    """What a hidden unit does with its input.

    Attributes
    ----------
    forward : callable
        Returns the output and what ``backward`` needs; may overwrite its input.
    backward : callable
        Takes the gradient of the output and what was kept, returns the gradient of the input; may
        overwrite the gradient.
    flat_at_zero : bool
        Whether the slope at zero is zero, so that a dropped unit has no gradient anyway.
    """

    forward: Callable[[Tensor], tuple[Tensor, Tensor]]
    backward: Callable[[Tensor, Tensor], Tensor]
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
