"""Choose a label for every row of a table."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from disambig._core.errors import ParameterError, warn_caller
from disambig._core.messages import plural, row_count
from disambig._core.parameters import check_choice, check_real
from disambig._core.typing import AnyArray, BoolArray, FloatArray, Sparse
from disambig.candidates.groups import PromiseKind
from disambig.candidates.storage import group_maxima
from disambig.engine.process_group import is_first_process
from disambig.methods.base import PartialLabelClassifier, confidence_from_scores
from disambig.tabular.accuracy import Accuracy, Count, Measured, known_accuracy
from disambig.tabular.clean_columns import (
    CleanedColumns,
    decision_column,
    let_leave,
    miss_columns,
    unaided_confidences,
)
from disambig.tabular.clean_details import (
    CellsFingerprint,
    Cleaning,
    check_details_are_ours,
    describe_cleaning,
    write_details,
)
from disambig.tabular.columns.numbers import Decimal
from disambig.tabular.columns.plan import Names
from disambig.tabular.defaults import (
    DEFAULT_ERRORS_TO_FIND,
    DEFAULT_FOLDS,
    DEFAULT_METHOD,
    DEFAULT_PROMISE_STRENGTH,
)
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.estimate import MissRate
from disambig.tabular.evidence import Evidence, gather_evidence
from disambig.tabular.files.content import PARQUET, STANDARD_STREAM
from disambig.tabular.files.formats import (
    check_takes_blocks,
    find_writer,
    write_blocks,
    write_table,
)
from disambig.tabular.files.table_on_disk import Table, TableOnDisk
from disambig.tabular.fit_queue import FitWorkers, fit_queue
from disambig.tabular.foreseen_time import tell_time
from disambig.tabular.judged_rows import (
    Calibrate,
    JudgedRows,
    Rate,
    check_calibration,
    confidences_in_sets,
    judge_rows,
    split_miss_rate,
    told_by_groups,
    with_wider_sets,
)
from disambig.tabular.labels.decisions import Answer, Decision
from disambig.tabular.labels.label_columns import Labels, label_column_names
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import (
    Folds,
    check_folds,
    confidences_of_all_rows,
    confidences_per_network,
    fit_all_rows,
    histories_of,
)
from disambig.tabular.table_cells import (
    CLEAN_COLUMNS,
    DECISION_COLUMN,
    MISS_COLUMNS,
    append_columns,
    check_new_columns,
)
from disambig.tabular.task import TableTask, method_for, prepare_task
from disambig.tabular.true_labels import choose_known, is_known, settle_known
from disambig.tabular.weighed_answers import learn_annotators, refuse_miss_rate
from disambig.tabular.work_folder import WorkFolder, unfinished_work


class CleanSummary(Measured):
    """What cleaning did."""

    evidence: Evidence | None  # None if no row has several labels
    rows: Count
    rows_with_one_label: int
    rows_with_true_label: int  # which is chosen there
    true_labels_not_chosen: int | None  # by the model; None if it had learned them
    rows_for_a_second_look: int
    rows_relabelled: int  # which now have a label that was not one of their candidates
    misses: MissRate | None  # sets without the right label, as estimated
    expected_errors: float  # among the chosen labels, going by their confidences
    accuracy: Accuracy | None  # of the model's choices, where true labels are known

    def __str__(self) -> str:
        errors, doubtful = round(self.expected_errors), self.rows_for_a_second_look
        lines = [] if self.evidence is None else [str(self.evidence)]
        lines += [
            f"{self.rows:,} rows, {self.rows - self.rows_with_one_label:,} of them with several "
            "labels: one is chosen for each.",
            f"About {plural(errors, 'choice')} {'is' if errors == 1 else 'are'} expected to be "
            f"wrong. {row_count(doubtful)} deserve{'s' * (doubtful == 1)} a second look (column "
            "second_look).",
        ]
        if self.misses is not None:
            lines.append(f"{self.misses}{self._relabelled()}")
        if self.rows_with_true_label:
            lines.append(self._true_labels())
        if self.accuracy is not None:
            lines.append(str(self.accuracy))
        return "\n".join(lines)

    def _relabelled(self) -> str:
        if not self.rows_relabelled:
            return ""
        return f" {row_count(self.rows_relabelled)} got a label from outside the set."

    def _true_labels(self) -> str:
        known = self.rows_with_true_label
        where = f"In {row_count(known)} the true label is known, and chosen"
        others = self.true_labels_not_chosen
        if others is None:
            return f"{where}. The model has learned from these rows, and cannot be judged by them."
        if others == 0:
            return f"{where}; the model had chosen the same."
        return f"{where}; the model had chosen another{f' in {others:,} of them' * (known > 1)}."


def summarise_cleaning(
    task: TableTask, cleaning: Cleaning, *, in_sample: bool = False
) -> CleanSummary:
    """Return what cleaning did; ``cleaning`` is what ``clean_task`` returned for the task."""
    cleaned, chosen, truth = cleaning.columns, cleaning.model_choice, task.truth
    if truth is None:
        truth = np.full(len(cleaned), None)
    known = is_known(truth)
    # A model that has learned the true labels cannot be judged by them.
    has_seen = in_sample and task.uses_truth
    judged = ~known if has_seen else np.ones(len(cleaned), dtype=bool)
    candidates = task.candidates[judged]
    return CleanSummary(
        evidence=gather_evidence(
            candidates,
            chosen[judged],
            cleaning.model_confidence[judged],
            truth[judged],
        ),
        rows=len(cleaned),
        rows_with_one_label=int((task.candidates.sizes == 1).sum()),
        rows_with_true_label=int(known.sum()),
        true_labels_not_chosen=None if has_seen else int((truth[known] != chosen[known]).sum()),
        rows_for_a_second_look=int(cleaned["second_look"].sum()),
        rows_relabelled=cleaning.relabelled,
        misses=cleaning.misses,
        expected_errors=float((1 - cleaned["confidence"]).sum()),
        accuracy=known_accuracy(truth[judged], chosen[judged], candidates.groups),
    )


def clean_table(
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
    relabel: bool = False,
    in_sample: bool = False,
    errors_to_find: float = DEFAULT_ERRORS_TO_FIND,
    n_folds: int = DEFAULT_FOLDS,
    random_state: int = 0,
    n_jobs: int | FitWorkers = 1,
    prefix: str = "",
    out: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    excel_safe: bool = False,
    command: Sequence[str] = (),
    listener: FitListener | None = None,
) -> pd.DataFrame:
    """Return a table with the most likely label of every row, and how sure it is.

    Parameters
    ----------
    frame : DataFrame or TableOnDisk
        The table, as ``read_table`` gives it. Of one on disk only networks learn; without a method
        it is "ncpd". It needs ``out``, a CSV, TSV, JSON lines or Parquet.
    labels : str, sequence of str, LabelColumns, CandidateLabels or AnnotatorModel, default="label"
        The column or columns of candidate labels. Annotators, of ``read_answers`` or of a
        ``LabelColumns`` with votes, are weighed by what is learned of them.
    method : str or PartialLabelClassifier, default="auto"
        The method: a name from ``all_methods``, or a classifier with your own parameters.
    truth : str, optional
        Column of true labels; it may be mostly empty. A true label that is known is the chosen
        one; the accuracy is that of the model, which did not know it.
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
        ``NotThese`` labels, or an ``Answer``. Rows that are called bad are not learned from; where
        somebody cannot tell, the row keeps its candidates, and is not marked again.
    use_truth : bool, default=False
        Whether models also learn from ``truth``: rows whose true label is known are trained on
        with that label alone. The accuracy still comes from rows that were held out; with
        ``in_sample`` there are none, and no accuracy is reported.
    group : str, optional
        Column that names the group of every row, such as the picture it is part of: folds are
        made of whole groups. A row whose cell is empty stands alone; the column is not a feature.
        "runs", if no column has that name: neighbouring rows with equal sets. By default the
        groups of ``labels``, where these are ``CandidateLabels`` that have some.
    promise : {"cover", "exclusive"}, optional
        What is known of every group as a whole; see ``disambig.candidates.Promise``. Confidences
        allow for it, and for the labels that are known in the group.
    promise_strength : float, default=0.9
        Share of the groups for which the promise is believed.
    miss_rate : float or "auto", default=0
        Share of the sets that do not contain the right label; "auto" estimates it. Sets that seem
        to miss it then get one more label for the training, which takes several times as long.
        The new columns say which sets these are in any case.
    calibrate : {"sets", "beliefs", "truth", "none"}, default="sets"
        What makes confidences mean what they say: the candidate sets of held-out rows, their
        weights (for those of somebody who saw what the features say, such as a language model:
        the model's probabilities are then no further evidence), the true labels that are known,
        or nothing.
    relabel : bool, default=False
        Whether ``chosen_label`` may be a label outside the row's set, where that is more probable
        than any of its candidates. ``candidate_confidences`` then lists it too.
    in_sample : bool, default=False
        Whether one model trained on all rows chooses their labels, instead of models that were
        not trained on the row. Faster, but overconfident.
    errors_to_find : float, default=0.9
        Share of the expected errors that the rows marked for a second look should hold.
    n_folds : int, default=5
        Number of folds. The labels of each are chosen by a model trained on the others.
    random_state : int, default=0
        Random seed.
    n_jobs : int or FitWorkers, default=1
        Models to train at once, in separate processes that each copy the table; -1 for one per
        core. The result does not depend on it, apart from rounding in methods without networks.
        Pass ``FitWorkers`` to use the same processes for several calls.
    prefix : str, default=""
        Prefix for the names of the new columns.
    out : path, optional
        File to write the table to, "-" for standard output; an existing file is replaced.
        ``OUT.details.json`` beside it records how the table was made. Unfinished work is kept in
        ``OUT.partial``: after an interruption, the same call continues from there.
    delimiter : str, optional
        Delimiter of a CSV or TSV file.
    excel_safe : bool, default=False
        Whether to keep a spreadsheet from reading cells as formulas; see ``write_table``.
    command : sequence of str, optional
        Arguments of ``disambig`` that this call stands for. They are kept in the details, so that
        pages can say how to make the table again.
    listener : FitListener, optional
        Is told about progress, and about the result.

    Returns
    -------
    cleaned : DataFrame or TableOnDisk
        Of a table on disk what was written, if that is Parquet, else None.

        All rows and columns of the table, then ``chosen_label``, ``confidence``, ``margin`` to the
        next candidate, ``second_look`` and ``candidate_confidences``, such as ``cat:0.9|dog:0.1``.
        With folds also ``miss_probability``, that the set does not contain the right label, and
        ``label_if_missed``, the label that the row would then have. Confidences allow for it. With
        decisions also ``decision``, their kind.

    See Also
    --------
    audit_table : Describes the table before training.
    read_decisions : Reads labels that a person has decided on, for ``decisions``.
    disambig.web.table_page : The cleaned table as a page.

    Examples
    --------
    >>> from disambig import clean_table
    >>> from disambig.datasets import example_tables
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> cleaned.columns[-7:].tolist()  # doctest: +NORMALIZE_WHITESPACE
    ['chosen_label', 'confidence', 'margin', 'second_look', 'candidate_confidences',
     'miss_probability', 'label_if_missed']
    """
    # Before the work, not after it.
    method = method_for(frame, method)
    check_choice("calibrate", calibrate, get_args(Calibrate))
    new_columns = CLEAN_COLUMNS if in_sample else CLEAN_COLUMNS + MISS_COLUMNS
    check_new_columns(frame, (*new_columns, *[DECISION_COLUMN] * bool(decisions)), prefix)
    check_real("errors_to_find", errors_to_find, minimum=0, maximum=1)
    if not in_sample:
        check_folds(n_folds)
        method, miss_rate = split_miss_rate(method, miss_rate)
    elif miss_rate != 0 or relabel or calibrate in ("truth", "beliefs"):
        raise ParameterError(
            "'miss_rate', 'relabel' and calibrating on true labels or beliefs need models that "
            "have not seen the row. Got in_sample=True. Leave it (--in-sample) or the others out."
        )
    if isinstance(frame, TableOnDisk):
        _check_goes_to_disk(out)
    if out is not None:
        find_writer(out, delimiter=delimiter)
        if os.fspath(out) != STANDARD_STREAM:
            check_details_are_ours(out)
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
    listener = listener or FitListener()
    folds = None if in_sample else n_folds
    settings = {"folds": folds, "seed": random_state, "miss_rate": miss_rate}
    with unfinished_work(out, task, method, **settings) as work:
        cleaning = clean_task(
            task,
            method,
            errors_to_find=errors_to_find,
            n_folds=folds,
            miss_rate=miss_rate,
            calibrate=calibrate,
            relabel=relabel,
            seed=random_state,
            n_jobs=n_jobs,
            listener=listener,
            work=work,
        )
        summary = summarise_cleaning(task, cleaning, in_sample=in_sample)
        if summary.evidence is not None and summary.evidence.warning:
            warn_caller(summary.evidence.warning)
        cleaned: Any = None
        fingerprint = CellsFingerprint()
        if isinstance(frame, pd.DataFrame):
            cleaned = append_columns(frame, cleaning.columns, prefix)
            fingerprint.take(cleaning.columns["candidate_confidences"])
        writes = is_first_process()
        if isinstance(frame, TableOnDisk) and out is not None and writes:
            blocks = _cleaned_blocks(frame, cleaning, prefix, fingerprint, listener)
            write_blocks(blocks, out, delimiter=delimiter, excel_safe=excel_safe, like=frame)
        elif out is not None and writes:
            write_table(cleaned, out, delimiter=delimiter, excel_safe=excel_safe)
        if out is not None and writes and os.fspath(out) != STANDARD_STREAM:
            details = describe_cleaning(
                task,
                method,
                cleaning,
                fingerprint=fingerprint.hex(),
                accuracy=summary.accuracy,
                evidence=summary.evidence,
                miss_rate=miss_rate,
                calibrate=calibrate,
                folds=folds,
                seed=random_state,
                errors_to_find=errors_to_find,
                prefix=prefix,
                labels=list(label_column_names(labels, frame)),
                id=id,
                truth=truth,
                command=command,
            )
            write_details(details, out)
    listener.on_cleaned(summary)
    if cleaned is None and out is not None and Path(out).suffix.lower() == PARQUET:
        return TableOnDisk(out)
    return cleaned


def _check_goes_to_disk(out: str | os.PathLike[str] | None) -> None:
    """Refuse to clean a table on disk to where it would be in memory."""
    if out is None:
        raise ParameterError(
            "A table that stays on disk is cleaned to a file. Got no 'out'. Name one, such as "
            "clean.parquet."
        )
    check_takes_blocks(out)


def _cleaned_blocks(
    table: TableOnDisk,
    cleaning: Cleaning,
    prefix: str,
    fingerprint: CellsFingerprint,
    listener: FitListener,
) -> Iterator[pd.DataFrame]:
    """Yield a table with what cleaning adds, some rows at a time."""
    assert isinstance(cleaning.columns, CleanedColumns)
    for start, block in table.blocks():
        stop = start + len(block)
        added = cleaning.columns.rows(start, stop)
        fingerprint.take(added["candidate_confidences"])
        yield append_columns(block, added, prefix)
        listener.on_rows_done("Writing the table", stop, len(table))


def clean_task(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    errors_to_find: float = DEFAULT_ERRORS_TO_FIND,
    n_folds: int | None = DEFAULT_FOLDS,
    miss_rate: Rate = 0,
    calibrate: Calibrate = "sets",
    relabel: bool = False,
    seed: int = 0,
    n_jobs: int | FitWorkers = 1,
    listener: FitListener,
    work: WorkFolder | None = None,
) -> Cleaning:
    """Clean a table made ready to learn from; without folds, by one model of all rows."""
    with fit_queue(method, n_folds or 1, n_jobs, listener) as queue:
        tell_time(
            task,
            method,
            queue,
            n_folds=n_folds or 0,
            all_rows=n_folds is None,
            miss_rate=miss_rate,
            work=work,
        )
        if n_folds is None:
            model = fit_all_rows(task, method, seed=seed, listener=queue, work=work)
            per_network = confidences_per_network(model, task.values, task.candidates)
            histories = histories_of(model)
            confidences = confidences_of_all_rows(model, task)
            if task.annotators is not None:  # it was trained on other sets than one chooses from
                confidences = confidence_from_scores(task.candidates, confidences)
            judged = None
        else:
            in_folds: dict[str, Any] = {
                "n_folds": n_folds,
                "seed": seed,
                "queue": queue,
                "work": work,
            }
            if miss_rate != 0:
                task = with_wider_sets(task, method, miss_rate, **in_folds)
            if task.annotators is None:
                predicted = Folds(task, method, **in_folds).predictions()
            else:
                task, predicted = learn_annotators(task, method, **in_folds)
            per_network, histories = predicted.per_network, predicted.histories
            judged = judge_rows(task, predicted.probabilities, miss_rate=miss_rate)
            of_rows = confidences_in_sets(task, predicted.probabilities, judged, calibrate)
            confidences = told_by_groups(task, of_rows, judged)
    choice, confidence, relabelled = _choices(task, confidences, judged, relabel=relabel)
    candidates, free = task.candidates, None
    unaided = {} if judged is None else unaided_confidences(task, confidences)
    if judged is not None and candidates.promise is not None:
        free = candidates, of_rows
        if task.truth is not None:
            # The model is judged by what it chose before anything was known.
            confidences = told_by_groups(task, of_rows, judged, truth=task.truth)
            _, _, relabelled = _choices(task, confidences, judged, relabel=relabel)
            free = settle_known(candidates, task.truth), of_rows
    if task.truth is not None:
        relabelled &= ~is_known(task.truth)
    if judged is not None and relabelled.any():
        candidates, confidences = let_leave(candidates, confidences, judged, relabelled)
    if task.truth is not None:
        candidates, confidences = choose_known(candidates, confidences, task.truth)
    has_seen = task.answered(Answer.CANNOT_TELL, Answer.BAD_ROW)
    parts: list[pd.DataFrame | pd.Series] = []
    if judged is not None:
        parts.append(miss_columns(task, judged))
    if task.answers:
        parts.append(decision_column(task))
    others = pd.concat(parts, axis=1) if parts else None
    columns = CleanedColumns(candidates, confidences, errors_to_find, has_seen, others)
    return Cleaning(
        columns=columns.rows() if isinstance(task.values, pd.DataFrame) else columns,
        per_network=per_network,
        histories=histories,
        model_choice=choice,
        model_confidence=confidence,
        misses=None if judged is None else judged.misses,
        relabelled=int(relabelled.sum()),
        free=free,
        unaided=unaided,
    )


def _choices(
    task: TableTask, confidences: Sparse, judged: JudgedRows | None, *, relabel: bool
) -> tuple[AnyArray, FloatArray, BoolArray]:
    """Return the label of every row, how sure it is, and whether it is from outside the set."""
    candidates = task.candidates
    choice = candidates.choose(confidences)
    confidence = group_maxima(candidates.values_of(confidences), candidates.starts)
    relabelled = np.zeros(len(candidates), dtype=bool)
    if judged is not None and relabel:
        relabelled = judged.outside_confidence > confidence
        choice[relabelled] = candidates.classes[judged.outside[relabelled]]
        confidence[relabelled] = judged.outside_confidence[relabelled]
    return choice, confidence, relabelled
