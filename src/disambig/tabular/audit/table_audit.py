"""``audit_table``: look at a table before anything is trained on it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import option, row_count
from disambig._core.typing import IntArray
from disambig.candidates.audit import CandidateAudit, audit_candidates, label_information
from disambig.candidates.groups import PromiseKind
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.tabular.audit.annotators_judged import JudgedAnnotators
from disambig.tabular.audit.audit_report import TableAudit
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.groups_noticed import NoticedGroups, notice_groups
from disambig.tabular.audit.judged_sets import (
    KeptPromise,
    check_promises,
    check_truth,
    judged_sets,
)
from disambig.tabular.audit.suspicious import find_suspicious
from disambig.tabular.columns.numbers import Decimal
from disambig.tabular.columns.plan import FeatureColumns, Names
from disambig.tabular.columns.values import column_of_values
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.files.table_on_disk import Table, TableOnDisk
from disambig.tabular.labels.answers import answers_in_columns
from disambig.tabular.labels.label_columns import (
    LabelColumns,
    Labels,
    LabelsInTable,
    label_column_names,
    sets_of_rows,
)
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.listener import FitListener
from disambig.tabular.table_model import TableModel
from disambig.tabular.true_labels import read_truth

# Of a table on disk: more would take minutes, and say the same.
_ROWS_LOOKED_AT = 200_000


def audit_table(
    frame: Table,
    *,
    labels: Labels = "label",
    truth: str | None = None,
    features: Names | None = None,
    ignore: Names = (),
    categories: Names = (),
    text: Names = (),
    decimal: Decimal | None = None,
    described: DescribedColumns | None = None,
    embeddings: Any = None,
    id: str | None = None,
    group: str | None = None,
    promise: PromiseKind | None = None,
    promise_strength: float = DEFAULT_PROMISE_STRENGTH,
    model: TableModel | None = None,
    listener: FitListener | None = None,
) -> TableAudit:
    """Describe a table with candidate labels, and report what looks wrong in it.

    Parameters
    ----------
    frame : DataFrame or TableOnDisk
        The table, as ``read_table`` gives it. Of one on disk all labels are read, and what features
        say is looked at in some of its rows.
    labels : str, sequence of str, LabelColumns, CandidateLabels or AnnotatorModel, default="label"
        The column or columns of candidate labels. Annotators, of ``read_answers`` or of a
        ``LabelColumns`` with votes, are judged by each other.
    truth : str, optional
        Column of true labels, which may be mostly empty: says how many are not among the
        candidates of their row. It is left out of the features.
    features, ignore : str or sequence of str, optional
        Columns to learn from (by default all usable ones); columns to leave out.
    categories : str or sequence of str, optional
        Columns of categories, even if their values look like numbers.
    text : str or sequence of str, optional
        Columns of free text, where they are not recognised as such.
    decimal : {".", ","}, optional
        What is before the decimals of numbers that are text. By default what the numbers say.
    described : DescribedColumns, optional
        Which columns are images, and how these become numbers, as in ``fit_table``.
    embeddings : array-like of shape (n_rows, n_numbers), optional
        Numbers of every row that are not in the table.
    id : str, optional
        Column that names the rows; it is not a feature. Findings name rows by it too.
    group : str, optional
        Column that names the group of every row, such as the picture it is part of, or "runs" for
        neighbouring rows with equal sets: says how large groups are, and in how many a promise is
        possible. Without it, an audit says if rows seem to come together.
    promise : {"cover", "exclusive"}, optional
        What is known of every group as a whole; see ``disambig.candidates.Promise``. By default
        either is looked at.
    promise_strength : float, default=0.9
        Share of the groups for which the promise is believed.
    model : TableModel, optional
        A model that was fitted to this table, with folds: lists the sets that seem to miss the
        right label.
    listener : FitListener, optional
        Is told how far images are read.

    See Also
    --------
    disambig.candidates.audit_candidates : For candidate sets without a table.
    clean_table : Chooses a label for every row.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig import audit_table
    >>> frame = pd.DataFrame({"size": [1, 2, 3], "label": ["cat|dog", "cat", "dog"]})
    >>> audit = audit_table(frame)
    >>> audit.sets.size_histogram
    {1: 2, 2: 1}
    """
    # A misspelled column name is an error, not a finding about the table.
    columns = FeatureColumns(
        frame,
        labels,
        truth=truth,
        id=id,
        features=features,
        ignore=ignore,
        categories=categories,
        text=text,
        decimal=decimal,
        group=group,
        described=described,
        embeddings=embeddings,
        listener=listener,
    )
    row_groups = RowGroups(group=group, promise=promise, promise_strength=promise_strength)
    annotators = None
    if isinstance(labels, LabelColumns) and labels.weighs_annotators(frame):
        # Rows that nobody labelled are reported elsewhere.
        annotators = answers_in_columns(replace(labels, empty="all"), frame)
    elif isinstance(labels, AnnotatorModel):
        annotators, labels = labels, labels.said  # what was said, not what may be
    read, of_groups = _with_groups(_read_labels(frame, labels), row_groups, frame)
    notices = [*read.notices, *of_groups]
    numbers = _positions(read)
    findings: list[Finding] = []
    by_kind: dict[str, list[str]] = {}
    values, column_of = None, None
    try:
        plan, values, of_columns = columns.plan(read.candidates)
        by_kind, column_of = plan.by_kind(), column_of_values(plan)
        notices += of_columns
    except TableError as error:  # the labels can still be audited
        findings.append(Finding("features", str(error)))
    checked = None
    kept: tuple[KeptPromise, ...] = ()
    if truth is not None:
        try:
            literal = isinstance(labels, LabelColumns) and labels.literal
            classes = read.candidates.classes
            true_labels, of_truth = read_truth(frame, truth, classes, literal=literal)
            notices += of_truth
            checked = check_truth(read.candidates, true_labels[numbers], numbers)
            kept = check_promises(read.candidates, true_labels[numbers])
            if checked is None:
                notices.append(f"Column {truth!r} names no true label yet, so none is checked.")
            else:
                findings += checked.findings()
        except TableError as error:
            findings.append(Finding("truth", str(error)))
    sets = audit_candidates(read.candidates)
    label_columns = label_column_names(labels, frame)
    in_memory = values if isinstance(values, pd.DataFrame) else None
    labelled = _labelled_rows(read, sets, in_memory, column_of, several=len(label_columns) > 1)
    looked_at, rows_looked_at = labelled, frame
    if isinstance(frame, TableOnDisk):
        looked_at, rows_looked_at = _some_rows(labelled, frame, values)
        if len(rows_looked_at) < len(frame):
            notices.append(
                f"What features say was looked at in {row_count(len(rows_looked_at))}, from all "
                "parts of the table; labels in all rows."
            )
    findings += _unlabelled_rows(read)
    noticed = _notice_groups(looked_at, rows_looked_at, (*label_columns, truth, id))
    if noticed is not None:
        findings.append(Finding("groups_not_named", noticed.seen, noticed.advice))
    findings += find_suspicious(labelled, looked_at)
    judged_annotators = None if annotators is None else JudgedAnnotators.of(annotators)
    if judged_annotators is not None:
        findings += judged_annotators.findings()
    ids = None if id is None else frame[id]
    return TableAudit(
        n_rows=len(frame),
        n_unlabelled=int(read.empty.sum()),
        features={kind: tuple(names) for kind, names in by_kind.items()},
        notices=tuple(notices),
        sets=sets,
        weighted=read.candidates.weights is not None,
        negative=read.negative,
        information=label_information(read.candidates),
        findings=tuple(findings if ids is None else (one.with_ids(ids) for one in findings)),
        truth=checked,
        judged=None if model is None else judged_sets(read.candidates, model.estimate, ids),
        groups=None if sets.groups is None else sets.groups.at_rows(numbers),
        kept=kept,
        noticed=noticed,
        annotators=judged_annotators,
    )


def _with_groups(
    read: LabelsInTable, groups: RowGroups, frame: Table
) -> tuple[LabelsInTable, list[str]]:
    """Return the sets with the groups that were named, and notices about these."""
    rows = None if len(read.candidates) == len(frame) else ~read.empty
    candidates, notices = groups.put_on(read.candidates, frame, rows)
    return replace(read, candidates=candidates), notices


def _positions(read: LabelsInTable) -> IntArray:
    """Return where the rows that have a set are in the table, from 0."""
    if len(read.candidates) == len(read.empty):  # rows without a label may have any
        return np.arange(len(read.empty))
    return np.flatnonzero(~read.empty)


def _notice_groups(
    labelled: LabelledRows, frame: Any, reserved: tuple[str | None, ...]
) -> NoticedGroups | None:
    if len(labelled.numbers) < len(frame):
        frame = frame.iloc[labelled.numbers]
    return notice_groups(labelled.candidates, frame, labelled.values, reserved=reserved)


def _some_rows(
    labelled: LabelledRows, table: TableOnDisk, values: Any
) -> tuple[LabelledRows, pd.DataFrame]:
    """Return some labelled rows of a table on disk with their features, and the rows themselves."""
    rows = np.intersect1d(table.sample(_ROWS_LOOKED_AT), labelled.numbers)
    candidates = labelled.candidates[np.searchsorted(labelled.numbers, rows)]
    some = replace(
        labelled,
        candidates=candidates,
        audit=audit_candidates(candidates),
        numbers=rows,
        values=None if values is None or not len(rows) else values.take(rows).frame(),
    )
    return some, table.take(rows)


def _read_labels(frame: Any, labels: Labels) -> LabelsInTable:
    if not isinstance(labels, CandidateLabels):
        return LabelColumns.of(labels).parse(frame)
    empty = np.zeros(len(frame), dtype=bool)
    return LabelsInTable(sets_of_rows(labels, frame), empty, negative=False)


def _unlabelled_rows(read: LabelsInTable) -> list[Finding]:
    rows = np.flatnonzero(read.empty)
    if not len(rows):
        return []
    one = len(rows) == 1
    if len(read.candidates) == len(read.empty):
        they = "It" if one else "They"
        advice = f"{they} may have any label, which teaches next to nothing."
    else:
        fill_in = "Fill it in, drop the row," if one else "Fill them in, drop these rows,"
        advice = f"{fill_in} or use {option('empty', 'all')} if a row without one may have any."
    message = f"{row_count(len(rows))} {'has' if one else 'have'} no label.{read.note}"
    return [Finding.about(rows, "no_label", message, advice)]


def _labelled_rows(
    read: LabelsInTable,
    sets: CandidateAudit,
    values: pd.DataFrame | None,
    column_of: dict[str, str] | None,
    *,
    several: bool,
) -> LabelledRows:
    """Return the rows that name a label; the others have been reported."""
    named, candidates = ~read.empty, read.candidates
    if not named.all():
        values = None if values is None else values[named]
        if len(candidates) == len(named):
            candidates = candidates[named]
            sets = audit_candidates(candidates)
    unused = several or sets.singleton_share == 1
    return LabelledRows(candidates, sets, np.flatnonzero(named), values, unused, column_of)
