"""``fit_table``: from a table with candidate labels to a model."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from disambig.methods.base import PartialLabelClassifier
from disambig.tabular.defaults import DEFAULT_FOLDS, DEFAULT_METHOD
from disambig.tabular.estimate import estimate_quality
from disambig.tabular.model.table_model import TableModel
from disambig.tabular.out_of_fold import (
    FitListener,
    check_folds,
    fit_whole,
    judge_held_out,
)
from disambig.tabular.task import Labels, Names, TableTask, chosen_method, prepare_task
from disambig.tabular.work_folder import WorkFolder

__all__ = ["fit_table", "fit_task"]


def fit_table(
    frame: pd.DataFrame,
    *,
    labels: Labels = "label",
    method: str | PartialLabelClassifier = DEFAULT_METHOD,
    truth: str | None = None,
    features: Names | None = None,
    ignore: Names = (),
    categories: Names = (),
    id: str | None = None,  # noqa: A002  # as people call it
    decisions: Mapping[int, str] | None = None,
    n_folds: int = DEFAULT_FOLDS,
    random_state: int = 0,
) -> TableModel:
    """Train a model on a table, and estimate on held-out rows how good it is.

    Parameters
    ----------
    frame : DataFrame
        The table, as ``read_table`` gives it.
    labels : str, sequence of str, LabelColumns or CandidateLabels, default="label"
        Where the candidate labels are.
    method : str or PartialLabelClassifier, default="ncpd"
        What learns: a name from ``all_methods``, or a method with parameters of your choice.
    truth : str, optional
        Column of true labels, for the accuracy and nothing else; it may be mostly empty.
    features, ignore : str or sequence of str, optional
        Columns to learn from, if not all; columns to leave out.
    categories : str or sequence of str, optional
        Columns whose values are codes, even if they look like numbers.
    id : str, optional
        Column that names the rows, and is no feature.
    decisions : mapping of int to str, optional
        Labels of rows that a person has settled, as ``read_decisions`` gives them.
    n_folds : int, default=5
        Models trained for the estimate, each on the rows of all folds but one; 0 leaves it out.
    random_state : int, default=0
        Seed of everything.
    """
    task = prepare_task(
        frame,
        labels=labels,
        truth=truth,
        features=features,
        ignore=ignore,
        categories=categories,
        id=id,
        decisions=decisions,
    )
    task.warn_of_notices()
    return fit_task(task, chosen_method(method), n_folds=n_folds, seed=random_state)


def fit_task(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    n_folds: int = DEFAULT_FOLDS,
    seed: int = 0,
    listener: FitListener | None = None,
    work: WorkFolder | None = None,
) -> TableModel:
    """Train a model on what was made ready from a table.

    Parameters
    ----------
    task : TableTask
        What to learn from.
    method : PartialLabelClassifier
        What learns.
    n_folds, seed : int
        Folds of the estimate, 0 for none, and the seed of everything.
    listener : FitListener, optional
        Told how far it is.
    work : WorkFolder, optional
        Keeps what is done, so that an interrupted fit can go on from there.
    """
    if n_folds != 0:
        check_folds(n_folds)
    listener = listener or FitListener()
    listener.on_fits_start(n_folds + 1)
    estimate = None
    if n_folds:
        judged = judge_held_out(
            task,
            method,
            n_folds=n_folds,
            seed=seed,
            listener=listener,
            work=work,
            with_opinions=False,
        )
        estimate = estimate_quality(
            task.candidates, judged.probabilities, n_folds=n_folds, truth=task.truth
        )
    model = fit_whole(task, method, seed=seed, listener=listener, work=work)
    return replace(model, estimate=estimate)
