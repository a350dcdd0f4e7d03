"""What is seen while models are trained."""

import re
import warnings

import pytest
from rich.console import Console

from disambig.cli import fit as fit_view
from disambig.cli.console import collected_notices
from disambig.cli.fit import FitView, unweighted_classes
from disambig.methods import PLKNN


def follow(view: FitView) -> None:
    with view:
        view.on_fits_start(2)
        for title in ("fold 1 of 1", "all rows"):
            view.on_fit_start(title)
            view.on_epoch_end(title, 1, 2)
            view.on_epoch_end(title, 2, 2)
            view.on_fit_end(title)


def test_without_a_terminal_there_is_a_line_for_every_fit(capsys):
    follow(FitView())
    assert capsys.readouterr().err.splitlines() == [
        "Training: fold 1 of 1 (1 of 2)",
        "Training: all rows (2 of 2)",
    ]


def test_how_long_all_of_it_takes_is_said_before_it_starts_unless_it_is_quick(capsys):
    with FitView() as view:
        view.on_time_estimated(6, 125.0)
        view.on_time_estimated(1, 7.4)
        view.on_time_estimated(6, 1.0)
    assert capsys.readouterr().err.splitlines() == ["6 models, about 2 min.", "1 model, about 7 s."]


def test_only_a_method_that_could_weigh_classes_and_does_not_is_told_to():
    class Weighs(PLKNN):
        def __init__(self, *, class_weight=None):
            super().__init__()
            self.class_weight = class_weight

    assert unweighted_classes(Weighs())
    assert not unweighted_classes(Weighs(class_weight="balanced"))
    assert not unweighted_classes(PLKNN())


@pytest.fixture
def view(monkeypatch):
    console = Console(force_terminal=True, width=80, record=True)
    monkeypatch.setattr(fit_view, "people_console", lambda: console)
    with FitView() as view:
        view.on_fits_start(4)
        yield view


@pytest.fixture
def clock(monkeypatch):
    """Return the time, which stands still until it is set."""
    now = [1000.0]
    monkeypatch.setattr(fit_view.time, "monotonic", lambda: now[0])
    return now


def shown(view: FitView) -> tuple[str, float | None]:
    (task,) = view._bar.tasks
    return task.description, task.completed / task.total if task.total else None


def test_a_notice_does_not_run_into_the_bar(view, capsys):
    with collected_notices(view.console):
        warnings.warn("few rows", stacklevel=1)
    lines = [
        re.sub(r"\x1b\[[?\d;]*[A-Za-z]|\r", "", line)
        for line in capsys.readouterr().out.split("\n")
    ]
    assert "Note: few rows" in lines


def known(view: FitView) -> str:
    """Return what stands beside the bar: how much is done, and the time left."""
    (task,) = view._bar.tasks
    return task.fields["known"]


def test_in_a_terminal_a_bar_shows_all_models_that_are_being_trained(view):
    view.on_fit_start("all rows")
    view.on_fit_start("fold 1 of 3")
    assert shown(view)[0] == "Training: all rows and fold 1 of 3"
    for title, epoch in (("all rows", 1), ("fold 1 of 3", 1), ("all rows", 2), ("all rows", 3)):
        view.on_epoch_end(title, epoch, 4)
    assert shown(view)[0] == "Training: all rows and fold 1 of 3, epoch 3 of 4"
    view.on_epoch_end("all rows", 4, 4)
    view.on_fit_end("all rows")
    assert shown(view) == ("Training: fold 1 of 3, epoch 1 of 4", pytest.approx(1.25 / 4))


def test_how_much_is_done_is_unknown_until_a_model_is_done(view):
    view.on_fit_start("all rows")
    for epoch in (1, 2, 1, 2):  # a method may train several networks, one after the other
        view.on_epoch_end("all rows", epoch, 2)
        assert shown(view)[1] is None
        assert known(view) == ""
    view.on_fit_end("all rows")
    assert known(view).startswith("25%")


def test_the_time_left_is_what_the_slowest_model_took(view, clock):
    view.on_fit_start("all rows")
    clock[0] += 30
    view.on_fit_start("fold 1 of 3")
    view.on_fit_end("all rows")
    # One model runs and two wait, one after the other.
    assert known(view) == "25%, about 2 min left"
    view.on_fit_start("fold 2 of 3")
    # Two run and one waits: work of 90 s, two at a time.
    assert known(view) == "25%, about 45 s left"
    clock[0] += 10
    view.on_fit_end("fold 1 of 3")
    view.on_fit_start("fold 3 of 3")
    # 20 s of one model, 30 s of the other.
    assert known(view) == "50%, about 25 s left"
    view.on_fit_end("fold 2 of 3")
    view.on_fit_end("fold 3 of 3")
    assert known(view) == "100%"


def test_models_that_were_done_before_say_nothing_of_the_time_left(view, clock):
    for title in ("fold 1 of 3", "fold 2 of 3"):
        view.on_fit_start(title)
        view.on_fit_end(title)
    clock[0] += 60
    view.on_fit_start("fold 3 of 3")
    assert known(view) == "50%"


def test_a_model_that_was_trained_before_does_not_say_how_long_others_take(view):
    view.on_fit_start("all rows")
    view.on_epoch_end("all rows", 1, 4)
    view.on_fit_start("fold 1 of 3")
    view.on_fit_end("fold 1 of 3")
    view.on_epoch_end("all rows", 2, 4)
    assert shown(view) == ("Training: all rows, epoch 2 of 4", pytest.approx(1 / 4))
    view.on_fit_end("all rows")
    assert shown(view) == ("Training", pytest.approx(2 / 4))


def test_a_model_of_several_trainings_never_moves_the_bar_back(view):
    seen: list[float | None] = []
    view.on_fit_start("all rows")
    view.on_fit_start("fold 1 of 3")
    for epoch in (1, 2, 1, 2, 1, 2):
        view.on_epoch_end("all rows", epoch, 2)
        view.on_epoch_end("fold 1 of 3", epoch, 2)
    view.on_fit_end("all rows")
    seen.append(shown(view)[1])
    view.on_fit_end("fold 1 of 3")
    for title, n_epochs in (("fold 2 of 3", 3), ("fold 3 of 3", 9)):
        view.on_fit_start(title)
        for epoch in range(n_epochs):
            view.on_epoch_end(title, epoch + 1, n_epochs)
            seen.append(shown(view)[1])
        view.on_fit_end(title)
        seen.append(shown(view)[1])
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_many_models_at_once_leave_room_for_the_bar(view):
    for title in ("all rows", "fold 1 of 3", "fold 2 of 3"):
        view.on_fit_start(title)
    assert shown(view)[0] == "Training: 3 models"


def test_a_method_without_epochs_moves_the_bar_too(view):
    view.on_fit_start("all rows")
    view.on_fit_end("all rows")
    assert shown(view) == ("Training", 0.25)
