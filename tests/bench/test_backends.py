import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bench.sleeping import sign_and_sleep
from bench.small_studies import diligent, fits_in, metrics_of, small_study
from bench.study_methods import LOG_VARIABLE
from disambig._core.errors import ClusterError, MissingExtraError, ParameterError
from disambig.bench import StudyListener, backends, run_study
from disambig.bench.backends import open_backend
from waiting import PATIENCE, open_gate, wait_until

TESTS = Path(__file__).parents[1]


def test_an_unknown_backend_is_refused():
    with pytest.raises(
        ParameterError, match="'backend' must be one of 'local', 'dask', 'ray', 'slurm'"
    ):
        open_backend("spark")


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_an_impossible_number_of_processes_is_refused(jobs):
    with pytest.raises(ParameterError, match="'jobs' must be an integer >= 1. Got"):
        open_backend("local", jobs=jobs)


def test_the_machine_itself_has_no_address():
    with pytest.raises(ParameterError, match="'address' is only for a cluster, .*'tcp://x:1'"):
        open_backend("local", address="tcp://x:1")


def test_a_cluster_that_cannot_be_reached_is_reported():
    message = "The Dask cluster at nowhere://here cannot be reached: .* Check that it is running"
    with pytest.raises(ClusterError, match=message), open_backend("dask", address="nowhere://here"):
        pytest.fail("there is no such cluster")


def test_a_wrong_backend_leaves_no_folder_behind(table, store):
    with pytest.raises(ParameterError, match="'backend' must be one of"):
        run_study(small_study(table, "plknn"), store, backend="spark")
    assert not store.exists()


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_a_backend_that_is_not_installed_is_reported_with_its_extra(table, store):
    with pytest.raises(MissingExtraError, match=r"needs ray, .*pip install 'disambig\[ray\]'"):
        run_study(small_study(table, "plknn"), store, backend="ray")


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# This machine ------------------------------------------------------------------------------------


def test_a_process_is_used_again_and_is_not_ours():
    with open_backend("local", jobs=1) as backend:
        assert backend.width() == 1
        first = backend.submit(os.getpid).result(PATIENCE)
        assert first != os.getpid()
        assert backend.submit(os.getpid).result(PATIENCE) == first


class PoolOfOneCall:
    """Ends its call when it is shut down, as loky does in a thread of its own."""

    def __init__(self):
        self.future, self.n_ends = Future(), 0
        self.future.set_running_or_notify_cancel()

    def submit(self, function):
        return self.future

    def shutdown(self, wait, kill_workers):
        self.n_ends += 1
        self.future.set_exception(OSError("killed"))


def test_a_pool_is_shut_down_once_although_its_call_ends_at_the_same_time(monkeypatch):
    pool = PoolOfOneCall()
    monkeypatch.setattr(backends, "start_processes", lambda count: pool)
    with open_backend("local", jobs=1) as backend:
        backend.submit(os.getpid)
    assert pool.n_ends == 1


def test_an_interrupt_while_a_process_starts_leaves_none_behind(monkeypatch):
    class InterruptedPool(PoolOfOneCall):
        def submit(self, function):
            signal.raise_signal(signal.SIGINT)
            return self.future

    pool = InterruptedPool()
    monkeypatch.setattr(backends, "start_processes", lambda count: pool)
    with pytest.raises(KeyboardInterrupt), open_backend("local", jobs=1) as backend:
        backend.submit(os.getpid)
    assert pool.n_ends == 1


def test_a_process_that_died_while_it_was_idle_is_replaced():
    with open_backend("local", jobs=1) as backend:
        first = backend.submit(os.getpid).result(PATIENCE)
        (pool,) = backend._open
        os.kill(first, signal.SIGKILL)
        # A call before its death is noticed would be lost, and that is another test.
        wait_until(lambda: pool._flags.broken is not None)
        assert backend.submit(os.getpid).result(PATIENCE) != first


def test_leaving_early_ends_processes_at_work_and_raises_what_was_raised(tmp_path):
    files = [tmp_path / str(number) for number in range(6)]

    def leave():
        with open_backend("local", jobs=len(files)) as backend:
            futures = [backend.submit(sign_and_sleep, str(file)) for file in files]
            wait_until(lambda: all(file.exists() for file in files))
            assert not any(future.done() for future in futures)
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        leave()
    assert time.monotonic() - started < PATIENCE  # they sleep twice as long
    for file in files:
        process = int(file.read_text())
        wait_until(lambda number=process: not is_alive(number))


# Dask --------------------------------------------------------------------------------------------


