"""What to ask about a cleaned table: which rows, how, and what it says of the answers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disambig._core.errors import ParameterError
from disambig.solvers.answers_ahead import foresee_changes
from disambig.tabular import Answer, NotThese, clean_table, read_cleaned
from disambig.tabular.asking import questions_of
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.question_plan import QuestionPlan
from disambig.tabular.questions import Question
from tabular.small_tables import neighbours, three_clouds

BY_HAND = pd.DataFrame(
    {
        "photo": ["p1", "p2", "p3", "p4"],
        "chosen_label": ["cat", "dog", "fox", "cat"],
        "confidence": ["0.7", "1", "0.5", "1"],
        "margin": ["0.4", "1", "0.2", "1"],
        "second_look": ["True", "False", "True", "False"],
        "candidate_confidences": ["cat:0.7|dog:0.3", "dog:1", "cat:0.2|dog:0.3|fox:0.5", "cat:1"],
    }
)


def by_hand(**columns: object) -> CleanedTable:
    return read_cleaned(BY_HAND.assign(**columns), id="photo")


@pytest.fixture(scope="module")
def clouds() -> CleanedTable:
    frame = three_clouds(150).drop(columns="truth")
    frame["id"] = [f"r{row}" for row in range(len(frame))]
    cleaned = clean_table(frame, method=neighbours(), n_folds=2, id="id", random_state=0)
    rows = read_cleaned(cleaned, id="id")
    return replace(rows, features={"number": ["length", "width"]})


def asked(plan: QuestionPlan) -> list[int]:
    return [question.row for question in plan.questions]


def test_doubtful_rows_are_asked_about_with_their_likeliest_labels_first():
    plan = questions_of(by_hand())
    assert [(each.row, each.labels) for each in plan.questions] == [
        (2, ("fox", "dog", "cat")), (0, ("cat", "dog"))
    ]  # fmt: skip
    assert [each.removes for each in plan.questions] == pytest.approx([0.5, 0.3])
    assert plan.expected_errors == pytest.approx(0.8)
    assert (plan.by_answers, plan.nearby) == (pytest.approx(0.8), 0)
    assert plan.ahead.n_answers == 0


def test_questions_of_a_table_with_features_count_for_rows_nearby(clouds):
    plan = questions_of(clouds, budget=10)
    assert len(set(asked(plan))) == 10
    assert plan.nearby > 0
    assert plan.by_answers + plan.nearby == pytest.approx(
        sum(question.removes for question in plan.questions)
    )
    assert plan.expected_errors == pytest.approx(clouds.expected_errors)
    without = questions_of(replace(clouds, features={"image": ["id"]}), budget=10)
    assert without.nearby == 0
    # The numbers are found in the table where nobody says which columns were learned from.
    assert questions_of(replace(clouds, features={}), budget=10).nearby > 0


def test_rows_whose_true_label_is_known_are_not_asked_about_whatever_rows_near_them_say(clouds):
    doubtful = clouds.doubtful_rows(40)
    known = doubtful[::2]
    classes = clouds.candidates.classes
    # Most of them are known to be what neither the model nor their neighbours think.
    rows, columns = clouds.candidates.pairs()
    confidences, chosen = clouds.confidences.copy(), clouds.chosen.copy()
    for row in known.tolist():
        pairs = np.flatnonzero(rows == row)
        least = pairs[confidences[pairs].argmin()]
        chosen[row] = columns[least]
        confidences[pairs] = pairs == least
    truth = np.full(len(chosen), "", dtype=object)
    truth[known] = classes[chosen[known]]
    table = replace(
        clouds,
        confidences=confidences,
        chosen=chosen,
        values=clouds.values.assign(checked=truth),
        truth="checked",
    )
    plan = questions_of(table, budget=1_000)
    assert set(asked(plan)) & set(doubtful.tolist())
    assert not set(asked(plan)) & set(known.tolist())
    assert set(asked(questions_of(replace(table, truth=None), budget=1_000))) & set(known.tolist())
    # An edited cell is no label that cleaning chose.
    other = {row: "fox" if truth[row] != "fox" else "cat" for row in known.tolist()}
    table.values.loc[list(other), "checked"] = list(other.values())
    assert set(asked(questions_of(table, budget=1_000))) & set(known.tolist())


def test_answers_remove_no_more_errors_than_are_expected(clouds):
    plan = questions_of(clouds, budget=1_000)
    assert plan.by_answers + plan.nearby <= plan.expected_errors + 1e-9


def test_minutes_end_the_list(clouds):
    plan = questions_of(clouds, budget=50, minutes=0.5)
    assert 5 <= len(plan.questions) <= 7
    assert plan.seconds <= 30
    assert asked(plan) == asked(questions_of(clouds, budget=50))[: len(plan.questions)]
    with pytest.raises(ParameterError, match="The first takes about 5 seconds, and there are 3"):
        questions_of(clouds, minutes=0.05)


def test_rows_that_were_decided_since_are_not_asked_about_again():
    decided = {2: Answer.CANNOT_TELL}
    assert asked(questions_of(by_hand(), decisions=decided)) == [0]
    assert asked(questions_of(by_hand(), decisions={2: "dog"})) == [0]
    assert asked(questions_of(by_hand(), decisions={2: "a new label"})) == [0]


def test_rows_that_were_decided_before_the_cleaning_are_not_asked_about_again():
    decision = ["", "", "cannot tell", ""]
    assert asked(questions_of(by_hand(decision=decision))) == [0]
    assert asked(questions_of(by_hand(decision=["not this", "", "", ""]))) == [2, 0]


def test_what_a_label_is_not_leaves_a_question_about_the_others():
    plan = questions_of(by_hand(), decisions={2: NotThese(frozenset({"fox"}))})
    by_row = {question.row: question for question in plan.questions}
    assert by_row[2].labels == ("dog", "cat")
    assert by_row[2].removes == pytest.approx(0.4)
    everything = NotThese(frozenset({"cat", "dog", "fox", "cow"}))
    assert 2 in asked(questions_of(by_hand(), decisions={2: everything}))


def test_a_label_that_a_set_may_miss_is_asked_about():
    # Confidences sum to the probability that the set holds the label.
    rows = by_hand(
        candidate_confidences=["cat:0.7|dog:0.3", "dog:0.6", "cat:0.2|dog:0.3|fox:0.5", "cat:0.8"],
        miss_probability=["0", "0.4", "0", "0.2"],
        label_if_missed=["", "owl", "", ""],
    )
    plan = questions_of(rows)
    by_row = {question.row: question for question in plan.questions}
    assert by_row[1].labels == ("dog", "owl")
    assert by_row[1].removes == pytest.approx(0.4)
    # Which label else is not known: the only candidate is asked about.
    assert by_row[3].labels == ("cat",)
    assert by_row[3].removes == pytest.approx(0.2)
    assert plan.expected_errors == pytest.approx(rows.expected_errors) == 1.4


def test_a_label_outside_that_cleaning_has_listed_counts_once():
    rows = by_hand(miss_probability=["0.3", "0", "0", "0"], label_if_missed=["dog", "", "", ""])
    plan = questions_of(rows)
    assert plan.expected_errors == pytest.approx(0.8)
    assert {question.row: question.labels for question in plan.questions}[0] == ("cat", "dog")


def test_answers_that_changed_labels_say_how_far_to_believe_the_confidences(clouds):
    rows = asked(questions_of(clouds, budget=6))
    chosen = clouds.candidates.classes[clouds.chosen]
    confirmed = questions_of(clouds, budget=6, decisions={row: str(chosen[row]) for row in rows})
    doubt = float((1 - clouds.confidence[rows]).sum())
    assert (confirmed.changed, confirmed.foreseen) == (0, pytest.approx(doubt))
    assert confirmed.ahead.ratio == pytest.approx(5 / (5 + doubt))
    others = {
        rows[0]: Answer.NONE_OF_THESE,
        rows[1]: NotThese(frozenset({str(chosen[rows[1]])})),
        rows[2]: next(name for name in clouds.candidates.classes if name != chosen[rows[2]]),
        rows[3]: Answer.BAD_ROW,
    }
    changed = questions_of(clouds, budget=6, decisions=others)
    assert changed.changed == 3
    assert changed.foreseen == pytest.approx(float((1 - clouds.confidence[rows[:3]]).sum()))


def test_sentences():
    ahead = foresee_changes(np.full(100, 0.03))
    plan = QuestionPlan(
        tuple(Question(row, ("a", "b"), 0.3) for row in range(100)), 540.0, 47.2, 24.1, 7.0, ahead
    )
    assert plan.sentences() == [
        "100 questions, about 9 minutes: about 31 of 47 expected errors would go (24 by the "
        "answers themselves, roughly 7 in rows like them).",
        "The next 100 answers would change about 3 labels (0 to 7): 19 % of the errors that are "
        "left.",
    ]
    assert plan.share_ahead == pytest.approx(3 / 16.1)
    told = replace(plan, changed=12, foreseen=9.3).sentences()
    assert told[1] == (
        "So far 12 labels changed; about 9 changes are what the confidences foretold."
    )
    last = replace(
        plan,
        questions=plan.questions[:1],
        seconds=5.0,
        ahead=foresee_changes(ahead.low * np.empty(0)),
    )
    assert last.sentences()[0].startswith("1 question, about 5 seconds: ")
    assert last.sentences()[-1] == "After these, no row that can be asked about is in doubt."
    nothing = replace(plan, questions=())
    assert nothing.sentences() == ["There is nothing left to ask: no row is in doubt."]
    assert plan.to_json()["next"]["answers"] == 100


def test_a_table_without_doubt_has_no_questions():
    sure = BY_HAND.assign(candidate_confidences=["cat:1|dog:0", "dog:1", "fox:1", "cat:1"])
    plan = questions_of(read_cleaned(sure, id="photo"))
    assert (plan.questions, plan.share_ahead) == ((), 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"minutes": -1}, "minutes"),
        ({"decisions": {4: "cat"}}, "rows 0 to 3. Got 4"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        questions_of(by_hand(), **options)
