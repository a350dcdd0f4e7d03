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
            view.on_epoch_end(1, 2)
            view.on_epoch_end(2, 2)
            view.on_fit_end()


def test_without_a_terminal_there_is_a_line_for_every_fit(capsys):
    follow(FitView())
    assert capsys.readouterr().err.splitlines() == [
        "Training: fold 1 of 1 (1 of 2)",
        "Training: all rows (2 of 2)",
    ]


def test_in_a_terminal_a_bar_shows_fit_and_epoch(monkeypatch):
    console = Console(force_terminal=True, width=80, record=True)
    monkeypatch.setattr(fit_view, "people_console", lambda: console)
    view = FitView()
    shown = []
    with view:
        view.on_fits_start(2)
        view.on_fit_start("fold 1 of 1")
        view.on_epoch_end(1, 4)
        (task,) = view._bar.tasks
        shown.append((task.description, task.completed, task.total, task.fields["epoch"]))
        view.on_fit_end()
        shown.append((task.description, task.completed, task.total, task.fields["epoch"]))
    assert shown == [
        ("Training: fold 1 of 1", pytest.approx(0.25), 2, "epoch 1 of 4"),
        ("Training: fold 1 of 1", 1, 2, "epoch 1 of 4"),
    ]
