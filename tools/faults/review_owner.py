"""A review in a process of its own, and its owner, who remembers what was acknowledged."""

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

LABELS = ("cat", "dog", "fox")
ROWS = 60
DESCRIPTORS = 256
# After so many seconds the owner counts as not served.
OWNER_SECONDS = 30
START_SECONDS = 120
LONGEST_STDERR = 5_000
MOST_GROWTH = 150 << 20
_ADDRESS = re.compile(r"^Open http://127\.0\.0\.1:(\d+)/([\w-]+)/$", re.MULTILINE)
_WRITERS = 4


def make_table(folder: Path) -> Path:
    """Write a cleaned table with three labels."""
    chance = random.Random(0)
    rows = [
        f"{row},{chance.gauss(row % 3, 1):.3f},{LABELS[row % 3]}|{LABELS[(row + 1) % 3]}"
        for row in range(ROWS)
    ]
    table = folder / "table.csv"
    table.write_text("\n".join(["name,size,label", *rows, ""]))
    words = ("clean", table.name, "--method=plknn", "--in-sample", "--out=clean.csv")
    command = [sys.executable, "-m", "disambig", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "clean.csv"


def decided(label: str | None) -> list[str | None] | None:
    """Return a decision as the server takes it: a label, and no other answer."""
    return None if label is None else [label, None]


class Review:
    """The command ``disambig review``, with few descriptors, and what its owner knows of it.

    Attributes
    ----------
    settled : dict
        The label of every row that the server has acknowledged.
    waited : float
        The longest that the owner has waited for an answer since this was last set to 0.
    """

    def __init__(self, table: Path) -> None:
        self._table = table
        self.log = table.with_name("decisions.jsonl")
        self._said = table.with_name("stderr")
        self.settled: dict[int, str] = {}
        self.waited = 0.0
        self._start()

    def _start(self) -> None:
        words = ("review", self._table.name, f"--decisions={self.log.name}")
        limited = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "")
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*limited, sys.executable, "-m", "disambig", *words],
                cwd=self._table.parent,
                stderr=said,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "COLUMNS": "300"},
            )
        found, deadline = None, time.monotonic() + START_SECONDS
        while found is None:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"the review did not start: {self._said.read_text()}")
            time.sleep(0.02)
            found = _ADDRESS.search(self._said.read_text())
        self.port, self.token = int(found[1]), found[2]
        self._memory = self._resident()

    def ask(self, method: str = "GET", path: str = "decisions", body: str = "") -> tuple[int, str]:
        """Ask as the page of the review does, on a new connection."""
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=OWNER_SECONDS)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json"}
        try:
            connection.request(method, f"/{self.token}/{path}", body or None, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()
            self.waited = max(self.waited, time.monotonic() - begin)

    def decide(self, row: int, label: str) -> int:
        """Decide on a row; return the status of the answer, and remember what it says."""
        decision = {"row": row, "label": label, "before": decided(self.settled.get(row))}
        status, _ = self.ask("POST", "decisions", json.dumps(decision))
        if status == http.client.OK:
            self.settled[row] = label
        return status

    def serve_owner(self, chance: random.Random) -> str:
        """Let the owner look and decide; return what is wrong, nothing if all is well."""
        try:
            status = self.decide(chance.randint(1, ROWS), chance.choice(LABELS))
            if status != http.client.OK:
                return f"a decision of the owner was answered with {status}"
            return self._compare(json.loads(self.ask()[1])["settled"], "the server says")
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.settled = self._read_log()  # whether it was written is not known
            return f"the owner was not served: {error!r}"

    def kill_and_restart(self, how: signal.Signals, chance: random.Random) -> str:
        """End the process while the owner decides in several tabs; return what is wrong."""
        known, wished = self.settled, {}
        acknowledged: list[tuple[int, str]] = []

        def decide_on(rows: range, seed: int) -> None:
            tab = random.Random(seed)
            while True:
                row, label = tab.choice(rows), tab.choice(LABELS)
                wished[row] = label
                try:
                    if self.decide(row, label) == http.client.OK:
                        acknowledged.append((row, label))
                except (OSError, http.client.HTTPException):
                    return  # it is gone

        tabs = [
            threading.Thread(
                target=decide_on,
                args=(range(first, ROWS + 1, _WRITERS), chance.randrange(10**9)),
            )
            for first in range(1, _WRITERS + 1)
        ]
        for tab in tabs:
            tab.start()
        enough = chance.randrange(40)
        while len(acknowledged) < enough and any(tab.is_alive() for tab in tabs):
            time.sleep(0.002)
        failure = self.end(how)
        for tab in tabs:
            tab.join()
        written = self._read_log()
        for row, label in known.items():
            # What was under way when it ended may be there; what was answered must be.
            if written.get(row) not in (label, wished.get(row)):
                failure = failure or f"row {row} was settled as {label}: {written.get(row)}"
        self.settled = written
        self._start()
        return failure or self._compare(json.loads(self.ask()[1])["settled"], "after the restart")

    def start_new_log(self) -> None:
        """Forget all decisions, so that the log stays short."""
        self.log.unlink(missing_ok=True)
        self.settled = {}

    def end(self, how: signal.Signals = signal.SIGKILL) -> str:
        """End the process; return what is wrong with what it said and used."""
        if self._process.poll() is not None:
            said = self._said.read_text(errors="replace")
            return f"it ended by itself, with {self._process.returncode}: {said[-2000:]}"
        growth = self._resident() - self._memory
        self._process.send_signal(how)
        try:
            self._process.wait(OWNER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return f"{how.name} does not end it"
        said = self._said.read_text(errors="replace")
        if "Traceback" in said or len(said) > LONGEST_STDERR:
            return f"{len(said):,} characters on standard error: {said[-2000:]}"
        return f"it grew by {growth >> 20} MB" if growth > MOST_GROWTH else ""

    def check_log(self) -> str:
        """Return what is wrong with the decisions on disk, if nothing is under way."""
        found = [[*entry, None] for entry in self._read_log().items()]
        return self._compare(found, "on disk is")

    def _resident(self) -> int:
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _read_log(self) -> dict[int, str]:
        """Return the decisions on disk; half a line at the end was never acknowledged."""
        settled: dict[int, str] = {}
        if self.log.exists():
            for line in self.log.read_bytes().splitlines(keepends=True):
                if line.endswith(b"\n"):
                    entry = json.loads(line)
                    settled[int(entry["row"])] = entry["label"]
        return settled

    def _compare(self, found: list[list[object]], what: str) -> str:
        """Return where decisions are not those that were acknowledged, and go on from these."""
        labels = {int(str(row)): str(label) for row, label, _answer in found}
        known, self.settled = self.settled, labels
        if labels == known:
            return ""
        rows = sorted(row for row in labels | known if labels.get(row) != known.get(row))
        differences = [f"row {row}: {labels.get(row)}, not {known.get(row)}" for row in rows]
        return f"{what} {', '.join(differences)}"
