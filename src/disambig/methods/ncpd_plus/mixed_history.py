"""What a mix says of watched rows, epoch by epoch."""

import math
from collections.abc import Sequence

import numpy as np

from disambig._core.typing import FloatArray
from disambig.engine.history import History
from disambig.engine.training import Training
from disambig.methods.networks.validation import ValidationMonitor
from disambig.metrics.without_truth import covering_rate


class WatchedRows:
    """Keep the probabilities of the watched rows after every epoch: a callback of a member.

    Attributes
    ----------
    monitor : ValidationMonitor or None
        Whose rows these are: another listener of the training.
    probabilities : dict of int to ndarray of shape (rows, classes)
        By epoch.
    """

    def __init__(self) -> None:
        self.monitor: ValidationMonitor | None = None
        self.probabilities: dict[int, FloatArray] = {}

    def on_fit_start(self, training: Training) -> None:
        """Find the rows, and forget a training that was begun again."""
        monitors = [one for one in training.listeners if isinstance(one, ValidationMonitor)]
        self.monitor = monitors[0] if monitors else None
        if training.epoch == 0:
            self.probabilities = {}

    def on_epoch_end(self, training: Training) -> None:
        """Keep one epoch."""
        if self.monitor is not None:
            self.probabilities[training.epoch] = self.monitor.probabilities(training)

    def said_after(self, epoch: int) -> FloatArray | None:
        """Return the probabilities after an epoch, or after the last one if that was before."""
        if not self.probabilities:
            return None
        return self.probabilities.get(min(epoch, max(self.probabilities)))


def mixed_history(
    heaviest: History, members: Sequence[WatchedRows], weights: Sequence[float], n_epochs: int
) -> History:
    """Return the history of the heaviest member, with the covering rate of the mix.

    It is as long as the training of a mix can be, whoever is in it, so that those of several data
    can be laid side by side; what was not measured is not a number.
    """
    columns = {
        name: values + [math.nan] * (n_epochs - len(values))
        for name, values in heaviest.to_dict().items()
    }
    columns["validation_covering_rate"] = mixed_covering_rates(members, weights, n_epochs).tolist()
    return History(columns)


def mixed_covering_rates(
    members: Sequence[WatchedRows], weights: Sequence[float], n_epochs: int
) -> FloatArray:
    """Return the covering rate of the mix in every epoch; not a number where one was not watched.

    A member that is done stays as it is. One that was resumed from a file has not watched the
    epochs before.
    """
    monitor = members[0].monitor
    rates = np.full(n_epochs, np.nan)
    for epoch in range(1, n_epochs + 1):
        said = [member.said_after(epoch) for member in members]
        if monitor is not None and all(one is not None for one in said):
            mixed = sum(w * one for w, one in zip(weights, said, strict=True) if one is not None)
            predicted = monitor.classes[np.asarray(mixed).argmax(axis=1)]
            rates[epoch - 1] = covering_rate(monitor.candidates, predicted)
    return rates
