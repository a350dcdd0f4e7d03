import math

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from disambig.engine.device import denormals_flushed
from disambig.engine.history import History
from disambig.engine.module_stack import ModuleStack
from disambig.engine.problem import Problem
from disambig.engine.training import Training, TrainingSettings
from engine.plain_network import make_stack, plain_copies
from engine.plain_training import PlainModule, PlainTraining, believe_others, believe_prior
from engine.small_problems import BelieveOthers, BelievePrior, make_problem, numbers_of

MEASURES = {"T", "loss", "simple", "covering_rate", "agreement", "changed"}


def settings(epochs=3, batch_size=8, learning_rate=0.01):
    return TrainingSettings(epochs, batch_size, learning_rate)


def networks_of(*seeds, n_outputs=5, **changes):
    usual = {"hidden": (6,), "batch_norm": True, "dropout": 0.5}
    return make_stack(n_outputs=n_outputs, seeds=seeds, **(usual | changes))


def small_module(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, n_outputs)
    ).double()


def dropping_module(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(), nn.Linear(6, n_outputs)
    ).double()


def trained(networks, problems, rule=None, listeners=(), **changes):
    training = Training(networks, problems, rule or BelievePrior(), settings(**changes), listeners)
    training.run()
    return training


class Listener:
    """Writes down what it hears, and does something at the end of every epoch if told to."""

    def __init__(self, act=lambda training: None):
        self.heard = []
        self.act = act

    def on_fit_start(self, training):
        self.heard.append(("start", training.epoch))

    def on_epoch_end(self, training):
        self.heard.append(("epoch", training.epoch))
        self.act(training)

    def on_fit_end(self, training):
        self.heard.append(("end", training.epoch))


class OnlyAtTheStart:
    """Does something when training begins."""

    def __init__(self, act):
        self.on_fit_start = act


# ---- what is learned


def test_the_first_step_by_hand():
    # Two rows, three classes, all weights zero: every class has a third. Row 0 is class 0 or 1
    # with a half each, row 1 is class 2. Gradients p - w are (-1/6, -1/6, 1/3) and (1/3, 1/3,
    # -2/3), the mean over rows of their products with the features 1 and 2 is (1/4, 1/4, -1/2),
    # and the mean of themselves (1/12, 1/12, -1/6). Adam's first step is the learning rate
    # against their signs.
    prior = sparse.csr_array([[0.5, 0.5, 0], [0, 0, 1]])
    networks = make_stack(1, 3, hidden=())
    with torch.no_grad():
        for value in networks.parameters():
            value.zero_()
    problem = Problem(np.array([[1.0], [2.0]]), prior, 0)
    training = trained(networks, [problem], epochs=1, learning_rate=0.1)
    expected = torch.tensor([[-0.1, -0.1, 0.1]], dtype=torch.float64)
    torch.testing.assert_close(networks.output.weight.detach()[0], expected, atol=1e-7, rtol=0)
    torch.testing.assert_close(networks.output.shift.detach()[0], expected, atol=1e-7, rtol=0)
    # One half and one half, or one, of -log(1/3).
    assert training.histories[0]["loss"] == pytest.approx(math.log(3))


def test_gradients_of_the_first_step_by_hand():
    # The same with a third row beside them, of which Adam's memory keeps a tenth.
    prior = sparse.csr_array([[0.5, 0.5, 0], [0, 0, 1], [0.25, 0.25, 0.5]])
    networks = make_stack(1, 3, hidden=())
    with torch.no_grad():
        for value in networks.parameters():
            value.zero_()
    problem = Problem(np.array([[1.0], [2.0], [4.0]]), prior, 0)
    training = trained(networks, [problem], epochs=1)
    products = [[-1 / 6, -1 / 6, 1 / 3], [2 / 3, 2 / 3, -4 / 3], [1 / 3, 1 / 3, -2 / 3]]
    expected = 0.1 * np.mean(products, axis=0)
    memory = [value.flatten() for value in training.state().values() if value.numel() == 3]
    assert any(np.allclose(value, expected, rtol=1e-12, atol=0) for value in memory)


