"""What a review holds: rows, columns and checks; several reviewers; questions; results."""

import json
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.provenance import Provenance
from disambig.tabular.questions import Question
from disambig.web.review import Review, ReviewOptions
from web.page_checks import check_self_contained
from web.served_reviews import animals


@pytest.fixture
def review_of(tmp_path):
    """Return what makes a review; all write to one file."""

    def make(rows=None, **options: object) -> Review:
        rows = animals() if rows is None else rows
        return Review(rows, str(tmp_path / "log.jsonl"), ReviewOptions(**options))

    return make


def post(review: Review, row: int, label: str) -> None:
    client = TestClient(review.app(title="Animals"))
    content = {"row": row, "label": label, "before": None}
    assert client.post("/decisions", json=content).status_code == 200


def test_its_page_is_self_contained_and_may_show_pictures_of_its_own_server(review_of):
    page = TestClient(review_of().app(title="Animals")).get("/").text
    read = check_self_contained(page, connects=True)
    assert read.policy["img-src"] == ["'self'", "data:"]
    assert read.data("doubtful")["review"]["why"] is True


def test_label_columns_and_true_labels_are_no_values(review_of):
    rows = animals(30, 6)
    rows.values["label"] = "cat|dog"
    data = review_of(replace(rows, labels=["label"])).data
    assert data["columns"] == ["size", "legs"]


def test_wanted_columns_are_shown_in_their_order(review_of):
    assert review_of(show=["legs", "size"]).data["columns"] == ["legs", "size"]
    assert review_of(show=["legs, size"]).data["columns"] == ["legs", "size"]
    rows = animals()
    rows.values["a, b"] = "x"
    assert review_of(rows, show=["a, b"]).data["columns"] == ["a, b"]


def test_columns_that_are_not_there_or_tell_the_answer_are_refused(review_of):
    with pytest.raises(TableError, match="'weight'"):
        review_of(show=["weight"])
    with pytest.raises(ParameterError, match="'truth', which holds true labels"):
        review_of(animals(30, 6), show=["truth"])


def test_known_rows_are_shown_as_they_looked_before_and_nothing_gives_them_away(review_of):
    rows = animals(40, 4)
    review = review_of(rows)
    checks = review.data["review"]["checks"]
    assert len(checks) == 2
    assert [row[0] for row in review.data["rows"]][19::20] == checks
    for number, _, candidates, confidences, _, values in review.data["rows"]:
        if number in checks:
            assert confidences == [0.55, 0.45]  # the wrong label first
            assert rows.chosen[number - 1] == candidates[1]
            assert values == [rows.values["size"][number - 1], "4"]
    without = review_of(rows, checks=False)
    assert without.data["review"]["checks"] == []
    assert len(without.data["rows"]) == 40


def test_answers_about_known_rows_judge_the_reviewer_and_decide_nothing(review_of):
    rows = animals(40, 4)
    review = review_of(rows, reviewer="Ann")
    first, second = review.data["review"]["checks"]
    post(review, first, rows.values["truth"][first - 1])
    client = TestClient(review.app(title="Animals"))
    content = {"row": second, "label": None, "answer": "none of these", "before": None}
    answer = client.post("/decisions", json=content).json()
    assert answer["settled"] == []
    assert [row for row, *_ in answer["checked"]] == [first, second]
    (sentence,) = client.get("/results").json()["sentences"]
    assert "Of 2 rows whose true label is known and was not shown, 1 was answered" in sentence
    assert review_of(rows, reviewer="Ben").results() == []


def similar(review: Review, row: int) -> list[tuple[int, str]]:
    """Return the rows, counted from 1, that speak for each label of a row."""
    answer = TestClient(review.app(title="Animals")).get(f"/why?row={row}").json()
    return [(one["number"], one["label"]) for one in answer["similar"]]


def test_why_shows_no_row_whose_true_label_may_be_asked_for(review_of):
    rows = replace(animals(40, 8), second_look=np.arange(48) < 20)
    known = range(41, 49)
    checked, unchecked = review_of(rows), review_of(rows, checks=False)
    assert checked.data["review"]["checks"] == [41]
    for row in (1, 2, 3, 41):
        assert similar(checked, row)
        assert not {number for number, _ in similar(checked, row)}.intersection(known)
    assert {number for number, _ in similar(unchecked, 1)}.intersection(known)


