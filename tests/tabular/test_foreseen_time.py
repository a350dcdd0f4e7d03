"""Who follows the models of a table hears how long they take, before the first of them starts."""

from itertools import product

import numpy as np
import pytest

from disambig import LabelColumns, clean_table, fit_table
from disambig.tabular import foreseen_time
from disambig.tabular.foreseen_time import seconds_side_by_side
from disambig.tabular.listener import FitListener
from tabular.small_tables import neighbours, quick_network, three_clouds

FRAME = three_clouds()
COLUMNS = {"truth": "truth"}


class Follower(FitListener):
    """Notes down estimates, and what comes after them."""

    def __init__(self, break_off=False):
        self.told = []
        self._break_off = break_off

    def on_time_estimated(self, n_fits, seconds):
        self.told.append((n_fits, seconds))

    def on_fit_start(self, title):
        self.told.append(title)

    def on_fit_end(self, title):
        if self._break_off:
            raise KeyboardInterrupt


@pytest.fixture
def a_minute(monkeypatch):
    """Let every fit be expected to take a minute; return the shapes that were asked about."""
    asked = []

    def estimate(method, X, y):
        asked.append((type(method).__name__, X.shape, y.shape))
        return 60.0

    monkeypatch.setattr(foreseen_time, "estimate_fit_seconds", estimate)
    return asked


def test_a_fit_takes_one_model_of_all_rows_and_one_without_each_fold(a_minute):
    follower = Follower()
    fit_table(FRAME, method=neighbours(), n_folds=3, listener=follower, **COLUMNS)
    assert follower.told[0] == (4, pytest.approx(60 + 3 * 40))
    assert follower.told[1:]
    # Two numbers and three colours.
    assert a_minute == [("PLKNN", (60, 5), (60, 3))]


def test_cleaning_takes_the_folds_alone_or_one_model_in_sample(a_minute):
    for settings, expected in (
        ({"n_folds": 3}, (3, 3 * 40)),
        ({"in_sample": True}, (1, 60)),
        ({"n_folds": 3, "miss_rate": 0.1}, (12, 12 * 40)),
    ):
        follower = Follower()
        clean_table(FRAME, method=neighbours(), listener=follower, **settings, **COLUMNS)
        assert follower.told[0] == pytest.approx(expected)
        assert [one for one in follower.told if isinstance(one, tuple)] == follower.told[:1]
    assert len(a_minute) == 3


@pytest.mark.parametrize(("second", "n_rounds"), [("", 2), ("red", 1)])
def test_where_most_rows_have_one_answer_folds_are_trained_twice(a_minute, second, n_rounds):
    labels = np.array(["red", "blue"])[np.arange(len(FRAME)) % 2]
    frame = FRAME[["length", "width"]].assign(ann=labels, bob=second)
    columns = LabelColumns(columns=("ann", "bob"), votes=True)
    follower = Follower()
    clean_table(frame, labels=columns, method=neighbours(), n_folds=3, listener=follower)
    assert follower.told[0] == (3 * n_rounds, pytest.approx(3 * n_rounds * 40))
    assert len(follower.told) == 1 + 3 * n_rounds
    assert len(a_minute) == 1


def test_without_folds_there_is_one_model(a_minute):
    follower = Follower()
    fit_table(FRAME, method=neighbours(), n_folds=0, listener=follower, **COLUMNS)
    assert follower.told[0] == (1, 60.0)
    assert len(a_minute) == 1


def test_nothing_is_estimated_for_who_does_not_listen(a_minute):
    fit_table(FRAME, method=neighbours(), n_folds=2, **COLUMNS)
    fit_table(FRAME, method=neighbours(), n_folds=2, listener=FitListener(), **COLUMNS)
    assert a_minute == []


def test_nothing_is_said_where_an_interrupted_call_is_continued(tmp_path, a_minute):
    out = tmp_path / "model"
    settings = {"method": quick_network(), "n_folds": 2, "out": out, **COLUMNS}
    with pytest.raises(KeyboardInterrupt):
        fit_table(FRAME, listener=Follower(break_off=True), **settings)
    assert len(a_minute) == 1
    follower = Follower()
    fit_table(FRAME, listener=follower, **settings)
    assert len(a_minute) == 1
    assert all(isinstance(one, str) for one in follower.told)


def test_an_estimate_changes_nothing_about_the_model():
    method = quick_network()
    values = FRAME.drop(columns=["label", "truth"])
    plain = fit_table(FRAME, method=method, n_folds=0, **COLUMNS)
    followed = fit_table(FRAME, method=method, n_folds=0, listener=Follower(), **COLUMNS)
    found = [model.classifier.candidate_confidence_.toarray() for model in (plain, followed)]
    assert np.array_equal(*found)
    assert plain.predict(values).equals(followed.predict(values))


def test_fits_side_by_side_end_when_those_who_are_free_take_the_next():
    assert seconds_side_by_side([5.0, 4.0, 4.0, 4.0, 4.0, 4.0], 1) == 25
    assert seconds_side_by_side([5.0, 4.0, 4.0, 4.0, 4.0, 4.0], 2) == 13
    assert seconds_side_by_side([5.0, 4.0], 4) == 5
    assert seconds_side_by_side([], 2) == 0
    # Against a clock that ticks.
    for fits in product([1, 2, 3], repeat=4):
        waiting, running, now = list(fits), [], 0
        while waiting or running:
            while waiting and len(running) < 2:
                running.append(now + waiting.pop(0))
            now = min(running)
            running = [end for end in running if end > now]
        assert seconds_side_by_side(list(map(float, fits)), 2) == now
