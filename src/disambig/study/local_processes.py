"""Jobs in processes of this machine."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

__all__ = ["LocalProcesses", "open_local"]

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_UNTIL_IDLE = 0.1


class LocalProcesses:
    """Processes of this machine, each in a pool of its own: one that dies takes no other along."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._open: set[Any] = set()

    def width(self) -> int:
        """Return how many processes there are."""
        return self._count

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call in an idle process, or in a new one."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        while True:
            pool = self._idle_pool()
            try:
                return self._submit_to(pool, function, *arguments)
            except BrokenProcessPool:  # its process died while it had nothing to do
                self._open.discard(pool)

    def _idle_pool(self) -> Any:
        while True:
            try:
                # A result may be known a moment before its process is.
                wait = len(self._open) >= self._count
                return self._idle.get(block=wait, timeout=_SECONDS_UNTIL_IDLE)
            except Empty:
                if len(self._open) < self._count:
                    return _one_process()

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
            self._idle.put(pool)

    def close(self) -> None:
        """End all processes, those at work too: who leaves early does not wait for them."""
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
def open_local(jobs: int, _: str | None) -> Iterator[LocalProcesses]:
    """Open so many processes; they are started when they are needed."""
    processes = LocalProcesses(jobs)
    try:
        yield processes
    finally:
        processes.close()
