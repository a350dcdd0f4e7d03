"""Work in blocks that threads share: the same bits on any number of threads.

A matrix product that a library splits among its threads is rounded as it happens to be split, and
neighbours that are equally near are found in another order. So libraries use one thread each, and
large work is cut into blocks whose sizes depend on the data alone.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Threads:
    """The threads of this process, as long as some fit or prediction is under way."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.counts: list[int] = []  # of every library for matrix products, before
        self.pool: ThreadPoolExecutor | None = None


_threads = _Threads()


def _begin_anew() -> None:
    global _threads
    _threads = _Threads()


if hasattr(os, "register_at_fork"):  # pragma: no branch  # not on Windows
    # A process that is forked during a fit has none of its threads, and its lock may be held.
    os.register_at_fork(after_in_child=_begin_anew)


def split_rows(start: int, end: int, most: int) -> list[slice]:
    """Return the rows from one to another, some at a time."""
    return [slice(first, min(first + most, end)) for first in range(start, end, most)]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let numerical libraries use one thread, and ``for_each`` as many as they had before.

    That number belongs to the process: the first block that begins sets it, the last one that ends
    puts it back, in whatever threads they run.
    """
    threads = _threads
    with threads.lock:
        if threads.users == 0:
            products = _libraries("blas").lib_controllers
            threads.counts = [library.get_num_threads() for library in products]
            _set_threads([1] * len(products))
        threads.users += 1
    try:
        # OpenMP keeps a number for every thread: this is that of the calling one.
        with _libraries("openmp").limit(limits=1):
            yield
    finally:
        with threads.lock:
            threads.users -= 1
            if threads.users == 0:
                _set_threads(threads.counts)
                pool, threads.pool, threads.counts = threads.pool, None, []
                if pool is not None:
                    pool.shutdown()


def for_each(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return ``work(item)`` for all items, in their order; threads share them.

    Inside ``one_thread_each``; elsewhere this is a loop. The work itself must not call it again.
    """
    if len(items) < 2 or (pool := _shared_pool()) is None:
        return [work(item) for item in items]
    return list(pool.map(work, items))


def _shared_pool() -> ThreadPoolExecutor | None:
    with _threads.lock:
        count = max(_threads.counts, default=1)
        if count > 1 and _threads.pool is None:
            # Its threads are ours: they keep the limit, which holds from this call on.
            limit_openmp = partial(_libraries("openmp").limit, limits=1)
            _threads.pool = ThreadPoolExecutor(count, initializer=limit_openmp)
        return _threads.pool


def _set_threads(counts: list[int]) -> None:
    for library, count in zip(_libraries("blas").lib_controllers, counts, strict=True):
        # OpenBLAS obeys one thread at a time, and the last to end may not be the first to begin.
        release = getattr(library, "clear_controlling_thread", None)  # not in old threadpoolctl
        if release is not None:
            release(force=True)
        library.set_num_threads(count)
        if release is not None:
            release(force=True)


@cache
def _libraries(kind: str) -> Any:
    """Return what sets the threads of libraries of one kind.

    Kinds are kept apart, because the end of a limit puts back all libraries that it knows.
    """
    # Loaded first, because what is loaded later is not found. Slow to import.
    import scipy.linalg
    import sklearn.metrics
    from threadpoolctl import ThreadpoolController

    assert scipy.linalg
    assert sklearn.metrics
    return ThreadpoolController().select(user_api=kind)
