"""Written-out layers, activations and log-softmax."""

import math

import pytest
import torch

from disambig.engine.fast.layers import (
    ACTIVATIONS,
    MANY_CLASSES,
    HiddenLayer,
    OutputLayer,
    init_weights,
    log_softmax,
)
from disambig.engine.fast.random import Dropout
from engine.plain_network import FUNCTIONS, normal, rows_of_batch

# ---- layers


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def output_layer(n_inputs=5, n_outputs=4, scale=1.0):
    return OutputLayer(init_weights(n_inputs, n_outputs, generators(1, 2), torch.float64), scale)


def hidden_layer(n_inputs=5, n_outputs=4, scale=1.0, activation="tanh", dropout=None):
    first = init_weights(n_inputs, n_outputs, generators(1, 2), torch.float64)
    return HiddenLayer(first, scale, activation, dropout)


def forward(layer, inputs, step=0):
    counts = [inputs.shape[1]] * len(inputs)
    with torch.no_grad():
        rows = rows_of_batch(counts, inputs.shape[1])
        return layer(layer.prepare(inputs, rows), rows, step).clone()


def leaves_of(layer, inputs):
    """Copies of the inputs and parameters, to differentiate with respect to."""
    tensors = (inputs, layer.weight, layer.bias)
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def assert_gradients(layer, of_inputs, leaves):
    for found, leaf in zip((of_inputs, layer.weight.grad, layer.bias.grad), leaves, strict=True):
        torch.testing.assert_close(found, leaf.grad, rtol=1e-12, atol=1e-14)


def test_a_output_layer_scales_its_inputs_in_training_only():
    layer, inputs = output_layer(scale=2.5), normal(2, 7, 5)
    with torch.no_grad():
        product = inputs @ layer.weight
        torch.testing.assert_close(layer(inputs), 2.5 * product + layer.bias)
        torch.testing.assert_close(layer.infer(inputs), product + layer.bias)


def test_a_hidden_layer_scales_its_inputs_in_training_only():
    layer, inputs = hidden_layer(scale=2.5), normal(2, 7, 5)
    with torch.no_grad():
        product = inputs @ layer.weight
        torch.testing.assert_close(forward(layer, inputs), (2.5 * product + layer.bias).tanh())
        torch.testing.assert_close(layer.infer(inputs), (product + layer.bias).tanh())


def test_the_gradients_of_a_output_layer_are_those_of_autograd():
    layer, inputs, gradient = output_layer(scale=2.5), normal(2, 7, 5), normal(2, 7, 4, seed=1)
    leaves = leaves_of(layer, inputs)
    (2.5 * leaves[0] @ leaves[1] + leaves[2]).backward(gradient)
    with torch.no_grad():
        layer(inputs)
        of_inputs = layer.backward_input(layer.backward_params(gradient.clone()))
    assert_gradients(layer, of_inputs, leaves)


@pytest.mark.parametrize("share", [None, 0.5, 0.3])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_the_gradients_of_a_hidden_layer_are_those_of_autograd(activation, share):
    dropout = Dropout(share, 4, (1, 2), 0) if share else None
    layer = hidden_layer(scale=1.6, activation=activation, dropout=dropout)
    inputs, gradient = normal(2, 7, 5), normal(2, 7, 4, seed=1)
    leaves = leaves_of(layer, inputs)
    kept = (dropout(7, 3) >= 0).double() if share else 1.0
    output = FUNCTIONS[activation](1.6 * leaves[0] @ leaves[1] + leaves[2]) * kept
    output.backward(gradient)
    torch.testing.assert_close(forward(layer, inputs, step=3), output.detach())
    with torch.no_grad():
        of_inputs = layer.backward_input(layer.backward_params(gradient.clone()))
    assert_gradients(layer, of_inputs, leaves)


@pytest.mark.parametrize("make", [output_layer, hidden_layer])
def test_first_weights_lie_evenly_within_one_over_the_root_of_the_inputs(make):
    layer = make(25, 400)
    for values in (layer.weight.detach(), layer.bias.detach()):
        assert values.abs().max() <= 0.2
        # As many in each quarter of [-0.2, 0.2], and no two alike.
        counts = torch.histc(values, bins=4, min=-0.2, max=0.2)
        assert (counts / values.numel()).tolist() == pytest.approx([0.25] * 4, abs=0.05)
        assert len(values.unique()) == values.numel()


