"""Runners in processes of their own, which are killed, or share a store."""

import os
import signal
from contextlib import contextmanager, nullcontext
from pathlib import Path

from bench.in_process import InThisProcess
from bench.study_methods import LOG_VARIABLE
from disambig.bench import Study, run_study
from disambig.bench.backends import BACKENDS
from processes import PROCESSES


def run(settings, store, log, jobs):
    """Run a study, in a group of processes that can be killed together."""
    os.setsid()
    os.environ[LOG_VARIABLE] = str(log)
    if jobs is None:
        BACKENDS["local"] = lambda jobs, address: nullcontext(InThisProcess())
    run_study(Study(**settings), store, jobs=jobs or 1)


@contextmanager
def runner(settings, store, log, jobs=None):
    """Start a runner and give its process; whatever is left of its group is killed at the end.

    Without ``jobs`` it does its jobs itself: worker processes take seconds to start.
    """
    process = PROCESSES.Process(target=run, args=(settings, store, log, jobs))
    process.start()
    try:
        yield process
    finally:
        kill_group(process)
        process.join()


def kill_group(process):
    """Kill a runner and the processes it has started, all at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all gone, or not even begun


def group_of(process):
    """Return the numbers of the living processes that a runner has started."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == process.pid:
            continue
        try:
            state, _, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if int(group) == process.pid and state != "Z":
            found.add(int(entry.name))
    return found
