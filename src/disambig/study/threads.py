"""One thread for every job: same bits wherever it runs, and no quarrel over cores."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numerical libraries use one thread inside the block."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    with threadpool_limits(limits=1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)