@pytest.mark.parametrize("hidden", [(), (6,), (6, 5)], ids=str)
@pytest.mark.parametrize(
    ("rule", "believe"), [(BelievePrior(), believe_prior), (BelieveOthers(3), believe_others)]
)
def test_training_agrees_with_a_plain_loop(hidden, rule, believe):
    problem = make_problem(20)
    networks = networks_of(3, 4, hidden=hidden)
    copies = plain_copies(networks, batch_norm=True, dropout=0.5)
    plain = PlainTraining(copies, problem, believe, rule.share, batch_size=7, learning_rate=0.02)
    plain.run(4)
    training = trained(networks, [problem], rule, epochs=4, batch_size=7, learning_rate=0.02)
    for name, value in networks.named_parameters():
        for found, network in zip(value, plain.networks, strict=True):
            torch.testing.assert_close(
                found, network.parameters[name], rtol=1e-9, atol=1e-9, msg=name
            )
    for name in MEASURES:
        expected = [epoch[name] for epoch in plain.measures]
        np.testing.assert_allclose(training.histories[0][name], expected, atol=1e-9, err_msg=name)


def test_training_of_modules_agrees_with_a_plain_loop():
    problem, rule = make_problem(20), BelieveOthers(3)
    networks = ModuleStack(small_module, 4, 5, seeds=(3, 4))
    copies = [small_module(4, 5) for _ in range(2)]
    for copy, module in zip(copies, networks.members, strict=True):
        copy.load_state_dict(module.state_dict())
    plain = PlainTraining(
        [PlainModule(copy) for copy in copies], problem, believe_others, rule.share, 7, 0.02
    )
    plain.run(4)
    training = trained(networks, [problem], rule, epochs=4, batch_size=7, learning_rate=0.02)
    for copy, module in zip(copies, networks.members, strict=True):
        expected = copy.state_dict()
        for name, value in module.state_dict().items():
            torch.testing.assert_close(value, expected[name], rtol=1e-9, atol=1e-9, msg=name)
    for name in MEASURES:
        expected = [epoch[name] for epoch in plain.measures]
        np.testing.assert_allclose(training.histories[0][name], expected, atol=1e-9, err_msg=name)


def test_modules_that_drop_units_learn_what_the_sets_say():
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=60)
    features = np.eye(3)[labels] * 5 + generator.normal(size=(60, 3))
    mask = np.eye(3)[labels]
    mask[np.arange(60), generator.integers(3, size=60)] = 1
    prior = sparse.csr_array(mask / mask.sum(axis=1, keepdims=True))
    networks = ModuleStack(dropping_module, 3, 3, seeds=(3, 4))
    problem = Problem(features, prior, 0)
    training = trained(networks, [problem], epochs=40, batch_size=20, learning_rate=0.02)
    losses = training.histories[0]["loss"]
    assert losses[-5:].mean() < losses[:5].mean()
    with torch.no_grad():
        predicted = networks.infer(torch.as_tensor(features)).softmax(-1).mean(0).argmax(-1)
    assert (predicted.numpy() == labels).mean() > 0.85


