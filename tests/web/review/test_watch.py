"""When a table is cleaned again during a review, and what is said of it."""

import dataclasses
import tempfile

import numpy as np
import pytest
from starlette.testclient import TestClient

from disambig._core.errors import TableError
from disambig.tabular.background_cleaning import CleanedAgain
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import DecisionLog
from disambig.tabular.labels.decisions import Answer, NotThese
from disambig.web.watch import CleanAgain, Watch, watch_route
from tabular.test_background_cleaning import cleaned_in, read
from waiting import wait_until
from web.hand_made_rows import five_rows


class Cleanings:
    """Cleanings that end when and how the test says."""

    def __init__(self) -> None:
        self.n_begun = 0
        self.result: CleanedAgain | None = None
        self.stopped = False

    def begin(self) -> "Cleanings":
        self.n_begun += 1
        self.result = None
        return self

    def poll(self) -> CleanedAgain | None:
        return self.result

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def cleanings() -> Cleanings:
    return Cleanings()


@pytest.fixture
def steps(cleanings) -> CleanAgain:
    return CleanAgain(five_rows(), cleanings.begin, n_new=3, quiet=30)


def states(steps: CleanAgain, *looks: tuple[float, dict]) -> list[str]:
    """Return the state after each look at the decisions that stand at some moment."""
    found = []
    for now, decisions in looks:
        steps.step(decisions, now)
        found.append(steps.status.state)
    return found


ONE, TWO = {0: "cat"}, {0: "cat", 2: "fox"}
THREE = {**TWO, 4: "dog"}


def test_without_decisions_it_waits_for_ever(steps, cleanings):
    assert states(steps, (0, {}), (31, {}), (10_000, {})) == ["waiting"] * 3
    assert cleanings.n_begun == 0


def test_enough_new_decisions_begin_at_once(steps, cleanings):
    assert states(steps, (0, {}), (1, TWO), (2, THREE)) == ["waiting", "waiting", "cleaning"]
    assert cleanings.n_begun == 1


def test_fewer_begin_after_some_quiet_counted_from_the_last(steps):
    looks = ((0, {}), (5, ONE), (34, TWO), (63.9, TWO), (64, TWO))
    assert states(steps, *looks) == [*["waiting"] * 4, "cleaning"]


def test_a_decision_that_is_changed_or_taken_back_is_a_new_one(steps, cleanings):
    changed = {0: "dog", 2: NotThese(frozenset({"fox"}))}
    assert states(steps, (0, {}), (0, TWO), (30, TWO)) == ["waiting", "waiting", "cleaning"]
    cleanings.result = CleanedAgain(five_rows(), 2)
    assert states(steps, (31, changed), (60, changed)) == ["done", "done"]
    assert states(steps, (61, changed)) == ["cleaning"]
    cleanings.result = CleanedAgain(five_rows(), 2)
    assert states(steps, (62, {}), (92, {})) == ["done", "cleaning"]
    assert cleanings.n_begun == 3


def test_one_cleaning_runs_at_a_time_and_the_next_takes_in_what_came_meanwhile(steps, cleanings):
    states(steps, (0, {}), (1, THREE))
    more = {**THREE, 1: "dog", 3: Answer.CANNOT_TELL}
    assert states(steps, (2, more), (100, more)) == ["cleaning"] * 2
    assert cleanings.n_begun == 1
    cleanings.result = CleanedAgain(five_rows(), 3)
    assert states(steps, (101, more)) == ["cleaning"]
    assert cleanings.n_begun == 2
    cleanings.result = CleanedAgain(five_rows(), 5)
    assert states(steps, (102, more), (500, more)) == ["done"] * 2
    assert cleanings.n_begun == 2


def test_what_has_failed_is_tried_again_only_with_other_decisions(steps, cleanings):
    states(steps, (0, {}), (1, THREE))
    cleanings.result = CleanedAgain(message="Line 3 is odd.")
    assert states(steps, (2, THREE), (1000, THREE)) == ["failed"] * 2
    assert steps.report()["message"] == "Line 3 is odd."
    assert cleanings.n_begun == 1
    assert states(steps, (1001, TWO), (1031, TWO)) == ["failed", "cleaning"]
    assert steps.report()["message"] == ""