def test_why_speaks_for_no_true_label_that_was_not_a_candidate(review_of):
    rows = animals(40, 8)
    # Cleaning adds such a label to the set.
    before = {row: {name: 1.0} for row, (name, *_) in rows.unaided_confidences.items()}
    review = review_of(replace(rows, unaided_confidences=before), checks=False)
    for row, (name,) in before.items():
        assert {label for _, label in similar(review, row + 1)} == {name}


def test_reviewers_are_compared_and_their_conflicts_settled(review_of):
    ann, ben = review_of(reviewer="Ann"), review_of(reviewer="Ben")
    for row in range(1, 5):
        post(ann, row, "cat")
        post(ben, row, "cat" if row < 4 else "dog")
    assert ben.log.standing().settled == {0: "cat", 1: "cat", 2: "cat", 3: "dog"}
    agreement, conflicts = ann.results()
    assert agreement.startswith("Ann and Ben decided alike in 75 % of 4 rows")
    assert conflicts.startswith("Reviewers disagree on 1 row:")
    third = review_of(reviewer="Cleo", conflicts=True)
    assert [row[0] for row in third.data["rows"]] == [4]
    assert third.data["review"]["said"] == [[4, [["Ann", "cat", None], ["Ben", "dog", None]]]]
    post(third, 4, "dog")
    last = json.loads(third.decisions.path.read_text().splitlines()[-1])
    assert (last["by"], last["settles"], last["label"]) == ("Cleo", True, "dog")
    assert len(ann.results()) == 1
    assert review_of(conflicts=True).data["rows"] == []


def test_questions_are_asked_in_their_order_each_row_once(review_of):
    questions = [Question(8, ("cat",), 0.4), Question(2, ("fox", "cat"), 0.3)]
    asked = [*questions, Question(8, ("fox",), 0.1)]
    data = review_of(questions=asked).data
    assert [row[0] for row in data["rows"]] == [9, 3]
    assert data["review"]["questions"] == [
        [9, "is it cat?", ["cat"], 0.4],
        [3, "fox or cat?", ["fox", "cat"], 0.3],
    ]
    assert data["review"]["isGiven"] is True


def test_texts_are_cut_on_the_page_and_given_in_full_for_a_row(review_of):
    rows = animals()
    rows.values["text"] = [f"{row}" + "x" * (500 if row else 30_000) for row in range(30)]
    review = review_of(rows)
    client = TestClient(review.app(title="Animals"))
    place = review.data["columns"].index("text")
    assert all(len(row[-1][place]) == 300 for row in review.data["rows"])
    assert client.get("/row?row=2").json()["values"][place] == rows.values["text"][1]
    longest = client.get("/row?row=1").json()["values"][place]
    assert (len(longest), longest[-1]) == (20_000, "…")


def test_a_table_that_was_cleaned_again_makes_a_new_page(review_of):
    rows = animals(40, 4)
    review = review_of(rows)
    now = [rows]
    client = TestClient(review.app(title="Animals", current=lambda: now[0]))
    before = check_self_contained(client.get("/").text, connects=True).data("doubtful")
    now[0] = animals(10)
    after = check_self_contained(client.get("/").text, connects=True).data("doubtful")
    assert (len(before["rows"]), len(after["rows"])) == (42, 10)
    assert after["review"]["watch"] is True
    # A tab with the page of before may still answer.
    assert sorted(row + 1 for row in review.log.checks) == sorted(before["review"]["checks"])


def test_the_command_that_takes_decisions_in_is_on_the_page(review_of):
    command = ("clean", "my animals.csv", "--decisions", "old.jsonl", "--out", "clean.csv")
    review = review_of(replace(animals(), provenance=Provenance(command=command)))
    assert review.data["command"] == (
        "disambig clean 'my animals.csv' --decisions=old.jsonl --out clean.csv "
        f"--decisions {review.decisions.path}"
    )
    assert review_of().data["command"] is None
