"""Methods that no catalogue knows; every process that a study starts finds them by this module.

The first feature of the data is the number of the row, so that a method can tell which fold it is
trained on: that in which a given row is held out.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from disambig.methods import PartialLabelClassifier
from disambig.methods.base import MethodCard
from waiting import fits_let_through, wait_until

LOG_VARIABLE = "DISAMBIG_TEST_LOG"


class Diligent(PartialLabelClassifier):
    """Guesses by its seed, writes every fit into a log, and goes wrong where it is asked to.

    Parameters
    ----------
    pause : float
        Seconds that a fit takes.
    gate : str or None
        Path of a file that says how many fits of the log may go on; the others wait until it says
        more. None may where there is no such file. So a test decides how far a study gets.
    strength : float
        Scales its guesses.
    fails_without, exits_without, dies_without : int or None
        A row; the fit without it raises an error, leaves Python, or is killed by a signal.
    healed_by : str or None
        Path of a file; where it exists, nothing goes wrong.
    dies_once : bool
        Whether it makes that file before it is killed.
    random_state : int or None
        Seed of its guesses.
    """

    card: ClassVar[MethodCard] = MethodCard(name="diligent", title="Guesses by its seed")

    def __init__(
        self,
        *,
        pause=0.0,
        gate=None,
        strength=1.0,
        fails_without=None,
        exits_without=None,
        dies_without=None,
        healed_by=None,
        dies_once=False,
        random_state=None,
    ):
        self.pause = pause
        self.gate = gate
        self.strength = strength
        self.fails_without = fails_without
        self.exits_without = exits_without
        self.dies_without = dies_without
        self.healed_by = healed_by
        self.dies_once = dies_once
        self.random_state = random_state

    def _fit(self, X, candidates):
        number = self._write_log()
        time.sleep(self.pause)
        self._wait_at_gate(number)
        if self.healed_by is None or not Path(self.healed_by).exists():
            self._go_wrong({None, *X[:, 0].astype(int).tolist()})
        generator = np.random.default_rng(self.random_state)
        self._weights = generator.normal(size=(X.shape[1], len(candidates.classes)))
        return candidates.prior()

    def _predict_proba(self, X):
        scores = self.strength * np.sin(X @ self._weights)
        probabilities = np.exp(scores)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _go_wrong(self, rows):
        if self.fails_without not in rows:
            raise ArithmeticError(f"row {self.fails_without} is not there")
        if self.exits_without not in rows:
            sys.exit(3)
        if self.dies_without not in rows:
            if self.dies_once:
                Path(self.healed_by).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def _wait_at_gate(self, number):
        if self.gate is not None:
            wait_until(lambda: number <= fits_let_through(self.gate))

    def _write_log(self, together=1):
        """Return the number of the line that is written, or 0 where there is no log."""
        if LOG_VARIABLE not in os.environ:
            return 0
        line = {"process": os.getpid(), "seed": self.random_state, "together": together}
        # One write to a file opened for appending: lines of several processes do not mix.
        file = os.open(os.environ[LOG_VARIABLE], os.O_RDWR | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{json.dumps(line)}\n".encode())
        end = os.lseek(file, 0, os.SEEK_CUR)
        number = os.pread(file, end, 0).count(b"\n")
        os.close(file)
        return number


class SideBySide(Diligent):
    """Takes all folds that there are at once."""

    card: ClassVar[MethodCard] = MethodCard(name="side_by_side", title="Takes all folds at once")

    def _fits_at_once(self):
        return None

    @classmethod
    def _fit_side_by_side(cls, methods, data):
        methods[0]._write_log(together=len(methods))
        return super()._fit_side_by_side(methods, data)


class WithoutCard(PartialLabelClassifier):
    """Says nothing of itself."""

    def _fit(self, X, candidates):
        return candidates.prior()

    def _predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class NoMethodWithoutMore(WithoutCard):
    """Cannot be made without an argument."""

    card: ClassVar[MethodCard] = MethodCard(name="more", title="Needs more")

    def __init__(self, more):
        self.more = more
