"""Rows whose label is known, asked among the others: which, where, and how answers are judged."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from disambig.tabular.labels.decisions import Answer, NotThese
from disambig.web.known_rows import KnownRows
from web.served_reviews import animals


def test_every_twentieth_row_is_a_known_one_about_as_doubtful_as_the_row_before():
    rows = animals(100, 10)
    shares = {row: {"cat": 0.5 + (row - 100) / 25, "dog": 0.1} for row in range(100, 110)}
    known = KnownRows(replace(rows, unaided_confidences=shares))
    queue, taken = known.among(np.arange(100), rows.confidence)
    assert [int(row) for row in queue[19::20]] == taken
    assert [row for row in queue.tolist() if row < 100] == list(range(100))
    for place, row in zip(range(19, len(queue), 20), taken, strict=True):
        before = rows.confidence[queue[place - 1]]
        gap = abs(shares[row]["cat"] - before)
        free = [one for one in shares if one not in taken[: taken.index(row)]]
        assert gap == min(abs(shares[one]["cat"] - before) for one in free)


def test_each_known_row_is_asked_once():
    known = KnownRows(animals(100, 2))
    queue, taken = known.among(np.arange(100), animals(100, 2).confidence)
    assert sorted(taken) == [100, 101]
    assert len(queue) == len(set(queue.tolist())) == 102


@pytest.mark.parametrize(
    "unaided",
    [
        {30: {"cat": 0.95, "dog": 0.05}},  # surer than every marked row
        {30: {"cat": 1.0}},
        {30: {"cat": 0.5, "cow": 0.5}},
        {0: {"cat": 0.5, "dog": 0.5}},  # is asked anyhow
        {99: {"cat": 0.5, "dog": 0.5}},
    ],
)
def test_rows_that_do_not_look_like_the_others_are_not_asked(unaided):
    assert KnownRows(replace(animals(30, 1), unaided_confidences=unaided)).unaided == {}


def test_rows_of_groups_are_not_asked_since_the_others_would_tell():
    rows = animals(30, 2)
    grouped = rows.candidates.with_groups([*range(30), 30, 30])
    assert KnownRows(replace(rows, candidates=grouped)).unaided == {}


def test_without_true_labels_there_are_none():
    assert KnownRows(animals(30)).unaided == {}
    assert KnownRows(animals(30)).judge({1: "cat"}) == ""


def test_answers_are_judged_with_their_interval():
    rows = animals(30, 6)
    known = KnownRows(rows)
    truth = dict(zip(range(30, 36), rows.values["truth"][30:], strict=True))
    others = {row: next(iter(set(known.unaided[row]) - {truth[row]})) for row in truth}
    answers = {
        30: truth[30],
        31: others[31],
        32: NotThese(frozenset({others[32]})),
        33: Answer.NONE_OF_THESE,  # though it is one of them
        34: Answer.CANNOT_TELL,
        35: Answer.BAD_ROW,
        1: "cat",
    }
    interval = stats.binomtest(2, 4).proportion_ci(method="wilson")
    assert known.judge(answers) == (
        "Of 4 rows whose true label is known and was not shown, 2 were answered correctly: 50 % "
        f"({100 * interval.low:.0f} to {100 * interval.high:.0f} %, 95 %)."
    )


def test_none_of_these_is_right_where_the_true_label_is_none_of_them():
    rows = animals(30, 1)
    rows.values.loc[30, "truth"] = "fox"
    assert "1 was answered correctly" in KnownRows(rows).judge({30: Answer.NONE_OF_THESE})
