"""Predictions over HTTP against the same model in this process: latency and throughput.

    python benchmarks/serving.py [--seconds 3] [--rounds 3]

A model of the example table, two networks of 1,024 units. Requests of one row and of 1,000, by 1, 8
and 32 clients, which are threads of another process. Every round measures all cases, one after the
other, so that a busy minute of the machine meets them alike; a figure is the median of its rounds.
Writes docs/results/serving.md. Linux only, because of /proc.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

from disambig import NCPDClassifier, fit_table, load_model
from disambig.datasets import example_tables
from disambig.tabular.columns.values import column_values
from results_page import markdown_table, write_page

TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105  # of a server that nobody else reaches
ROWS, CLIENTS = (1, 1_000), (1, 8, 32)
# Asks for some seconds with some clients; prints the latencies of all requests.
_CLIENT = """
import sys, threading, time
from http.client import HTTPConnection
port, n_clients, seconds, path, kind, token = sys.argv[1:]
body = open(path, "rb").read()
headers = {"Content-Type": kind, "Authorization": "Bearer " + token}
taken, end = [], time.perf_counter() + float(seconds)
def ask():
    connection = HTTPConnection("127.0.0.1", int(port))
    while (begun := time.perf_counter()) < end:
        connection.request("POST", "/predict", body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(answer)
        taken.append(time.perf_counter() - begun)
threads = [threading.Thread(target=ask) for _ in range(int(n_clients))]
begun = time.perf_counter()
for thread in threads: thread.start()
for thread in threads: thread.join()
print(time.perf_counter() - begun, *taken)
"""


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, int]]:
    """Serve a model; give the port and the number of the process."""
    command = [sys.executable, "-m", "disambig", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "DISAMBIG_TOKEN": TOKEN}
    )
    try:
        assert process.stderr is not None
        found = re.search(r":(\d+)/$", process.stderr.readline().strip())
        assert found is not None
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.wait()


def processor_seconds(pid: int) -> float:
    """Return the seconds of the processor that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metrics(port: int) -> dict[str, float]:
    """Return what the server has counted."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    samples = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def ask(port: int, pid: int, body: Path, n_clients: int, seconds: float) -> dict[str, float]:
    """Return latency in ms, requests a second, requests in one go, and ms of the processor."""
    kind = "text/csv" if body.suffix == ".csv" else "application/json"
    before, used = metrics(port), processor_seconds(pid)
    done = subprocess.run(
        [sys.executable, "-c", _CLIENT, *map(str, (port, n_clients, seconds, body, kind, TOKEN))],
        check=True,
        capture_output=True,
        text=True,
    )
    after, used = metrics(port), processor_seconds(pid) - used
    whole, *taken = sorted_after_first(list(map(float, done.stdout.split())))
    batches = "disambig_batch_requests_count", "disambig_batch_requests_sum"
    n_batches, n_requests = (after[name] - before[name] for name in batches)
    return {
        "median": 1e3 * median(taken),
        "slow": 1e3 * taken[int(0.95 * (len(taken) - 1))],
        "a second": len(taken) / whole,
        "together": n_requests / n_batches,
        "processor": 1e3 * used / len(taken),
    }


def sorted_after_first(numbers: list[float]) -> list[float]:
    """Return numbers, all but the first sorted."""
    return [numbers[0], *sorted(numbers[1:])]


def called(call: Callable[[], Any], seconds: float) -> dict[str, float]:
    """Return the median time of a call in ms, repeated for some seconds, and its processor time."""
    taken, end, used = [], time.perf_counter() + seconds, time.process_time()
    while time.perf_counter() < end or len(taken) < 3:
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    used = time.process_time() - used
    return {"median": 1e3 * median(taken), "processor": 1e3 * used / len(taken)}


def main() -> None:
    """Measure all cases in every round, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tables = example_tables()
    features = tables["new-vehicles.csv"].drop(columns="vehicle").astype(float)
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Its speed does not depend on how long it was trained.
        method = NCPDClassifier(epochs=2, ramp_epochs=1, random_state=0)
        fit_table(
            tables["vehicles.csv"], method=method, id="vehicle", truth="checked", n_folds=0,
            out=folder / "model",
        )  # fmt: skip
        model = load_model(folder / "model", only_predict=True)
        frames = {n: features.sample(n, replace=n > 100, random_state=0) for n in ROWS}
        for n_rows, frame in frames.items():
            records = json.dumps(frame.to_dict("records"))
            (folder / f"{n_rows}.json").write_text(records)
            frame.to_csv(folder / f"{n_rows}.csv", index=False)
        with server(folder / "model") as (port, pid):
            for turn in range(options.rounds):
                for n_rows, frame in frames.items():
                    X = model.transformer.transform(column_values(frame, model.plan))
                    bare = called(partial(model.classifier.predict_proba, X), 1.0)
                    whole = called(partial(model.predict, frame), 1.0)
                    found["bare", n_rows].append(bare)
                    found["whole", n_rows].append(whole)
                    csv = ask(port, pid, folder / f"{n_rows}.csv", 1, options.seconds)
                    found["csv", n_rows].append(csv)
                    for n_clients in CLIENTS:
                        body = folder / f"{n_rows}.json"
                        asked = ask(port, pid, body, n_clients, options.seconds)
                        found[n_rows, n_clients].append(asked)
                    print(f"round {turn + 1}: {n_rows:,} rows measured", flush=True)
    write(found)


def write(found: dict[tuple[Any, ...], list[Any]]) -> None:
    """Write the page from the figures of all rounds."""

    def of(key: tuple[Any, ...], name: str) -> float:
        return median(one[name] for one in found[key])

    latency, load = [], []
    for n_rows in ROWS:
        cases = {
            "bare network": ("bare", n_rows),
            "model in process": ("whole", n_rows),
            "HTTP, JSON": (n_rows, 1),
            "HTTP, CSV": ("csv", n_rows),
        }
        in_process = of(cases["model in process"], "processor")
        for name, key in cases.items():
            median_, used = of(key, "median"), of(key, "processor")
            ratio = f"{used / in_process:.2g}"
            latency.append([f"{n_rows:,}", name, f"{median_:.2f}", f"{used:.2f}", ratio])
        for n_clients in CLIENTS:
            key = n_rows, n_clients
            a_second, used = of(key, "a second"), of(key, "processor")
            load.append([
                f"{n_rows:,}",
                f"{n_clients}",
                f"{a_second:,.0f}" if a_second >= 10 else f"{a_second:.1f}",
                f"{a_second * n_rows:,.0f}",
                f"{of(key, 'median'):.1f}",
                f"{of(key, 'slow'):.1f}",
                f"{of(key, 'together'):.1f}",
                f"{used:.2f}",
                f"{used / in_process:.2f}",
            ])  # fmt: skip
    cores = len(os.sched_getaffinity(0))
    write_page(
        "serving",
        "benchmarks/serving.py",
        f"The example table of vehicles, 18 numbers and 4 labels; NCPD, two networks of 1,024 "
        f"units. {cores} cores, which the clients share with the server, and with whatever else "
        "runs on the machine; medians of rounds in which all cases follow each other. The bare "
        "network gets features that are ready; the model in process, `model.predict`, reads a "
        "data frame. One client, which waits for each answer. The ratio is of processor time, "
        "which other programs change less:",
        markdown_table(
            ["rows", "asked", "median, ms", "processor, ms", "processor / in process"], latency
        ),
        "Several clients, JSON. Requests that come while others are predicted are the next ones in "
        "one go:",
        markdown_table(
            [
                "rows", "clients", "requests a second", "rows a second", "median, ms", "95 %, ms",
                "requests in one go", "processor, ms a request", "processor / in process",
            ],
            load,
        ),
        real_data=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
