"""Events of a training, problems side by side, and trainings taken up again."""

import numpy as np
import pytest
import torch

from disambig.engine import device
from disambig.engine.device import denormals_flushed
from disambig.engine.history import History
from disambig.engine.module_stack import ModuleStack
from disambig.engine.training import Training
from engine.small_problems import (
    MEASURES,
    BelieveOthers,
    BelievePrior,
    Listener,
    OnlyAtTheStart,
    dropping_module,
    make_problem,
    networks_of,
    numbers_of,
    settings,
    trained,
)
from engine.torch_settings import denormals_are_zero, threads

# ---- training events


# ---- who is told what


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
    assert not denormals_are_zero()


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
        assert denormals_are_zero() == flushed
    finally:
        torch.set_flush_denormal(False)


def test_denormal_numbers_are_zero_while_training_runs():
    seen = []
    listener = Listener(lambda training: seen.append(denormals_are_zero()))
    trained(networks_of(1, 2), [make_problem()], listeners=[listener], epochs=1)
    assert seen == [True]


def test_a_training_inside_a_block_that_flushes_denormal_numbers_leaves_it_so():
    with denormals_flushed():
        trained(networks_of(1, 2), [make_problem()], epochs=1)
        assert denormals_are_zero()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: networks_of(1, 2), 1),
        (lambda: ModuleStack(dropping_module, 4, 5, seeds=(1, 2)), 3),
    ],
    ids=["small perceptrons", "modules of the user"],
)
def test_steps_use_only_threads_that_pay(make, expected):
    seen = []
    listener = Listener(lambda training: seen.append(torch.get_num_threads()))
    with threads(3):
        trained(make(), [make_problem()], listeners=[listener], epochs=1)
        assert torch.get_num_threads() == 3
    assert seen == [expected]


def test_the_work_of_a_step_grows_with_the_rows_of_a_batch(monkeypatch):
    # Two networks of 200 * 1000 + 1000 * 5 weights: some 16 million multiplications for 40 rows.
    # No test can afford a step that really needs threads.
    monkeypatch.setattr(device, "_MULTIPLICATIONS_PER_THREAD", 8_000_000)
    seen = []
    listener = Listener(lambda training: seen.append(torch.get_num_threads()))
    wide = {"n_inputs": 200, "hidden": (1000,), "dropout": 0, "batch_norm": False}
    with threads(3):
        for batch_size in (10, 40, 80):
            trained(
                networks_of(1, 2, **wide),
                [make_problem(80, n_features=200)],
                listeners=[listener],
                epochs=1,
                batch_size=batch_size,
            )
    assert seen == [1, 3, 3]


@pytest.mark.parametrize("listener", [Listener(fail), OnlyAtTheStart(fail)])
def test_all_threads_are_there_again_after_an_error(listener):
    with threads(3):
        with pytest.raises(UserError, match="of the user"):
            trained(networks_of(1, 2), [make_problem()], listeners=[listener])
        assert torch.get_num_threads() == 3


# ---- training side by side


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


# ---- training resume


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


@every_kind_of_network
def test_a_training_goes_on_from_where_another_has_ended(make):
    problem, rule = make_problem(20), BelieveOthers(4)
    whole = trained(make(), [problem], rule, epochs=6, decay=0.5)
    half = trained(make(), [problem], rule, epochs=3)
    later = Training(make(), [problem], rule, settings(epochs=6, decay=0.5))
    later.go_on_from([half.progress_of(0)])
    later.run()
    assert later.epoch == 6
    for name, value in whole.networks.state_dict().items():
        assert torch.equal(later.networks.state_dict()[name], value), name
    assert later.histories[0]["loss"].tolist() == whole.histories[0]["loss"].tolist()


def test_problems_of_one_training_go_on_in_others_and_with_more_rows():
    problems = [make_problem(count, seed=count) for count in (41, 45)]
    pace = {"epochs": 5, "batch_size": 10}
    together = trained(networks_of(1, 2, 3, 4), problems, BelieveOthers(4), **pace | {"epochs": 2})
    more = make_problem(61, seed=3)
    for number, seeds in enumerate([(1, 2), (3, 4)]):
        alone = trained(
            networks_of(*seeds), [problems[number]], BelieveOthers(4), **pace | {"epochs": 2}
        )
        ends = []
        for begun in (together.progress_of(number), alone.progress_of(0)):
            later = Training(networks_of(*seeds), [more], BelieveOthers(4), settings(**pace))
            later.go_on_from([begun])
            later.run()
            ends.append(later)
        assert ends[0].histories[0].n_epochs == 5
        for name, value in ends[1].networks.state_dict().items():
            found = ends[0].networks.state_dict()[name]
            torch.testing.assert_close(found, value, rtol=1e-9, atol=1e-9)


def test_problems_that_have_come_less_or_further_do_not_go_on_together():
    pace = {"epochs": 2, "batch_size": 10}
    problems = [make_problem(count, seed=count) for count in (41, 45)]
    ends = [trained(networks_of(1, 2), [one], **pace) for one in (problems[0], make_problem(61))]
    later = Training(networks_of(1, 2, 3, 4), problems, BelieveOthers(4), settings(**pace))
    with pytest.raises(ValueError, match=r"steps done. Got \[\(2, 10\), \(2, 14\)\]"):
        later.go_on_from([end.progress_of(0) for end in ends])


def test_the_learning_rate_falls_at_the_end():
    seen = []
    note = Listener(lambda training: seen.append(training._adam.learning_rate))
    trained(networks_of(1, 2), [make_problem()], listeners=[note], epochs=6, decay=0.5)
    # Three epochs as it was, then the middles of three equal steps along a cosine.
    falling = [(1 + np.cos(np.pi * done)) / 2 for done in (1 / 6, 3 / 6, 5 / 6)]
    np.testing.assert_allclose(seen, 0.01 * np.array([1, 1, 1, *falling]))


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