@contextmanager
def program(*arguments, **variables):
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def dask_cluster(folder, log, n_workers):
    """Start a scheduler and workers on the loopback device; give its address and the workers."""
    file = folder / "scheduler.json"
    common = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    with ExitStack() as stack:
        stack.enter_context(program("distributed.cli.dask_scheduler", *common))
        worker = (
            "distributed.cli.dask_worker",
            *("--scheduler-file", file, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"),
            *("--no-dashboard", "--local-directory", folder),
        )
        workers = [
            stack.enter_context(program(*worker, **{LOG_VARIABLE: str(log)}))
            for _ in range(n_workers)
        ]
        wait_until(file.exists)  # workers wait for it as well
        yield json.loads(file.read_text())["address"], workers


class Assassin(StudyListener):
    """Kills one of two workers while both work, and lets the other go on."""

    def __init__(self, worker, log, gate):
        self.worker, self.log, self.gate = worker, log, gate

    def on_wait(self):
        at_work = {fit["process"] for fit in fits_in(self.log)}
        if len(at_work) == 2 and self.worker.poll() is None:
            os.kill(self.worker.pid, signal.SIGKILL)
            self.worker.wait()
            open_gate(self.gate)


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_ends_with_what_this_machine_would_give(
    table, store, tmp_path, in_this_process
):
    pytest.importorskip("distributed")
    gate, log = tmp_path / "gate", tmp_path / "workers"
    study = small_study(table, diligent(gate=str(gate)), protocol={"folds": 4})
    with dask_cluster(tmp_path, log, 2) as (address, workers):
        assassin = Assassin(workers[0], log, gate)
        found = run_study(study, store, backend="dask", address=address, listener=assassin)
        assert workers[0].poll() == -signal.SIGKILL
        assert workers[1].poll() is None
    assert found.failed == []
    assert {fit["process"] for fit in fits_in(log)} == {worker.pid for worker in workers}
    assert len(fits_in(log)) == 4 + 1
    here = run_study(study, tmp_path / "here")
    assert metrics_of(found) == metrics_of(here)


class Travelling:
    """Writes down every time that it leaves a process."""

    def __init__(self, log):
        self.log = log

    def __reduce__(self):
        with Path(self.log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        return Travelling, (self.log,)


def test_workers_of_dask_are_started_here_and_get_what_is_shared_once(tmp_path):
    pytest.importorskip("distributed")
    log = str(tmp_path / "log")
    value = Travelling(log)

    def departures():
        return Path(log).read_text().split().count(str(os.getpid()))

    with open_backend("dask", jobs=2) as backend:
        assert backend.width() == 4  # for each of two workers, a call that waits
        assert backend.submit(os.getpid).result(PATIENCE) != os.getpid()

        def call(number):
            return backend.submit(add_to_length, backend.share(value), number).result(PATIENCE)

        assert [call(number) for number in range(6)] == [len(log) + n for n in range(6)]
        assert departures() == 1
        # As after the loss of all workers.
        lost = backend.share(value)
        lost.cancel(force=True)
        wait_until(lambda: lost.status == "cancelled")
        assert call(1) == len(log) + 1
        assert departures() == 2


def add_to_length(value, number):
    return len(value.log) + number


# Slurm -------------------------------------------------------------------------------------------

SBATCH = """#!/bin/sh
grep '^#SBATCH' "$1" >> {folder}/asked
cp "$1" {folder}/script
setsid sh {folder}/script > {folder}/worker 2>&1 &
echo $! > {folder}/job
echo "Submitted batch job 4711"
"""
SCANCEL = """#!/bin/sh
echo "$@" >> {folder}/cancelled
kill -- -$(cat {folder}/job)
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Put commands on the path that run jobs here, as a Slurm of one machine would."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(script.format(folder=folder))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.skipif(os.name == "nt", reason="Slurm runs on Linux")
def test_a_study_runs_in_jobs_of_slurm_which_are_cancelled_at_its_end(
    table, store, tmp_path, slurm
):
    pytest.importorskip("dask_jobqueue")
    study = small_study(table, "plknn")
    found = run_study(study, store, backend="slurm", jobs=1)
    assert found.failed == []
    assert metrics_of(found) == metrics_of(run_study(study, tmp_path / "here"))
    assert "--cpus-per-task=1" in (slurm / "asked").read_text()
    assert (slurm / "cancelled").read_text().split() == ["4711"]


def test_slurm_has_no_address():
    pytest.importorskip("dask_jobqueue")
    with (
        pytest.raises(ParameterError, match=r"the cluster is started here.*tcp://x:1"),
        open_backend("slurm", address="tcp://x:1"),
    ):
        pytest.fail("there is no such cluster")


# Ray ---------------------------------------------------------------------------------------------


def test_ray_gives_what_this_machine_gives(table, store, tmp_path):
    pytest.importorskip("ray")
    study = small_study(table, "plknn")
    found = run_study(study, store, backend="ray", jobs=2)
    assert found.failed == []
    assert metrics_of(found) == metrics_of(run_study(study, tmp_path / "here"))
