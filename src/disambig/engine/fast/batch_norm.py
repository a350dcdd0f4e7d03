"""Hidden layers with batch norm."""

import torch
from torch import Tensor, nn

from disambig.engine.fast.layers import HiddenLayer, Prepared, gradient_of, product
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

    def prepare(self, inputs: Tensor, rows: RowsInBatch) -> Prepared:
        """Return the inputs less their mean over the batch, zero in filler rows, and that mean."""
        mean = torch.bmm(rows.averaging, inputs)
        self.ranks.sum(mean)
        return (inputs - mean).mul_(rows.real), mean

    def backward_input(self, gradient: Tensor) -> Tensor:
        """Take what ``backward_params`` returned, return the gradient of the inputs."""
        inputs, rows = super().backward_input(gradient), self._kept.rows
        mean = torch.bmm(rows.averaging, inputs)
        self.ranks.sum(mean)
        return inputs.sub_(mean).mul_(rows.real)

    def _before_activation(self, prepared: Prepared, rows: RowsInBatch) -> Tensor:
        kept = self._kept
        (kept.inputs, mean), kept.rows = prepared, rows
        memory = self._hidden_memory("value", kept.inputs)
        kept.value = product(kept.inputs, self.weight, self.scale, memory)
        active = self._hidden_memory("active", kept.inputs)
        square = torch.mul(kept.value, kept.value, out=active)
        variance = torch.bmm(rows.averaging, square)
        self.ranks.sum(variance)
        self._keep_statistics(mean, variance)
        return torch.addcmul(self.bias, kept.value, kept.factor, out=active)

    def _backward_before_activation(self, gradient: Tensor) -> Tensor:
        # With normalised = value / deviation, and the mean of the inputs gone already:
        # d gamma = sum(d active * normalised)
        # d value = gamma / deviation * (d active - normalised * mean(d active * normalised))
        kept, of_gamma = self._kept, gradient_of(self.gamma)
        # As products with a row of ones, which are quicker than sums over the rows.
        ones = kept.rows.real.mT
        torch.bmm(ones, gradient, out=gradient_of(self.bias))
        aligned = torch.mul(gradient, kept.value, out=self._hidden_memory("active", gradient))
        torch.bmm(ones, aligned, out=of_gamma).mul_(kept.per_deviation)
        mean = of_gamma * kept.per_deviation / kept.rows.counts
        self.ranks.sum(mean)
        gradient.addcmul_(kept.value, mean, value=-1)
        gradient.mul_(kept.factor)
        product(kept.inputs.mT, gradient, self.scale, gradient_of(self.weight))
        return gradient

    def _infer_before_activation(self, inputs: Tensor) -> Tensor:
        gamma = self.gamma / (self.variance + _EPSILON).sqrt()
        value = torch.bmm(inputs - self.input_mean, self.weight)
        return torch.addcmul(self.bias, value, gamma)

    def _keep_statistics(self, mean: Tensor, variance: Tensor) -> None:
        """Keep the mean of the inputs and the variance of every unit for inference.

        And what this batch is normalised by: one over the deviation, and gamma over it.
        """
        kept = self._kept
        self.input_mean.lerp_(mean if self.scale == 1 else mean * self.scale, _MOMENTUM)
        self.variance.lerp_(variance * kept.rows.unbiased, _MOMENTUM)
        kept.per_deviation = (variance + _EPSILON).rsqrt_()
        kept.factor = self.gamma * kept.per_deviation


class NarrowNormalisedLayer(NormalisedLayer):
    """The same for a first layer with few inputs, at fewer passes over the hidden units.

    The variance of ``value = inputs @ weight`` follows from the covariance of the inputs, and so
    does the gradient of the weights from ``inputs.T @ gradient``: products of the size of the
    weights take the place of passes over all rows and units. As the variance is known before the
    product, the product gives normalised values right away, and with an input more, which is one in
    every real row, it adds the bias, and sums up its gradient. The gradient of the inputs, which a
    first layer does not need, is lost on the way; and so are digits of a variance that is tiny
    because large parts of it cancel.
    """

    def prepare(self, inputs: Tensor, rows: RowsInBatch) -> Prepared:
        """Return the inputs less their mean, followed by a one; that mean; their covariance."""
        networks, n_rows, n_inputs = inputs.shape
        mean = torch.bmm(rows.averaging, inputs)
        self.ranks.sum(mean)
        extended = inputs.new_empty(networks, n_rows, n_inputs + 1)
        extended[..., -1:] = rows.real
        centred = torch.sub(inputs, mean, out=extended[..., :-1]).mul_(rows.real)
        covariance = torch.bmm(centred.mT, centred).div_(rows.counts)
        self.ranks.sum(covariance)
        return extended, mean, covariance

    def _before_activation(self, prepared: Prepared, rows: RowsInBatch) -> Tensor:
        kept = self._kept
        (kept.inputs, mean, covariance), kept.rows = prepared, rows
        memory = self._workspace.tensor("spread", covariance, self.weight.shape)
        kept.spread = product(covariance, self.weight, self.scale, memory)
        variance = self._summed_with_weights(kept.spread)
        if self.scale != 1:
            variance.mul_(self.scale)
        self._keep_statistics(mean, variance.clamp_(min=0))
        extended, weight, bias = self._extended_weights("extended weights")
        torch.mul(self.weight, kept.factor, out=weight)
        if self.scale != 1:
            weight.mul_(self.scale)
        bias.copy_(self.bias)
        return torch.bmm(kept.inputs, extended, out=self._hidden_memory("active", kept.inputs))

    def _backward_before_activation(self, gradient: Tensor) -> Tensor:
        kept, of_gamma, of_weight = self._kept, gradient_of(self.gamma), gradient_of(self.weight)
        extended, raw, of_bias = self._extended_weights("gradient of extended weights")
        torch.bmm(kept.inputs.mT, gradient, out=extended)
        gradient_of(self.bias).copy_(of_bias)
        # Of the weights as if nothing had been normalised; see the other layer for the rest. All of
        # it is linear in the gradient: that of the rows here is a part of that of all rows.
        if self.scale != 1:
            raw.mul_(self.scale)
        torch.mul(self._summed_with_weights(raw), kept.per_deviation, out=of_gamma)
        share = of_gamma * kept.per_deviation
        torch.addcmul(raw, kept.spread, share, value=-self.scale, out=of_weight)
        of_weight.mul_(kept.factor)
        return gradient

    def backward_input(self, gradient: Tensor) -> Tensor:
        """Refuse: what the gradient of the inputs would need was never computed."""
        raise NotImplementedError("A narrow layer is the first one: it has no layer before it.")

    def _extended_weights(self, name: str) -> tuple[Tensor, Tensor, Tensor]:
        """Return memory for the weights with the biases below them: all of it, and both parts."""
        networks, n_inputs, n_units = self.weight.shape
        whole = self._workspace.tensor(name, self.weight, (networks, n_inputs + 1, n_units))
        return whole, whole[:, :-1], whole[:, -1:]

    def _summed_with_weights(self, factor: Tensor) -> Tensor:
        """Return the sum over the inputs of weight times factor."""
        memory = self._workspace.tensor("weighted", factor, factor.shape)
        return torch.mul(self.weight, factor, out=memory).sum(1, keepdim=True)
