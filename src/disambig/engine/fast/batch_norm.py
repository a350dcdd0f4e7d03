"""Hidden layers with batch norm."""

import torch
from torch import Tensor, nn

from disambig.engine.fast.layers import HiddenLayer, gradient_of, product
from disambig.engine.fast.random import Dropout
from disambig.engine.fast.step import RowsInBatch

# Added to the variance of a unit before it is divided by.
_EPSILON = 1e-5
# How much the statistics of a new batch count in those kept for inference.
_MOMENTUM = 0.1


class NormalisedLayer(HiddenLayer):
    """A hidden layer that normalises each unit over the batch before dropout and activation.

    Batch norm subtracts the mean of ``inputs @ weight`` over the batch. Subtracting the mean of the
    inputs before the product comes to the same, is the smaller pass in the first layer, and loses
    fewer digits where inputs lie far from zero. Parameters are those of ``HiddenLayer``.
    """

    gamma: Tensor
    input_mean: Tensor
    variance: Tensor

    def __init__(
        self, first: Tensor, scale: float, activation: str, dropout: Dropout | None
    ) -> None:
        super().__init__(first, scale, activation, dropout)
        # What was drawn for it would be an offset after the normalisation: that starts at zero.
        nn.init.zeros_(self.bias)
        self.gamma = nn.Parameter(torch.ones_like(self.bias))
        networks, n_inputs, _ = self.weight.shape
        self.register_buffer("input_mean", first.new_zeros(networks, 1, n_inputs))
        self.register_buffer("variance", torch.ones_like(self.bias.detach()))

    def backward_input(self, gradient: Tensor) -> Tensor:
        """Take what ``backward_params`` returned, return the gradient of the inputs."""
        inputs = super().backward_input(gradient)
        return inputs.sub_(torch.bmm(self._rows.averaging, inputs)).mul_(self._rows.real)

    def _before_activation(self, inputs: Tensor, rows: RowsInBatch) -> Tensor:
        self._rows = rows
        self._inputs = self._centred(inputs)
        memory = self._hidden_memory("value", inputs)
        self._value = product(self._inputs, self.weight, self.scale, memory)
        self._active = self._hidden_memory("active", inputs)
        square = torch.mul(self._value, self._value, out=self._active)
        gamma = self._gamma_per_deviation(torch.bmm(rows.averaging, square))
        return torch.addcmul(self.bias, self._value, gamma, out=self._active)

    def _backward_before_activation(self, gradient: Tensor) -> Tensor:
        # With normalised = value / deviation, and the mean of the inputs gone already:
        # d gamma = sum(d active * normalised)
        # d value = gamma / deviation * (d active - normalised * mean(d active * normalised))
        torch.sum(gradient, 1, keepdim=True, out=gradient_of(self.bias))
        aligned = torch.mul(gradient, self._value, out=self._active)
        of_gamma = gradient_of(self.gamma)
        torch.sum(aligned, 1, keepdim=True, out=of_gamma).div_(self._deviation)
        mean = of_gamma / (self._deviation * self._rows.counts)
        gradient.addcmul_(self._value, mean, value=-1)
        gradient.mul_(self._normalised_gamma)
        product(self._inputs.mT, gradient, self.scale, gradient_of(self.weight))
        return gradient

    def _infer_before_activation(self, inputs: Tensor) -> Tensor:
        gamma = self.gamma / (self.variance + _EPSILON).sqrt()
        value = torch.bmm(inputs - self.input_mean, self.weight)
        return torch.addcmul(self.bias, value, gamma)

    def _centred(self, inputs: Tensor) -> Tensor:
        """Return inputs less their mean over the batch; rows that only fill up are zero."""
        mean = torch.bmm(self._rows.averaging, inputs)
        self.input_mean.lerp_(mean if self.scale == 1 else mean * self.scale, _MOMENTUM)
        centred = self._workspace.tensor("centred", inputs, inputs.shape)
        return torch.sub(inputs, mean, out=centred).mul_(self._rows.real)

    def _gamma_per_deviation(self, variance: Tensor) -> Tensor:
        """Keep the statistics of a batch, and return what its values are to be multiplied by."""
        self.variance.lerp_(variance * self._rows.unbiased, _MOMENTUM)
        self._deviation = (variance + _EPSILON).sqrt_()
        self._normalised_gamma = self.gamma / self._deviation
        return self._normalised_gamma


class NarrowNormalisedLayer(NormalisedLayer):
    """The same for a first layer with few inputs, at fewer passes over the hidden units.

    The variance of ``value = inputs @ weight`` follows from the covariance of the inputs, and so
    does the gradient of the weights from ``inputs.T @ gradient``: products of the size of the
    weights take the place of passes over all rows and units. The gradient of the inputs, which a
    first layer does not need, is lost on the way; and so are digits of a variance that is tiny
    because large parts of it cancel.
    """

    def _before_activation(self, inputs: Tensor, rows: RowsInBatch) -> Tensor:
        self._rows = rows
        self._inputs = self._centred(inputs)
        covariance = torch.bmm(self._inputs.mT, self._inputs).div_(rows.counts)
        # Covariance of every input with every unit.
        memory = self._workspace.tensor("spread", inputs, self.weight.shape)
        self._spread = product(covariance, self.weight, self.scale, memory)
        variance = self._summed_with_weights(self._spread).mul_(self.scale).clamp_(min=0)
        gamma = self._gamma_per_deviation(variance)
        active = self._hidden_memory("active", inputs)
        product(self._inputs, self.weight, self.scale, active)
        return torch.addcmul(self.bias, active, gamma, out=active)

    def _backward_before_activation(self, gradient: Tensor) -> Tensor:
        torch.sum(gradient, 1, keepdim=True, out=gradient_of(self.bias))
        of_weight, of_gamma = gradient_of(self.weight), gradient_of(self.gamma)
        product(self._inputs.mT, gradient, self.scale, of_weight)
        torch.div(self._summed_with_weights(of_weight), self._deviation, out=of_gamma)
        share = -self.scale * of_gamma / self._deviation
        of_weight.addcmul_(self._spread, share).mul_(self._normalised_gamma)
        return gradient

    def backward_input(self, gradient: Tensor) -> Tensor:
        """Refuse: what the gradient of the inputs would need was never computed."""
        raise NotImplementedError("A narrow layer is the first one: it has no layer before it.")

    def _summed_with_weights(self, factor: Tensor) -> Tensor:
        """Return the sum over the inputs of weight times factor."""
        memory = self._workspace.tensor("weighted", factor, factor.shape)
        return torch.mul(self.weight, factor, out=memory).sum(1, keepdim=True)