def test_measures_by_hand_for_a_tiny_case():
    # Two networks without hidden layers that see one feature of ones: logits are their shifts.
    networks = make_stack(1, 3, hidden=(), seeds=(1, 2))
    shifts = np.log([[[0.5, 0.3, 0.2]], [[0.1, 0.6, 0.3]]])
    with torch.no_grad():
        networks.output.weight.zero_()
        networks.output.shift.copy_(torch.as_tensor(shifts))
    prior = sparse.csr_array([[0.25, 0.75, 0], [0.5, 0, 0.5], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    problem = Problem(np.zeros((4, 1)), prior, 0)
    history = trained(networks, [problem], epochs=2, learning_rate=1e-12).histories[0]
    log = np.log
    losses = [
        -(0.25 * log(0.5) + 0.75 * log(0.3)),
        -(0.5 * log(0.5) + 0.5 * log(0.2)),
        -log(0.2),
        -(log(0.5) + log(0.3) + log(0.2)) / 3,
        -(0.25 * log(0.1) + 0.75 * log(0.6)),
        -(0.5 * log(0.1) + 0.5 * log(0.3)),
        -log(0.3),
        -(log(0.1) + log(0.6) + log(0.3)) / 3,
    ]
    assert history["loss"] == pytest.approx([np.mean(losses)] * 2)
    # The first predicts 0, the second 1: 3 and 2 of the 4 sets have it. They never agree.
    assert history["covering_rate"].tolist() == [5 / 8] * 2
    assert history["agreement"].tolist() == [0, 0]
    # Nothing was chosen before the first epoch, and nothing moves at this learning rate.
    assert history["changed"].tolist() == [1, 0]
    assert history["simple"].tolist() == [0, 0]
    assert history["T"].tolist() == [1, 1]


def test_a_label_counts_as_changed_when_the_networks_together_come_to_another():
    # Row 0 begins with class 0 by a hair, and everything speaks for class 1; row 1 has no choice.
    prior = sparse.csr_array([[0.01, 0.99], [0, 1]])
    networks = make_stack(2, 2, hidden=(), seeds=(1, 2))
    with torch.no_grad():
        networks.output.weight.zero_()
        networks.output.shift.copy_(torch.tensor([1e-3, 0]).expand(2, 1, 2))
    problem = Problem(np.eye(2), prior, 0)
    history = trained(networks, [problem], epochs=4, learning_rate=0.1).histories[0]
    assert history["changed"].tolist() == [1, 0.5, 0, 0]


class AlternateSimple(BelievePrior):
    """Half of the rows of a batch are simple for the first network, none for the second."""

    def confidences(self, losses, predicted, groups, share):
        weights, simple = super().confidences(losses, predicted, groups, share)
        simple[:, 0, ::2] = True
        return weights, simple


def test_the_share_of_simple_rows_is_a_mean_over_networks_and_real_rows():
    # 8 rows in two batches of 4; the problem beside has 7, in batches of 3 and 4.
    problems = [make_problem(8), make_problem(7)]
    training = trained(networks_of(1, 2, 3, 4), problems, AlternateSimple(), batch_size=4)
    assert training.measures["simple"].tolist() == pytest.approx([4 / 16, 4 / 14])


def test_features_and_candidates_are_left_as_they_are():
    problem = make_problem(20)
    trained(networks_of(1, 2), [problem])
    np.testing.assert_array_equal(problem.features, make_problem(20).features)
    assert (problem.prior != make_problem(20).prior).nnz == 0


def test_a_single_row_can_be_trained_on():
    problem = make_problem(1)
    training = trained(networks_of(1, 2), [problem])
    assert np.isfinite(training.histories[0]["loss"]).all()


# ---- what a rule is told


class Watching(BelieveOthers):
    """Keeps what it was called with."""

    def __init__(self, n_epochs):
        super().__init__(n_epochs)
        self.calls = []

    def confidences(self, losses, predicted, groups, share):
        kept = None if share is None else share.item()
        self.calls.append((losses.clone(), predicted.clone(), groups, kept))
        return super().confidences(losses, predicted, groups, share)


def test_a_rule_is_told_the_losses_of_the_candidates_and_which_are_predicted():
    problems = [make_problem(9, seed=seed) for seed in range(2)]
    networks = networks_of(1, 2, 3, 4, batch_norm=False, dropout=0)
    with torch.no_grad():
        logits = [
            networks.infer(torch.as_tensor(problem.features)).view(2, 2, 9, 5)[number]
            for number, problem in enumerate(problems)
        ]
    rule = Watching(1)
    trained(networks, problems, rule, epochs=1, batch_size=9)
    (losses, predicted, groups, _), *others = rule.calls
    assert not others
    assert losses.shape == predicted.shape == (2, 2, 9, groups.columns.shape[-1])
    for number, (problem, of_problem) in enumerate(zip(problems, logits, strict=True)):
        dense = problem.prior.toarray()
        seen = []
        for place in range(9):
            inside = groups.inside[number, 0, place]
            columns = groups.columns[number, 0, place][inside].tolist()
            prior = groups.prior[number, 0, place][inside].numpy()
            row = next(
                r
                for r in range(9)
                if np.flatnonzero(dense[r]).tolist() == columns
                and np.allclose(dense[r, columns], prior)
            )
            seen.append(row)
            log_probabilities = of_problem[:, row].log_softmax(-1)
            torch.testing.assert_close(
                losses[number, :, place][:, inside], -log_probabilities[:, columns]
            )
            assert (losses[number, :, place][:, ~inside] == torch.inf).all()
            for network in range(2):
                label = int(log_probabilities[network].argmax())
                is_label = [column == label for column in columns]
                assert predicted[number, network, place][inside].tolist() == is_label
                assert not predicted[number, network, place][~inside].any()
        assert sorted(seen) == list(range(9))


def test_a_rule_is_told_the_share_of_the_epoch_or_none_where_it_is_one():
    rule = Watching(3)
    training = trained(networks_of(1, 2), [make_problem(20)], rule, epochs=4, batch_size=10)
    shares = [share for *_, share in rule.calls]
    assert shares[:4] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert shares[4:] == [None] * 4
    assert training.histories[0]["T"] == pytest.approx([1 / 3, 2 / 3, 1, 1])


# ---- events


def test_events_come_in_order():
    listener = Listener()
    trained(networks_of(1, 2), [make_problem()], listeners=[listener])
    assert listener.heard == [("start", 0), ("epoch", 1), ("epoch", 2), ("epoch", 3), ("end", 3)]


def test_listeners_are_called_one_after_the_other_and_need_not_hear_everything():
    order = []
    first = Listener(lambda training: order.append("first"))
    second = Listener(lambda training: order.append("second"))
    listeners = [first, object(), OnlyAtTheStart(lambda training: order.append("start")), second]
    trained(networks_of(1, 2), [make_problem()], listeners=listeners, epochs=2)
    assert order == ["start", "first", "second", "first", "second"]


def test_listeners_can_read_where_training_is():
    problems = [make_problem(20), make_problem(19)]
    networks, rule = networks_of(1, 2, 3, 4), BelieveOthers(3)
    seen = []

    def look(training):
        assert training.networks is networks
        assert training.rule is rule
        assert training.settings == settings()
        assert training.measures.keys() == MEASURES
        assert all(values.shape == (2,) for values in training.measures.values())
        assert [history.n_epochs for history in training.histories] == [training.epoch] * 2
        assert not training.stopped
        seen.append({name: values.tolist() for name, values in training.measures.items()})

    training = trained(networks, problems, rule, [Listener(look)])
    for number, history in enumerate(training.histories):
        assert set(history) == MEASURES
        for name in MEASURES:
            assert history[name].tolist() == [values[name][number] for values in seen]


def test_listeners_can_ask_the_networks_in_the_middle_of_training():
    problem = make_problem()
    features = torch.as_tensor(problem.features)
    asked = []
    listener = Listener(lambda training: asked.append(training.networks.infer(features)))
    disturbed = trained(networks_of(1, 2), [problem], listeners=[listener])
    quiet = trained(networks_of(1, 2), [problem])
    for name, value in quiet.state().items():
        assert torch.equal(disturbed.state()[name], value)
    assert not torch.equal(asked[0], asked[1])
    assert not asked[0].requires_grad


def test_stopping_makes_the_epoch_the_last_one():
    stopper = Listener(lambda training: training.stop() if training.epoch == 2 else None)
    after = Listener()
    training = trained(networks_of(1, 2), [make_problem()], listeners=[stopper, after], epochs=9)
    assert after.heard == [("start", 0), ("epoch", 1), ("epoch", 2), ("end", 2)]
    assert training.stopped
    assert training.epoch == training.histories[0].n_epochs == 2


def test_training_that_is_stopped_at_the_start_changes_nothing():
    networks = networks_of(1, 2)
    before = {name: value.clone() for name, value in networks.state_dict().items()}
    listener = Listener()
    stopper = OnlyAtTheStart(lambda training: training.stop())
    training = trained(networks, [make_problem()], listeners=[stopper, listener])
    assert listener.heard == [("start", 0), ("end", 0)]
    assert training.epoch == 0
    for name, value in networks.state_dict().items():
        assert torch.equal(value, before[name])


def test_what_is_noted_reaches_measures_and_histories():
    def look(training):
        training.note("mine", [training.epoch, -training.epoch])
        assert training.measures["mine"].tolist() == [training.epoch, -training.epoch]

    problems = [make_problem(20), make_problem(19)]
    training = trained(networks_of(1, 2, 3, 4), problems, listeners=[Listener(look)])
    assert [history["mine"].tolist() for history in training.histories] == [[1, 2, 3], [-1, -2, -3]]
    assert training.histories[0].to_frame().shape == (3, len(MEASURES) + 1)


def test_a_note_must_have_one_number_for_every_problem():
    listener = Listener(lambda training: training.note("mine", [1, 2, 3]))
    with pytest.raises(ValueError, match="broadcast"):
        trained(networks_of(1, 2), [make_problem()], listeners=[listener])


class UserError(Exception):
    """What only a user raises."""


def fail(training):
    raise UserError("of the user")


@pytest.mark.parametrize("listener", [Listener(fail), OnlyAtTheStart(fail)])
def test_an_error_in_a_listener_comes_through_and_leaves_settings_as_they_were(listener):
    with pytest.raises(UserError, match="of the user"):
        trained(networks_of(1, 2), [make_problem()], listeners=[listener])
    assert torch.is_grad_enabled()
    assert torch.tensor([1e-320], dtype=torch.float64).mul(2).item() != 0


@pytest.mark.parametrize("error", [UserError, KeyboardInterrupt])
def test_listeners_hear_of_it_when_training_breaks_off(error):
    heard = []

    class Waiting(Listener):
        def on_interrupt(self, training):
            heard.append(training.epoch)

    def break_off(training):
        if training.epoch == 2:
            raise error

    waiting = Waiting()
    with pytest.raises(error):
        trained(networks_of(1, 2), [make_problem()], listeners=[waiting, Listener(break_off)])
    assert heard == [2]
    assert waiting.heard == [("start", 0), ("epoch", 1), ("epoch", 2)]


def test_listeners_hear_of_no_interruption_where_there_was_none():
    heard = []

    class Waiting(Listener):
        def on_interrupt(self, training):
            heard.append(training.epoch)

    trained(networks_of(1, 2), [make_problem()], listeners=[Waiting()])
    assert heard == []


# ---- the world around


@pytest.mark.parametrize(
    "make", [lambda: networks_of(1, 2), lambda: ModuleStack(dropping_module, 4, 5, seeds=(1, 2))]
)
def test_global_generators_are_neither_read_nor_changed(make):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        before, before_numpy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        first = numbers_of(trained(make(), [make_problem()]))
        assert torch.equal(torch.get_rng_state(), before)
        np.testing.assert_array_equal(np.random.get_state()[1], before_numpy)  # noqa: NPY002
        torch.manual_seed(2)
        again = numbers_of(trained(make(), [make_problem()]))
    for name, value in first.items():
        assert torch.equal(again[name], value)


@pytest.mark.parametrize("enabled", [True, False])
def test_gradients_are_switched_on_or_off_as_before(enabled):
    with torch.set_grad_enabled(enabled):
        trained(networks_of(1, 2), [make_problem()])
        assert torch.is_grad_enabled() == enabled


@pytest.mark.parametrize("flushed", [True, False])
def test_denormal_numbers_are_treated_as_before(flushed):
    torch.set_flush_denormal(flushed)
    try:
        trained(networks_of(1, 2), [make_problem()])
        assert (torch.tensor([1e-320], dtype=torch.float64).mul(2).item() == 0) == flushed
    finally:
        torch.set_flush_denormal(False)


def test_denormal_numbers_are_zero_while_training_runs():
    seen = []

    def look(training):
        seen.append(torch.tensor([1e-320], dtype=torch.float64).mul(2).item())

    trained(networks_of(1, 2), [make_problem()], listeners=[Listener(look)], epochs=1)
    assert seen == [0]


# ---- going on


every_kind_of_network = pytest.mark.parametrize(
    "make",
    [
        lambda: networks_of(1, 2),
        lambda: networks_of(1, 2, hidden=(6, 5), dtype=torch.float32),
        lambda: ModuleStack(dropping_module, 4, 5, seeds=(1, 2)),
    ],
    ids=["one layer", "two layers", "modules"],
)


@every_kind_of_network
def test_an_interrupted_training_goes_on_bit_for_bit(make):
    problem, rule = make_problem(20), BelieveOthers(4)
    whole = trained(make(), [problem], rule, epochs=6)
    half = trained(make(), [problem], rule, epochs=3)
    state, histories = numbers_of(half), [history.to_dict() for history in half.histories]
    networks = make()
    with torch.no_grad():
        for value in networks.parameters():
            value.add_(1)  # everything must come from the state
    resumed = Training(networks, [problem], rule, settings(epochs=6))
    resumed.resume(state, [History(values) for values in histories])
    assert resumed.epoch == 3
    resumed.run()
    assert resumed.epoch == 6
    assert resumed.histories[0].to_dict() == whole.histories[0].to_dict()
    assert resumed.state().keys() == whole.state().keys()
    for name, value in whole.state().items():
        assert torch.equal(resumed.state()[name], value), name


def test_a_training_can_be_taken_up_by_a_listener_at_the_start():
    problems, rule = [make_problem(20), make_problem(19)], BelieveOthers(4)
    whole = trained(networks_of(1, 2, 3, 4), problems, rule, epochs=4)
    half = trained(networks_of(1, 2, 3, 4), problems, rule, epochs=1)
    resume = OnlyAtTheStart(lambda training: training.resume(half.state(), half.histories))
    later = Listener()
    resumed = trained(networks_of(1, 2, 3, 4), problems, rule, [resume, later], epochs=4)
    assert later.heard == [("start", 1), ("epoch", 2), ("epoch", 3), ("epoch", 4), ("end", 4)]
    for name, value in whole.state().items():
        assert torch.equal(resumed.state()[name], value)


def test_a_training_that_was_done_is_not_trained_further():
    done = trained(networks_of(1, 2), [make_problem()])
    again = Training(networks_of(1, 2), [make_problem()], BelievePrior(), settings())
    again.resume(done.state(), done.histories)
    again.run()
    for name, value in done.state().items():
        assert torch.equal(again.state()[name], value)


def test_the_state_is_not_copied():
    training = Training(networks_of(1, 2), [make_problem()], BelievePrior(), settings())
    state = training.state()
    before = numbers_of(training)
    training.run()
    assert any(not torch.equal(value, before[name]) for name, value in state.items())
    for name, value in training.state().items():
        assert torch.equal(state[name], value)


def test_the_same_training_gives_the_same_bits():
    first, second = (trained(networks_of(1, 2), [make_problem()], BelieveOthers(3)) for _ in "ab")
    for name, value in first.state().items():
        assert torch.equal(second.state()[name], value)


# ---- side by side


@pytest.mark.parametrize(
    ("make", "dtype", "tolerance"),
    [
        (networks_of, torch.float64, 1e-9),
        (networks_of, torch.float32, 1e-5),
        (
            lambda *seeds, dtype: ModuleStack(dropping_module, 4, 5, seeds=seeds).to(dtype),
            torch.float64,
            1e-9,
        ),
    ],
    ids=["double", "single", "modules"],
)
def test_problems_side_by_side_are_trained_like_each_alone(make, dtype, tolerance):
    # 5 batches an epoch each, of 8 to 10 rows: batches are filled up.
    problems = [make_problem(count, seed=count) for count in (45, 41, 50)]
    seeds = [(1, 2), (3, 4), (5, 6)]
    usual = {"epochs": 5, "batch_size": 10, "learning_rate": 0.001}
    networks = make(*(seed for pair in seeds for seed in pair), dtype=dtype)
    together = trained(networks, problems, BelieveOthers(4), **usual)
    for number, (problem, pair) in enumerate(zip(problems, seeds, strict=True)):
        alone_networks = make(*pair, dtype=dtype)
        alone = trained(alone_networks, [problem], BelieveOthers(4), **usual)
        for name in MEASURES:
            np.testing.assert_allclose(
                together.histories[number][name], alone.histories[0][name], atol=tolerance
            )
        found = networks.part(2 * number, 2).state_dict()
        for name, value in alone_networks.state_dict().items():
            torch.testing.assert_close(found[name], value, rtol=tolerance, atol=tolerance)


def test_problems_with_different_numbers_of_batches_cannot_be_trained_side_by_side():
    with pytest.raises(ValueError, match="All problems need the same number of batches"):
        trained(networks_of(1, 2, 3, 4), [make_problem(20), make_problem(40)])


def test_a_training_inside_a_block_that_flushes_denormal_numbers_leaves_it_so():
    with denormals_flushed():
        trained(networks_of(1, 2), [make_problem()], epochs=1)
        assert torch.tensor([1e-320], dtype=torch.float64).mul(2).item() == 0
