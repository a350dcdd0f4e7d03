"""Processes that start at once: forks of one that has imported everything and computed nothing."""

import multiprocessing
import os

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "disambig.bench.runner",
        "disambig.tabular.out_of_fold",
        "bench.study_methods",
        "disambig.methods.ncpd",
        "safetensors.torch",
    ]
)


def start_worker(count=1, *, threads=1, set_up=None, arguments=()):
    """Return what ``start_processes`` returns, without the seconds of its imports."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=count,
        context=PROCESSES,
        initializer=_set,
        initargs=(dict(os.environ), set_up, arguments),
    )


def _set(environment, set_up, arguments):
    # The process was forked off one that was started before a test set its variables.
    os.environ.update(environment)
    if set_up is not None:
        set_up(*arguments)
