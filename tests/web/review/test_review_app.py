"""What the server of a review answers, and what it writes."""

import errno
import json

import pandas as pd
import pytest
from starlette.testclient import TestClient

from disambig._core.errors import TableError
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.web.review_app import review_app
from disambig.web.review_log import ReviewLog

LABELS = ["cat", "dog", "a,b"]
N_ROWS = 5


@pytest.fixture
def log(tmp_path) -> DecisionLog:
    frame = pd.DataFrame({"x": range(N_ROWS)})
    return DecisionLog(tmp_path / "decisions.jsonl", DecidedRows(frame))


@pytest.fixture
def client(log) -> TestClient:
    return TestClient(review_app(lambda: "<p>the page</p>", ReviewLog(log), LABELS, N_ROWS))


def decide(client: TestClient, row: object, label: object, before: object = None):
    stood = None if before is None else [before, None]
    return client.post("/decisions", json={"row": row, "label": label, "before": stood})


def settled(response) -> list:
    return response.json()["settled"]


def test_the_page_is_served(client):
    response = client.get("/")
    assert (response.status_code, response.text) == (200, "<p>the page</p>")
    assert response.headers["content-type"] == "text/html; charset=utf-8"


def test_a_decision_is_written_and_answered(client, log):
    response = decide(client, 2, "cat")
    assert response.status_code == 200
    assert response.json() == {"settled": [[2, "cat", None]], "undo": [2, None, None]}
    assert log.path.read_text().endswith('"row": "2", "label": "cat"}\n')
    assert log.settled() == {1: "cat"}


def test_a_decision_is_taken_back(client, log):
    decide(client, 2, "cat")
    assert decide(client, 2, None, before="cat").json() == {"settled": [], "undo": None}
    assert log.settled() == {}


def test_all_that_is_settled_is_told(client):
    for number, label in enumerate(LABELS):
        decide(client, number + 1, label)
    standing = [[1, "cat", None], [2, "dog", None], [3, "a,b", None]]
    assert settled(client.get("/decisions")) == standing


def test_a_file_that_is_gone_settles_nothing(client, log):
    for number, label in enumerate(LABELS):
        decide(client, number + 1, label)
    log.path.unlink()
    assert settled(client.get("/decisions")) == []
    assert settled(decide(client, 2, "cat")) == [[2, "cat", None]]


def test_whoever_decides_is_told_what_others_decided_meanwhile(client, log):
    log.settle(0, "dog", before=None)
    assert settled(decide(client, 2, "cat")) == [[1, "dog", None], [2, "cat", None]]


WRONG = "A decision needs a row, a label, an answer, and what stood before."


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({}, WRONG),
        ([], WRONG),
        ("cat", WRONG),
        (None, WRONG),
        ({"row": 1, "label": "cat"}, WRONG),
        ({"row": "1", "label": "cat", "before": None}, WRONG),
        ({"row": True, "label": "cat", "before": None}, WRONG),
        ({"row": 1.0, "label": "cat", "before": None}, WRONG),
        ({"row": None, "label": "cat", "before": None}, WRONG),
        ({"row": [1], "label": "cat", "before": None}, WRONG),
        ({"row": 1, "label": "cat", "before": False}, WRONG),
        ({"row": 1, "label": "cat", "before": 7}, WRONG),
        ({"row": 1, "label": "cat", "before": "dog"}, WRONG),
        ({"row": 1, "label": "cat", "before": ["dog"]}, WRONG),
        ({"row": 1, "label": "cat", "before": ["dog", None, None]}, WRONG),
        ({"row": 1, "label": "cat", "answer": "bad row", "before": None}, WRONG),
        ({"row": 1, "label": None, "answer": "not this", "before": None}, WRONG),
        ({"row": 1, "label": None, "answer": "perhaps", "before": None}, WRONG),
        ({"row": 1, "label": None, "answer": ["bad row"], "before": None}, WRONG),
        ({"row": 1, "label": [], "answer": "not this", "before": None}, WRONG),
        ({"row": 1, "label": ["cat", 7], "answer": "not this", "before": None}, WRONG),
        ({"row": 1, "label": 7, "before": None}, WRONG),
        ({"row": 1, "label": ["cat"], "before": None}, WRONG),
        ({"row": 1, "label": False, "before": None}, WRONG),
        ({"row": 0, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": -1, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": 6, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": 10**30, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": 1, "label": "cow", "before": None}, "This label is not one of the classes."),
        (
            {"row": 1, "label": "cow", "answer": "not this", "before": None},
            "This label is not one of the classes.",
        ),
        ({"row": 1, "label": "", "before": None}, "This label is not one of the classes."),
        ({"row": 1, "label": "Cat", "before": None}, "This label is not one of the classes."),
        ({"row": 1, "label": "\ud800", "before": None}, "This label is not one of the classes."),
    ],
)
def test_what_is_no_decision_is_refused_and_nothing_is_written(client, log, content, error):
    body = json.dumps(content)
    response = client.post("/decisions", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert response.json() == {"error": error}
    assert not log.path.exists()


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"row": 1', b"[" * 50_000, b'{"row": NaN}', b"1" * 9_999]
)
def test_what_is_no_json_is_refused(client, log, body):
    response = client.post("/decisions", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert response.json() == {"error": WRONG}
    assert not log.path.exists()


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("text/plain; application/json", False),
        ("", False),
    ],
)
def test_what_a_form_could_send_is_refused(client, log, kind, allowed):
    body = json.dumps({"row": 1, "label": "cat", "before": None})
    response = client.post("/decisions", content=body, headers={"content-type": kind})
    assert response.status_code == (200 if allowed else 400)
    assert log.path.exists() == allowed


