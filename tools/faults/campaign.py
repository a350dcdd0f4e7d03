"""What a campaign is: numbered cases, most in a child process with limits, and counted."""

import contextlib
import math
import os
import pickle
import resource
import select
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEMORY = 2 << 30
SECONDS = 30
_CLOCK = 4


@dataclass(frozen=True)
class Outcome:
    """How one case ended.

    Attributes
    ----------
    case : str
        What was tried, for people.
    ended : str
        In a word or two, to be counted: "refused", "equal to the bit", "exit 2".
    failure : str
        What went wrong; empty where nothing did.
    number : int
        Of the case: it comes again with this number and the same seed.
    """

    case: str
    ended: str
    failure: str = ""
    number: int = 0


@dataclass(frozen=True)
class Campaign:
    """Cases of one kind.

    Attributes
    ----------
    name : str
        The row of the table, and what ``--only`` takes.
    count : int
        How many cases a full run tries, numbered from 0.
    cases : callable
        ``cases(seed, numbers, folder)`` yields an outcome for each of these numbers, with that
        number. What a case is must depend on the seed and its number alone. ``folder`` is empty and
        goes away. It is called in a process of its own, twice at once for halves of the numbers, so
        that libraries are best imported when it is called.
    """

    name: str
    count: int
    cases: Callable[[int, Sequence[int], Path], Iterator[Outcome]]


@dataclass
class Tally:
    """What came of a campaign."""

    name: str
    tried: int = 0
    seconds: float = 0.0
    ended: Counter[str] = field(default_factory=Counter)
    failures: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.tried += 1
        self.ended[outcome.ended] += 1
        if outcome.failure:
            self.failures.append(outcome)


@dataclass(frozen=True)
class Child:
    """How a child process ended.

    Attributes
    ----------
    ended : str
        "returned", "raised", "exit N", "signal N" or "too long".
    value : object
        What the function returned; for "raised", the traceback as text.
    """

    ended: str
    value: object = None


def in_child(
    function: Callable[[], object], seconds: float = SECONDS, memory: int = MEMORY
) -> Child:
    """Run a function in a forked child that may take so many seconds and more bytes of memory.

    Seconds are those of the processor, and four times as many of the clock: on a busy machine a
    child that works is not one that hangs. A child that asks for more memory gets a MemoryError, or
    dies. Whatever it does to its process, this one goes on. Its standard streams go nowhere unless
    the function redirects them. Processes that it starts are ended with it.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(function, read_end, write_end, seconds, memory)
    os.close(write_end)
    _lead_group(child)
    written = None
    try:
        written = _read_until(read_end, time.monotonic() + _CLOCK * seconds)
    finally:
        os.close(read_end)
        # What is left of its group: itself, if it takes too long, and what it has started. The
        # child is not waited for yet, so that its number cannot be that of another process.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if written is not None:
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if written is None:
        return Child("too long")
    if written:
        ended, value = pickle.loads(written)  # noqa: S301 - written by _be_child
        return Child(ended, value)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return Child("too long")
    if os.WIFSIGNALED(status):
        return Child(f"signal {os.WTERMSIG(status)}")
    return Child(f"exit {os.waitstatus_to_exitcode(status)}")


def _lead_group(process: int) -> None:
    # Both sides say so: neither can be sure to be first.
    with contextlib.suppress(OSError):
        os.setpgid(process, 0)


def _read_until(read_end: int, deadline: float) -> bytes | None:
    """Return all that a child writes until it closes its end; None if it has not by then."""
    parts = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([read_end], [], [], left)[0]:
            return None
        part = os.read(read_end, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _be_child(
    function: Callable[[], object], read_end: int, write_end: int, seconds: float, memory: int
) -> None:
    try:
        os.close(read_end)
        _lead_group(0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        limit_memory(memory)
        most = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        try:
            found: tuple[str, object] = ("returned", function())
        except BaseException:  # noqa: BLE001 - a SystemExit is a result too
            found = ("raised", traceback.format_exc())
        with open(write_end, "wb") as pipe:
            pipe.write(pickle.dumps(found))
    finally:
        os._exit(0)


def limit_memory(memory: int) -> None:
    """Let this process map so many bytes more than it has mapped now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
