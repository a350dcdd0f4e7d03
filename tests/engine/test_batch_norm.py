import pytest
import torch
from torch import nn

from disambig.engine.fast.batch_norm import NarrowNormalisedLayer, NormalisedLayer
from disambig.engine.fast.layers import init_weights
from disambig.engine.fast.random import Dropout
from engine.plain_network import FUNCTIONS, normal, rows_of_batch

every_kind = pytest.mark.parametrize("kind", [NormalisedLayer, NarrowNormalisedLayer])


def make(kind, n_inputs=5, n_outputs=4, scale=1.0, dtype=torch.float64, **changes):
    generators = [torch.Generator().manual_seed(3)]
    settings = {"activation": "tanh", "dropout": None} | changes
    return kind(init_weights(n_inputs, n_outputs, generators, dtype), scale, **settings)


def forward(layer, inputs, count=None):
    count = inputs.shape[1] if count is None else count
    rows = rows_of_batch([count], inputs.shape[1], inputs.dtype)
    with torch.no_grad():
        return layer(layer.prepare(inputs, rows), rows, 0).clone()


def leaves_of(layer, inputs):
    """Copies of the inputs and parameters of the one network, to be differentiated with."""
    tensors = (inputs, layer.weight, layer.bias, layer.gamma)
    return [tensor[0].detach().clone().requires_grad_() for tensor in tensors]


def plain_output(leaves, activation="tanh", scale=1.0):
    inputs, weight, bias, gamma = leaves
    value = nn.functional.batch_norm(
        scale * inputs @ weight, None, None, gamma[0], bias[0], training=True
    )
    return FUNCTIONS[activation](value)


def away_from_the_start(layer):
    with torch.no_grad():
        layer.gamma.add_(0.3 * normal(*layer.gamma.shape, seed=4))
        layer.bias.add_(0.3 * normal(*layer.bias.shape, seed=5))
    return layer


@every_kind
@pytest.mark.parametrize("scale", [1.0, 1.6])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_outputs_and_gradients_are_those_of_autograd(kind, activation, scale):
    layer = away_from_the_start(make(kind, activation=activation, scale=scale))
    inputs, gradient = normal(1, 9, 5) + 1, normal(1, 9, 4, seed=1)
    leaves = leaves_of(layer, inputs)
    output = plain_output(leaves, activation, scale)
    output.backward(gradient[0])
    torch.testing.assert_close(forward(layer, inputs)[0], output.detach(), rtol=1e-11, atol=1e-13)
    with torch.no_grad():
        layer.backward_params(gradient.clone())
    for parameter, leaf in zip((layer.weight, layer.bias, layer.gamma), leaves[1:], strict=True):
        torch.testing.assert_close(parameter.grad[0], leaf.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1.6])
def test_the_gradient_of_the_inputs_is_that_of_autograd(scale):
    layer = away_from_the_start(make(NormalisedLayer, scale=scale))
    inputs, gradient = normal(1, 9, 5) + 1, normal(1, 9, 4, seed=1)
    leaves = leaves_of(layer, inputs)
    plain_output(leaves, scale=scale).backward(gradient[0])
    forward(layer, inputs)
    with torch.no_grad():
        of_inputs = layer.backward_input(layer.backward_params(gradient.clone()))
    torch.testing.assert_close(of_inputs[0], leaves[0].grad, rtol=1e-10, atol=1e-12)


def test_a_narrow_layer_refuses_to_give_the_gradient_of_its_inputs():
    layer = make(NarrowNormalisedLayer)
    forward(layer, normal(1, 9, 5))
    with torch.no_grad(), pytest.raises(NotImplementedError, match="the first one"):
        layer.backward_input(layer.backward_params(normal(1, 9, 4)))


@every_kind
def test_biases_begin_at_zero_gammas_at_one_and_weights_as_in_any_layer(kind):
    layer = make(kind, 25, 400)
    assert (layer.bias == 0).all()
    assert (layer.gamma == 1).all()
    assert 0.19 < layer.weight.detach().abs().max() <= 0.2


@every_kind
def test_normalised_values_have_mean_zero_and_the_variance_of_one(kind):
    # Before the activation: tanh can be turned round.
    value = forward(make(kind), 10 * normal(1, 500, 5) + 3)[0].atanh()
    torch.testing.assert_close(value.mean(0), torch.zeros(4).double(), atol=1e-9, rtol=0)
    variance = value.var(0, correction=0)
    torch.testing.assert_close(variance, torch.ones(4).double(), atol=1e-5, rtol=0)


@every_kind
def test_inputs_are_left_as_they_are(kind):
    layer, inputs = make(kind, dropout=Dropout(0.5, 4, (3,), 0)), normal(1, 9, 5)
    forward(layer, inputs)
    with torch.no_grad():
        layer.backward_params(normal(1, 9, 4))
    assert torch.equal(inputs, normal(1, 9, 5))


