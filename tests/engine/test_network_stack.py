import copy
import pickle

import pytest
import torch

from disambig.engine.fast.layers import MANY_CLASSES
from engine.plain_network import (
    FUNCTIONS,
    make_stack,
    normal,
    parameters_of,
    plain_copies,
    train_backward,
    train_forward,
)

SHAPES = [(), (6,), (6, 5), (6, 5, 4)]
every_activation = pytest.mark.parametrize("activation", FUNCTIONS)
with_and_without_batch_norm = pytest.mark.parametrize("batch_norm", [False, True])
with_and_without_dropout = pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
# Batch norm takes another way where there are many features.
every_width = pytest.mark.parametrize("n_inputs", [4, 80])
every_depth = pytest.mark.parametrize("hidden", SHAPES, ids=str)


def randomised(stack):
    """The stack with biases and gammas that are neither zero nor one."""
    with torch.no_grad():
        for number, value in enumerate(stack.parameters()):
            value.add_(0.3 * normal(*value.shape, seed=number))
    return stack


def assert_like_autograd(stack, plain, features, counts, step):
    """Compare logits and every gradient of every network, on its real rows."""
    n_rows = features.shape[1]
    real = torch.arange(n_rows) < torch.tensor(counts).unsqueeze(1)
    n_classes = stack.output.weight.shape[2]
    gradient = normal(len(stack), n_rows, n_classes, seed=5) * real.unsqueeze(2)
    logits = train_forward(stack, features, counts, step).clone()
    gradients = train_backward(stack, gradient)
    for number, (network, count) in enumerate(zip(plain, counts, strict=True)):
        for parameter in network.parameters.values():
            parameter.grad = None
        expected = network.logits(features[number, :count], step=step)
        expected.backward(gradient[number, :count])
        torch.testing.assert_close(
            logits[number, :count], expected.detach(), rtol=1e-10, atol=1e-12
        )
        for name, parameter in network.parameters.items():
            torch.testing.assert_close(
                gradients[name][number], parameter.grad, rtol=1e-9, atol=1e-12, msg=name
            )


@every_activation
@with_and_without_batch_norm
@with_and_without_dropout
@every_depth
@every_width
def test_logits_and_gradients_are_those_of_autograd(
    activation, batch_norm, dropout, hidden, n_inputs
):
    settings = {"activation": activation, "batch_norm": batch_norm, "dropout": dropout}
    stack = randomised(make_stack(n_inputs, hidden=hidden, seeds=(3, 4), **settings))
    plain = plain_copies(stack, **settings)
    assert_like_autograd(stack, plain, normal(2, 9, n_inputs), [9, 9], step=7)


@with_and_without_batch_norm
@with_and_without_dropout
@every_depth
@every_width
def test_rows_that_only_fill_up_change_neither_logits_nor_gradients(
    batch_norm, dropout, hidden, n_inputs
):
    settings = {"activation": "tanh", "batch_norm": batch_norm, "dropout": dropout}
    stack = randomised(make_stack(n_inputs, hidden=hidden, seeds=(3, 4, 5), **settings))
    plain = plain_copies(stack, **settings)
    counts = [9, 4, 7]
    features = normal(3, 9, n_inputs)
    for number, count in enumerate(counts):
        features[number, count:] = 0
    assert_like_autograd(stack, plain, features, counts, step=7)


@with_and_without_dropout
@every_depth
def test_with_many_classes_logits_and_gradients_are_those_of_autograd(dropout, hidden):
    settings = {"activation": "relu", "batch_norm": True, "dropout": dropout}
    n_classes = MANY_CLASSES + 1
    stack = randomised(make_stack(4, n_classes, hidden=hidden, seeds=(3, 4), **settings))
    # In memory the classes of a row lie side by side, as they do not where there are few.
    assert stack.output.weight.is_contiguous()
    assert not make_stack(4, MANY_CLASSES - 1).output.weight.is_contiguous()
    plain = plain_copies(stack, **settings)
    assert_like_autograd(stack, plain, normal(2, 9, 4), [9, 7], step=7)


