"""Processes beside this one, and how many threads numerical libraries use."""

import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any

from disambig._core.messages import printable

_SECONDS_BETWEEN_LOOKS = 1.0
# How often a process that is ours from its start looks for garbage. The default, after 700 objects,
# takes a third of the time of imports: libraries make hundreds of thousands that stay.
OBJECTS_BETWEEN_COLLECTIONS = 200_000
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def available_cores() -> int:
    """Return how many cores this process may use; LOKY_MAX_CPU_COUNT may say fewer."""
    from joblib.externals.loky import cpu_count  # slow to import

    return int(cpu_count())


def start_processes(
    count: int,
    *,
    threads: int = 1,
    set_up: Callable[..., None] | None = None,
    arguments: tuple[Any, ...] = (),
) -> Any:
    """Return a pool of processes that start when they are first needed, and end with this one.

    Parameters
    ----------
    count : int
        Processes.
    threads : int, default=1
        Threads of numerical libraries in each.
    set_up : callable, optional
        Called with ``arguments`` in every process before anything else.
    """
    from joblib.externals.loky import ProcessPoolExecutor  # slow to import

    # Set before these libraries are loaded there: threads that share cores slow each other.
    limits = dict.fromkeys(_THREAD_VARIABLES, str(threads))
    return ProcessPoolExecutor(
        max_workers=count, env=limits, initializer=_begin, initargs=(os.getpid(), set_up, arguments)
    )


def _begin(parent: int, set_up: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    warnings.formatwarning = _plain_warning
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    if set_up is not None:
        set_up(*arguments)


def _plain_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,  # noqa: ARG001  # as Python calls it
) -> str:
    """Return a warning for the terminal of whoever started this process; it may quote a file."""
    return f"{filename}:{lineno}: {category.__name__}: {printable(message)}\n"


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone, even if that was killed."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)


@contextmanager
def children_ignore_interrupts() -> Iterator[None]:
    """Let processes that start inside the block not hear of an interrupt in the terminal.

    It is for the process that started them; they would print where they were. Not on Windows.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing.resource_tracker import ensure_running  # slow to import

    ensure_running()  # inside the block, its start would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Let an interrupt that comes inside the block be heard at its end: the block is not cut."""
    if current_thread() is not main_thread():  # others never hear of one
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def at_most_threads(count: int) -> Iterator[None]:
    """Let numerical libraries that are loaded use no more threads than this inside the block."""
    from threadpoolctl import ThreadpoolController  # slow to import

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else count
    libraries = ThreadpoolController()  # looks for them once, which takes milliseconds
    limits = {pool["prefix"]: min(count, pool["num_threads"]) for pool in libraries.info()}
    with libraries.limit(limits=limits):
        if torch:
            torch.set_num_threads(min(before, count))
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(before)
