"""Work in blocks that threads share: the same bits on any number of threads.

A matrix product that a library splits among its threads is rounded as it happens to be split, and
neighbours that are equally near are found in another order. So libraries use one thread each, and
large work is cut into blocks whose sizes depend on the data alone.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
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


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let numerical libraries use one thread, and ``for_each`` as many as they had before.

    That number belongs to the process: the first block that begins sets it, the last one that ends
    puts it back, in whatever threads they run.
    """
    with _threads.lock:
        if _threads.users == 0:
            products = _libraries("blas").lib_controllers
            _threads.counts = [library.get_num_threads() for library in products]
            _set_threads([1] * len(products))
        _threads.users += 1
    try:
        # OpenMP keeps a number for every thread: this is that of the calling one.
        with _libraries("openmp").limit(limits=1):
            yield
    finally:
        with _threads.lock:
            _threads.users -= 1
            if _threads.users == 0:
                _set_threads(_threads.counts)
                pool, _threads.pool, _threads.counts = _threads.pool, None, []
                if pool is not None:
                    pool.shutdown()


def for_each(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work(item)`` for all items, in their order; threads share them.

    Inside ``one_thread_each``; elsewhere this is a loop. The work itself must not call it again.
    """
    items = list(items)
    with _threads.lock:
        count = max(_threads.counts, default=1)
        if count > 1 and len(items) > 1 and _threads.pool is None:
            _threads.pool = ThreadPoolExecutor(count)
        pool = _threads.pool
    if pool is None or len(items) < 2:
        return [work(item) for item in items]

    def alone(item: Item) -> Result:
        with _libraries("openmp").limit(limits=1):
            return work(item)

    return list(pool.map(alone, items))


def _set_threads(counts: list[int]) -> None:
    for library, count in zip(_libraries("blas").lib_controllers, counts, strict=True):
        # Unlike this one, the other name does nothing while another thread holds a limit.
        set_threads = getattr(library, "_real_set_num_threads", library.set_num_threads)
        set_threads(count)


@cache
def _libraries(kind: str) -> Any:
    """Return what sets the threads of libraries of one kind.

    Kinds are kept apart, because the end of a limit puts back all libraries that it knows.
    """
    # Loaded first, because what is loaded later is not found. Slow to import.
    import scipy.linalg.blas
    import sklearn.utils._openmp_helpers
    from threadpoolctl import ThreadpoolController

    assert scipy.linalg.blas
    assert sklearn.utils._openmp_helpers
    return ThreadpoolController().select(user_api=kind)
