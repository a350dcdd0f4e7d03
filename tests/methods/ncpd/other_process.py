"""Fits in processes of their own, which are killed and started again."""

import os
import signal
import threading
import time

import numpy as np

from methods.ncpd.examples import NEW_X, X, Y, quick
from processes import PROCESSES


def exit_code_of(function, *arguments):
    """Return how a process ended: minus the number of the signal that killed it."""
    process = PROCESSES.Process(target=function, args=arguments)
    process.start()
    process.join()
    return process.exitcode


class Killer:
    """A callback that leaves the process no time to tidy up."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, training):
        if training.epoch == self.epoch:
            os.kill(os.getpid(), signal.SIGKILL)


class KillerAtAnyMoment:
    """A callback that has the process killed in the middle of whatever it does then.

    That is a pause after an epoch; a training that is done by then waits for it.
    """

    def __init__(self, epoch, pause):
        self.epoch = epoch
        self.pause = pause
        self.thread = threading.Thread(target=self.kill)

    def kill(self):
        time.sleep(self.pause)
        os.kill(os.getpid(), signal.SIGKILL)

    def on_epoch_end(self, training):
        if training.epoch >= self.epoch and not self.thread.is_alive():
            self.thread.start()

    def on_fit_end(self, training):
        if not self.thread.is_alive():
            self.thread.start()
        self.thread.join()


def fit_until_killed(parameters, epoch, pause):
    """Fit, and be killed."""
    quick(callbacks=[KillerAtAnyMoment(epoch, pause)], **parameters).fit(X, Y)


def fit(parameters, result=None, killed_at=None):
    """Fit, and write down what came out, unless killed before."""
    fitted = quick(callbacks=[Killer(killed_at)], **parameters).fit(X, Y)
    if result is not None:
        write_result(fitted, result)


def write_result(fitted, path):
    """Write the numbers of a fit to a file that any process can read."""
    np.savez(
        path,
        probabilities=fitted.predict_proba_per_network(NEW_X),
        confidences=fitted.candidate_confidence_.toarray(),
        **fitted.history_.to_dict(),
    )


def results_of(path):
    """Return the numbers in such a file, by name."""
    with np.load(path) as file:
        return dict(file)