def test_what_cannot_be_started_has_failed():
    def refuse() -> Cleanings:
        raise TableError("It cannot be.")

    steps = CleanAgain(five_rows(), refuse, n_new=1)
    assert states(steps, (0, {}), (1, ONE), (100, ONE)) == ["waiting", "failed", "failed"]
    assert steps.report()["message"] == "It cannot be."


def test_the_report_compares_what_is_now_with_what_was(steps, cleanings):
    before = five_rows()
    assert steps.report() == {
        "state": "waiting",
        "decisions": 0,
        "errors": round(before.expected_errors, 4),
        "errors_before": round(before.expected_errors, 4),
        "right": round(1 - before.expected_errors / 5, 4),
        "second_look": 3,
        "message": "",
    }
    states(steps, (0, {}), (1, THREE))
    assert steps.report()["decisions"] == 3
    surer = five_rows(
        [{"cat": 1.0}, {"dog": 1.0}, {"fox": 1.0}, {"cat": 1.0}, {"dog": 0.9, "fox": 0.1}]
    )
    cleanings.result = CleanedAgain(surer, 3)
    states(steps, (2, THREE))
    report = steps.report()
    assert (report["state"], report["decisions"]) == ("done", 3)
    assert (report["errors"], report["right"]) == (0.1, 0.98)
    assert report["errors_before"] == round(before.expected_errors, 4)
    assert steps.status.rows is surer


def test_decisions_that_the_table_was_cleaned_with_are_not_new(cleanings):
    decision = np.array(["label", "", "cannot tell", "", ""], dtype=object)
    rows = dataclasses.replace(five_rows(), decision=decision)
    known = {0: "cat", 2: Answer.CANNOT_TELL}
    steps = CleanAgain(rows, cleanings.begin, n_new=1)
    assert states(steps, (0, known), (100, known)) == ["waiting"] * 2
    other = CleanAgain(rows, cleanings.begin, n_new=1)
    assert states(other, (0, {0: "dog", 2: Answer.CANNOT_TELL})) == ["cleaning"]


def test_a_run_is_stopped_in_the_end(steps, cleanings):
    steps.stop()
    assert not cleanings.stopped
    states(steps, (0, {}), (1, THREE))
    steps.stop()
    assert cleanings.stopped


def test_a_table_that_cannot_be_cleaned_again_is_refused_at_once(tmp_path):
    rows = five_rows()
    with pytest.raises(TableError, match="takes the command that made it"):
        Watch(rows, DecisionLog(tmp_path / "d.jsonl", DecidedRows(rows.values)))


def test_a_table_is_cleaned_again_while_it_is_reviewed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = read(cleaned_in(tmp_path / "work"))
    decided = DecidedRows(rows.values, rows.id)
    log = DecisionLog(tmp_path / "d.jsonl", decided, "Ann")
    watch = Watch(rows, log, n_new=2)
    client = TestClient(watch_route(watch))
    row, other = rows.doubtful_rows(2).tolist()
    with watch:
        assert client.get("/watch").json()["state"] == "waiting"
        assert watch.current() is rows
        log.settle(row, "fox", before=None)
        DecisionLog(log.path, decided, "Bob").settle(other, "cat", before=None)
        wait_until(lambda: client.get("/watch").json()["state"] in ("done", "failed"))
        answer = client.get("/watch").json()
        assert (answer["state"], answer["message"]) == ("done", "")
        assert answer["decisions"] == 2
        names = watch.current().candidates.classes
        assert names[watch.current().chosen[[row, other]]].tolist() == ["fox", "cat"]
        assert answer["errors"] < answer["errors_before"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "work"]


def test_a_log_that_cannot_be_read_is_told_and_the_watch_goes_on(tmp_path, monkeypatch):
    rows = read(cleaned_in(tmp_path / "work"))
    log = DecisionLog(tmp_path / "d.jsonl", DecidedRows(rows.values, rows.id))
    monkeypatch.setattr("disambig.web.watch._SECONDS_BETWEEN_LOOKS", 0.01)
    with Watch(rows, log, n_new=5) as watch:
        log.path.write_text("nonsense\n")
        wait_until(lambda: watch.report()["state"] == "failed")
        assert "nonsense" in watch.report()["message"]
        log.path.unlink()
        log.settle(1, "cat", before=None)
        assert watch.current() is rows
