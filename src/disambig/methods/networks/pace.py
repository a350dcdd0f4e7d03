"""How fast networks train and answer: a few steps of the real size, measured."""

import time
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from disambig._core.parameters import make_generator
from disambig._core.typing import Features
from disambig.candidates.labels import CandidateLabels
from disambig.engine.batches import steps_per_epoch
from disambig.engine.ranks import alone
from disambig.engine.training import Training
from disambig.methods.cost import without_followers
from disambig.methods.growth import MOST_OF_A_FIT

# Steps are prepared so many at a time.
_MOST_STEPS = 8
# Epochs that are measured, as shares of all: what a rule does may change along the way.
_PLACES = (1 / 8, 3 / 8, 5 / 8, 7 / 8)
_LONGEST_EPOCH = 0.1  # seconds
_MOST_SECONDS = 0.3


class NetworkPace(NamedTuple):
    """How fast the networks of a method are."""

    step: float  # seconds of a training step
    row: float  # seconds to ask all networks about a row
    batch_size: int

    def training_seconds(self, epochs: int, n_rows: int) -> float:
        """Return how long a training on so many rows takes."""
        return epochs * steps_per_epoch(n_rows, self.batch_size) * self.step


def measure_pace(method: Any, X: Features, candidates: CandidateLabels) -> NetworkPace:
    """Return how fast networks of a ``NetworkClassifier`` are on rows such as these."""
    n_steps = steps_per_epoch(len(candidates), method.batch_size)
    # How many steps are measured hangs on the clock, so that several processes would not agree.
    with alone():
        pace = _measured(method, X, candidates, 1)
        some = min(n_steps, _MOST_STEPS, max(1, int(_LONGEST_EPOCH / pace.step)))
        return pace if some == 1 else _measured(method, X, candidates, some)


def _measured(method: Any, X: Features, candidates: CandidateLabels, n_steps: int) -> NetworkPace:
    """Return the same from epochs of so many steps."""
    probe = without_followers(method).set_params(validation=None, early_stopping=None)
    n_rows = len(candidates)
    # As many as so many batches of the real size have.
    count = -(-n_rows * n_steps // steps_per_epoch(n_rows, method.batch_size))
    rows = np.sort(make_generator(0).permutation(n_rows)[:count])
    of_rows = X[rows], candidates[rows]
    probe.classes_ = candidates.classes
    plan = probe._plan(*of_rows)
    training = probe._training([plan])
    whole = steps_per_epoch(n_rows, method.batch_size) / n_steps * probe._epoch_count()
    watch = _StopWatch(whole)
    training.listeners = [watch]
    training.run()
    probe._keep(plan, training, 0)
    probe._confidences(*of_rows)  # the first time it is slower
    start = time.perf_counter()
    probe._confidences(*of_rows)
    row = (time.perf_counter() - start) / count
    return NetworkPace(watch.seconds() / n_steps, row, method.batch_size)


class _StopWatch:
    """Measures epochs here and there, jumping from one to the next, until enough is known.

    ``whole`` is how many epochs of this size the real training is made of.
    """

    def __init__(self, whole: float) -> None:
        self._whole = whole
        self._places = cycle(_PLACES)
        self._epochs: list[float] = []

    def on_fit_start(self, training: Training) -> None:  # noqa: ARG002  # as listeners are called
        self._begin()

    def on_epoch_end(self, training: Training) -> None:
        self._epochs.append(time.perf_counter() - self._start)
        spent, seen = sum(self._epochs), self._epochs[1:]
        allowed = min(_MOST_SECONDS, MOST_OF_A_FIT / 2 * self._whole * self._epochs[-1])
        if seen and len(seen) % len(_PLACES) == 0 and spent > allowed:
            training.stop()
            return
        # The first epoch only warms up. Never the last: nothing would follow it.
        last = training.settings.epochs - 1
        training.epoch = min(int(next(self._places) * training.settings.epochs), last)
        self._begin()

    def seconds(self) -> float:
        """Return the seconds of an epoch, on average over the training."""
        n_places = len(_PLACES)
        seen = self._epochs[1:]
        return float(np.mean([np.median(seen[place::n_places]) for place in range(n_places)]))

    def _begin(self) -> None:
        self._start = time.perf_counter()
