"""A table made ready to learn from: labels, features, method."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError, TableError, warn_caller
from disambig._core.messages import join_names
from disambig._core.typing import AnyArray, BoolArray
from disambig.candidates.groups import PromiseKind
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import all_methods, get_method
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.tabular.columns.numbers import Decimal
from disambig.tabular.columns.plan import FeatureColumns, Names
from disambig.tabular.columns.values import ColumnPlan
from disambig.tabular.columns.values_on_disk import Values
from disambig.tabular.defaults import DEFAULT_METHOD, DEFAULT_ON_DISK, DEFAULT_PROMISE_STRENGTH
from disambig.tabular.described.described_columns import DescribedColumns
from disambig.tabular.files.table_on_disk import Table, TableOnDisk
from disambig.tabular.labels.answers import answers_in_columns
from disambig.tabular.labels.decisions import Answer, Decision, kind_of, labels_decided
from disambig.tabular.labels.label_columns import (
    LabelColumns,
    Labels,
    check_labels_differ,
    sets_of_rows,
)
from disambig.tabular.labels.row_groups import RowGroups
from disambig.tabular.labels.settled_sets import settle, take_rows
from disambig.tabular.listener import FitListener
from disambig.tabular.true_labels import contradicted_decisions, read_truth, settle_known

_ROUNDING = 1e-9
# These are code, files or views of a single fit: whoever trains many models sets them.
_NOT_BY_NAME = ("callbacks", "checkpoint", "checkpoint_every", "network", "verbose")


def chosen_method(
    method: str | PartialLabelClassifier, parameters: Mapping[str, Any] | None = None
) -> PartialLabelClassifier:
    """Return a method by its name and parameters, or as it is; refuse one that needs the truth."""
    made = _named(method, parameters or {}) if isinstance(method, str) else method
    if made.card.reads_true_labels:
        raise ParameterError(
            f"{made.card.name} is trained on true labels and only meant for comparisons. Choose "
            "another method; 'disambig methods' lists them."
        )
    return made


def _named(name: str, parameters: Mapping[str, Any]) -> PartialLabelClassifier:
    cls = get_method(name)
    known = [parameter for parameter in cls().get_params() if parameter not in _NOT_BY_NAME]
    unknown = next((parameter for parameter in parameters if parameter not in known), None)
    if unknown is not None:
        raise ParameterError(f"{name} has no parameter {unknown!r}. It has {', '.join(known)}.")
    return cls(**parameters)


@dataclass(frozen=True, eq=False)
class TableTask:
    """Features, candidate sets and what else is known of the rows of a table."""

    plan: ColumnPlan
    values: Values  # of the planned columns, ready for a transformer
    given: CandidateLabels  # as in the table, before a person settled some rows
    candidates: CandidateLabels  # what predictions are judged against: with these rows settled
    training: CandidateLabels  # what models are trained on: the same, or with truth or other sets
    truth: AnyArray | None  # None in rows where it is not known
    decided: BoolArray  # rows whose label a person has decided on
    edited: BoolArray  # these, and rows that a person has taken labels from
    answers: Mapping[int, str]  # the kind of decision, for all rows that a person has decided on
    uses_truth: bool  # whether models are trained on the true labels that are known
    group: str | None = None  # what the groups of rows were read from: a column, or "runs"
    annotators: AnnotatorModel | None = None  # who gave the labels, where they are weighed

    @property
    def learned(self) -> BoolArray:
        """Whether models are trained on a row: not on those that a person calls bad."""
        return ~self.answered(Answer.BAD_ROW)

    def answered(self, *answers: Answer) -> BoolArray:
        """Tell for which rows a person has given one of these answers."""
        kinds = {answer.value for answer in answers}
        is_answered = np.zeros(len(self.candidates), dtype=bool)
        is_answered[[row for row, kind in self.answers.items() if kind in kinds]] = True
        return is_answered


def method_for(
    table: Table,
    method: str | PartialLabelClassifier,
    parameters: Mapping[str, Any] | None = None,
) -> PartialLabelClassifier:
    """Return the method for a table; of one on disk only networks learn, and one is the default."""
    if not isinstance(table, TableOnDisk):
        return chosen_method(method, parameters)
    from disambig.methods.networks.base import NetworkClassifier  # slow to import

    if isinstance(method, str) and method == DEFAULT_METHOD:
        warn_caller(
            f"The table stays on disk, where networks learn: the method is {DEFAULT_ON_DISK}. "
            "To choose among all methods, read the whole table: --memory SIZE (in Python "
            "read_table)."
        )
        method = DEFAULT_ON_DISK
    chosen = chosen_method(method, parameters)
    if isinstance(chosen, NetworkClassifier):
        return chosen
    learners = [name for name, each in all_methods().items() if issubclass(each, NetworkClassifier)]
    known = join_names(learners, most=len(learners), longest=None)
    raise ParameterError(
        f"{chosen.card.name} needs all rows in memory, and the table stays on disk. Choose a "
        f"method of networks ({known}), or read the whole table into memory: --memory SIZE (in "
        "Python read_table)."
    )


def prepare_task(
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
    decisions: Mapping[int, Decision] | None = None,
    use_truth: bool = False,
    group: str | None = None,
    promise: PromiseKind | None = None,
    promise_strength: float = DEFAULT_PROMISE_STRENGTH,
    listener: FitListener | None = None,
) -> TableTask:
    """Read labels and features from a table; the parameters are those of ``fit_table``.

    Warns of what was left out or guessed, at the line that called this package.
    """
    groups = RowGroups(group=group, promise=promise, promise_strength=promise_strength)
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
    given, annotators, notices = _read_labels(frame, labels)
    # Before anything is settled: rows with equal sets were given these together.
    given, group_notices = groups.put_on(given, frame)
    notices += group_notices
    if annotators is not None:
        given = annotators.possible(given.promise).with_rows_of(given)
    candidates, decided = given, np.zeros(len(given), dtype=bool)
    if decisions:
        candidates = settle(given, decisions)
        check_labels_differ(candidates)
        decided[list(labels_decided(decisions))] = True
    edited = decided if candidates is given else decided | _differ(candidates, given)
    true_labels = None
    if truth is not None:
        literal = isinstance(labels, LabelColumns) and labels.literal
        true_labels, truth_notices = read_truth(
            frame, truth, candidates.classes, literal=literal, learned=use_truth
        )
        notices += [*truth_notices, *contradicted_decisions(true_labels, decisions or {})]
    training = candidates
    if annotators is not None:
        training = sets_to_train_on(annotators, given)
        if edited.any():
            training = take_rows(training, edited, candidates)
    if use_truth:
        training = settle_known(training, true_labels)
        check_labels_differ(training)
    _check_labels_tell_something(training)
    plan, values, column_notices = columns.plan(candidates)
    for notice in (*notices, *column_notices):
        warn_caller(notice)
    task = TableTask(
        plan,
        values,
        given,
        candidates,
        training,
        true_labels,
        decided,
        edited,
        {row: kind_of(decision) for row, decision in (decisions or {}).items()},
        use_truth,
        group,
        annotators,
    )
    if not task.learned.any():
        raise TableError("All rows are called bad, so that there is nothing to learn from.")
    return task


def _differ(one: CandidateLabels, other: CandidateLabels) -> BoolArray:
    """Tell which rows have other sets in one collection than in another of the same classes."""
    difference = (one.to_sparse() != other.to_sparse()).tocsr()
    differs: BoolArray = np.diff(difference.indptr) > 0
    return differs


def _read_labels(
    frame: Table, labels: Labels
) -> tuple[CandidateLabels, AnnotatorModel | None, list[str]]:
    """Return the candidate sets, who gave them, and what to know about how they were read."""
    annotators = None
    if isinstance(labels, LabelColumns) and labels.weighs_annotators(frame):
        labels = answers_in_columns(labels, frame)
    if isinstance(labels, AnnotatorModel):
        annotators, labels = labels, labels.said
    if isinstance(labels, CandidateLabels):
        candidates = sets_of_rows(labels, frame)
        check_labels_differ(candidates)
        return candidates, annotators, []
    candidates, reading = LabelColumns.of(labels).read_with_notices(frame)
    return candidates, None, list(reading)


def sets_to_train_on(annotators: AnnotatorModel, given: CandidateLabels) -> CandidateLabels:
    """Return the candidates that models are trained on, in the groups of those to choose from."""
    if given.promise is not None:  # which is about all of these
        return given
    return annotators.candidates.with_rows_of(given)


def _check_labels_tell_something(candidates: CandidateLabels) -> None:
    """Refuse sets of which each one has every label: there is nothing to learn from them."""
    _, columns = candidates.pairs()
    n_occurring = len(np.unique(columns))
    shares = candidates.prior().data
    if np.allclose(shares, 1 / n_occurring, rtol=_ROUNDING, atol=0):
        raise TableError(
            f"Nothing can be learned: all {len(candidates):,} rows may have any of the "
            f"{n_occurring:,} labels. Check the label columns and the separator, or settle some "
            "rows by hand (--decisions, in Python decisions=)."
        )