@with_and_without_dropout
@every_width
def test_rows_that_only_fill_up_leave_no_trace_in_inference(dropout, n_inputs):
    settings = {"hidden": (6, 5), "batch_norm": True, "dropout": dropout}
    filled, lone = make_stack(n_inputs, **settings), make_stack(n_inputs, **settings)
    for step in range(3):
        features = normal(1, 6, n_inputs, seed=step)
        padded = torch.cat([features, torch.zeros(1, 3, n_inputs).double()], dim=1)
        train_forward(filled, padded, [6], step)
        train_forward(lone, features, [6], step)
    unseen = normal(10, n_inputs, seed=9)
    torch.testing.assert_close(filled.infer(unseen), lone.infer(unseen), rtol=1e-12, atol=1e-13)


@with_and_without_batch_norm
def test_batches_of_changing_size_are_learned_from_one_after_the_other(batch_norm):
    settings = {"activation": "relu", "batch_norm": batch_norm, "dropout": 0.5}
    stack = randomised(make_stack(hidden=(6, 5), seeds=(3, 4), **settings))
    plain = plain_copies(stack, **settings)
    for step, n_rows in enumerate([40, 5, 33, 2, 70]):
        features = normal(2, n_rows, 4, seed=step)
        assert_like_autograd(stack, plain, features, [n_rows, n_rows], step)


def test_a_gradient_takes_the_place_of_the_one_before():
    stack = make_stack(batch_norm=True)
    gradients = []
    for _ in range(2):
        train_forward(stack, normal(1, 8, 4))
        gradients.append(train_backward(stack, normal(1, 8, 3)))
    for name, value in gradients[0].items():
        assert torch.equal(value, gradients[1][name])


@with_and_without_dropout
def test_a_network_is_the_same_alone_and_among_others_with_fewer_rows(dropout):
    settings = {"hidden": (6, 5), "batch_norm": True, "dropout": dropout, "activation": "silu"}
    seeds, counts = (3, 4, 5), [40, 33, 17]
    stack = make_stack(seeds=seeds, **settings)
    alone = [make_stack(seeds=(seed,), **settings) for seed in seeds]
    unseen = normal(10, 4, seed=9)
    for step in range(3):
        features = normal(3, 40, 4, seed=step)
        gradient = normal(3, 40, 3, seed=step + 10)
        for number, count in enumerate(counts):
            features[number, count:] = 0
            gradient[number, count:] = 0
        together = train_forward(stack, features, counts, step).clone()
        gradients = train_backward(stack, gradient)
        for number, (network, count) in enumerate(zip(alone, counts, strict=True)):
            chosen = slice(number, number + 1)
            logits = train_forward(network, features[chosen, :count], [count], step)
            torch.testing.assert_close(together[chosen, :count], logits, rtol=1e-12, atol=1e-12)
            for name, value in train_backward(network, gradient[chosen, :count]).items():
                torch.testing.assert_close(gradients[name][chosen], value, rtol=1e-12, atol=1e-12)
    for number, network in enumerate(alone):
        torch.testing.assert_close(
            stack.infer(unseen)[number], network.infer(unseen)[0], rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@every_activation
@every_width
def test_inference_uses_the_statistics_that_batch_norm_of_torch_would_have_kept(
    activation, dropout, n_inputs
):
    # With weights that stay as they are; running means and variances move by a tenth.
    settings = {"activation": activation, "batch_norm": True, "dropout": dropout}
    stack = randomised(make_stack(n_inputs, hidden=(6, 5), seeds=(3, 4), **settings))
    plain = plain_copies(stack, **settings)
    unseen = normal(10, n_inputs, seed=9)
    with torch.no_grad():
        for step, n_rows in enumerate([12, 30, 2, 7]):
            features = 2 * normal(2, n_rows, n_inputs, seed=step) + 1
            train_forward(stack, features, step=step)
            for number, network in enumerate(plain):
                network.logits(features[number], step=step)
        found = stack.infer(unseen)
        expected = torch.stack([network.logits(unseen, training=False) for network in plain])
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)


def test_before_any_batch_inference_normalises_with_mean_zero_and_variance_one():
    stack = make_stack(batch_norm=True)
    unseen = normal(10, 4)
    expected = plain_copies(stack, batch_norm=True)[0].logits(unseen, training=False)
    torch.testing.assert_close(stack.infer(unseen)[0], expected)


