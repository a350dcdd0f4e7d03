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
from disambig.engine.rows_in_batch import RowsInBatch
from disambig.engine.workspace import Workspace

__all__ = ["HiddenLayer", "LinearLayer"]

# Added to the variance of a unit before it is divided by.
_EPSILON = 1e-5
# How much the statistics of a new batch count in those kept for inference.
_MOMENTUM = 0.1


class LinearLayer(nn.Module):
    """``scale * inputs @ weight + shift`` in every network.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Size of a row before and after.
    generators : sequence of torch.Generator
        One for every network: its first weights are drawn from it.
    scale : float
        What inputs are multiplied by in training: it makes up for those that were dropped.
    dtype : torch.dtype
        Type of the weights.
    """

    weight: Tensor
    shift: Tensor

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        generators: Sequence[torch.Generator],
        scale: float,
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_inputs)
        first = torch.empty(len(generators), n_inputs + 1, n_outputs, dtype=dtype)
        for network, generator in enumerate(generators):
            first[network].uniform_(-bound, bound, generator=generator)
        self.weight = nn.Parameter(first[:, :-1].clone())
        self.shift = nn.Parameter(first[:, -1:].clone())
        self.scale = scale
        self.workspace = Workspace()

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs for a training batch."""
        self._inputs = inputs
        return torch.baddbmm(self.shift, inputs, self.weight, alpha=self.scale)

    def learn(self, gradient: Tensor) -> Tensor:
        """Take the gradient of the outputs, return that of the product with the weights."""
        torch.sum(gradient, 1, keepdim=True, out=_gradient_of(self.shift))
        _product(self._inputs.mT, gradient, self.scale, _gradient_of(self.weight))
        return gradient

    def pass_on(self, gradient: Tensor) -> Tensor:
        """Take what ``learn`` returned, return the gradient of the inputs."""
        inputs = self.workspace.tensor("gradient of inputs", gradient, self._inputs.shape)
        return _product(gradient, self.weight.mT, self.scale, inputs)

    def infer(self, inputs: Tensor) -> Tensor:
        """Return the outputs for rows that nothing is learned from."""
        return torch.baddbmm(self.shift, inputs, self.weight)


class HiddenLayer(LinearLayer):
    """A linear layer, batch norm if wanted, dropout, and an activation.

    Batch norm subtracts the mean of ``inputs @ weight`` over the batch. Subtracting the mean of the
    inputs before the product comes to the same, is the smaller pass in the first layer, and loses
    no digits where inputs lie far from zero.

    Parameters
    ----------
    n_inputs, n_outputs, generators, scale, dtype
        As in ``LinearLayer``.
    activation : str
        A name in ``ACTIVATIONS``.
    batch_norm : bool
        Whether to normalise over the batch.
    """

    gain: Tensor
    input_mean: Tensor
    variance: Tensor

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        generators: Sequence[torch.Generator],
        scale: float,
        dtype: torch.dtype,
        *,
        activation: str,
        batch_norm: bool,
    ) -> None:
        super().__init__(n_inputs, n_outputs, generators, scale, dtype)
        self.activation = activation
        self.batch_norm = batch_norm
        if batch_norm:
            networks = len(generators)
            nn.init.zeros_(self.shift)
            self.gain = nn.Parameter(torch.ones(networks, 1, n_outputs, dtype=dtype))
            self.register_buffer("input_mean", torch.zeros(networks, 1, n_inputs, dtype=dtype))
            self.register_buffer("variance", torch.ones(networks, 1, n_outputs, dtype=dtype))

    def forward(  # type: ignore[override]  # it must know more of the batch than a linear layer
        self, inputs: Tensor, rows: RowsInBatch, keep: Tensor | None
    ) -> Tensor:
        """Return the outputs for a training batch.

        Parameters
        ----------
        inputs : Tensor of shape (networks, rows, inputs)
            Left as they are.
        rows : RowsInBatch
            Which of them are real.
        keep : Tensor of integers of shape (networks, rows, outputs), optional
            From ``keep_masks``: units to drop become zero.
        """
        shape = (*inputs.shape[:2], self.weight.shape[2])
        active = self._active = self.workspace.tensor("active", inputs, shape)
        self._inputs, self._rows, self._keep = inputs, rows, keep
        if self.batch_norm:
            self._inputs = self._centred(inputs)
            self._value = self.workspace.tensor("value", inputs, shape)
            _product(self._inputs, self.weight, self.scale, self._value)
            self._normalise(active)
        else:
            torch.baddbmm(self.shift, inputs, self.weight, alpha=self.scale, out=active)
        if keep is not None:
            # Zero before the activation is zero after it.
            _drop(active, keep)
        output, self._kept = ACTIVATIONS[self.activation].forward(active)
        return output

    def learn(self, gradient: Tensor) -> Tensor:
        """Take the gradient of the outputs, and turn it into that of the product with the weights.

        It is overwritten.
        """
        activation = ACTIVATIONS[self.activation]
        gradient = activation.backward(gradient, self._kept)
        if self._keep is not None and not activation.flat_at_zero:
            _drop(gradient, self._keep)
        if self.batch_norm:
            torch.sum(gradient, 1, keepdim=True, out=_gradient_of(self.shift))
            self._learn_gain(gradient)
            _product(self._inputs.mT, gradient, self.scale, _gradient_of(self.weight))
            return gradient
        return super().learn(gradient)

    def pass_on(self, gradient: Tensor) -> Tensor:
        """Take what ``learn`` returned, return the gradient of the inputs."""
        inputs = super().pass_on(gradient)
        if self.batch_norm:
            inputs.sub_(torch.bmm(self._rows.averaging, inputs)).mul_(self._rows.real)
        return inputs

    def infer(self, inputs: Tensor) -> Tensor:
        """Return the outputs for rows that nothing is learned from."""
        if self.batch_norm:
            gain = self.gain / (self.variance + _EPSILON).sqrt()
            value = torch.bmm(inputs - self.input_mean, self.weight)
            active = torch.addcmul(self.shift, value, gain)
        else:
            active = super().infer(inputs)
        return ACTIVATIONS[self.activation].forward(active)[0]

    def _centred(self, inputs: Tensor) -> Tensor:
        """Return inputs less their mean over the batch; rows that only fill up are zero."""
        mean = torch.bmm(self._rows.averaging, inputs)
        self.input_mean.lerp_(mean * self.scale, _MOMENTUM)
        centred = self.workspace.tensor("centred", inputs, inputs.shape)
        return torch.sub(inputs, mean, out=centred).mul_(self._rows.real)

    def _normalise(self, active: Tensor) -> None:
        square = torch.mul(self._value, self._value, out=active)
        variance = torch.bmm(self._rows.averaging, square)
        # The variance of a sample is a little too small for the rows it was taken from.
        counts = self._rows.counts
        self.variance.lerp_(variance * (counts / (counts - 1).clamp(min=1)), _MOMENTUM)
        self._deviation = variance.add_(_EPSILON).sqrt_()
        self._normalised_gain = self.gain / self._deviation
        torch.addcmul(self.shift, self._value, self._normalised_gain, out=active)

    def _learn_gain(self, gradient: Tensor) -> None:
        # With normalised = value / deviation, and the mean of the inputs gone already:
        # d gain = sum(d active * normalised)
        # d value = gain / deviation * (d active - normalised * mean(d active * normalised))
        product = torch.mul(gradient, self._value, out=self._active)
        gain_gradient = _gradient_of(self.gain)
        torch.sum(product, 1, keepdim=True, out=gain_gradient).div_(self._deviation)
        gradient.addcmul_(self._value, gain_gradient / (self._deviation * -self._rows.counts))
        gradient.mul_(self._normalised_gain)


def _product(left: Tensor, right: Tensor, scale: float, out: Tensor) -> Tensor:
    return torch.baddbmm(out, left, right, beta=0, alpha=scale, out=out)


def _gradient_of(parameter: Tensor) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.empty_like(parameter)
    return parameter.grad


def _drop(value: Tensor, keep: Tensor) -> None:
    """Set to zero, in place, what is not to be kept: as bits, which takes one pass."""
    integers = torch.int32 if value.dtype == torch.float32 else torch.int64
    value.view(integers).bitwise_and_(keep.to(integers))
