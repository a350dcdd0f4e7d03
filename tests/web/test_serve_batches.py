"""Many clients of a server of predictions: the same answers, limits, faults, an end."""

import asyncio
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from disambig._core.errors import ParameterError
from disambig.web.serve_batches import BatchPredictor, ServeLimits
from disambig.web.serve_metrics import ServeMetrics
from disambig.web.serve_requests import read_head
from waiting import PATIENCE, wait_until
from web.served_models import TOKEN, expected, rows, served, waiting_model


def metric(server, name):
    _, text = server.ask("/metrics")
    (value,) = [line.split()[-1] for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(value)


@pytest.mark.parametrize("limits", [{}, {"batch_rows": 5}, {"wait_ms": 20.0}], ids=str)
def test_requests_that_come_together_get_what_each_would_get_alone(limits):
    model, classifier = waiting_model()
    asked = [rows(1 + place % 4, start=place) for place in range(16)]
    with served(model, **limits) as server, ThreadPoolExecutor(17) as clients:
        first = clients.submit(server.ask, "/predict", rows(2))
        assert classifier.has_begun.wait(PATIENCE)
        answers = [clients.submit(server.ask, "/predict?top=3", some) for some in asked]
        wait_until(lambda: metric(server, "disambig_queue_waiting") == 16)
        classifier.may_go_on.set()
        assert first.result()[1]["predictions"] == expected(rows(2))
        for some, answer in zip(asked, answers, strict=True):
            status, said = answer.result()
            assert status == 200
            assert said["predictions"] == expected(some, top=3)
        # 40 rows of 16 requests.
        n_batches = metric(server, "disambig_batch_requests_count")
        assert n_batches >= 9 if limits.get("batch_rows") == 5 else n_batches == 2


def test_a_request_that_is_refused_changes_nothing_for_the_others():
    model, classifier = waiting_model()
    bad = [rows(1)[0] | {"size": "big"}]
    with served(model) as server, ThreadPoolExecutor(4) as clients:
        first = clients.submit(server.ask, "/predict", rows(1))
        assert classifier.has_begun.wait(PATIENCE)
        answers = [clients.submit(server.ask, "/predict", some) for some in (rows(3), bad, rows(2))]
        wait_until(lambda: metric(server, "disambig_queue_waiting") == 3)
        classifier.may_go_on.set()
        assert first.result()[0] == 200
        (good, said), (refused, error), (other, more) = (one.result() for one in answers)
    assert (good, refused, other) == (200, 422, 200)
    assert "Got 'big' (row 1)" in error["error"]
    assert (said["predictions"], more["predictions"]) == (expected(rows(3)), expected(rows(2)))


class FaultyClassifier:
    """Answers as another one does, but fails for a table of three rows."""

    def __init__(self, classifier):
        self._classifier = classifier
        self.classes_ = classifier.classes_

    def predict_proba(self, X):
        if len(X) == 3:
            raise ZeroDivisionError("three rows")
        return self._classifier.predict_proba(X)


def test_a_fault_is_told_to_whom_it_meets_and_nobody_else(caplog):
    inner, waiting = waiting_model()
    model = replace(inner, classifier=FaultyClassifier(waiting))
    with served(model) as server, ThreadPoolExecutor(4) as clients:
        first = clients.submit(server.ask, "/predict", rows(1))
        assert waiting.has_begun.wait(PATIENCE)
        answers = [clients.submit(server.ask, "/predict", rows(n)) for n in (2, 3, 4)]
        wait_until(lambda: metric(server, "disambig_queue_waiting") == 3)
        waiting.may_go_on.set()
        assert first.result()[0] == 200
        two, three, four = (one.result() for one in answers)
    assert (two[0], three[0], four[0]) == (200, 500, 200)
    assert three[1]["error"].startswith("This should not happen. It is a bug in disambig: ZeroDiv")
    assert "Traceback" not in three[1]["error"]
    assert four[1]["predictions"] == expected(rows(4))
    assert "three rows" in caplog.text  # for whoever runs the server


def test_what_there_is_no_place_for_is_told_to_come_again():
    model, classifier = waiting_model()
    with served(model, queue=2) as server, ThreadPoolExecutor(2) as clients:
        taken = [clients.submit(server.ask, "/predict", rows(1)) for _ in range(2)]
        wait_until(lambda: metric(server, "disambig_queue_requests") == 2)
        status, said = server.ask("/predict", rows(1))
        assert (status, said["error"]) == (
            429,
            "The server has 2 requests to answer, and takes no more. Send the request again in a "
            "second.",
        )
        assert server.ask("/health") == (200, {"ready": True})
        classifier.may_go_on.set()
        assert [one.result()[0] for one in taken] == [200, 200]
        assert server.ask("/predict", rows(1))[0] == 200


def test_requests_that_are_there_are_answered_before_the_end():
    model, classifier = waiting_model()
    with served(model) as server, ThreadPoolExecutor(1) as clients:
        answer = clients.submit(server.ask, "/predict", rows(3))
        assert classifier.has_begun.wait(PATIENCE)
        server.server.should_exit = True

        def refuses():
            try:
                socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
            except OSError:
                return True
            return False

        wait_until(refuses)
        assert not answer.done()
        classifier.may_go_on.set()
        assert answer.result() == (200, {"predictions": expected(rows(3)), "notices": []})


def test_a_request_that_was_given_up_is_not_predicted():
    model, classifier = waiting_model()
    metrics = ServeMetrics()
    predictor = BatchPredictor(model, ServeLimits(), metrics)
    asked = read_head([], "application/json", "")

    def answer(n_rows):
        return asyncio.ensure_future(predictor.answer(asked, json.dumps(rows(n_rows)).encode()))

    async def ask():
        first = answer(1)
        await asyncio.to_thread(classifier.has_begun.wait, PATIENCE)
        given_up = answer(50)
        await asyncio.sleep(0)
        assert predictor.queued == 1
        given_up.cancel()
        await asyncio.wait([given_up])
        classifier.may_go_on.set()
        await first
        await asyncio.to_thread(predictor.end)

    asyncio.run(ask())
    assert "disambig_rows_total 1\n" in metrics.text(places=1, queued=0)


def test_nothing_of_a_server_is_left_behind():
    before = threading.active_count()
    with served() as server:
        assert server.ask("/predict", rows(1))[0] == 200
        assert threading.active_count() > before
    wait_until(lambda: threading.active_count() == before)


@pytest.mark.parametrize(
    ("limit", "value"), [("queue", 0), ("body_bytes", 1.5), ("wait_ms", -1), ("batch_rows", True)]
)
def test_limits_that_mean_nothing_are_refused(limit, value):
    with pytest.raises(ParameterError, match=limit):
        ServeLimits(**{limit: value})


def test_a_body_that_does_not_come_is_given_up(monkeypatch):
    monkeypatch.setattr("disambig.web.serve_app._SECONDS_FOR_BODY", 0.1)
    with served() as server, socket.create_connection(("127.0.0.1", server.port)) as connection:
        lines = [
            "POST /predict HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {TOKEN}",
            "Content-Type: application/json",
            "Content-Length: 100",
            "",
            "[",
        ]
        connection.sendall("\r\n".join(lines).encode())
        connection.settimeout(PATIENCE)
        assert b"408 " in connection.recv(1000)
        wait_until(lambda: metric(server, "disambig_queue_requests") == 0)
