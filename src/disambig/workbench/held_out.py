"""Rows judged by models that were not trained on them, fold by fold."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sklearn.base import clone

from disambig._core.errors import ParameterError, TableError
from disambig._core.parameters import check_integer
from disambig._core.seeding import spawn_seeds
from disambig._core.typing import IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.study.split import shuffled_folds
from disambig.workbench.judgement import Judgement, judge, judged_together
from disambig.workbench.model.table_model import TableModel, fit_model
from disambig.workbench.task import TableTask

if TYPE_CHECKING:
    from disambig.engine.training import Training
    from disambig.workbench.work_folder import WorkFolder

__all__ = ["FitListener", "check_folds", "fit_whole", "judge_held_out"]

_SET_FOR_ONE_FIT = ("callbacks", "checkpoint")


class FitListener:
    """Told how far a series of fits is; every method does nothing, write those you need."""

    def on_fits_start(self, n_fits: int) -> None:
        """So many models are about to be trained."""

    def on_fit_start(self, title: str) -> None:
        """One of them begins."""

    def on_epoch_end(self, epoch: int, n_epochs: int) -> None:
        """One of its epochs is done; only networks have any."""

    def on_fit_end(self) -> None:
        """One of them is trained."""


class _EpochTeller:
    """Hands the epochs of a training on to a listener."""

    def __init__(self, listener: FitListener) -> None:
        self._listener = listener

    def on_epoch_end(self, training: "Training") -> None:
        self._listener.on_epoch_end(training.epoch, training.settings.epochs)


def check_folds(n_folds: int) -> None:
    """Refuse a number of folds that leaves no rows to train on."""
    check_integer("n_folds", n_folds, minimum=1)
    if n_folds == 1:
        raise ParameterError("One fold leaves no rows to train on. Use two folds or more.")


def judge_held_out(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    n_folds: int,
    seed: int,
    listener: FitListener,
    work: "WorkFolder | None" = None,
    with_opinions: bool = True,
) -> Judgement:
    """Return what is said about every row by a model of the other folds' rows.

    Parameters
    ----------
    task : TableTask
        What to learn from.
    method : PartialLabelClassifier
        Copied for every fold.
    n_folds, seed : int
        How many folds, and what shuffles the rows.
    listener : FitListener
        Told how far it is.
    work : WorkFolder, optional
        Folds that are done are taken from there and kept there.
    with_opinions : bool, default=True
        Whether each network is asked, which takes as long again as asking all together.
    """
    n_rows = len(task.candidates)
    if n_rows < n_folds:
        raise TableError(
            f"{n_folds} folds need as many rows with a label. Got {n_rows:,}. Use fewer "
            "folds (--folds, in Python n_folds)."
        )
    seeds = spawn_seeds(seed, n_folds)

    def judged_folds() -> Iterator[tuple[IntArray, Judgement]]:
        for fold, (train, test) in enumerate(shuffled_folds(n_rows, n_folds, seed)):
            name = f"fold-{fold + 1}"
            held_out = task.candidates[test]
            done = _kept(work, name, held_out)
            with _told(listener, f"fold {fold + 1} of {n_folds}"):
                if done is None:
                    own = _prepared(method, seeds[fold], listener, work, name)
                    known = task.candidates[train]
                    model = fit_model(task.values.iloc[train], known, task.plan, own)
                    values = task.values.iloc[test]
                    done = judge(model, values, held_out, with_opinions=with_opinions)
                    if work is not None:
                        work.keep(name, done.to_arrays())
            yield test, done

    return judged_together(judged_folds(), task.candidates)


def fit_whole(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    seed: int,
    listener: FitListener,
    work: "WorkFolder | None" = None,
) -> TableModel:
    """Return a model of all rows."""
    with _told(listener, "all rows"):
        own = _prepared(method, seed, listener, work, "whole")
        model = fit_model(task.values, task.candidates, task.plan, own)
    # Whoever followed this fit has nothing to do with the next one.
    followed = method.get_params(deep=False).items()
    model.method.set_params(**{name: value for name, value in followed if name in _SET_FOR_ONE_FIT})
    return model


def _kept(work: "WorkFolder | None", name: str, candidates: CandidateLabels) -> Judgement | None:
    arrays = None if work is None else work.arrays(name)
    if arrays is None:
        return None
    try:
        return Judgement.from_arrays(arrays, candidates)
    except ValueError:  # then it is made again
        return None


def _prepared(
    method: PartialLabelClassifier,
    seed: int,
    listener: FitListener,
    work: "WorkFolder | None",
    name: str,
) -> PartialLabelClassifier:
    """Return a copy that tells its epochs, keeps its state and has a seed, where it can."""
    own: PartialLabelClassifier = clone(method)
    parameters = own.get_params(deep=False)
    wanted: dict[str, object] = {}
    if parameters.get("random_state", seed) is None:
        wanted["random_state"] = seed
    if "callbacks" in parameters:
        wanted["callbacks"] = [*(parameters["callbacks"] or ()), _EpochTeller(listener)]
    if work is not None and parameters.get("checkpoint", "") is None:
        wanted["checkpoint"] = work.checkpoint(name)
    own.set_params(**wanted)
    return own


@contextmanager
def _told(listener: FitListener, title: str) -> Iterator[None]:
    listener.on_fit_start(title)
    yield
    listener.on_fit_end()