def test_inference_gives_what_training_gives_once_the_statistics_have_settled():
    stack = make_stack(hidden=(6, 5), batch_norm=True)
    features = normal(1, 1000, 4)
    for _ in range(150):
        logits = train_forward(stack, features)
    # But for the variance of a sample, which is too small by one row in 1000.
    torch.testing.assert_close(stack.infer(features[0]), logits, atol=4e-3, rtol=0)


@every_depth
def test_inference_gives_what_training_gives_where_nothing_is_dropped_or_normalised(hidden):
    stack = make_stack(hidden=hidden, seeds=(3, 4))
    features = normal(10, 4)
    found = train_forward(stack, features.expand(2, -1, -1).contiguous())
    torch.testing.assert_close(stack.infer(features), found, rtol=1e-12, atol=1e-14)


def test_inference_learns_nothing_and_needs_no_gradients_switched_off():
    stack = make_stack(hidden=(6, 5), batch_norm=True)
    before = copy.deepcopy(stack.state_dict())
    stack.infer(normal(10, 4))
    for name, value in stack.state_dict().items():
        assert torch.equal(value, before[name])


def test_dropout_leaves_the_mean_of_the_logits_as_it_is():
    stack = make_stack(hidden=(40,), activation="tanh", dropout=0.3)
    features = normal(1, 32, 4)
    logits = torch.stack([train_forward(stack, features, step=step) for step in range(2000)])
    error = logits.std(0) / 2000**0.5
    assert ((logits.mean(0) - stack.infer(features[0])).abs() < 5 * error).all()


def test_dropout_differs_from_step_to_step_and_comes_again_with_the_step():
    stack = make_stack(dropout=0.5)
    features = normal(1, 8, 4)
    logits = [train_forward(stack, features, step=step).clone() for step in (0, 1, 0)]
    assert not torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0], logits[2])


def test_networks_with_the_same_weights_drop_different_units():
    stack = make_stack(seeds=(3, 4), hidden=(50,), dropout=0.5)
    with torch.no_grad():
        for value in stack.parameters():
            value[1] = value[0]
    logits = train_forward(stack, normal(1, 8, 4).expand(2, -1, -1).contiguous())
    assert not torch.isclose(logits[0], logits[1]).any()


@pytest.mark.parametrize("batch_norm", [False, True])
def test_first_weights_follow_from_the_seed(batch_norm):
    first, same, other = (
        make_stack(seeds=(seed,), hidden=(6, 5), batch_norm=batch_norm) for seed in (1, 1, 2)
    )
    for name, value in first.named_parameters():
        assert torch.equal(value, same.get_parameter(name))
        if name.endswith("weight"):
            assert not torch.isclose(value, other.get_parameter(name)).any()


def test_first_weights_lie_within_one_over_the_root_of_what_comes_in():
    stack = make_stack(16, 300, hidden=(100, 400), seeds=(1, 2))
    bounds = {"hidden.0": 0.25, "hidden.1": 0.1, "output": 0.05}
    for name, bound in bounds.items():
        weight = stack.get_parameter(f"{name}.weight").abs()
        assert 0.99 * bound < weight.max() <= bound
        assert stack.get_parameter(f"{name}.bias").abs().max() <= bound


def test_the_first_weights_of_a_network_do_not_depend_on_the_networks_beside_it():
    together = parameters_of(make_stack(seeds=(1, 2, 3)), 1)
    for name, value in parameters_of(make_stack(seeds=(2,)), 0).items():
        assert torch.equal(value, together[name])


def test_the_global_generator_is_neither_read_nor_changed():
    def logits_and_gradients():
        stack = make_stack(hidden=(6, 5), dropout=0.5, batch_norm=True)
        logits = train_forward(stack, normal(1, 8, 4)).clone()
        return logits, train_backward(stack, normal(1, 8, 3))["hidden.0.weight"]

    with torch.random.fork_rng():
        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = logits_and_gradients()
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(2)
        again = logits_and_gradients()
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])


def test_features_and_the_gradient_at_filling_rows_stay_what_they_were():
    stack = make_stack(hidden=(6, 5), dropout=0.5, batch_norm=True)
    features = normal(1, 8, 4)
    train_forward(stack, features)
    train_backward(stack, normal(1, 8, 3))
    assert torch.equal(features, normal(1, 8, 4))


