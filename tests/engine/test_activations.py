import pytest
import torch

from disambig.engine.fast.layers import ACTIVATIONS
from engine.plain_network import FUNCTIONS, normal

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
