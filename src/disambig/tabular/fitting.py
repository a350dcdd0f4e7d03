"""``fit_table``: from a table with candidate labels to a model."""

import os
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from disambig.methods.base import PartialLabelClassifier
from disambig.tabular.columns.plan import Names
from disambig.tabular.defaults import DEFAULT_FOLDS, DEFAULT_METHOD
from disambig.tabular.estimate import estimate_quality
from disambig.tabular.fit_queue import FitWorkers, fit_queue
from disambig.tabular.labels.label_columns import Labels
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import Folds, check_folds, fit_all_rows
from disambig.tabular.table_model import (
    TableModel,
    check_method_can_be_saved,
    check_model_folder_is_free,
)
from disambig.tabular.task import chosen_method, prepare_task
from disambig.tabular.work_folder import unfinished_work


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
    use_truth: bool = False,
    n_folds: int = DEFAULT_FOLDS,
    random_state: int = 0,
    n_jobs: int | FitWorkers = 1,
    out: str | os.PathLike[str] | None = None,
    listener: FitListener | None = None,
) -> TableModel:
    """Train a model on a table, and estimate on held-out rows how good it is.

    Parameters
    ----------
    frame : DataFrame
        The table, as ``read_table`` gives it.
    labels : str, sequence of str, LabelColumns or CandidateLabels, default="label"
        The column or columns of candidate labels.
    method : str or PartialLabelClassifier, default="ncpd_plus"
        The method: a name from ``all_methods``, or a classifier with your own parameters.
    truth : str, optional
        Column of true labels, to report the accuracy; it may be mostly empty.
    features, ignore : str or sequence of str, optional
        Columns to learn from (by default all usable ones); columns to leave out.
    categories : str or sequence of str, optional
        Columns of categories, even if their values look like numbers.
    id : str, optional
        Column that names the rows; it is not a feature.
    decisions : mapping of int to str, optional
        Labels that a person has decided on, by row position, as from ``read_decisions``.
    use_truth : bool, default=False
        Whether models also learn from ``truth``: rows whose true label is known are trained on
        with that label alone. The accuracy still comes from rows that were held out.
    n_folds : int, default=5
        Number of folds for the estimate: one more model is trained for each. 0 skips it.
    random_state : int, default=0
        Random seed.
    n_jobs : int or FitWorkers, default=1
        Models to train at once, in separate processes that each copy the table; -1 for one per
        core. The result does not depend on it, apart from rounding in methods without networks.
        Pass ``FitWorkers`` to use the same processes for several calls.
    out : path, optional
        Folder to save the model to. An existing model is replaced; anything else is refused.
        Unfinished work is kept in ``OUT.partial``: after an interruption, the same call continues
        from there.
    listener : FitListener, optional
        Is told about progress.

    See Also
    --------
    TableModel : What it returns.
    load_model : Reads a model that was saved.
    clean_table : Chooses a label for every row of the table itself.

    Examples
    --------
    >>> from disambig import fit_table
    >>> from disambig.datasets import example_tables
    >>> tables = example_tables()
    >>> frame = tables["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> len(model.predict(tables["new-vehicles.csv"]))
    100
    """
    # Before the work, not after it.
    method = chosen_method(method)
    if n_folds != 0:
        check_folds(n_folds)
    if out is not None:
        check_model_folder_is_free(out)
        check_method_can_be_saved(method)
    task = prepare_task(
        frame,
        labels=labels,
        truth=truth,
        features=features,
        ignore=ignore,
        categories=categories,
        id=id,
        decisions=decisions,
        use_truth=use_truth,
    )
    listener = listener or FitListener()
    settings = {"folds": n_folds, "seed": random_state, "per_network": False}
    with (
        unfinished_work(out, task, method, **settings) as work,
        fit_queue(method, n_folds + 1, n_jobs, listener) as queue,
    ):
        folds = None
        if n_folds:
            folds = Folds(
                task,
                method,
                n_folds=n_folds,
                seed=random_state,
                queue=queue,
                work=work,
                per_network=False,
            )
        model = fit_all_rows(task, method, seed=random_state, listener=queue, work=work)
        if folds is not None:
            probabilities = folds.predictions().probabilities
            estimate = estimate_quality(
                task.candidates, probabilities, n_folds=n_folds, truth=task.truth
            )
            model = replace(model, estimate=estimate)
        if out is not None:
            model.save(out)
    return model
