"""What the server of a review answers where rows come together."""

import pytest
from starlette.testclient import TestClient

from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import DecisionLog
from disambig.web.doubtful_rows import doubtful_data
from disambig.web.review import group_answers
from disambig.web.review_app import review_app
from disambig.web.review_log import ReviewLog
from web.photo_rows import counted, photo_rows

ROWS = photo_rows()
CLASSES = ROWS.candidates.classes.tolist()


@pytest.fixture
def start(tmp_path):
    """Return what starts a review of the six faces, again and again on the same file."""

    def start_review() -> TestClient:
        log = DecisionLog(tmp_path / "log.jsonl", DecidedRows(ROWS.values, ROWS.id))
        answers = group_answers(ROWS, doubtful_data(ROWS, saved_in="log.jsonl"))
        return TestClient(
            review_app(lambda: "", ReviewLog(log), CLASSES, len(ROWS.candidates), of_groups=answers)
        )

    return start_review


def decide(client: TestClient, row: int, label: str | None, before: str | None = None):
    stood = None if before is None else [before, None]
    return client.post("/decisions", json={"row": row, "label": label, "before": stood})


def confidences(content: dict) -> dict[int, dict[str, float]]:
    """Return confidences by row, counted from 0, and label."""
    return {
        number - 1: {CLASSES[place]: share for place, share in zip(places, shares, strict=True)}
        for number, places, shares in content["confidences"]
    }


def test_a_decision_is_answered_with_what_it_says_of_others_in_the_photo(start):
    found = confidences(decide(start(), 2, "Ben").json())
    assert set(found) == {0, 3}
    for row, shares in found.items():
        assert shares == pytest.approx(counted({1: "Ben"})[row], abs=1e-4)
    assert found[3]["Cy"] > counted({})[3]["Cy"] + 0.2


def test_a_decision_that_is_taken_back_leaves_nothing(start):
    client = start()
    nothing = client.get("/decisions").json()
    first = decide(client, 2, "Ben").json()
    decide(client, 4, "Cy")
    assert decide(client, 4, None, before="Cy").json() == first
    assert decide(client, 2, None, before="Ben").json() == nothing
    assert nothing["confidences"] == []


def test_a_new_start_and_another_way_to_the_same_decisions_give_the_same(start):
    one = start()
    decide(one, 4, "Ben")
    decide(one, 2, "Cy")
    decide(one, 4, None, before="Ben")
    decide(one, 4, "Ada")
    last = decide(one, 3, "Emil").json()
    assert one.get("/decisions").json() == last
    again = start().get("/decisions").json()
    assert again["confidences"] == last["confidences"]
    assert again["errors"] == last["errors"]


def test_who_comes_second_is_told_what_follows_from_the_first(start):
    one, other = start(), start()
    first = decide(one, 2, "Ben").json()
    response = decide(other, 2, "Cy")
    assert response.status_code == 409
    assert response.json() == first
    # On another row of the photo both count.
    both = decide(other, 1, "Ada").json()
    assert confidences(both) == {3: pytest.approx(counted({0: "Ada", 1: "Ben"})[3], abs=1e-4)}
    assert one.get("/decisions").json() == both


def test_a_label_in_the_file_that_is_no_class_does_no_harm(start, tmp_path):
    (tmp_path / "log.jsonl").write_text('{"face": "b2", "label": "a passer-by"}\n')
    response = start().get("/decisions")
    assert response.status_code == 200
    assert set(confidences(response.json())) == {0, 3}


def test_where_nothing_is_promised_answers_are_decisions_alone():
    rows = photo_rows(kind=None)
    assert group_answers(rows, doubtful_data(rows, saved_in="log.jsonl")) is None
