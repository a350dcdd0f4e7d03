"""Kill commands that train in several processes: the first process, or one of its workers.

A command whose worker dies goes on without it. One that is killed itself goes on when it is run
again, at once: its workers may still be alive then.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bases import TRAIN
from campaign import Campaign, Outcome
from command_runs import Snapshot, find_changes, snapshot
from scenes import comparable, write_tables

_SECONDS = 300
_SECONDS_TO_END = 60
_BETWEEN_LOOKS = 0.02
_WORDS = tuple(word for word in TRAIN if not word.startswith("--jobs"))
COMMANDS = (
    ("clean", "table.csv", *_WORDS, "--jobs=2", "--out=clean.csv"),
    ("fit", "table.csv", *_WORDS, "--jobs=2", "--out=model"),
    ("study", "small.toml", "--jobs=2"),
)


@contextlib.contextmanager
def started(words: Sequence[str], place: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Give a command that runs as people start it, in a folder; its workers end with the block."""
    running = subprocess.Popen(
        [sys.executable, "-m", "disambig", *words],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def workers_of(process: int) -> list[int]:
    """Return the processes that train for another one, on Linux."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
        return [
            int(child)
            for child in " ".join(lists).split()
            if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
    except OSError:  # somebody ends while we look
        return []


def kill(running: "subprocess.Popen[bytes]", victim: str, chance: random.Random) -> None:
    """Kill a command or a worker of it at some moment after its workers are there."""
    end = time.monotonic() + _SECONDS
    while running.poll() is None and not workers_of(running.pid) and time.monotonic() < end:
        time.sleep(_BETWEEN_LOOKS)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(chance.uniform(0, 5))
    if victim == "itself":
        running.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        for worker in workers_of(running.pid)[:1]:
            os.kill(worker, signal.SIGKILL)


def run_again(words: Sequence[str], place: Path) -> int:
    """Run a command to its end; return its exit code."""
    with started(words, place) as running:
        return running.wait(_SECONDS)


def try_kill(
    words: Sequence[str], place: Path, expected: Snapshot, victim: str, chance: random.Random
) -> tuple[str, str]:
    """Return how a command ended that was killed, and what was wrong, if anything."""
    try:
        with started(words, place) as running:
            kill(running, victim, chance)
            code = running.wait(_SECONDS)
            if victim == "itself" and code == -signal.SIGKILL:
                code = run_again(words, place)  # workers of the first run may be alive
            if is_alive(running.pid):
                return "failed", "processes of a command that has ended are still there"
    except subprocess.TimeoutExpired:
        return "too long", f"more than {_SECONDS} s"
    if code:
        return "failed", f"exit {code}"
    if difference := find_changes(expected, comparable(snapshot(place))):
        return "differs", difference
    return "equal to the bit", ""


def is_alive(group: int) -> bool:
    """Tell whether a group has processes, also after waiting for them to end."""
    end = time.monotonic() + _SECONDS_TO_END
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(_BETWEEN_LOOKS)
    return True


def make_place(place: Path) -> None:
    """Make a new folder with the tables that commands read, in place of an old one."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    write_tables(place)


def cases(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Kill processes, and yield what became of the work."""
    expected: dict[Sequence[str], Snapshot] = {}
    for number in numbers:
        words, chance = COMMANDS[number // 2 % len(COMMANDS)], random.Random(f"{seed} {number}")
        victim = ("itself", "a worker")[number % 2]
        place = folder / "place"
        if words not in expected:
            make_place(place)
            if run_again(words, place):
                raise RuntimeError(f"disambig {' '.join(words)} does not work at all")
            expected[words] = comparable(snapshot(place))
        make_place(place)
        ended, failure = try_kill(words, place, expected[words], victim, chance)
        yield Outcome(f"{words[0]} with two processes, {victim} killed", ended, failure, number)


CAMPAIGN = Campaign("worker-kills", 24, cases)
