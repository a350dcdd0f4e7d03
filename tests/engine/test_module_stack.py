import pickle

import pytest
import torch
from torch import nn

from disambig._core.errors import DisambigError, ParameterError
from disambig.engine.module_stack import ModuleStack
from engine.plain_network import normal, train_backward, train_forward


def perceptron(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 8),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(8, n_outputs),
    ).double()


def plain(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, n_outputs)
    ).double()


class Watched(nn.Module):
    """Keeps what it was called with."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.linear = nn.Linear(n_inputs, n_outputs).double()
        self.seen = []

    def forward(self, features):
        self.seen.append(features.clone())
        return self.linear(features)


class Dropping(nn.Dropout):
    """Nothing but dropout, and a shift by zero because there must be something to learn."""

    def __init__(self):
        super().__init__(0.5)
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, features):
        return super().forward(features) + self.shift


def dropping(n_inputs, n_outputs):
    return Dropping()


def make_stack(factory=perceptron, seeds=(3, 4)):
    return ModuleStack(factory, 4, 3, seeds=seeds)


def test_a_factory_is_told_the_number_of_features_and_of_classes():
    told = []

    def factory(*numbers):
        told.append(numbers)
        return nn.Linear(*numbers)

    assert len(ModuleStack(factory, 4, 3, seeds=(1, 2))) == 2
    assert told == [(4, 3), (4, 3)]


def test_logits_and_gradients_are_those_of_each_module_alone():
    stack = make_stack(plain)
    features, gradient = normal(2, 9, 4), normal(2, 9, 3, seed=1)
    copies = [plain(4, 3) for _ in range(2)]
    for network, module in zip(copies, stack.members, strict=True):
        network.load_state_dict(module.state_dict())
    logits = train_forward(stack, features)
    gradients = train_backward(stack, gradient)
    for number, network in enumerate(copies):
        expected = network(features[number])
        expected.backward(gradient[number])
        torch.testing.assert_close(logits[number], expected.detach())
        for name, value in network.named_parameters():
            torch.testing.assert_close(gradients[f"members.{number}.{name}"], value.grad)


def test_a_gradient_takes_the_place_of_the_one_before():
    stack = make_stack(plain)
    gradients = []
    for _ in range(2):
        train_forward(stack, normal(2, 9, 4))
        gradients.append(train_backward(stack, normal(2, 9, 3)))
    for name, value in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], value)


def test_modules_never_see_rows_that_only_fill_up():
    stack = make_stack(Watched)
    features = normal(2, 9, 4)
    features[1, 5:] = 0
    logits = train_forward(stack, features, [9, 5])
    seen = [module.seen[0] for module in stack.members]
    assert torch.equal(seen[0], features[0])
    assert torch.equal(seen[1], features[1, :5])
    assert (logits[1, 5:] == 0).all()


def test_rows_that_only_fill_up_change_neither_gradients_nor_statistics():
    filled, lone = make_stack(seeds=(3,)), make_stack(seeds=(3,))
    features, gradient = normal(1, 9, 4), normal(1, 9, 3, seed=1)
    features[:, 5:] = gradient[:, 5:] = 0
    train_forward(filled, features, [5])
    train_forward(lone, features[:, :5], [5])
    expected = train_backward(lone, gradient[:, :5])
    for name, value in train_backward(filled, gradient).items():
        torch.testing.assert_close(value, expected[name])
    for name, value in lone.state_dict().items():
        torch.testing.assert_close(filled.state_dict()[name], value)


def test_first_weights_follow_from_the_seed_and_not_from_the_neighbours():
    together = make_stack(seeds=(3, 4, 3)).members
    alone = make_stack(seeds=(4,)).members[0]
    for first, second, third, lone in zip(
        *(module.parameters() for module in (*together, alone)), strict=True
    ):
        assert torch.equal(first, third)
        assert torch.equal(second, lone)
    assert not torch.isclose(together[0][0].weight, together[1][0].weight).any()


def test_dropout_follows_from_the_seed_and_the_step_and_not_from_the_neighbours():
    features = normal(3, 9, 4)
    features[2] = features[1]
    stack = make_stack(seeds=(3, 4, 4))
    logits = [train_forward(stack, features, step=step) for step in (0, 1, 0)]
    assert torch.equal(logits[0], logits[2])
    assert not torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0][1], logits[0][2])
    alone = train_forward(make_stack(seeds=(4,)), features[1:2], step=0)
    assert torch.equal(alone[0], logits[0][1])


def test_networks_of_one_step_and_steps_of_one_network_drop_different_units():
    # Ones go in, what is kept comes out.
    stack = ModuleStack(dropping, 4, 4, seeds=(3, 4))
    kept = torch.cat([train_forward(stack, torch.ones(2, 500, 4), step=s) for s in range(3)])
    signs = kept.flatten(1) - 1
    correlations = signs @ signs.T / signs.shape[1] - torch.eye(6)
    assert correlations.abs().max() < 0.12


def test_the_global_generator_is_neither_read_nor_changed():
    def logits():
        stack = make_stack()
        result = train_forward(stack, normal(2, 9, 4))
        train_backward(stack, normal(2, 9, 3))
        stack.infer(normal(9, 4))
        return result

    with torch.random.fork_rng():
        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = logits()
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(2)
        assert torch.equal(logits(), first)


def test_the_global_generator_is_put_back_when_a_module_fails():
    def failing(n_inputs, n_outputs):
        torch.rand(5)
        raise OSError("no weights")

    before = torch.get_rng_state()
    with pytest.raises(OSError, match="no weights"):
        make_stack(failing)
    assert torch.equal(torch.get_rng_state(), before)


def test_modules_train_in_training_mode_and_infer_in_evaluation_mode():
    stack = ModuleStack(dropping, 4, 4, seeds=(3,))
    ones = torch.ones(1, 9, 4)
    for _ in range(2):  # whatever came last
        assert set(train_forward(stack, ones).unique().tolist()) == {0, 2}
        assert torch.equal(stack.infer(ones[0]), ones)


def test_inference_gives_what_the_module_gives_in_evaluation_mode():
    stack = make_stack()
    train_forward(stack, normal(2, 9, 4))
    copies = [perceptron(4, 3) for _ in range(2)]
    for network, module in zip(copies, stack.members, strict=True):
        network.load_state_dict(module.state_dict())
    unseen = normal(5, 4, seed=3)
    expected = torch.stack([network.eval()(unseen) for network in copies])
    torch.testing.assert_close(stack.infer(unseen), expected)


def test_a_part_infers_what_its_networks_inferred_in_the_whole():
    stack = make_stack(seeds=(3, 4, 5))
    train_forward(stack, normal(3, 9, 4))
    part = stack.part(1, 2)
    unseen = normal(5, 4, seed=3)
    assert len(part) == 2
    assert torch.equal(part.infer(unseen), stack.infer(unseen)[1:])


def test_a_part_goes_on_training_like_its_networks_in_the_whole():
    stack = make_stack(seeds=(3, 4, 5))
    part = stack.part(1, 1)
    features = normal(3, 9, 4)
    found = train_forward(part, features[1:2], step=6)
    assert torch.equal(found[0], train_forward(stack, features, step=6)[1])


def test_a_part_carries_nothing_that_only_training_needs():
    stack = make_stack()
    untrained = len(pickle.dumps(stack.part(0, 1)))
    train_forward(stack, normal(2, 5000, 4))
    train_backward(stack, normal(2, 5000, 3))
    assert len(pickle.dumps(stack.part(0, 1))) == pytest.approx(untrained, abs=200)


def test_a_part_is_a_copy():
    stack = make_stack()
    unseen = normal(5, 4, seed=3)
    before = stack.infer(unseen)
    with torch.no_grad():
        part = stack.part(0, 1)
        for value in (*part.parameters(), *part.buffers()):
            value.zero_()
    assert torch.equal(stack.infer(unseen), before)


def test_training_a_part_leaves_the_whole_as_it_is():
    stack = make_stack()
    unseen = normal(5, 4, seed=3)
    before = stack.infer(unseen)
    train_forward(stack.part(0, 1), normal(1, 9, 4))  # moves the statistics of a normalisation
    assert torch.equal(stack.infer(unseen), before)


def test_nothing_is_known_of_the_work_in_a_module():
    assert make_stack().multiplications_per_row() == float("inf")


def test_the_probabilities_of_all_networks_are_averaged():
    stack = make_stack(seeds=(3, 4, 5))
    unseen = normal(5, 4, seed=3)
    expected = sum(logits.softmax(1) for logits in stack.infer(unseen)) / 3
    torch.testing.assert_close(stack.mean_probabilities(unseen), expected)


@pytest.mark.parametrize(
    ("returned", "shown"), [(None, "None"), (torch.relu, "relu"), ("mlp", "'mlp'")]
)
def test_what_is_not_a_module_is_refused(returned, shown):
    message = rf"'network' must return a new torch.nn.Module with something .* Got .*{shown}"
    with pytest.raises(ParameterError, match=message):
        make_stack(lambda n_inputs, n_outputs: returned)


def frozen(n_inputs, n_outputs):
    return nn.Linear(n_inputs, n_outputs).requires_grad_(False)


ONE = nn.Linear(4, 3)


@pytest.mark.parametrize(
    ("factory", "came"),
    [
        (lambda *_: nn.ReLU(), "one without any parameter"),
        (frozen, "one without any parameter"),
        (lambda *_: ONE, "the same one twice"),
        (lambda *_: nn.LazyLinear(3), "lazy layers"),
    ],
)
def test_modules_that_cannot_be_trained_as_several_are_refused(factory, came):
    with pytest.raises(ParameterError, match=f"something to learn .* Got {came}"):
        make_stack(factory)


class Fixed(nn.Module):
    """Returns what it was made with, whatever comes in."""

    def __init__(self, output):
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))
        self.output = output

    def forward(self, features):
        return self.output


WRONG_OUTPUTS = [
    (torch.zeros(9, 5), r"Got \(9, 5\)"),
    (torch.zeros(9), r"Got \(9,\)"),
    (torch.zeros(8, 3), r"Got \(8, 3\)"),
    (torch.zeros(1, 3), r"Got \(1, 3\)"),
    ((torch.zeros(9, 3), None), "Got tuple"),
    (None, "Got NoneType"),
]
EXPECTED = (
    r"'network' must return modules that give logits of shape \(9, 3\) for 9 rows and 3 classes. "
)


@pytest.mark.parametrize(("output", "message"), WRONG_OUTPUTS)
def test_modules_that_give_anything_but_logits_are_refused_in_training(output, message):
    stack = make_stack(lambda *_: Fixed(output), seeds=(1,))
    with pytest.raises(ParameterError, match=EXPECTED + message):
        train_forward(stack, torch.zeros(1, 9, 4))


@pytest.mark.parametrize(("output", "message"), WRONG_OUTPUTS)
def test_modules_that_give_anything_but_logits_are_refused_in_inference(output, message):
    stack = make_stack(lambda *_: Fixed(output), seeds=(1,))
    with pytest.raises(DisambigError, match=EXPECTED + message):
        stack.infer(torch.zeros(9, 4))
