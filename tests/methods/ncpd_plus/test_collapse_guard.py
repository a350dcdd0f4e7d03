import numpy as np
import pytest
import torch

from disambig.engine.rule import TrainingSettings
from disambig.engine.training import Training
from disambig.methods.ncpd_plus.collapse import CollapseGuard, choices_kept
from engine.small_problems import BelievePrior, make_problem, networks_of

# The guard looks every five epochs, and remembers the first in which something is learned.
FIRST, NEXT = 5, 10


# How many choices were kept ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "now", "sizes", "kept", "error"),
    [
        # All of them, and none, which of few rows is no proof.
        ([0, 1, 0, 1], [0, 1, 0, 1], [2, 2, 2, 2], 1, 0),
        ([0, 1, 0, 1], [1, 0, 1, 0], [2, 2, 2, 2], -1, np.sqrt(0.25 / 4) / 0.5),
        # Half of them, of two each: as many as by chance.
        ([0, 1, 0, 1], [0, 1, 1, 0], [2, 2, 2, 2], 0, np.sqrt(0.25 / 4) / 0.5),
        # Three of four, where chance keeps two.
        ([0, 1, 0, 1], [0, 1, 0, 0], [2, 2, 2, 2], 0.5, np.sqrt(0.75 * 0.25 / 4) / 0.5),
        # Chance keeps a half, a third and a quarter: 13/36 of all; two thirds were kept.
        ([0, 2, 3], [0, 2, 1], [2, 3, 4], (2 / 3 - 13 / 36) / (23 / 36), np.sqrt(2 / 27) * 36 / 23),
        # Rows without a choice do not count.
        ([0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 2, 2], 0, np.sqrt(0.25 / 2) / 0.5),
        # Nothing could be lost.
        ([0, 0], [0, 0], [1, 1], 1, 0),
    ],
    ids=["all", "none", "chance", "three quarters", "any size", "no choice", "no choices at all"],
)
def test_choices_kept_by_hand(first, now, sizes, kept, error):
    found = choices_kept(np.array(first), np.array(now), np.array(sizes))
    np.testing.assert_allclose(found, [kept, error], atol=1e-12)


def test_choices_at_random_keep_nothing():
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 6, size=20_000)
    first, now = (generator.integers(0, sizes) for _ in "ab")
    kept, error = choices_kept(first, now, sizes)
    assert abs(kept) < 4 * error < 0.03


# The guard in a course of epochs -----------------------------------------------------------------


class Course:
    """What a guard asks of a training: epochs whose choices and measures are given."""

    def __init__(self, *guards):
        self.guards = guards
        self.epoch = 0
        self.stopped = False
        self.noted = {}

    def epoch_with(self, *places, simple=1.0, covered=1.0, epoch=None):
        """Go on to an epoch with these choices of every problem."""
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self.places = [torch.as_tensor(own) for own in places]
        self.measures = {
            "simple": np.broadcast_to(simple, len(places)),
            "covering_rate": np.broadcast_to(covered, len(places)),
        }
        self.noted = {}
        for guard in self.guards:
            guard.on_epoch_end(self)
        return self

    def chosen_slots(self):
        return [own.clone() for own in self.places]

    def note(self, name, values):
        self.noted[name] = np.asarray(values, dtype=float).tolist()

    def stop(self):
        self.stopped = True


# Two candidates each, of four classes: chance covers a half.
SIZES, N_CLASSES = np.full(400, 2), 4
STAYED, PARTED = np.zeros(400, dtype=int), np.arange(400) % 2


def course_of(n_problems=1, n_rows=400):
    """A course that has come to the epoch whose choices are remembered: the first candidates."""
    course = Course(CollapseGuard([SIZES[:n_rows]] * n_problems, N_CLASSES, stops=True))
    return course.epoch_with(*[STAYED[:n_rows]] * n_problems, epoch=FIRST)


def test_a_training_that_parts_from_its_choices_is_stopped():
    course = course_of()
    assert course.noted == {"kept": [1.0], "collapsed": [0.0]}
    assert not course.stopped
    course.epoch_with(PARTED, epoch=NEXT)
    assert course.noted == {"kept": [0.0], "collapsed": [1.0]}
    assert course.stopped


def test_it_goes_on_where_there_is_nothing_else_to_try():
    course = Course(CollapseGuard([SIZES], N_CLASSES, stops=False))
    course.epoch_with(STAYED, epoch=FIRST).epoch_with(PARTED, epoch=NEXT)
    assert course.noted == {"kept": [0.0], "collapsed": [1.0]}
    assert not course.stopped


def test_one_that_keeps_most_of_them_is_not():
    course = course_of()
    for epoch in range(FIRST + 1, 60):
        course.epoch_with(np.where(np.arange(400) < 100, PARTED, STAYED), epoch=epoch)
        assert not course.stopped
    course.epoch_with(np.where(np.arange(400) < 100, PARTED, STAYED), epoch=60)
    assert course.noted == {"kept": [0.75], "collapsed": [0.0]}


def test_before_half_of_the_rows_are_simple_nothing_is_judged():
    course = course_of()
    course.epoch_with(PARTED, simple=0.49, epoch=NEXT)
    assert course.noted == {"kept": [0.0], "collapsed": [0.0]}
    assert not course.stopped
    course.epoch_with(PARTED, simple=0.5, epoch=NEXT + 5)
    assert course.stopped


def test_what_was_chosen_before_the_epoch_that_is_remembered_does_not_matter():
    course = Course(CollapseGuard([SIZES], N_CLASSES, stops=True))
    for _ in range(FIRST - 1):
        course.epoch_with(1 - STAYED)
        assert not course.noted
    course.epoch_with(STAYED)
    course.epoch_with(STAYED, epoch=NEXT)
    assert course.noted["kept"] == [1.0]


