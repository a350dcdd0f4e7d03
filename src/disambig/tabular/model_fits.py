"""The models that are fitted to a table: one of all rows, and one without each fold of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from disambig._core.errors import ParameterError, TableError
from disambig._core.parameters import check_integer, spawn_seeds
from disambig._core.processes import at_most_threads
from disambig._core.typing import IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fits_at_once
from disambig.tabular.columns.plan import ColumnPlan
from disambig.tabular.fit_queue import FitQueue, FitWorkers
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import (
    PER_NETWORK,
    OutOfFoldPredictions,
    confidences_per_network,
    histories_of,
    join_predictions,
)
from disambig.tabular.table_model import TableModel, untrained_model
from disambig.tabular.task import TableTask
from disambig.tabular.work_folder import WorkFolder

if TYPE_CHECKING:
    from disambig.engine.training import Training

_SET_FOR_ONE_FIT = ("callbacks", "checkpoint")


def check_folds(n_folds: int) -> None:
    """Refuse a number of folds that leaves no rows to train on."""
    check_integer("n_folds", n_folds, minimum=1)
    if n_folds == 1:
        raise ParameterError("One fold leaves no rows to train on. Use two folds or more.")


@contextmanager
def fit_queue(
    method: PartialLabelClassifier, n_fits: int, n_jobs: int | FitWorkers, listener: FitListener
) -> Iterator[FitQueue]:
    """Give a queue for so many fits of a method; processes that were started for it end with it."""
    is_given = isinstance(n_jobs, FitWorkers)
    workers = n_jobs if isinstance(n_jobs, FitWorkers) else FitWorkers(n_jobs)
    listener.on_fits_start(n_fits)
    try:
        workers.start(n_fits)
        if workers.threads is None or not _can_be_elsewhere(method):
            yield FitQueue(listener)
        else:
            with at_most_threads(workers.threads):
                yield FitQueue(listener, workers)
    finally:
        if not is_given:
            workers.close()


def _can_be_elsewhere(method: PartialLabelClassifier) -> bool:
    """Whether another process may fit a method: there is one card, and callers wait here."""
    parameters = method.get_params(deep=False)
    followed = parameters.get("callbacks") is not None or bool(parameters.get("verbose"))
    return not followed and fits_at_once(method) == 1


@dataclass(frozen=True, eq=False)
class FoldFit:
    """One model, of the rows of all folds but one, and what it predicts for that one."""

    title: str
    name: str  # in the work folder
    plan: ColumnPlan
    values: pd.DataFrame
    candidates: CandidateLabels
    classifier: PartialLabelClassifier
    train: IntArray
    test: IntArray
    per_network: bool

    def __call__(self, listener: FitListener) -> OutOfFoldPredictions:
        """Train, and predict the rows that were held out."""
        _report_epochs(self.classifier, listener, self.title)
        values = self.values.iloc[self.train]
        model, features = untrained_model(self.plan, values, self.classifier)
        self.classifier.fit(features, self.candidates[self.train])
        values, held_out = self.values.iloc[self.test], self.candidates[self.test]
        if self.per_network:
            per_network = confidences_per_network(model, values, held_out)
        else:
            per_network = np.empty((0, int(held_out.sizes.sum())), dtype=PER_NETWORK)
        return OutOfFoldPredictions(
            model.probabilities_of(values), per_network, histories_of(model)
        )


class Folds:
    """The fits of all folds: workers begin with them at once.

    Parameters
    ----------
    task : TableTask
        The table.
    method : PartialLabelClassifier
        Copied for every fold.
    n_folds, seed : int
        How many, and the seed of the folds and of the fits.
    queue : FitQueue
        Does the fits.
    work : WorkFolder, optional
        Folds that are done are taken from here and kept here.
    per_network : bool, default=True
        Whether each network is asked too, which takes as long again as to ask all together.
    """

    def __init__(
        self,
        task: TableTask,
        method: PartialLabelClassifier,
        *,
        n_folds: int,
        seed: int,
        queue: FitQueue,
        work: WorkFolder | None = None,
        per_network: bool = True,
    ) -> None:
        n_rows = len(task.candidates)
        if n_rows < n_folds:
            raise TableError(
                f"{n_folds} folds need as many rows with a label. Got {n_rows:,}. Use fewer folds "
                "(--folds, in Python n_folds)."
            )
        self._candidates, self._queue, self._work = task.candidates, queue, work
        # Shuffled, because tables are often sorted by label.
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
        self._fits = [
            FoldFit(
                title=f"fold {number} of {n_folds}",
                name=f"fold-{number}",
                plan=task.plan,
                values=task.values,
                candidates=task.candidates,
                classifier=_copy_for_one_fit(method, fold_seed, work, f"fold-{number}"),
                train=train,
                test=test,
                per_network=per_network,
            )
            for number, ((train, test), fold_seed) in enumerate(
                zip(splitter.split(np.empty((n_rows, 0))), spawn_seeds(seed, n_folds), strict=True),
                start=1,
            )
        ]
        self._done = {fit: kept for fit in self._fits if (kept := self._kept(fit)) is not None}
        queue.start([fit for fit in self._fits if fit not in self._done])

    def _kept(self, fit: FoldFit) -> OutOfFoldPredictions | None:
        arrays = None if self._work is None else self._work.arrays(fit.name)
        if arrays is None:
            return None
        kept = OutOfFoldPredictions.from_arrays(arrays, self._candidates[fit.test])
        if kept is not None:
            self._queue.on_fit_start(fit.title)
            self._queue.on_fit_end(fit.title)
        return kept

    def predictions(self) -> OutOfFoldPredictions:
        """Do what is left, and return what is predicted for every row."""
        for fit, result in self._queue.results():
            if self._work is not None:
                self._work.keep(fit.name, result.to_arrays())
            self._done[fit] = result
        return join_predictions(
            self._candidates, ((fit.test, self._done[fit]) for fit in self._fits)
        )


def fit_all_rows(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    seed: int,
    listener: FitListener,
    work: WorkFolder | None = None,
) -> TableModel:
    """Return a model of all rows."""
    title = "all rows"
    listener.on_fit_start(title)
    classifier = _copy_for_one_fit(method, seed, work, "whole")
    _report_epochs(classifier, listener, title)
    model, features = untrained_model(task.plan, task.values, classifier)
    classifier.fit(features, task.candidates)
    listener.on_fit_end(title)
    # Whoever followed this fit has nothing to do with the next one.
    given = method.get_params(deep=False).items()
    classifier.set_params(**{name: value for name, value in given if name in _SET_FOR_ONE_FIT})
    return model


class _EpochReporter:
    """Passes the epochs of a training on to a listener."""

    def __init__(self, listener: FitListener, title: str) -> None:
        self._listener = listener
        self._title = title

    def on_epoch_end(self, training: "Training") -> None:
        self._listener.on_epoch_end(self._title, training.epoch, training.settings.epochs)


def _report_epochs(classifier: PartialLabelClassifier, listener: FitListener, title: str) -> None:
    parameters = classifier.get_params(deep=False)
    if "callbacks" in parameters:
        given = parameters["callbacks"] or ()
        classifier.set_params(callbacks=[*given, _EpochReporter(listener, title)])


def _copy_for_one_fit(
    method: PartialLabelClassifier, seed: int, work: WorkFolder | None, name: str
) -> PartialLabelClassifier:
    """Return a copy that keeps its state and has a seed, where it can."""
    classifier: PartialLabelClassifier = clone(method)
    parameters = classifier.get_params(deep=False)
    wanted: dict[str, object] = {}
    if parameters.get("random_state", seed) is None:
        wanted["random_state"] = seed
    if work is not None and parameters.get("checkpoint", "") is None:
        wanted["checkpoint"] = work.checkpoint(name)
    classifier.set_params(**wanted)
    return classifier
