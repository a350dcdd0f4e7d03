"""``fit_table``: from a table with candidate labels to a model."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.catalogue import get_method
from disambig.workbench.estimate import estimate_quality
from disambig.workbench.held_out import FitListener, fit_whole, held_out_probabilities
from disambig.workbench.model.table_model import TableModel
from disambig.workbench.task import Labels, TableTask, prepare_task
from disambig.workbench.work_folder import WorkFolder

__all__ = ["DEFAULT_FOLDS", "as_method", "check_folds", "fit_table", "fit_task", "warn_of_notices"]

DEFAULT_FOLDS = 5


def fit_table(
    frame: pd.DataFrame,
    *,
    labels: Labels = "label",
    method: str | PartialLabelClassifier = "ncpd",
    truth: str | None = None,
    features: list[str] | None = None,
    ignore: list[str] | None = None,
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
    features, ignore : list of str, optional
        Columns to learn from, if not all; columns to leave out.
    id : str, optional
        Column that names the rows, and is no feature.
    decisions : mapping of int to str, optional
        Label of rows that a person has settled, by their position.
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
        ignore=ignore or (),
        id=id,
        decisions=decisions,
    )
    warn_of_notices(task)
    return fit_task(task, as_method(method), n_folds=n_folds, seed=random_state)


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
    check_folds(n_folds, minimum=0)
    listener = listener or FitListener()
    listener.on_fits_start(n_folds + 1)
    estimate = None
    if n_folds:
        probabilities = held_out_probabilities(
            task, method, n_folds=n_folds, seed=seed, listener=listener, work=work
        )
        estimate = estimate_quality(
            task.candidates, probabilities, n_folds=n_folds, truth=task.truth
        )
    model = fit_whole(task, method, seed=seed, listener=listener, work=work)
    return replace(model, estimate=estimate)


def as_method(
    method: str | PartialLabelClassifier, parameters: Mapping[str, Any] | None = None
) -> PartialLabelClassifier:
    """Return a method that can learn from a table, by its name or as it is."""
    if not isinstance(method, str):
        made = method
    else:
        cls = get_method(method)
        known = cls().get_params()
        unknown = [name for name in parameters or () if name not in known]
        if unknown:
            raise ParameterError(
                f"{method} has no parameter {unknown[0]!r}. It has {', '.join(known)}."
            )
        made = cls(**(parameters or {}))
    if made.card.reads_true_labels:
        raise ParameterError(
            f"{made.card.name} is trained on true labels, and is there for comparisons alone. "
            "Choose another method; 'disambig methods' lists them."
        )
    return made


def check_folds(n_folds: int, *, minimum: int) -> None:
    """Refuse a number of folds that holds nothing out."""
    check_integer("folds", n_folds, minimum=minimum)
    if n_folds == 1:
        raise ParameterError("One fold leaves no rows to train on. Use two folds or more.")


def warn_of_notices(task: TableTask) -> None:
    """Say what was left out of a table, to whoever called from Python."""
    for notice in task.notices:
        warnings.warn(notice, stacklevel=3)
