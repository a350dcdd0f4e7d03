"""What is seen while models are trained."""

import pytest
from rich.console import Console

from disambig.cli import fit as fit_view
from disambig.cli.fit import FitView


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


@pytest.fixture
def view(monkeypatch):
    console = Console(force_terminal=True, width=80, record=True)
    monkeypatch.setattr(fit_view, "people_console", lambda: console)
    with FitView() as view:
        view.on_fits_start(4)
        yield view


def shown(view: FitView) -> tuple[str, float]:
    (task,) = view._bar.tasks
    return task.description, task.completed / task.total


def test_in_a_terminal_a_bar_shows_all_models_that_are_being_trained(view):
    view.on_fit_start("all rows")
    view.on_fit_start("fold 1 of 3")
    for title in ("all rows", "all rows", "fold 1 of 3"):
        view.on_epoch_end(title, 1, 4)
    assert shown(view) == ("Training: all rows and fold 1 of 3", pytest.approx(0.75 / 4))
    view.on_fit_end("all rows")
    assert shown(view) == ("Training: fold 1 of 3", pytest.approx(1.5 / 4))


def test_a_model_that_was_trained_before_does_not_say_how_long_others_take(view):
    view.on_fit_start("all rows")
    view.on_epoch_end("all rows", 1, 4)
    view.on_fit_start("fold 1 of 3")
    view.on_fit_end("fold 1 of 3")
    view.on_epoch_end("all rows", 2, 4)
    assert shown(view) == ("Training: all rows", pytest.approx(1.5 / 4))
    view.on_fit_end("all rows")
    assert shown(view) == ("Training", pytest.approx(2 / 4))


def test_a_model_of_several_trainings_never_moves_the_bar_back(view):
    seen = []
    view.on_fit_start("all rows")
    view.on_fit_start("fold 1 of 3")
    for epoch in (1, 2, 1, 2, 1, 2):
        view.on_epoch_end("all rows", epoch, 2)
        view.on_epoch_end("fold 1 of 3", epoch, 2)
        seen.append(shown(view)[1])
    view.on_fit_end("all rows")
    view.on_fit_start("fold 2 of 3")
    view.on_epoch_end("fold 2 of 3", 1, 2)
    seen.append(shown(view)[1])
    assert seen == sorted(seen)
    assert seen[-1] <= 0.75


def test_many_models_at_once_leave_room_for_the_bar(view):
    for title in ("all rows", "fold 1 of 3", "fold 2 of 3"):
        view.on_fit_start(title)
    assert shown(view)[0] == "Training: 3 models"


def test_a_method_without_epochs_moves_the_bar_too(view):
    view.on_fit_start("all rows")
    view.on_fit_end("all rows")
    assert shown(view) == ("Training", 0.25)
