"""``disambig serve`` as a user runs it: address, token, ends, and what it refuses."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys

import pandas as pd
import pytest

from tabular.model_folders import TABLE, small_model
from waiting import PATIENCE
from web.served_models import CSV, JSON, TOKEN, rows

_ADDRESS = re.compile(r"Serving at http://127\.0\.0\.1:(\d+)/$")


class ServeProcess:
    """The command in a process of its own, until it is ended."""

    def __init__(self, folder, *options, **environment):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "disambig", "serve", folder, *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "300", **environment},
        )
        self.said = []
        for line in self._process.stderr:
            self.said.append(line.rstrip("\n"))
            found = _ADDRESS.match(self.said[-1])
            if found:
                self.port = int(found[1])
            if line.startswith("Press Ctrl-C"):
                return
        raise AssertionError(f"it does not serve: {self.said}")

    def ask(self, path, body=None, token=TOKEN, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"Authorization": f"Bearer {token}"} | headers
        connection.request("GET" if body is None else "POST", path, body, sent)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def end(self, how):
        if self._process.returncode is None:
            self._process.send_signal(how)
            _, rest = self._process.communicate(timeout=PATIENCE)
            self.said += rest.splitlines()
        return self._process.returncode


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "pets"
    small_model("ncpd").save(folder)
    return folder


@pytest.fixture
def start(folder):
    started = []

    def start(*options, **environment):
        started.append(ServeProcess(folder, *options, **environment))
        return started[-1]

    yield start
    for one in started:
        one.end(signal.SIGKILL)


def test_answers_are_those_of_the_command_to_the_bit(start, folder, tmp_path, run_main):
    TABLE.to_csv(tmp_path / "new.csv", index=False)
    run_main("predict", folder, tmp_path / "new.csv", "--out", tmp_path / "said.csv", "--top", 2)
    predicted = pd.read_csv(tmp_path / "said.csv", dtype=str).iloc[:, TABLE.shape[1] :]
    server = start("--port", "0", DISAMBIG_TOKEN=TOKEN)
    assert TOKEN not in "\n".join(server.said)  # who gave it knows it
    content = (tmp_path / "new.csv").read_bytes()
    status, said = server.ask("/predict?top=2", content, **CSV, Accept="text/csv")
    assert (status, said.decode()) == (200, predicted.to_csv(index=False))
    status, said = server.ask("/predict?top=2", content, **CSV)
    table = pd.DataFrame(json.loads(said)["predictions"]).astype(str)
    assert table.to_csv(index=False) == predicted.to_csv(index=False)
    assert server.end(signal.SIGTERM) == 0
    assert server.said[-1] == "Ended."


def test_a_server_that_was_killed_can_be_started_again_at_its_port(start, folder, run_main):
    first = start("--port", "0")  # with a token that is made and shown
    (token,) = [line.removeprefix("Token: ") for line in first.said if line.startswith("Token: ")]
    assert len(token) >= 32
    assert f"Open http://127.0.0.1:{first.port}/{token}/" in first.said
    assert first.ask("/predict", json.dumps(rows(1)), token=token, **JSON)[0] == 200
    assert first.ask("/predict", json.dumps(rows(1)), **JSON)[0] == 401
    ended = run_main("serve", folder, "--port", first.port)
    assert ended.code == 2
    assert f"cannot listen at 127.0.0.1, port {first.port}: Address already in use" in ended.err
    assert "Choose another: --port" in ended.err
    first.end(signal.SIGKILL)
    second = start("--port", str(first.port), "--token", TOKEN)
    assert second.ask("/predict", json.dumps(rows(1)), **JSON)[0] == 200
    assert second.ask("/predict", json.dumps(rows(1)), token=token, **JSON)[0] == 401
    assert second.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--host", "0.0.0.0"], "Others can reach 0.0.0.0. Give a token that they need: --token"),
        (["--token", "short"], "A token needs 16 to 200 letters, digits, '.', '_', '~' and '-'"),
        (["--token", "with a space in it and more"], "because it is a part of addresses"),
        (["--host", "256.1.1.1", "--token", TOKEN], "cannot listen at 256.1.1.1, port 8000"),
        (["--max-body", "much"], "A size is a number of bytes, such as 500MB or 8GB. Got 'much'"),
    ],
)
def test_what_cannot_be_served_is_refused(folder, run_main, options, error):
    ended = run_main("serve", folder, *options)
    assert ended.code == 2
    assert error in ended.err


def test_a_folder_without_a_model_is_refused(tmp_path, run_main):
    ended = run_main("serve", tmp_path / "none")
    assert ended.code == 2
    assert "There is no model" in ended.err