def test_single_precision_is_the_default_and_good_to_its_digits():
    settings = {"hidden": (20, 10), "dropout": 0.5, "batch_norm": True, "seeds": (3, 4)}
    single = make_stack(**settings, dtype=torch.float32)
    double = make_stack(**settings)
    double.load_state_dict(single.state_dict())
    features, gradient = normal(2, 50, 4), normal(2, 50, 3, seed=1)
    found = train_forward(single, features.float())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), train_forward(double, features), atol=1e-5, rtol=0)
    expected = train_backward(double, gradient)
    for name, value in train_backward(single, gradient.float()).items():
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), expected[name], atol=1e-4, rtol=1e-4, msg=name)


def trained_stack(**changes):
    stack = make_stack(seeds=(3, 4, 5), **({"hidden": (6, 5), "batch_norm": True} | changes))
    for step in range(2):
        train_forward(stack, normal(3, 8, 4, seed=step), step=step)
        train_backward(stack, normal(3, 8, 3, seed=step))
    return stack


def test_a_stack_is_as_long_as_it_has_networks():
    assert len(make_stack(seeds=(3, 4, 5))) == 3


@pytest.mark.parametrize(
    ("hidden", "per_network"),
    [((), 4 * 3), ((6,), 4 * 6 + 6 * 3), ((6, 5), 4 * 6 + 6 * 5 + 5 * 3)],
)
@with_and_without_batch_norm
def test_a_row_costs_a_multiplication_for_every_weight_of_every_network(
    hidden, per_network, batch_norm
):
    stack = make_stack(seeds=(3, 4, 5), hidden=hidden, batch_norm=batch_norm)
    assert stack.multiplications_per_row() == 3 * per_network


def test_the_probabilities_of_all_networks_are_averaged():
    # Shifts alone: of two classes the networks give the first 1/2 and 9/10.
    stack = make_stack(4, 2, hidden=(), seeds=(3, 4))
    with torch.no_grad():
        stack.output.weight.zero_()
        stack.output.bias.copy_(torch.tensor([[[0.5, 0.5]], [[0.9, 0.1]]]).log())
    expected = torch.tensor([[0.7, 0.3]] * 5, dtype=torch.float64)
    found = stack.mean_probabilities(normal(5, 4)).detach()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@every_depth
def test_a_part_infers_what_its_networks_inferred_in_the_whole(hidden):
    stack = trained_stack(hidden=hidden)
    part = stack.part(1, 2)
    unseen = normal(10, 4, seed=9)
    assert len(part) == 2
    torch.testing.assert_close(part.infer(unseen), stack.infer(unseen)[1:], rtol=1e-12, atol=1e-13)


def test_a_part_goes_on_training_like_its_networks_in_the_whole():
    stack = trained_stack(dropout=0.5)
    part = stack.part(1, 1)
    features = normal(3, 8, 4, seed=7)
    whole = train_forward(stack, features, step=9)[1]
    torch.testing.assert_close(
        train_forward(part, features[1:2], step=9)[0], whole, rtol=1e-12, atol=1e-13
    )


def test_a_part_is_a_copy():
    stack = trained_stack()
    part = stack.part(0, 1)
    unseen = normal(10, 4, seed=9)
    before = stack.infer(unseen)
    with torch.no_grad():
        for value in (*part.parameters(), *part.buffers()):
            value.zero_()
    assert torch.equal(stack.infer(unseen), before)


def test_a_part_carries_nothing_that_only_training_needs():
    stack = make_stack(seeds=(3, 4), hidden=(50,), dropout=0.5, batch_norm=True)
    untrained = len(pickle.dumps(stack.part(0, 1)))
    train_forward(stack, normal(2, 5000, 4))
    train_backward(stack, normal(2, 5000, 3))
    assert len(pickle.dumps(stack.part(0, 1))) == pytest.approx(untrained, abs=200)
    assert untrained < 20_000  # 8 bytes for each of 500 numbers, and their names


def test_a_part_survives_pickling():
    part = trained_stack().part(1, 2)
    unseen = normal(10, 4, seed=9)
    assert torch.equal(pickle.loads(pickle.dumps(part)).infer(unseen), part.infer(unseen))
