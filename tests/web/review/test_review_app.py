"""What the server of a review answers, and what it writes."""

import errno
import json

import pandas as pd
import pytest
from starlette.testclient import TestClient

from disambig._core.errors import TableError
from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.tabular.labels.decisions import DecidedRows
from disambig.web.review import review_app

LABELS = ["cat", "dog", "a,b"]
N_ROWS = 5


@pytest.fixture
def log(tmp_path) -> DecisionLog:
    frame = pd.DataFrame({"x": range(N_ROWS)})
    return DecisionLog(tmp_path / "decisions.jsonl", DecidedRows(frame))


@pytest.fixture
def client(log) -> TestClient:
    return TestClient(review_app("<p>the page</p>", log, LABELS, N_ROWS))


def decide(client: TestClient, row: object, label: object, before: object = None):
    return client.post("/decisions", json={"row": row, "label": label, "before": before})


def test_the_page_is_served(client):
    response = client.get("/")
    assert (response.status_code, response.text) == (200, "<p>the page</p>")
    assert response.headers["content-type"] == "text/html; charset=utf-8"


def test_a_decision_is_written_and_answered(client, log):
    response = decide(client, 2, "cat")
    assert response.status_code == 200
    assert response.json() == {"settled": [[2, "cat"]]}
    assert log.path.read_text().endswith('"row": "2", "label": "cat"}\n')
    assert log.settled() == {1: "cat"}


def test_a_decision_is_taken_back(client, log):
    decide(client, 2, "cat")
    assert decide(client, 2, None, before="cat").json() == {"settled": []}
    assert log.settled() == {}


def test_all_that_is_settled_is_told(client):
    for number, label in enumerate(LABELS):
        decide(client, number + 1, label)
    assert client.get("/decisions").json() == {"settled": [[1, "cat"], [2, "dog"], [3, "a,b"]]}


def test_a_file_that_is_gone_settles_nothing(client, log):
    for number, label in enumerate(LABELS):
        decide(client, number + 1, label)
    log.path.unlink()
    assert client.get("/decisions").json() == {"settled": []}
    assert decide(client, 2, "cat").json() == {"settled": [[2, "cat"]]}


def test_whoever_decides_is_told_what_others_decided_meanwhile(client, log):
    log.settle(0, "dog", before=None)
    assert decide(client, 2, "cat").json() == {"settled": [[1, "dog"], [2, "cat"]]}


WRONG = "A decision needs a row, a label and the label before."


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
        ({"row": 1, "label": 7, "before": None}, WRONG),
        ({"row": 1, "label": ["cat"], "before": None}, WRONG),
        ({"row": 1, "label": False, "before": None}, WRONG),
        ({"row": 0, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": -1, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": 6, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": 10**30, "label": "cat", "before": None}, "The rows are 1 to 5."),
        ({"row": 1, "label": "cow", "before": None}, "This label is not one of the classes."),
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
        assert response.json() == {"settled": [[2, "dog"]]}
    assert log.path.read_bytes() == before
    assert decide(client, 2, "cat", before="dog").json() == {"settled": [[2, "cat"]]}


@pytest.mark.parametrize(
    "fault", [OSError(errno.ENOSPC, "No space left on device"), TableError("It cannot be written.")]
)
def test_what_cannot_be_written_is_told(client, log, monkeypatch, fault):
    def fail(*_: object, **__: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(log, "settle", fail)
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