def test_inputs_are_left_as_they_are():
    layer = hidden_layer(dropout=Dropout(0.5, 4, (1, 2), 0))
    inputs = normal(2, 7, 5)
    forward(layer, inputs)
    with torch.no_grad():
        layer.backward_input(layer.backward_params(normal(2, 7, 4, seed=1)))
        layer.infer(inputs)
    assert torch.equal(inputs, normal(2, 7, 5))


def test_dropped_units_are_zero_and_all_others_are_what_they_were():
    dropout = Dropout(0.5, 4, (1, 2), 0)
    keep = dropout(7, 0) >= 0
    inputs = normal(2, 7, 5)
    found = forward(hidden_layer(dropout=dropout), inputs)
    torch.testing.assert_close(found, forward(hidden_layer(), inputs) * keep)
    assert 0 < keep.double().mean() < 1


def test_nothing_is_dropped_in_inference():
    dropping, keeping = hidden_layer(dropout=Dropout(0.5, 4, (1, 2), 0)), hidden_layer()
    with torch.no_grad():
        assert torch.equal(dropping.infer(normal(2, 7, 5)), keeping.infer(normal(2, 7, 5)))


# ---- activations


VALUES = torch.cat([torch.linspace(-6, 6, 101).double(), 20 * normal(50), torch.tensor([1e-9])])


def test_every_activation_has_a_plain_one_to_be_compared_with():
    assert ACTIVATIONS.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_forward_gives_what_torch_gives(name):
    output, _ = ACTIVATIONS[name].forward(VALUES.clone())
    torch.testing.assert_close(output, FUNCTIONS[name](VALUES), rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_backward_gives_what_autograd_gives(name):
    value = VALUES.clone().requires_grad_()
    gradient = normal(len(VALUES), seed=1)
    FUNCTIONS[name](value).backward(gradient)
    _, kept = ACTIVATIONS[name].forward(VALUES.clone())
    found = ACTIVATIONS[name].backward(gradient.clone(), kept)
    torch.testing.assert_close(found, value.grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_zero_stays_zero(name):
    output, _ = ACTIVATIONS[name].forward(torch.zeros(3))
    assert output.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_only_what_is_called_flat_has_no_slope_at_zero(name):
    value = torch.zeros(1, requires_grad=True)
    FUNCTIONS[name](value).backward()
    assert ACTIVATIONS[name].flat_at_zero == (value.grad.item() == 0)


# ---- log softmax


@pytest.mark.parametrize(
    "shape", [(1, 3), (4, 2), (2, 3, 5, 7), (1, 1, 1, 1), (2, 5, MANY_CLASSES)], ids=str
)
@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0, 1000.0])
def test_it_is_what_torch_computes(shape, scale):
    logits = scale * normal(*shape)
    found = log_softmax(logits)
    torch.testing.assert_close(found.log_probabilities, logits.log_softmax(-1))
    assert torch.equal(found.predicted, logits.argmax(-1, keepdim=True))


def test_by_hand():
    logits = torch.tensor([[1.0, 1.0, 2.0]], dtype=torch.float64) * math.log(3)
    found = log_softmax(logits)
    expected = torch.tensor([[0.2, 0.2, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(found.log_probabilities.exp(), expected)
    assert found.predicted.tolist() == [[2]]


@pytest.mark.parametrize("offset", [-1e30, -1000.0, 0.0, 1000.0, 1e30])
def test_what_is_added_to_all_logits_changes_nothing(offset):
    logits = torch.tensor([[offset, offset]]).double()
    torch.testing.assert_close(
        log_softmax(logits).log_probabilities, torch.full((1, 2), -math.log(2)).double()
    )


@pytest.mark.parametrize("n_classes", [3, MANY_CLASSES])
def test_the_small_loss_of_a_settled_row_is_exact_in_single_precision(n_classes):
    # Above 1 single precision has steps of 1.2e-7, and log(1 + 2 exp(-12)) is 1.2288e-5.
    # As many rows as a CPU takes at a time, and one that is left over.
    others = [-1000.0] * (n_classes - 3)
    logits = torch.tensor([1000.0, 988.0, 988.0, *others]).repeat(65, 1)
    losses = -log_softmax(logits).log_probabilities[:, 0]
    torch.testing.assert_close(losses, torch.full((65,), 1.2288e-5), atol=1.2e-7, rtol=0)


def test_of_equal_logits_one_is_predicted_and_logits_are_left_as_they_are():
    logits = torch.zeros(3, 4)
    assert log_softmax(logits).predicted.shape == (3, 1)
    assert torch.equal(logits, torch.zeros(3, 4))