@every_kind
def test_units_are_dropped_after_they_were_normalised(kind):
    dropout = Dropout(0.5, 4, (3,), 0)
    keep = dropout(9, 0) >= 0
    found = forward(make(kind, dropout=dropout), normal(1, 9, 5))
    torch.testing.assert_close(found, forward(make(kind), normal(1, 9, 5)) * keep)


@every_kind
def test_rows_that_only_fill_up_change_nothing(kind):
    layers = [away_from_the_start(make(kind)) for _ in range(2)]
    inputs, gradient = normal(1, 9, 5) + 1, normal(1, 9, 4, seed=1)
    inputs[:, 6:] = gradient[:, 6:] = 0
    found = forward(layers[0], inputs, 6)
    torch.testing.assert_close(found[:, :6], forward(layers[1], inputs[:, :6]), rtol=1e-12, atol=0)
    with torch.no_grad():
        layers[0].backward_params(gradient.clone())
        layers[1].backward_params(gradient[:, :6].clone())
    for one, other in zip(layers[0].parameters(), layers[1].parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-11, atol=1e-13)
    for one, other in zip(layers[0].buffers(), layers[1].buffers(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


@every_kind
def test_whatever_rows_that_only_fill_up_hold_is_overlooked(kind):
    # After a first layer they are no longer zero.
    layer = make(kind)
    inputs = normal(1, 9, 5)
    found = forward(layer, inputs, 6)[:, :6]
    inputs[:, 6:] = 1e6
    torch.testing.assert_close(forward(layer, inputs, 6)[:, :6], found, rtol=1e-12, atol=0)


@every_kind
def test_inputs_far_from_zero_are_normalised_in_single_precision(kind):
    inputs = (normal(1, 64, 5) + 1000).float()
    layer = make(kind, dtype=torch.float32)
    expected = plain_output([tensor.double() for tensor in leaves_of(layer, inputs)])
    torch.testing.assert_close(
        forward(layer, inputs)[0].double(), expected.detach(), atol=5e-4, rtol=0
    )


@every_kind
def test_inputs_that_hardly_differ_are_normalised_in_single_precision(kind):
    # Two features that are almost the same, and a unit that looks at their difference.
    common, difference = normal(1, 64, 1), 0.01 * normal(1, 64, 1, seed=1)
    inputs = torch.cat([common, common + difference], dim=2).float()
    layer = make(kind, 2, 1, dtype=torch.float32)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[[1.0], [-1.0]]]))
    expected = plain_output([tensor.double() for tensor in leaves_of(layer, inputs)])
    torch.testing.assert_close(
        forward(layer, inputs)[0].double(), expected.detach(), atol=5e-3, rtol=0
    )


@every_kind
def test_inputs_that_are_all_the_same_come_to_the_bias(kind):
    layer = away_from_the_start(make(kind))
    found = forward(layer, torch.full((1, 9, 5), 7.0).double())
    torch.testing.assert_close(found, layer.bias.tanh().detach().expand(1, 9, 4), atol=1e-9, rtol=0)
    with torch.no_grad():
        layer.backward_params(normal(1, 9, 4))
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@every_kind
@pytest.mark.parametrize("scale", [1.0, 1.6])
def test_inference_uses_the_statistics_that_batch_norm_of_torch_would_have_kept(kind, scale):
    layer = away_from_the_start(make(kind, scale=scale))
    plain = nn.BatchNorm1d(4).double()
    with torch.no_grad():
        plain.weight.copy_(layer.gamma[0, 0])
        plain.bias.copy_(layer.bias[0, 0])
        for step, n_rows in enumerate([20, 7, 2, 33]):
            inputs = 3 * normal(1, n_rows, 5, seed=step) + 1
            forward(layer, inputs)
            plain.train()(scale * inputs[0] @ layer.weight[0])
        inputs = normal(1, 10, 5, seed=9)
        expected = plain.eval()(inputs[0] @ layer.weight[0]).tanh()
        torch.testing.assert_close(layer.infer(inputs)[0], expected, rtol=1e-11, atol=1e-12)


@every_kind
def test_a_batch_of_one_row_breaks_nothing(kind):
    layer = make(kind)
    # Nothing is left of a row less its mean.
    assert forward(layer, normal(1, 1, 5)).tolist() == [[[0, 0, 0, 0]]]
    with torch.no_grad():
        layer.backward_params(torch.ones(1, 1, 4).double())
        assert layer.infer(normal(1, 3, 5)).isfinite().all()
    assert (layer.weight.grad == 0).all()


@every_kind
def test_networks_are_normalised_each_for_itself(kind):
    generators = [torch.Generator().manual_seed(seed) for seed in (3, 4)]
    stack = kind(init_weights(5, 4, generators, torch.float64), 1.0, "tanh", None)
    inputs = normal(2, 9, 5)
    inputs[1] = 100 * inputs[1] + 7
    with torch.no_grad():
        rows = rows_of_batch([9, 9], 9)
        found = stack(stack.prepare(inputs, rows), rows, 0)
    expected = forward(make(kind), inputs[:1])
    torch.testing.assert_close(found[:1], expected, rtol=1e-12, atol=1e-13)
