"""A review in a process of its own, as a user starts it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from waiting import PATIENCE

ADDRESS = re.compile(r"Open (http://127\.0\.0\.1:(\d+)/([\w-]{20,})/)$", re.ASCII)


class ReviewProcess:
    """Runs until it is ended, by whatever signal.

    Parameters
    ----------
    table : path
        What is reviewed.
    *options : str
        More words of the command.
    descriptors : int, optional
        How many files and connections it may have open.
    """

    def __init__(self, table: Path, *options: str, descriptors: int | None = None) -> None:
        self.decisions = table.with_suffix(".decisions.jsonl")
        limit = (
            [] if descriptors is None else ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', ""]
        )
        self._process = subprocess.Popen(
            [*limit, sys.executable, "-m", "disambig", "review", table.name, *options],
            cwd=table.parent,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "300"},
        )
        self.said: list[str] = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line.rstrip("\n"))
            found = ADDRESS.match(self.said[-1])
            if found:
                self.address, self.port, self.token = found[1], int(found[2]), found[3]
                return
        raise AssertionError(f"no address: {self.said}")

    def ask(self, method: str, path: str, content: object = None) -> tuple[int, str]:
        """Ask as the page does."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json"}
        body = None if content is None else json.dumps(content)
        connection.request(method, f"/{self.token}/{path}", body, headers)
        response = connection.getresponse()
        answer = response.status, response.read().decode()
        connection.close()
        return answer

    def end(self, how: signal.Signals = signal.SIGKILL) -> tuple[int, str]:
        """Send a signal; return the exit code and what was said in the end. Twice is once."""
        if self._process.returncode is None:
            self._process.send_signal(how)
            _, self._rest = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, self._rest
