"""Answers other than a label: on disk, in sets, and together with those of other reviewers."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from disambig import CandidateLabels, read_table
from disambig._core.errors import TableError
from disambig.tabular.labels.decided_rows import DecidedRows, read_entries
from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.tabular.labels.decisions import Answer, Entry, NotThese, decision_word
from disambig.tabular.labels.reviewers import agreed_decisions, agreements, read_decisions
from disambig.tabular.labels.settled_sets import settle, take_rows

TABLE = pd.DataFrame({"photo": [f"p{number}" for number in range(1, 9)]})
NONE, CANNOT, BAD = Answer.NONE_OF_THESE, Answer.CANNOT_TELL, Answer.BAD_ROW


def not_these(*labels):
    return NotThese(frozenset(labels))


# Tables and logs --------------------------------------------------------------------------------


def test_a_table_says_what_was_answered():
    frame = pd.DataFrame(
        {
            "row": [1, 2, 3, 4, 5, 2, 6],
            "label": ["cat", "dog", None, None, "", "fox", "owl"],
            "answer": [None, "not this", "none of these", "cannot tell", "bad row", "not this", ""],
        }
    )
    assert read_decisions(frame, TABLE) == {
        0: "cat",
        1: not_these("dog", "fox"),
        2: NONE,
        3: CANNOT,
        4: BAD,
        5: "owl",
    }


@pytest.mark.parametrize(
    ("label", "answer"),
    [("cat", "bad row"), (None, "not this"), ("cat", "accept"), (None, "perhaps")],
)
def test_an_answer_that_means_nothing_is_refused(label, answer):
    frame = pd.DataFrame({"row": [1, 2], "label": ["cat", label], "answer": ["label", answer]})
    with pytest.raises(TableError, match=f"'answer' must be .*Got '{answer}' .* in row 2 of the"):
        read_decisions(frame, TABLE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.jsonl"


def log_of(path, reviewer=""):
    return DecisionLog(path, DecidedRows(TABLE, "photo"), reviewer)


def test_every_answer_comes_back_from_a_log(path):
    log = log_of(path)
    decisions = {0: "cat", 1: not_these("dog", "fox"), 2: NONE, 3: CANNOT, 4: BAD}
    for row, decision in decisions.items():
        assert log.settle(row, decision, before=None)[row] == decision
    assert log.settled() == log_of(path).settled() == decisions
    assert read_decisions(read_table(path), TABLE, id="photo") == decisions
    with pytest.raises(Conflict):
        log.settle(3, "cat", before=BAD)
    assert log.settle(3, None, before=CANNOT) == {
        row: decision for row, decision in decisions.items() if row != 3
    }


def test_labels_that_are_not_right_add_up_until_something_else_is_said(path):
    log = log_of(path)
    log.settle(0, not_these("cat"), before=None)
    log.settle(0, not_these("dog"), before=not_these("cat"))
    assert log.settled() == log_of(path).settled() == {0: not_these("cat", "dog")}
    log.settle(0, "fox", before=not_these("cat", "dog"))
    log.settle(0, not_these("owl"), before="fox")
    assert log.settled() == log_of(path).settled() == {0: not_these("owl")}


def test_every_reviewer_sees_only_decisions_of_his_or_her_own(path):
    ann, ben = log_of(path, "ann"), log_of(path, "ben")
    ann.settle(0, "cat", before=None)
    ben.settle(0, "dog", before=None)
    ben.settle(1, BAD, before=None)
    assert (ann.settled(), ben.settled()) == ({0: "cat"}, {0: "dog", 1: BAD})
    assert log_of(path).settled() == {}
    assert [entry.by for entry in log_of(path).entries()] == ["ann", "ben", "ben"]


def test_answers_that_judge_the_reviewer_are_never_decisions(path):
    log = log_of(path, "ann")
    log.settle(0, "cat", before=None)
    assert log.settle(1, "dog", before=None, check=True) == {1: "dog"}
    assert log.settled() == {0: "cat"}
    assert log.settled(check=True) == {1: "dog"}
    assert read_decisions(read_table(path), TABLE, id="photo") == {0: "cat"}
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1])["check"] is True


@pytest.mark.parametrize("column", ["label", "answer", "by", "settles", "check"])
def test_the_column_that_names_rows_is_not_one_of_the_log(column):
    rows = DecidedRows(TABLE.rename(columns={"photo": column}), column)
    with pytest.raises(TableError, match=f"has a column '{column}' for what was decided"):
        rows.names()


def test_marks_must_be_yes_or_no():
    frame = pd.DataFrame({"row": [1], "label": ["cat"], "check": ["perhaps"]})
    with pytest.raises(TableError, match="say true or false. Got 'perhaps', in row 1"):
        read_entries(frame, TABLE)


# Sets -------------------------------------------------------------------------------------------


def test_answers_change_sets_by_what_they_rule_out():
    candidates = CandidateLabels.from_strings(["cat|dog", "cat|dog|fox", "dog|fox", "cat", "owl"])
    decisions = {0: NONE, 1: not_these("cat"), 2: CANNOT, 3: BAD, 4: not_these("owl", "cat")}
    assert settle(candidates, decisions).to_strings() == [
        "fox|owl",
        "dog|fox",
        "dog|fox",
        "cat",
        "dog|fox",
    ]


def test_where_nothing_is_ruled_out_the_very_same_sets_come_back():
    candidates = CandidateLabels.from_strings(["cat|dog", "fox"])
    assert settle(candidates, {0: CANNOT, 1: not_these("dog")}) is candidates


def test_labels_that_stay_keep_their_weight_and_new_ones_have_one():
    weights = np.array([[5, 2, 3], [4, 2, 0]])
    candidates = CandidateLabels.from_mask(weights > 0, ["cat", "dog", "fox"], weights=weights)
    settled = settle(candidates, {0: not_these("cat"), 1: NONE})
    assert settled.classes.tolist() == ["cat", "dog", "fox"]
    assert settled.weights.toarray().tolist() == [[0, 2, 3], [0, 0, 1]]


@pytest.mark.parametrize("decision", [NONE, not_these("cat", "dog")])
def test_a_row_to_which_no_label_is_left_is_refused(decision):
    candidates = CandidateLabels.from_strings(["cat", "cat|dog"])
    with pytest.raises(TableError, match="None of the 2 labels is left for row 2.* a bad row"):
        settle(candidates, {1: decision})


def test_a_label_that_is_not_known_cannot_be_ruled_out():
    with pytest.raises(TableError, match="'dgo' is not one of the 2 .* Did you mean 'dog'"):
        settle(CandidateLabels.from_strings(["cat|dog"]), {0: not_these("dgo")})


@given(st.data())
def test_ruling_out_equals_clearing_cells_of_the_mask(data):
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    mask = generator.random((5, 4)) < 0.5
    mask[mask.sum(axis=1) == 0, 0] = True
    candidates = CandidateLabels.from_mask(mask, ["a", "b", "c", "d"])
    out = data.draw(
        st.dictionaries(st.integers(0, 4), st.sets(st.sampled_from("abc"), min_size=1, max_size=3))
    )
    settled = settle(candidates, {row: not_these(*labels) for row, labels in out.items()})
    for row, labels in out.items():
        excluded = np.isin(candidates.classes, list(labels))
        if (mask[row] & ~excluded).any():
            mask[row] &= ~excluded
        elif (mask[row] & excluded).any():
            mask[row] = ~mask[row] & ~excluded
    assert settled == CandidateLabels.from_mask(mask, candidates.classes)


def test_rows_take_their_sets_from_another_collection():
    one = CandidateLabels.from_strings(["cat|dog", "dog", "cat|fox"])
    other = CandidateLabels.from_strings(["fox", "cat|fox", "dog"], classes=one.classes)
    taken = take_rows(one, np.array([True, False, True]), other)
    assert taken.to_strings() == ["fox", "dog", "dog"]
    assert take_rows(one, np.zeros(3, dtype=bool), other) is one


# Several reviewers ------------------------------------------------------------------------------


def said(**by_name):
    """Return entries: what each reviewer decided on rows 0, 1, and so on."""
    return [
        Entry(row, decision, by=name)
        for name, decisions in by_name.items()
        for row, decision in enumerate(decisions)
    ]


@pytest.mark.parametrize(
    ("ann", "ben", "together"),
    [
        ("cat", "cat", "cat"),
        ("cat", CANNOT, "cat"),
        (CANNOT, CANNOT, CANNOT),
        (BAD, CANNOT, BAD),
        ("cat", not_these("dog"), "cat"),
        (not_these("cat"), not_these("dog"), not_these("cat", "dog")),
        (NONE, not_these("dog"), NONE),
        ("cat", "dog", None),
        ("cat", not_these("cat"), None),
        ("cat", BAD, None),
        ("cat", NONE, None),
        (NONE, BAD, None),
        (not_these("cat"), BAD, None),
    ],
)
def test_what_two_reviewers_say_together(ann, ben, together):
    for one, other in ((ann, ben), (ben, ann)):
        decided, conflicts = agreed_decisions(said(ann=[one], ben=[other]))
        assert decided == ({} if together is None else {0: together})
        assert conflicts == ({0: {"ann": one, "ben": other}} if together is None else {})


def test_a_third_settles_a_conflict_and_nothing_else_does():
    entries = said(ann=["cat", "cat"], ben=["dog", "cat"], cem=["cat", "cat"])
    decided, conflicts = agreed_decisions(entries)
    assert (decided, list(conflicts)) == ({1: "cat"}, [0])
    entries.append(Entry(0, "fox", by="cem", settles=True))
    assert agreed_decisions(entries) == ({1: "cat", 0: "fox"}, {})
    entries.append(Entry(0, None, by="ann", settles=True))  # taken back
    assert list(agreed_decisions(entries)[1]) == [0]


def test_rows_on_which_reviewers_disagree_are_left_out_with_a_warning():
    frame = pd.DataFrame(
        {"row": [3, 3, 4], "label": ["cat", "dog", "fox"], "by": ["ann", "ben", "ann"]}
    )
    message = "disagree on 1 row, .* first is row 3: ann says cat, ben says dog. .*--conflicts"
    with pytest.warns(UserWarning, match=message):
        assert read_decisions(frame, TABLE) == {3: "fox"}


def test_agreement_is_that_of_scikit_learn():
    ann = ["cat", "cat", "dog", CANNOT, "dog", "cat", not_these("dog")]
    ben = ["cat", "dog", "dog", CANNOT, "cat", "cat", not_these("cat")]
    (found,) = agreements([*said(ann=ann, ben=ben), Entry(7, "cat", by="ann")])
    assert (found.one, found.other, found.n_rows) == ("ann", "ben", 7)
    assert found.share == 4 / 7
    words = [list(map(decision_word, decisions)) for decisions in (ann, ben)]
    assert found.kappa == pytest.approx(cohen_kappa_score(*words))
    assert str(found) == f"ann and ben decided alike in 57 % of 7 rows (kappa {found.kappa:.2f})."


def test_who_always_says_the_same_has_no_kappa():
    (found,) = agreements(said(ann=["cat", "cat"], ben=["cat", "cat"]))
    assert (found.share, found.kappa) == (1, None)
    assert agreements(said(ann=["cat"])) == []
