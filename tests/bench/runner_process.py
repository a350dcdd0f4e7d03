"""Runners in processes of their own, which are killed, or share a store."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

from bench.own_methods import LOG_VARIABLE
from disambig.bench import Study, run_study
from methods.ncpd.other_process import PROCESSES


def run(settings, store, log, jobs):
    """Run a study, in a group of processes that can be killed together."""
    os.setsid()
    os.environ[LOG_VARIABLE] = str(log)
    run_study(Study(**settings), store, jobs=jobs)


@contextmanager
def runner(settings, store, log, jobs=1):
    """Start a runner and give its process; whatever is left of its group is killed at the end."""
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
