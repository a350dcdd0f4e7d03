"""Where jobs run: processes of this machine, or a cluster of Dask or Ray."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from threading import Thread
from typing import Any, Protocol

from disambig._core.errors import ParameterError
from disambig._core.optional import import_extra
from disambig._core.parameters import check_choice, check_integer

__all__ = ["BACKENDS", "Backend", "open_backend"]

_SECONDS_BETWEEN_LOOKS = 1.0


class Backend(Protocol):
    """What the runner asks of a place where jobs run."""

    def width(self) -> int:
        """Return how many calls can run at once, now."""
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
    name : {"local", "dask", "ray"}
        Processes of this machine, or a cluster.
    jobs : int, default=1
        Processes, on this machine.
    address : str, optional
        Of the cluster; one on this machine is started without it.
    """
    check_choice("backend", name, BACKENDS)
    check_integer("jobs", jobs, minimum=1)
    if name == "local" and address is not None:
        raise ParameterError(
            f"'address' is that of a cluster, and the backend is 'local'. Got {address!r}. Say "
            "backend='dask' or backend='ray' too."
        )
    return BACKENDS[name](jobs, address)


class _Processes:
    """Processes of this machine, each in a pool of its own: one that dies takes no other along."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._idle: list[Any] = []
        self._open: set[Any] = set()

    def width(self) -> int:
        return self._count

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        while self._idle:
            pool = self._idle.pop()
            try:
                return self._submit_to(pool, function, *arguments)
            except BrokenProcessPool:  # its process died while it had nothing to do
                self._open.discard(pool)
        return self._submit_to(_one_process(), function, *arguments)

    def _submit_to(self, pool: Any, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = pool.submit(function, *arguments)
        self._open.add(pool)
        future.add_done_callback(lambda done: self._take_back(pool, done))
        return future

    def _take_back(self, pool: Any, future: Future[Any]) -> None:
        if future.cancelled() or future.exception() is not None:
            self._open.discard(pool)
            pool.shutdown(wait=False, kill_workers=True)
        else:
            self._idle.append(pool)

    def close(self) -> None:
        # Those at work too: who leaves early, as by an interrupt, does not wait for them.
        for pool in list(self._open):
            pool.shutdown(wait=False, kill_workers=True)


def _one_process() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor  # starts nothing until it is used

    # Said before numerical libraries are loaded there: threads that share cores slow each other.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return ProcessPoolExecutor(
        max_workers=1, env=threads, initializer=_leave_with, initargs=(os.getpid(),)
    )


def _leave_with(runner: int) -> None:
    """Let this process end when its runner is gone, even if that was killed."""

    def watch() -> None:
        while os.getppid() == runner:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _open_local(jobs: int, _: str | None) -> Iterator[Backend]:
    processes = _Processes(jobs)
    try:
        yield processes
    finally:
        processes.close()


class _Dask:
    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)

    def width(self) -> int:
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = self._executor.submit(function, *arguments)
        return future


@contextmanager
def _open_dask(jobs: int, address: str | None) -> Iterator[Backend]:
    distributed = import_extra("distributed", extra="dask")
    local = {} if address else {"n_workers": jobs, "threads_per_worker": 1}
    with distributed.Client(address, **local) as client:
        yield _Dask(client)


class _Ray:
    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def width(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = self._ray.remote(function).remote(*arguments).future()
        return future


@contextmanager
def _open_ray(jobs: int, address: str | None) -> Iterator[Backend]:
    ray = import_extra("ray", extra="ray")
    ray.init(address=address, num_cpus=None if address else jobs, log_to_driver=False)
    try:
        yield _Ray(ray)
    finally:
        ray.shutdown()


BACKENDS: dict[str, Callable[[int, str | None], AbstractContextManager[Backend]]] = {
    "local": _open_local,
    "dask": _open_dask,
    "ray": _open_ray,
}