@pytest.mark.parametrize(("covered", "remembered"), [(0.5, False), (0.74, False), (0.75, True)])
def test_choices_are_remembered_once_something_is_learned_in_them(covered, remembered):
    # Half of the way from chance, which is 0.5, to all.
    course = Course(CollapseGuard([SIZES], N_CLASSES, stops=True))
    course.epoch_with(STAYED, covered=covered, epoch=FIRST)
    course.epoch_with(PARTED, epoch=NEXT)
    assert course.noted["kept"] == [0.0 if remembered else 1.0]
    assert course.stopped == remembered
    # What was not remembered in epoch 5 is in epoch 10, and kept in mind from then on.
    course.epoch_with(STAYED, epoch=NEXT + 5)
    assert course.noted["kept"] == [1.0 if remembered else 0.0]


def test_every_problem_is_remembered_when_it_has_learned_itself():
    course = Course(CollapseGuard([SIZES, SIZES], N_CLASSES, stops=True))
    course.epoch_with(STAYED, STAYED, covered=[0.9, 0.6], epoch=FIRST)
    course.epoch_with(PARTED, PARTED, epoch=NEXT)
    assert course.noted["kept"] == [0.0, 1.0]
    resumed = CollapseGuard([SIZES, SIZES], N_CLASSES, stops=True)
    resumed.resume(course.guards[0].state())
    course.guards = [resumed]
    course.epoch_with(STAYED, STAYED, epoch=NEXT + 5)
    assert course.noted["kept"] == [1.0, 0.0]


def test_few_rows_are_no_proof():
    # Nothing was kept of 8 choices, and of 400: two standard errors are 0.71 and 0.1.
    for n_rows, stopped in [(8, False), (400, True)]:
        course = course_of(n_rows=n_rows)
        course.epoch_with(PARTED[:n_rows], epoch=NEXT)
        assert course.noted["kept"] == [0.0]
        assert course.stopped == stopped


def test_of_several_problems_all_must_have_collapsed_at_some_time():
    course = course_of(n_problems=2)
    course.epoch_with(PARTED, STAYED, epoch=NEXT)
    assert course.noted["collapsed"] == [1.0, 0.0]
    assert not course.stopped
    course.epoch_with(STAYED, STAYED, epoch=NEXT + 5)
    assert course.noted == {"kept": [1.0, 1.0], "collapsed": [1.0, 0.0]}
    course.epoch_with(STAYED, PARTED, epoch=NEXT + 10)
    assert course.stopped


def test_every_problem_is_judged_by_its_own_simple_rows():
    course = course_of(n_problems=2)
    course.epoch_with(PARTED, PARTED, simple=[0.1, 0.9], epoch=NEXT)
    assert course.noted["collapsed"] == [0.0, 1.0]


@pytest.mark.parametrize("resumed_at", [0, FIRST - 1, FIRST, FIRST + 2])
def test_a_resumed_guard_judges_as_it_would_have(resumed_at):
    before = CollapseGuard([SIZES, SIZES], N_CLASSES, stops=True)
    course = Course(before)
    for _ in range(resumed_at):
        course.epoch_with(STAYED, 1 - STAYED)
    after = CollapseGuard([SIZES, SIZES], N_CLASSES, stops=True)
    after.resume({name: value.clone() for name, value in before.state().items()})
    course.guards = [after]
    while course.epoch < NEXT - 1:
        course.epoch_with(STAYED, 1 - STAYED)
    course.epoch_with(STAYED, STAYED)
    assert course.noted == {"kept": [1.0, -1.0], "collapsed": [0.0, 1.0]}


def test_rows_without_any_choice_never_collapse():
    course = Course(CollapseGuard([np.ones(400, dtype=int)], N_CLASSES, stops=True))
    course.epoch_with(STAYED, epoch=FIRST).epoch_with(STAYED, epoch=NEXT)
    assert course.noted == {"kept": [1.0], "collapsed": [0.0]}


def test_measures_of_a_real_training_are_in_its_history():
    problem = make_problem(40)
    guard = CollapseGuard([np.diff(problem.prior.indptr)], 5, stops=True)
    settings = TrainingSettings(12, 20, 0.01)
    training = Training(networks_of(1, 2), [problem], BelievePrior(), settings, [guard])
    training.run()
    kept = training.histories[0]["kept"]
    assert np.flatnonzero(np.isfinite(kept)).tolist() == [FIRST - 1, NEXT - 1]
    assert kept[FIRST - 1] == 1
    assert -1 <= kept[NEXT - 1] <= 1
    # Nothing is simple by this rule.
    assert np.nanmax(training.histories[0]["collapsed"]) == 0


def test_a_resumed_guard_knows_what_has_collapsed():
    before = CollapseGuard([SIZES, SIZES], N_CLASSES, stops=False)
    course = Course(before)
    course.epoch_with(STAYED, STAYED, epoch=FIRST)
    course.epoch_with(PARTED, STAYED, epoch=NEXT)
    after = CollapseGuard([SIZES, SIZES], N_CLASSES, stops=False)
    after.resume(before.state())
    course.guards = [after]
    course.epoch_with(STAYED, STAYED, epoch=NEXT + 5)
    assert course.noted["collapsed"] == [1.0, 0.0]


def test_a_guard_is_not_resumed_from_verdicts_on_others():
    one, two = (CollapseGuard([SIZES] * count, N_CLASSES, stops=True) for count in (1, 2))
    with pytest.raises(ValueError, match="1 problems need as many verdicts"):
        one.resume(two.state())
