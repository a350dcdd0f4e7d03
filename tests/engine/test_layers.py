import pytest
import torch
from torch import nn

from disambig.engine.dropout import Dropout
from disambig.engine.layers import HiddenLayer, LinearLayer
from engine.plain_network import FUNCTIONS, normal, rows_of_batch

STEP = torch.tensor([0])


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def linear_layer(n_inputs=5, n_outputs=4, seeds=(1, 2), scale=1.0, dtype=torch.float64):
    return LinearLayer(n_inputs, n_outputs, generators(*seeds), scale, dtype)


def hidden_layer(n_inputs=5, n_outputs=4, seeds=(1, 2), scale=1.0, dtype=torch.float64, **changes):
    settings = {"activation": "tanh", "batch_norm": True, "dropout": None} | changes
    return HiddenLayer(n_inputs, n_outputs, generators(*seeds), scale, dtype, **settings)


def forward(layer, inputs):
    counts = [inputs.shape[1]] * len(inputs)
    with torch.no_grad():
        return layer(inputs, rows_of_batch(counts, inputs.shape[1], inputs.dtype), STEP).clone()


def test_a_linear_layer_scales_its_inputs_in_training_only():
    layer, inputs = linear_layer(scale=2.5), normal(2, 7, 5)
    with torch.no_grad():
        product = inputs @ layer.weight
        torch.testing.assert_close(layer(inputs), 2.5 * product + layer.shift)
        torch.testing.assert_close(layer.infer(inputs), product + layer.shift)


def test_the_gradients_of_a_linear_layer_are_those_of_autograd():
    layer, inputs, gradient = linear_layer(scale=2.5), normal(2, 7, 5), normal(2, 7, 4, seed=1)
    weight, shift = layer.weight.detach().clone(), layer.shift.detach().clone()
    leaves = [tensor.requires_grad_() for tensor in (weight, shift, inputs.clone())]
    (2.5 * leaves[2] @ weight + shift).backward(gradient)
    with torch.no_grad():
        layer(inputs)
        of_inputs = layer.pass_on(layer.learn(gradient.clone()))
    for found, leaf in zip((layer.weight.grad, layer.shift.grad, of_inputs), leaves, strict=True):
        torch.testing.assert_close(found, leaf.grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_the_gradient_of_the_inputs_of_a_hidden_layer_is_that_of_autograd(activation, batch_norm):
    layer = hidden_layer(seeds=(1,), scale=1.6, activation=activation, batch_norm=batch_norm)
    inputs, gradient = normal(1, 7, 5), normal(1, 7, 4, seed=1)
    leaf = inputs[0].clone().requires_grad_()
    value = 1.6 * leaf @ layer.weight[0].detach()
    if batch_norm:
        value = nn.functional.batch_norm(value, None, None, training=True)
    else:
        value = value + layer.shift[0].detach()
    FUNCTIONS[activation](value).backward(gradient[0])
    forward(layer, inputs)
    with torch.no_grad():
        of_inputs = layer.pass_on(layer.learn(gradient.clone()))
    torch.testing.assert_close(of_inputs[0], leaf.grad, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("make", [linear_layer, hidden_layer])
def test_first_weights_lie_evenly_within_one_over_the_root_of_the_inputs(make):
    weight = make(25, 400).weight.detach()
    assert weight.abs().max() <= 0.2
    # The quarters of an even distribution over [-0.2, 0.2].
    counts = torch.histc(weight.flatten(), bins=4, min=-0.2, max=0.2)
    torch.testing.assert_close(
        counts / weight.numel(), torch.full((4,), 0.25).double(), atol=0.02, rtol=0
    )


def test_first_shifts_lie_within_the_same_bounds_where_nothing_is_normalised():
    for layer in (linear_layer(25, 400), hidden_layer(25, 400, batch_norm=False)):
        assert 0.15 < layer.shift.detach().abs().max() <= 0.2


def test_batch_norm_begins_with_a_shift_of_zero_and_a_gain_of_one():
    layer = hidden_layer()
    assert (layer.shift == 0).all()
    assert (layer.gain == 1).all()


@pytest.mark.parametrize("batch_norm", [False, True])
def test_inputs_are_left_as_they_are(batch_norm):
    inputs = normal(2, 7, 5)
    dropout = Dropout(0.5, 4, (1, 2), 0)
    forward(hidden_layer(batch_norm=batch_norm, dropout=dropout), inputs)
    assert torch.equal(inputs, normal(2, 7, 5))


def test_normalised_values_have_mean_zero_and_the_variance_of_one():
    # Before the activation, where tanh can be turned round.
    value = forward(hidden_layer(), 10 * normal(2, 500, 5)).atanh()
    torch.testing.assert_close(value.mean(1), torch.zeros(2, 4).double(), atol=1e-9, rtol=0)
    variance = value.var(1, correction=0)
    torch.testing.assert_close(variance, torch.ones(2, 4).double(), atol=1e-5, rtol=0)


def test_dropped_units_are_zero_and_all_others_are_what_they_were():
    dropout = Dropout(0.5, 4, (1, 2), 0)
    keep = dropout(7, STEP) != 0
    inputs = normal(2, 7, 5)
    with_all = forward(hidden_layer(batch_norm=False), inputs)
    found = forward(hidden_layer(batch_norm=False, dropout=dropout), inputs)
    torch.testing.assert_close(found, with_all * keep)
    assert 0 < keep.double().mean() < 1


def test_inputs_far_from_zero_are_normalised_in_single_precision():
    inputs = (normal(1, 64, 5) + 1000).float()
    layer = hidden_layer(seeds=(1,), dtype=torch.float32)
    value = inputs[0].double() @ layer.weight[0].detach().double()
    expected = nn.functional.batch_norm(value, None, None, training=True).tanh()
    torch.testing.assert_close(forward(layer, inputs)[0].double(), expected, atol=5e-4, rtol=0)


def test_inference_uses_the_statistics_that_batch_norm_of_torch_would_have_kept():
    layer = hidden_layer(seeds=(1,))
    plain = nn.BatchNorm1d(4).double()
    with torch.no_grad():
        for step, n_rows in enumerate([20, 7, 2, 33]):
            inputs = 3 * normal(1, n_rows, 5, seed=step) + 1
            forward(layer, inputs)
            plain.train()(inputs[0] @ layer.weight[0])
        inputs = normal(1, 10, 5, seed=9)
        expected = plain.eval()(inputs[0] @ layer.weight[0]).tanh()
        torch.testing.assert_close(layer.infer(inputs)[0], expected, rtol=1e-12, atol=1e-13)


def test_a_batch_of_one_row_breaks_nothing():
    layer = hidden_layer(seeds=(1,))
    # Nothing is left of a row less its mean.
    assert forward(layer, normal(1, 1, 5)).tolist() == [[[0, 0, 0, 0]]]
    with torch.no_grad():
        layer.pass_on(layer.learn(torch.ones(1, 1, 4).double()))
        assert layer.infer(normal(1, 3, 5)).isfinite().all()
    assert (layer.weight.grad == 0).all()
