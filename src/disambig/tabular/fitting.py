"""``fit_table``: from a table with candidate labels to a model."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import pandas as pd

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_choice
from disambig.candidates.groups import PromiseKind
from disambig.engine.process_group import is_first_process
from disambig.methods.base import PartialLabelClassifier
from disambig.solvers.conformal import KINDS, Kind, calibrate_coverage, check_coverage
from disambig.tabular.audit.groups_noticed import warn_of_groups
from disambig.tabular.columns.numbers import Decimal
from disambig.tabular.columns.plan import Names
from disambig.tabular.defaults import DEFAULT_FOLDS, DEFAULT_METHOD, DEFAULT_PROMISE_STRENGTH
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.estimate import estimate_quality
from disambig.tabular.files.table_on_disk import Table
from disambig.tabular.fit_queue import FitWorkers, fit_queue
from disambig.tabular.foreseen_time import tell_time
from disambig.tabular.judged_rows import (
    Calibrate,
    Rate,
    calibration_for_new_rows,
    check_calibration,
    doubtful_sets,
    judge_rows,
    split_miss_rate,
    with_wider_sets,
)
from disambig.tabular.labels.decisions import Decision
from disambig.tabular.labels.label_columns import Labels, label_column_names
from disambig.tabular.listener import FitListener
from disambig.tabular.model_folder import check_method_can_be_saved, check_model_folder_is_free
from disambig.tabular.out_of_fold import Folds, check_folds, fit_all_rows
from disambig.tabular.table_model import TableModel
from disambig.tabular.task import method_for, prepare_task
from disambig.tabular.weighed_answers import learn_annotators, refuse_miss_rate
from disambig.tabular.work_folder import unfinished_work


def fit_table(
    frame: Table,
    *,
    labels: Labels = "label",
    method: str | PartialLabelClassifier = DEFAULT_METHOD,
    truth: str | None = None,
    features: Names | None = None,
    ignore: Names = (),
    categories: Names = (),
    text: Names = (),
    decimal: Decimal | None = None,
    described: DescribedColumns | None = None,
    embeddings: Any = None,
    id: str | None = None,
    decisions: Mapping[int, Decision] | None = None,
    use_truth: bool = False,
    group: str | None = None,
    promise: PromiseKind | None = None,
    promise_strength: float = DEFAULT_PROMISE_STRENGTH,
    miss_rate: Rate = 0,
    calibrate: Calibrate = "sets",
    coverage: float | None = None,
    coverage_kind: Kind = "estimated",
    n_folds: int = DEFAULT_FOLDS,
    random_state: int = 0,
    n_jobs: int | FitWorkers = 1,
    out: str | os.PathLike[str] | None = None,
    listener: FitListener | None = None,
) -> TableModel:
    """Train a model on a table, and estimate on held-out rows how good it is.

    Parameters
    ----------
    frame : DataFrame or TableOnDisk
        The table, as ``read_table`` gives it. Of one on disk only networks learn; without a method
        it is "ncpd".
    labels : str, sequence of str, LabelColumns, CandidateLabels or AnnotatorModel, default="label"
        The column or columns of candidate labels. Annotators, of ``read_answers`` or of a
        ``LabelColumns`` with votes, are weighed by what is learned of them.
    method : str or PartialLabelClassifier, default="auto"
        The method: a name from ``all_methods``, or a classifier with your own parameters.
    truth : str, optional
        Column of true labels, to report the accuracy; it may be mostly empty.
    features, ignore : str or sequence of str, optional
        Columns to learn from (by default all usable ones); columns to leave out.
    categories : str or sequence of str, optional
        Columns of categories, even if their values look like numbers.
    text : str or sequence of str, optional
        Columns of free text, where they are not recognised as such.
    decimal : {".", ","}, optional
        What is before the decimals of numbers that are text. By default what the numbers say.
    described : DescribedColumns, optional
        Which columns are images, and how these become numbers. By default those whose cells end
        like image files that are there, seen from the working directory.
    embeddings : array-like of shape (n_rows, n_numbers), optional
        Numbers of every row that are not in the table, such as ``read_embeddings`` gives.
    id : str, optional
        Column that names the rows; it is not a feature.
    decisions : mapping, optional
        What a person has decided on, by row position, as from ``read_decisions``: labels,
        ``NotThese`` labels, or an ``Answer``. Rows that are called bad are not learned from.
    use_truth : bool, default=False
        Whether models also learn from ``truth``: rows whose true label is known are trained on
        with that label alone. The accuracy still comes from rows that were held out.
    group : str, optional
        Column that names the group of every row, such as the picture it is part of: folds are
        made of whole groups. A row whose cell is empty stands alone; the column is not a feature.
        "runs", if no column has that name: neighbouring rows with equal sets. By default the
        groups of ``labels``, where these are ``CandidateLabels`` that have some.
    promise : {"cover", "exclusive"}, optional
        What is known of every group as a whole; see ``disambig.candidates.Promise``.
    promise_strength : float, default=0.9
        Share of the groups for which the promise is believed.
    miss_rate : float or "auto", default=0
        Share of the sets that do not contain the right label; "auto" estimates it. Sets that seem
        to miss it then get one more label for the training, which takes several times as long.
    calibrate : {"sets", "beliefs", "truth", "none"}, default="sets"
        What makes probabilities mean what they say: the candidate sets of held-out rows, the true
        labels that are known, or nothing; "beliefs" is for ``clean_table``, and here as "sets". It
        takes folds, and leaves the predicted labels alone.
    coverage : float, optional
        Predictions also list the labels that cannot be ruled out; the right one should be among
        them with this probability, such as 0.9. It takes folds.
    coverage_kind : {"safe", "weak", "estimated"}, default="estimated"
        What is promised: see ``ConformalSets``.
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
    method = method_for(frame, method)
    check_choice("calibrate", calibrate, get_args(Calibrate))
    if n_folds != 0:
        check_folds(n_folds)
        method, miss_rate = split_miss_rate(method, miss_rate)
    elif miss_rate != 0 or calibrate == "truth" or coverage is not None:
        raise ParameterError(
            "'miss_rate', 'coverage' and calibrating on true labels need folds. Got n_folds=0. Use "
            "two folds or more (--folds), or leave these out."
        )
    if coverage is not None:
        check_coverage(coverage)
        check_choice("coverage_kind", coverage_kind, KINDS)
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
        text=text,
        decimal=decimal,
        described=described,
        embeddings=embeddings,
        id=id,
        decisions=decisions,
        use_truth=use_truth,
        group=group,
        promise=promise,
        promise_strength=promise_strength,
        listener=listener,
    )
    if task.annotators is not None:
        refuse_miss_rate(miss_rate)
    check_calibration(task, calibrate)
    if n_folds != 0 and isinstance(frame, pd.DataFrame):
        warn_of_groups(frame, task, (*label_column_names(labels, frame), truth, id))
    listener = listener or FitListener()
    settings = {"folds": n_folds, "seed": random_state, "miss_rate": miss_rate}
    with (
        unfinished_work(out, task, method, per_network=False, **settings) as work,
        fit_queue(method, n_folds + 1, n_jobs, listener) as queue,
    ):
        in_folds: dict[str, Any] = {
            "n_folds": n_folds,
            "seed": random_state,
            "queue": queue,
            "work": work,
        }
        tell_time(
            task, method, queue, n_folds=n_folds, all_rows=True, miss_rate=miss_rate, work=work
        )
        if miss_rate != 0:
            task = with_wider_sets(task, method, miss_rate, **in_folds)
        folds = None
        if n_folds and task.annotators is not None:
            # Before the model of all rows, which learns from what folds found out.
            task, predicted = learn_annotators(task, method, per_network=False, **in_folds)
        elif n_folds:
            folds = Folds(task, method, per_network=False, **in_folds)
        model = fit_all_rows(task, method, seed=random_state, listener=queue, work=work)
        if n_folds:
            probabilities = (predicted if folds is None else folds.predictions()).probabilities
            judged = judge_rows(task, probabilities, miss_rate=miss_rate)
            calibration = calibration_for_new_rows(task, probabilities, judged, calibrate)
            calibrated = calibration.apply(probabilities)
            estimate = estimate_quality(
                task.candidates,
                calibrated,
                n_folds=n_folds,
                group=task.group,
                truth=task.truth,
                misses=judged.misses,
                doubtful_sets=doubtful_sets(task, judged),
            )
            model = replace(model, estimate=estimate, calibration=calibration)
            if coverage is not None:
                covering = calibrate_coverage(
                    calibrated,
                    task.candidates,
                    coverage=coverage,
                    kind=coverage_kind,
                    groups=task.candidates.groups,
                    exact=False,
                )
                model = replace(model, coverage=covering)
        if out is not None and is_first_process():
            model.save(out)
    return model
