"""How much memory this machine has, and what part of it a table may take."""

import os
from contextlib import suppress
from pathlib import Path

_SHARE = 4
_UNKNOWN = 8 * 10**9
# Of a container, where it has a limit of its own.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Return how many bytes of memory this machine, or the container of this process, has."""
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text()))
    return min(filter(lambda size: size > 0, found), default=_UNKNOWN)


def memory_for_work() -> int:
    """Return how many bytes a command may take that nobody has limited: a quarter of them."""
    return machine_memory() // _SHARE
