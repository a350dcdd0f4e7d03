"""Where jobs run: processes on this machine, Dask, Ray or Slurm."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from disambig._core.errors import ClusterError, ParameterError, import_extra
from disambig._core.parameters import check_choice, check_integer
from disambig._core.processes import (
    children_ignore_interrupts,
    interrupts_later,
    start_processes,
)

_SECONDS_UNTIL_IDLE = 0.1
_SECONDS_BETWEEN_LOOKS = 0.001
_MOST_LOOKS = 2_000
# On a cluster: calls that wait where they will run, so that no worker waits for the next one.
_WAITING_PER_WORKER = 1
_MOST_SHARED = 4
_SLURM_MEMORY = "4GB"


class Backend(Protocol):
    """What the runner asks of a place where jobs run."""

    def width(self) -> int:
        """Return how many calls to have under way, now."""
        ...

    def share(self, value: Any) -> Any:
        """Return what stands for a large value among the arguments of calls, which all have it."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call elsewhere. Called only while fewer than ``width`` are under way."""
        ...


def open_backend(
    name: str, *, jobs: int = 1, address: str | None = None
) -> AbstractContextManager[Backend]:
    """Return a context that opens a backend and closes it.

    Parameters
    ----------
    name : {"local", "dask", "ray", "slurm"}
        Processes of this machine, or a cluster.
    jobs : int, default=1
        Processes on this machine, or jobs of Slurm; not used with the address of a cluster.
    address : str, optional
        Of the cluster; one on this machine is started without it.
    """
    check_choice("backend", name, BACKENDS)
    check_integer("jobs", jobs, minimum=1)
    if name == "local" and address is not None:
        raise ParameterError(
            f"'address' is only for a cluster, but the backend is 'local'. Got {address!r}. Add "
            "backend='dask' or backend='ray'."
        )
    return BACKENDS[name](jobs, address)


# This machine ------------------------------------------------------------------------------------


