"""Scouts weigh the configurations, then the members of the mix learn from all rows."""

import math
import os
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from disambig._core.parameters import make_generator, spawn_seeds
from disambig._core.typing import Features, FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.engine.history import History
from disambig.engine.training import Training
from disambig.methods.ncpd import NCPDClassifier
from disambig.methods.ncpd_plus.selection import CONFIGURATIONS, Selection, compare
from disambig.methods.networks.validation import ValidationMonitor, split_rows
from disambig.methods.side_by_side import fit_copies
from disambig.metrics import covering_rate

# Scouts only have to show which configuration suits the data: fewer rows, half the epochs.
_HELD_OUT = 0.2
_EPOCHS_DIVISOR = 2

# NCPD+ itself: its members are classifiers of its own kind, with one configuration each.
Member = TypeVar("Member", bound=NCPDClassifier)


class Mix(NamedTuple, Generic[Member]):
    """What ``select="auto"`` leaves behind."""

    selection: Selection  # how the configurations compared
    members: dict[str, Member]  # fitted on all rows, the heaviest first
    history: History  # of the heaviest; where rows are watched, with the covering rate of the mix


class _Task(NamedTuple, Generic[Member]):
    """One mix to be made: a classifier, its rows, and how they are dealt out."""

    method: Member
    X: Features
    candidates: CandidateLabels
    watched: tuple[Features, CandidateLabels] | None
    scout_rows: IntArray
    held_out: IntArray
    seed: int


def fit_mixes(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> list[Mix[Member]]:
    """Return the mix of every classifier; they are copies of one, each with its own data."""
    tasks = _tasks(methods, data)
    selections = _selections(tasks)
    members: list[dict[str, Member]] = [{} for _ in tasks]
    watched: list[dict[str, WatchedRows]] = [{} for _ in tasks]
    for name in CONFIGURATIONS:
        numbers = [n for n, selection in enumerate(selections) if name in selection.weights]
        for n in numbers:
            watched[n][name] = WatchedRows()
            members[n][name] = _member(tasks[n], name, watched[n][name])
        fit_copies(
            [members[n][name] for n in numbers],
            [(tasks[n].X, tasks[n].candidates) for n in numbers],
        )
    return [
        _mix(task, selection, of_task, watchers)
        for task, selection, of_task, watchers in zip(
            tasks, selections, members, watched, strict=True
        )
    ]


def compare_scouts(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> list[Selection]:
    """Return how the configurations compare for every classifier, and train no members."""
    return _selections(_tasks(methods, data))


def _tasks(
    methods: Sequence[Member], data: Sequence[tuple[Features, CandidateLabels]]
) -> list[_Task[Member]]:
    return [_task(method, X, y) for method, (X, y) in zip(methods, data, strict=True)]


def _task(method: Member, X: Features, candidates: CandidateLabels) -> _Task[Member]:
    watch_seed, scout_seed, member_seed = spawn_seeds(method.random_state, 3)
    (X, candidates), watched = split_rows(method, method.validation, X, candidates, watch_seed)
    order = make_generator(scout_seed).permutation(len(X))
    # Of fewer than three rows none can be held out: scouts are judged by what they learn from.
    n_held_out = round(_HELD_OUT * len(X))
    held_out, scout_rows = order[:n_held_out], order[n_held_out:]
    if not n_held_out:
        held_out = scout_rows
    return _Task(method, X, candidates, watched, scout_rows, held_out, member_seed)


def _selections(tasks: Sequence[_Task[Member]]) -> list[Selection]:
    """Train a scout of every configuration for every task, and compare them."""
    said: list[dict[str, Any]] = [{} for _ in tasks]
    for name in CONFIGURATIONS:
        scouts = fit_copies(
            [_scout(task, name) for task in tasks],
            [(task.X[task.scout_rows], task.candidates[task.scout_rows]) for task in tasks],
        )
        for by_name, task, scout in zip(said, tasks, scouts, strict=True):
            by_name[name] = scout._predict_proba(task.X[task.held_out])
    return [
        compare(task.candidates[task.held_out], by_name)
        for task, by_name in zip(tasks, said, strict=True)
    ]


def _scout(task: _Task[Member], name: str) -> Member:
    epochs = max(1, task.method.epochs // _EPOCHS_DIVISOR)
    return _configured(task, name, epochs, f"scout {name}", validation=None)


def _member(task: _Task[Member], name: str, watched: "WatchedRows") -> Member:
    parameters: dict[str, Any] = {"validation": task.watched}
    if task.watched is not None:
        parameters["callbacks"] = [*(task.method.callbacks or ()), watched]
    return _configured(task, name, task.method.epochs, name, **parameters)


def _configured(
    task: _Task[Member], name: str, epochs: int, role: str, **parameters: Any
) -> Member:
    path = task.method.checkpoint
    copy: Member = clone(task.method)
    copy.set_params(
        select="none",
        random_state=task.seed,
        checkpoint=None if path is None else f"{os.fspath(path)}.{role.replace(' ', '-')}",
        **CONFIGURATIONS[name].parameters(epochs),
        **parameters,
    )
    copy._title = f"NCPD+ {role}"
    return copy


def _mix(
    task: _Task[Member],
    selection: Selection,
    members: dict[str, Member],
    watched: "dict[str, WatchedRows]",
) -> Mix[Member]:
    weights = selection.weights
    history = members[selection.choice].history_
    if task.watched is not None:
        said = [watched[name] for name in weights]
        history = mixed_history(history, said, list(weights.values()), task.method.epochs)
        for name, member in members.items():
            watched[name].probabilities = {}  # they are large, and have served
            member.callbacks = task.method.callbacks
    return Mix(selection, {name: members[name] for name in weights}, history)


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
