"""Small models to serve, requests to them, and a server in a thread."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from disambig.solvers.calibration import Calibration
from disambig.solvers.conformal import ConformalCalibration
from disambig.tabular.table_model import TableModel
from disambig.web.bearer_guard import BearerGuard
from disambig.web.owner_server import OwnerServer, listen_on_this_machine
from disambig.web.serve_app import model_app
from disambig.web.serve_batches import ServeLimits
from tabular.model_folders import TABLE, small_model
from waiting import PATIENCE

TOKEN = "kR3-x_9vQm7ZbT2uWc8Yd1Ea"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON, CSV = {"Content-Type": "application/json"}, {"Content-Type": "text/csv"}
COVERAGE = ConformalCalibration(
    kind="estimated",
    coverage=0.9,
    threshold=0.3,
    n_rows=60,
    n_groups=None,
    n_classes=3,
    mean_size=1.4,
    exact=True,
)


@cache
def served_model() -> TableModel:
    """Return a model of networks, calibrated, with prediction sets; do not change it."""
    return replace(small_model("ncpd"), calibration=Calibration(1.5, 0.02), coverage=COVERAGE)


def rows(n_rows: int = 60, start: int = 0) -> list[dict[str, Any]]:
    """Return rows of the small table as JSON has them."""
    table = TABLE.iloc[start : start + n_rows]
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return json.loads(json.dumps(records))


def frame_of(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows as a table."""
    return pd.DataFrame(records)


def expected(records: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    """Return what the model says of rows in a table of their own."""
    said = served_model().predict(frame_of(records), **options)
    said["possible_labels"] = said["possible_labels"].str.split("|")
    said = said.astype(object).where(said.notna(), None)
    return said.to_dict("records")


class WaitingClassifier:
    """Answers as another one does, once it may."""

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier
        self.classes_ = classifier.classes_
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        self.has_begun.set()
        assert self.may_go_on.wait(PATIENCE)
        return self._classifier.predict_proba(X)


def waiting_model() -> tuple[TableModel, WaitingClassifier]:
    """Return a model that answers once it may, and what lets it."""
    model = served_model()
    classifier = WaitingClassifier(model.classifier)
    return replace(model, classifier=classifier), classifier


class ServedModel:
    """A server in a thread, and requests to it."""

    def __init__(self, server: OwnerServer, port: int) -> None:
        self.server, self.port = server, port

    def ask(
        self, path: str, body: object = None, method: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Ask with the token; return the status and the answer, read as JSON where it is some."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        content = None if body is None else json.dumps(body)
        method = method or ("GET" if body is None else "POST")
        connection.request(method, path, content, BEARER | JSON | headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        is_json = "json" in response.headers["content-type"]
        return response.status, json.loads(text) if is_json else text


@contextmanager
def served(model: TableModel | None = None, **limits: Any) -> Iterator[ServedModel]:
    """Serve a model from a thread, until this context ends."""
    app = model_app(model or served_model(), name="pets", limits=ServeLimits(**limits))
    with listen_on_this_machine() as listening:
        port = listening.getsockname()[1]
        server = OwnerServer(BearerGuard(app, token=TOKEN, port=port), seconds_to_end=PATIENCE)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield ServedModel(server, port)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