class _LocalProcesses:
    """Processes of this machine, each in a pool of one: if it dies, the others stay alive."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._open: dict[Any, Future[Any]] = {}  # each with its latest call

    def width(self) -> int:
        return self._count

    def share(self, value: Any) -> Any:
        return value  # which goes to a process with every call

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        while True:
            pool = self._idle_pool()
            # Not cut between the two: a process that is not known here cannot be ended.
            with interrupts_later(), children_ignore_interrupts():
                try:
                    future: Future[Any] = pool.submit(function, *arguments)
                except BrokenProcessPool:  # its process died while it had nothing to do
                    self._open.pop(pool, None)
                    continue
                self._open[pool] = future
                future.add_done_callback(partial(self._take_back, pool))
            return future

    def _idle_pool(self) -> Any:
        while True:
            try:
                # A result may be known a moment before its pool is idle again.
                wait = len(self._open) >= self._count
                return self._idle.get(block=wait, timeout=_SECONDS_UNTIL_IDLE)
            except Empty:
                if len(self._open) < self._count:
                    return start_processes(1)

    def _take_back(self, pool: Any, future: Future[Any]) -> None:
        if future.cancelled() or future.exception() is not None:
            self._shut_down(pool)
        else:
            self._idle.put(pool)

    def close(self) -> None:
        """End all processes, those at work too: an interrupted run does not wait for them."""
        with interrupts_later():
            for pool in list(self._open):
                self._shut_down(pool)

    def _shut_down(self, pool: Any) -> None:
        """End the process of a pool, once.

        That ends its call as well, which takes the pool back, in another thread and at the same
        time: loky cannot stand a second one then, and would say so on standard error.
        """
        future = self._open.pop(pool, None)
        if future is None:
            return
        # Nor can it end a call that its thread has not taken up yet.
        for _ in range(_MOST_LOOKS):
            if future.running() or future.done():
                break
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        pool.shutdown(wait=False, kill_workers=True)


def _open_local(jobs: int, _: str | None) -> AbstractContextManager[Backend]:
    return closing(_LocalProcesses(jobs))


# Clusters ----------------------------------------------------------------------------------------


class _Shared:
    """The latest large values that workers have got, so that each of them travels once.

    ``send`` gives a value to the workers and returns what stands for it there, for as long as
    somebody holds it; ``is_there`` tells whether they still have it.
    """

    def __init__(
        self, send: Callable[[Any], Any], is_there: Callable[[Any], bool] = lambda _: True
    ) -> None:
        self._send, self._is_there = send, is_there
        self._sent: list[tuple[Any, Any]] = []  # values, and what stands for them

    def of(self, value: Any) -> Any:
        for known, sent in self._sent:
            if known is value and self._is_there(sent):
                return sent
        sent = self._send(value)
        others = [pair for pair in self._sent if pair[0] is not value]
        self._sent = [*others, (value, sent)][-_MOST_SHARED:]
        return sent


class _DaskCluster:
    """The workers of a Dask scheduler, which repeats the calls of a worker that dies."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._shared = _Shared(self._send, lambda sent: bool(sent.status == "finished"))

    def _send(self, value: Any) -> Any:
        self._client.wait_for_workers(1)
        # To all workers: with the last one that has it, a value would be lost.
        return self._client.scatter(value, broadcast=True, hash=False)

    def width(self) -> int:
        with _cluster_errors("Dask"):
            threads: list[int] = list(self._client.nthreads().values())
        # One job at a time for each worker, however many threads it has: with several it would
        # begin a second one at once.
        return max(1, sum(1 + _WAITING_PER_WORKER * (count == 1) for count in threads))

    def share(self, value: Any) -> Any:
        with _cluster_errors("Dask"):
            return self._shared.of(value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        with _cluster_errors("Dask"):
            future: Future[Any] = self._executor.submit(function, *arguments)
        return future


@contextmanager
def _open_dask(jobs: int, address: str | None) -> Iterator[Backend]:
    distributed = import_extra("distributed", extra="dask")
    local = {} if address else {"n_workers": jobs, "threads_per_worker": 1}
    with _cluster_errors("Dask", address):
        client = distributed.Client(address, **local)
    with client:
        yield _DaskCluster(client)


@contextmanager
def _open_slurm(jobs: int, address: str | None) -> Iterator[Backend]:
    """Start a scheduler here, and workers as jobs of Slurm, which end with it."""
    jobqueue = import_extra("dask_jobqueue", extra="slurm")
    dask = import_extra("dask", extra="slurm")
    distributed = import_extra("distributed", extra="slurm")
    if address is not None:
        raise ParameterError(
            "With backend 'slurm' the cluster is started here, so it has no address. Got "
            f"{address!r}. Leave 'address' out, or use backend='dask' for a cluster that runs."
        )
    # One job at a time for each. What else Slurm wants to know is in the user's settings of Dask.
    worker: dict[str, Any] = {"cores": 1, "processes": 1}
    if dask.config.get("jobqueue.slurm.memory", None) is None:
        worker["memory"] = _SLURM_MEMORY
    with _cluster_errors("Slurm"):
        # Whoever reaches this machine could read a dashboard.
        cluster = jobqueue.SLURMCluster(scheduler_options={"dashboard": False}, **worker)
    with cluster, distributed.Client(cluster) as client:
        with _cluster_errors("Slurm"):
            cluster.scale(jobs=jobs)
        yield _DaskCluster(client)


class _RayCluster:
    """The processors of a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._shared = _Shared(ray.put)

    def width(self) -> int:
        with _cluster_errors("Ray"):
            processors = int(self._ray.cluster_resources().get("CPU", 1))
            return max(1, processors) * (1 + _WAITING_PER_WORKER)

    def share(self, value: Any) -> Any:
        with _cluster_errors("Ray"):
            return self._shared.of(value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        with _cluster_errors("Ray"):
            future: Future[Any] = self._ray.remote(function).remote(*arguments).future()
        return future


@contextmanager
def _open_ray(jobs: int, address: str | None) -> Iterator[Backend]:
    ray = import_extra("ray", extra="ray")
    with _cluster_errors("Ray", address):
        ray.init(address=address, num_cpus=None if address else jobs, log_to_driver=False)
    try:
        yield _RayCluster(ray)
    finally:
        ray.shutdown()


@contextmanager
def _cluster_errors(kind: str, address: str | None = None) -> Iterator[None]:
    """Turn errors of a cluster that is not there, or no longer, into one that says so."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        where = f" at {address}" if address else ""
        raise ClusterError(
            f"The {kind} cluster{where} cannot be reached: {error}. Check that it is running. "
            "Finished jobs are kept; the same command continues from there."
        ) from error


BACKENDS: dict[str, Callable[[int, str | None], AbstractContextManager[Backend]]] = {
    "local": _open_local,
    "dask": _open_dask,
    "ray": _open_ray,
    "slurm": _open_slurm,
}