def test_a_body_that_goes_on_and_on_is_refused(client, log):
    body = json.dumps({"row": 1, "label": "cat", "before": None, "more": "x" * 200_000})
    response = client.post("/decisions", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert response.json() == {"error": "The request body is larger than 100 kB."}
    assert not log.path.exists()


def test_somebody_quicker_is_a_conflict_with_what_happened(client, log):
    log.settle(1, "dog", before=None)
    before = log.path.read_bytes()
    for believed in (None, "cat"):
        response = decide(client, 2, "cat", before=believed)
        assert response.status_code == 409
        assert settled(response) == [[2, "dog", None]]
    assert log.path.read_bytes() == before
    assert settled(decide(client, 2, "cat", before="dog")) == [[2, "cat", None]]


@pytest.mark.parametrize(
    "fault", [OSError(errno.ENOSPC, "No space left on device"), TableError("It cannot be written.")]
)
def test_what_cannot_be_written_is_told(client, log, monkeypatch, fault):
    def fail(*_: object, **__: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(log, "record", fail)
        response = decide(client, 2, "cat")
    assert response.status_code == 500
    assert "could not be written" in response.json()["error"]
    assert str(fault) in response.json()["error"]
    assert decide(client, 2, "cat").status_code == 200


def test_a_file_that_became_unreadable_is_told(client, log):
    decide(client, 1, "cat")
    with log.path.open("a") as file:
        file.write('{"row": 99, "label": "cat"}\n')
    response = client.get("/decisions")
    assert response.status_code == 500
    assert "Got 99 in row 2 of the decisions" in response.json()["error"]
    assert decide(client, 2, "cat").status_code == 500


def test_other_paths_and_methods_have_nothing(client):
    assert client.get("/decisions.csv").status_code == 404
    assert client.get("/../../etc/passwd").status_code == 404
    assert client.delete("/decisions").status_code == 405
    assert client.post("/").status_code == 405


def test_a_conflict_is_no_error_of_the_log():
    assert not issubclass(Conflict, TableError)


def answer(client: TestClient, label: object, answer: object, before: object):
    content = {"row": 2, "label": label, "answer": answer, "before": before}
    return client.post("/decisions", json=content)


@pytest.mark.parametrize("said", ["none of these", "cannot tell", "bad row"])
def test_other_answers_are_written_told_and_taken_back(client, log, said):
    assert settled(answer(client, None, said, None)) == [[2, None, said]]
    assert f'"answer": "{said}"' in log.path.read_text()
    assert answer(client, "cat", None, None).status_code == 409
    assert answer(client, None, None, [None, said]).json() == {"settled": [], "undo": None}


def test_labels_that_are_not_right_add_up_one_by_one_and_a_list_replaces_them(client):
    first = answer(client, "cat", "not this", None)
    assert settled(first) == [[2, ["cat"], "not this"]]
    second = answer(client, "dog", "not this", [["cat"], "not this"])
    assert settled(second) == [[2, ["cat", "dog"], "not this"]]
    assert second.json()["undo"] == [2, ["cat"], "not this"]
    back = answer(client, ["cat"], "not this", [["dog", "cat"], "not this"])
    assert settled(back) == [[2, ["cat"], "not this"]]


def test_a_row_is_told_in_full(log):
    app = review_app(
        lambda: "", ReviewLog(log), LABELS, N_ROWS, values_of=lambda row: [f"row {row}"]
    )
    client = TestClient(app)
    assert client.get("/row?row=5").json() == {"values": ["row 4"]}
    for wrong in ("0", "6", "-1", "", "x", "1e0", "٣", "1" * 30):
        assert client.get(f"/row?row={wrong}").status_code == 404
    assert client.get("/row").status_code == 404


def test_results_are_told_in_sentences(log):
    told = review_app(lambda: "", ReviewLog(log), LABELS, N_ROWS, results=lambda: ["Well done."])
    assert TestClient(told).get("/results").json() == {"sentences": ["Well done."]}
