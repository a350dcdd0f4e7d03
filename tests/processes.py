"""Processes that start at once: forks of one that has imported everything and computed nothing."""

import multiprocessing
import os

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["disambig.bench.runner", "bench.study_methods", "disambig.methods.ncpd", "safetensors.torch"]
)


def start_worker():
    """Return what ``backends._one_process`` returns, without the seconds of its imports."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=1, context=PROCESSES, initializer=_set, initargs=(dict(os.environ),)
    )


def _set(environment):
    # The process was forked off one that was started before a test set its variables.
    os.environ.update(environment)
