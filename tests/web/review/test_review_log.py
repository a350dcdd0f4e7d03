"""What stands in a review: own decisions, what undo would take back, checks and conflicts."""

import pandas as pd
import pytest

from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.tabular.labels.decisions import Answer, NotThese
from disambig.tabular.labels.reviewers import agreed_decisions
from disambig.web.review_log import ReviewLog

ROWS = DecidedRows(pd.DataFrame({"x": range(9)}))


@pytest.fixture
def log_of(tmp_path):
    """Return what opens the log of a reviewer; all write to one file."""

    def open_log(reviewer: str = "", **settings: object) -> ReviewLog:
        return ReviewLog(DecisionLog(tmp_path / "log.jsonl", ROWS, reviewer), **settings)

    return open_log


def not_these(*labels: str) -> NotThese:
    return NotThese(frozenset(labels))


def undo(log: ReviewLog) -> None:
    """Do what the page does."""
    standing = log.standing()
    row, earlier = standing.undo
    log.decide(row, earlier, before=(standing.settled | standing.checked).get(row))


def test_undo_goes_back_step_by_step_until_nothing_is_left(log_of):
    log = log_of()
    steps = [(1, "cat", None), (2, Answer.BAD_ROW, None), (1, "dog", "cat"), (1, None, "dog")]
    seen = [{}]
    for row, decision, before in steps:
        seen.append(log.decide(row, decision, before=before).settled)
    assert seen[-1] == {2: Answer.BAD_ROW}
    for expected in reversed(seen[:-1]):
        undo(log)
        assert log_of().standing().settled == expected
    assert log.standing().undo is None


def test_after_an_undo_others_can_be_decided_and_undone(log_of):
    log = log_of()
    log.decide(1, "cat", before=None)
    undo(log)
    log.decide(2, "dog", before=None)
    assert log.standing().undo == (2, None)
    undo(log)
    assert log.standing().undo is None


def test_undo_takes_back_the_last_label_that_is_not_right(log_of):
    log = log_of()
    log.decide(1, not_these("cat"), before=None)
    standing = log.decide(1, not_these("cat", "dog"), before=not_these("cat"))
    assert standing.settled == {1: not_these("cat", "dog")}
    assert standing.undo == (1, not_these("cat"))
    undo(log)
    assert log.standing().settled == {1: not_these("cat")}


def test_answers_about_known_rows_are_marked_and_apart(log_of):
    log = log_of(checks=[3])
    log.decide(1, "cat", before=None)
    standing = log.decide(3, "dog", before=None)
    assert (standing.settled, standing.checked) == ({1: "cat"}, {3: "dog"})
    assert [entry.check for entry in log.log.entries()] == [False, True]
    assert standing.undo == (3, None)
    undo(log)
    assert log.standing().checked == {}
    assert log.standing().undo == (1, None)


def test_reviewers_see_and_undo_only_their_own(log_of):
    ann, ben = log_of("Ann"), log_of("Ben")
    ann.decide(1, "cat", before=None)
    standing = ben.decide(1, "dog", before=None)
    assert standing.settled == {1: "dog"}
    undo(ben)
    assert ben.standing().undo is None
    assert ann.standing().settled == {1: "cat"}


def test_who_settles_conflicts_sees_what_others_have_settled(log_of):
    log_of("Ann").decide(1, "cat", before=None)
    log_of("Ben").decide(1, "dog", before=None)
    third, fourth = log_of("Ann", settles=True), log_of("Cleo", settles=True)
    assert third.standing().settled == {}  # though Ann has said cat
    assert third.decide(1, "dog", before=None).settled == {1: "dog"}
    with pytest.raises(Conflict):
        fourth.decide(1, "cat", before=None)
    assert fourth.standing().settled == {1: "dog"}
    assert third.log.entries()[-1].settles
    undo(third)
    assert fourth.standing().settled == {}
    assert log_of("Ben").standing().settled == {1: "dog"}


def test_what_ended_a_conflict_is_not_what_its_author_says_of_the_row(log_of):
    ann = log_of("Ann")
    ann.decide(1, "cat", before=None)
    log_of("Ben").decide(1, "dog", before=None)
    log_of("Ann", settles=True).decide(1, "dog", before=None)
    assert ann.standing().settled == {1: "cat"}
    assert ann.standing().undo == (1, None)
    undo(ann)
    entries = ann.log.entries()
    assert [one.settles for one in entries] == [False, False, True, False]
    assert agreed_decisions(entries) == ({1: "dog"}, {})


def test_labels_are_given_back_to_a_row_whose_conflict_another_has_settled(log_of):
    log_of("Ann").decide(1, "cat", before=None)
    log_of("Ben").decide(1, "dog", before=None)
    third, fourth = log_of("Cleo", settles=True), log_of("Dan", settles=True)
    third.decide(1, not_these("cat", "dog"), before=None)
    fewer = fourth.decide(1, not_these("dog"), before=not_these("cat", "dog"))
    assert fewer.settled == {1: not_these("dog")}
    assert agreed_decisions(third.log.entries()) == ({1: not_these("dog")}, {})
