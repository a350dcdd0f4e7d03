import pytest
import torch

from disambig.engine.fast.adam import Adam
from engine.plain_network import normal


def parameters_of(dtype=torch.float64):
    values = [normal(3, 4, dtype=dtype), normal(5, seed=1, dtype=dtype)]
    return [torch.nn.Parameter(value) for value in values]


def run(parameters, update, n_steps, first=0):
    for step in range(first, first + n_steps):
        for number, parameter in enumerate(parameters):
            # Gradients of very different sizes, and exactly none now and then.
            gradient = normal(*parameter.shape, seed=10 * step + number) * 10.0 ** (step % 5 - 3)
            gradient.flatten()[step % 3] = 0
            # In memory it lies as the parameter does, which autograd and our layers see to.
            parameter.grad = torch.empty_like(parameter).copy_(gradient)
        with torch.no_grad():
            update()


@pytest.mark.parametrize("learning_rate", [0.1, 1e-3])
def test_steps_are_those_of_torch(learning_rate):
    expected = parameters_of()
    optimizer = torch.optim.Adam(expected, learning_rate, foreach=False, fused=False)
    run(expected, optimizer.step, 20)
    found = parameters_of()
    run(found, Adam(found, learning_rate).update, 20)
    for value, plain in zip(found, expected, strict=True):
        torch.testing.assert_close(value, plain, rtol=1e-12, atol=1e-14)


def test_parameters_that_lie_in_memory_by_columns_are_learned_like_others():
    expected = [torch.nn.Parameter(normal(2, 3, 4))]
    run(expected, Adam(expected, 0.1).update, 5)
    found = [torch.nn.Parameter(normal(2, 3, 4).mT.contiguous().mT)]
    assert not found[0].is_contiguous()
    run(found, Adam(found, 0.1).update, 5)
    assert torch.equal(found[0], expected[0])


@pytest.mark.parametrize(
    "lay_out",
    [
        lambda value: value,
        lambda value: value.T.contiguous().T,
        lambda value: torch.cat([value, value], 1)[:, : value.shape[1]],
    ],
    ids=["as it comes", "turned", "with gaps"],
)
def test_steps_are_those_of_torch_for_modules_however_their_parameters_lie(lay_out):
    # Of two types, one without a gradient.
    values = [normal(3, 4), normal(2, 3, seed=1, dtype=torch.float32), normal(3, 2, seed=2)]
    found = [torch.nn.Parameter(lay_out(value)) for value in values]
    expected = [torch.nn.Parameter(value.clone()) for value in values]
    adam, optimizer = Adam(found, 0.1), torch.optim.Adam(expected, 0.1, foreach=False)
    for step in range(3):
        for parameters, update in ((found, adam.update), (expected, optimizer.step)):
            for number, parameter in enumerate(parameters[:2]):
                parameter.grad = None
                (parameter * normal(*parameter.shape, seed=step + number)).square().sum().backward()
            with torch.no_grad():
                update()
    for value, plain in zip(found, expected, strict=True):
        torch.testing.assert_close(value, plain, rtol=1e-6, atol=1e-6)


def test_the_first_step_by_hand():
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    parameter.grad = torch.tensor([0.5, -4, 0], dtype=torch.float64)
    Adam([parameter], 0.1).update()
    # The memory of the gradient over the root of that of its square: its sign.
    expected = torch.tensor([0.9, 2.1, 3.0], dtype=torch.float64)
    torch.testing.assert_close(parameter.detach(), expected, atol=1e-8, rtol=0)


def test_parameters_without_a_gradient_are_left_alone():
    parameters = parameters_of()
    adam = Adam(parameters, 0.1)
    parameters[1].grad = torch.ones(5, dtype=torch.float64)
    adam.update()
    assert torch.equal(parameters[0], parameters_of()[0])
    assert not torch.equal(parameters[1], parameters_of()[1])


def test_what_the_next_step_depends_on_can_be_kept_and_put_back():
    whole = parameters_of()
    run(whole, Adam(whole, 0.1).update, 7)
    half = parameters_of()
    adam = Adam(half, 0.1)
    run(half, adam.update, 3)
    resumed = [torch.nn.Parameter(value.detach().clone()) for value in half]
    other = Adam(resumed, 0.1)
    for name, value in other.state().items():
        value.copy_(adam.state()[name])
    run(resumed, other.update, 4, first=3)
    for value, expected in zip(resumed, whole, strict=True):
        assert torch.equal(value, expected)


def test_padding_a_parameter_in_memory_changes_nothing_that_is_seen():
    parameters = parameters_of()
    adam = Adam(parameters, 0.1)
    run(parameters, adam.update, 2)
    expected = {name: value.clone() for name, value in adam.state().items()}
    before = parameters[0].detach().clone()
    adam.pad_rows(parameters[0], 16)
    for value in (parameters[0], *adam.memory_of(parameters[0])):
        assert value.stride() == (16, 1)
        assert not value.as_strided((3, 12), (16, 1), 4).any()
    assert torch.equal(parameters[0], before)
    for name, value in adam.state().items():
        assert torch.equal(value, expected[name]), name
    # Which would take the zeros for numbers.
    with pytest.raises(AssertionError):
        adam.update()


def test_the_state_is_there_from_the_start_and_stays_in_its_memory():
    parameters = parameters_of()
    adam = Adam(parameters, 0.1)
    state = adam.state()
    assert all((value == 0).all() for value in state.values())
    run(parameters, adam.update, 2)
    assert all((value != 0).any() for value in state.values())
    assert state.keys() == adam.state().keys()


def test_single_precision_is_good_to_its_digits():
    expected, found = parameters_of(), parameters_of(torch.float32)
    run(expected, Adam(expected, 0.1).update, 10)
    run(found, Adam(found, 0.1).update, 10)
    for value, plain in zip(found, expected, strict=True):
        torch.testing.assert_close(value.double(), plain, atol=1e-5, rtol=0)
