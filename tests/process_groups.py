"""Several processes in a group of torch.distributed, on this machine."""

import datetime
import time
import traceback

from processes import PROCESSES
from waiting import PATIENCE


def run_in_group(size, function, folder, *arguments):
    """Return what ``function(rank, *arguments)`` returns in every process; None for a killed one.

    The processes find each other by a file in the folder. If one is stuck, all are ended.
    """
    started = []
    for rank in range(size):
        ours, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(
            target=_run, args=(rank, size, str(folder / "group"), theirs, function, arguments)
        )
        process.start()
        theirs.close()
        started.append((process, ours))
    end = time.monotonic() + PATIENCE
    try:
        results = [_result(pipe, end) for _, pipe in started]
    finally:
        for process, _ in started:
            process.kill()
            process.join()
    failures = [said for said in results if isinstance(said, str)]
    assert not failures, failures[0]
    return [said and said[0] for said in results]


def _run(rank, size, path, pipe, function, arguments):
    from torch import distributed

    try:
        distributed.init_process_group(
            "gloo",
            init_method=f"file://{path}",
            rank=rank,
            world_size=size,
            timeout=datetime.timedelta(seconds=PATIENCE),
        )
        pipe.send((function(rank, *arguments),))
        distributed.destroy_process_group()
    except BaseException:
        pipe.send(traceback.format_exc())
        raise


def _result(pipe, end):
    """Return what a process has sent, or None where it has died without a word."""
    assert pipe.poll(max(0, end - time.monotonic())), "a process is stuck"
    try:
        return pipe.recv()
    except EOFError:
        return None
